"""How all tests run, and what they report besides passing: figures that the closing summary of the run prints."""

import os
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from checking import kept_objects
from checking.machine import description
from checking.sums import compares_sums
from checking.tested_package import complaint
from hypothesis import HealthCheck, Phase, settings
from hypothesis.vendor.pretty import RepresentationPrinter
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect
from fuse_dialect import checked

if TYPE_CHECKING:
    from light_models import LightResults

# A busy machine is no failure: no test is timed, and examples may take as long as they take.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# For `tools/mutation.py`: that a test fails is all that counts.
settings.register_profile(
    "first-failure", settings.get_profile("untimed"), phases=set(Phase) - {Phase.shrink, Phase.explain}
)
settings.load_profile("untimed")

INTERPRETED = ("numpy", "loops")
"""Backends without machine code."""
# Here and in what tests start, every plan is checked before it runs.
os.environ.setdefault(checked.VARIABLE, checked.PLANS)


def _print_as_ir(module: ModuleOp, printer: RepresentationPrinter, cycle: bool) -> None:
    """Show a failing program as IR; what hypothesis makes of the object takes minutes and megabytes."""
    printer.text(str(module))


ModuleOp._repr_pretty_ = _print_as_ir


@pytest.fixture(scope="session", autouse=True)
def own_cache_of_machine_code(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Keep compiled kernels in a folder of the test run: tests neither see nor change what the user's cache holds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def objects_of_this_run() -> Generator[None]:
    """Ask LLVM once about each text, where `tools/check.py` gives its steps a folder for the answers."""
    folder = os.environ.get(kept_objects.VARIABLE)
    if not folder or find_spec("llvmlite") is None:
        yield
        return
    from fuse_dialect.backends.assembler import engine

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "object_for", kept_objects.kept_in(Path(folder), engine.object_for))
        yield


@pytest.fixture(scope="session")
def light_results(tmp_path_factory: pytest.TempPathFactory) -> "LightResults":
    """What the NumPy interpreter says of the light models, once for all processes of a run."""
    from light_models import LightResults

    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # each process has a folder of its own in that of the run
    (folder / "light_results").mkdir(exist_ok=True)
    return LightResults(folder / "light_results")


@pytest.fixture(scope="session", autouse=True)
def four_processors() -> Generator[None]:
    """Let programs take four threads on any machine: how many parts there are must not depend on where tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fuse_dialect.backends.threads.processors", lambda: 4)
        yield


def pytest_configure() -> None:
    """Refuse to test the package of another tree, or an old copy of this one. `tools/mutation.py` may: it needs to."""
    mistake = complaint(Path(fuse_dialect.__path__[0]))
    if mistake is not None and "FUSE_TEST_ANY_PACKAGE" not in os.environ:
        raise pytest.UsageError(mistake)


def pytest_report_header() -> list[str]:
    """Say what numbers depend on: a test that fails elsewhere alone is understood by that."""
    return description()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that compare sums with NumPy's, which depend on the processor, and those that make no code for it.

    The suite of backends forbids tests with the second mark to compile.
    """
    for item in items:
        if isinstance(item, pytest.Function) and "backend" in item.fixturenames:
            callspec = getattr(item, "callspec", None)
            if callspec is not None and callspec.params.get("backend") in INTERPRETED:
                item.add_marker(pytest.mark.interpreted)
        if isinstance(item, pytest.Function) and compares_sums(item.function, item.module):
            item.add_marker(pytest.mark.sums)


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
