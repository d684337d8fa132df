"""How all tests run, and what they report besides passing: figures that the closing summary of the run prints."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.vendor.pretty import RepresentationPrinter
from xdsl.dialects.builtin import ModuleOp

# A busy machine is no failure: no test is timed, and examples may take as long as they take.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def _print_as_ir(module: ModuleOp, printer: RepresentationPrinter, cycle: bool) -> None:
    """Show a failing program as IR; what hypothesis makes of the object takes minutes and megabytes."""
    printer.text(str(module))


ModuleOp._repr_pretty_ = _print_as_ir


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print every figure that a test recorded with `record_property`, also when the tests ran in other processes."""
    figures = [
        text
        for report in terminalreporter.stats.get("passed", [])
        for name, text in getattr(report, "user_properties", [])
        if name == "figure"
    ]
    if figures:
        terminalreporter.section("figures")
        for text in figures:
            terminalreporter.write_line(text)
