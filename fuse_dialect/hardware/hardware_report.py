"""`-t hardware-report`: what a module costs that `fuse-ops-hw` has fused, as Markdown or JSON; see `estimate`.

Templates are found by their names in the module and among those of the package; one of a file is named by the option
`template`. Cycles need rates: `operations` or `bytes` of the units, and a `bandwidth`.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import IO, Any

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import InterpretationError, PassFailedException
from xdsl.utils.target import Target

from fuse_dialect.hardware.estimate import HardwareEstimate, Work, estimate, total_cycles
from fuse_dialect.hardware.template_file import find_template, known_templates
from fuse_dialect.interpreters.entry import function_named


@dataclass(frozen=True)
class HardwareReportTarget(Target):
    """Operations, bytes, cycles and memory of trips and host."""

    name = "hardware-report"

    template: str = ""
    """Path of a template file, if the trips are of one that is not in the module."""
    entry: str = "main"
    """The function."""
    as_json: bool = False
    """Write JSON instead of Markdown."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the report.

        Raises:
            PassFailedException: The module has no such function.
            TemplateError: The template cannot be read.
        """
        found = estimate_of(module, ctx, self.template, self.entry)
        if self.as_json:
            json.dump(report_object(found), output, indent=1)
            output.write("\n")
        else:
            output.writelines(f"{line}\n" for line in report_lines(found))


def estimate_of(module: ModuleOp, ctx: Context, template: str = "", entry: str = "main") -> HardwareEstimate:
    """The estimate of a module, its templates found by name.

    Raises:
        PassFailedException: The module has no such function.
        TemplateError: The template cannot be read.
    """
    templates = known_templates(module)
    if template:
        given = find_template(template, module, ctx)
        templates[given.name] = given
    try:
        name = function_named(module, entry).sym_name.data
    except InterpretationError as error:
        raise PassFailedException(f"the module has no function '@{entry}' with a body") from error
    return estimate(module, templates.get, name)


def report_object(found: HardwareEstimate) -> dict[str, Any]:
    """The report for `json.dump`."""
    return {
        "calls": [asdict(work) for work in found.works],
        "engines": {name: _totals(works) for name, works in found.engines.items()},
        "crossings": {"to-device": found.to_device, "to-host": found.to_host},
        "peak": found.peak,
        "cycles": found.cycles,
        "open-values": found.open_values,
        "scheduled": found.scheduled,
        "cascades": [
            {"trips": [_callee(call) for call in each.calls], "buffers": each.buffers, "spared": each.spared}
            for each in found.cascades
        ],
    }


def _totals(works: list[Work]) -> dict[str, Any]:
    return {
        "calls": len(works),
        "operations": sum(work.operations for work in works),
        "bytes": sum(work.bytes for work in works),
        "constants": sum(work.constants for work in works),
        "cycles": total_cycles(works),
    }


_HEAD = ("call", "engine", "operations", "bytes", "constants", "cycles", "memory")


def report_lines(found: HardwareEstimate) -> Iterator[str]:
    """The report as Markdown."""
    yield f"| {' | '.join(_HEAD)} |"
    yield "|---" * len(_HEAD) + "|"
    for work in found.works:
        cells = (
            work.name,
            work.engine,
            work.operations,
            work.bytes,
            work.constants,
            _cycles(work.cycles),
            work.resident,
        )
        yield f"| {' | '.join(map(str, cells))} |"
    for name, works in found.engines.items():
        totals = _totals(works)
        numbers = (totals["operations"], totals["bytes"], totals["constants"], _cycles(totals["cycles"]), "")
        yield f"| all {len(works)} | {name} | {' | '.join(map(str, numbers))} |"
    yield ""
    yield f"Crossings: {found.to_device} bytes to the device, {found.to_host} bytes to the host."
    yield f"Memory: {found.peak} bytes of feature maps at the peak."
    if found.cascades:
        inside = sum(len(cascade.calls) for cascade in found.cascades)
        count = f"{found.scheduled} units of scheduling: {inside} trips run in {len(found.cascades)} cascades"
        spared = sum(cascade.spared for cascade in found.cascades)
        most = max(cascade.buffers for cascade in found.cascades)
        yield f"Cascades: {count}, with buffers of {most} bytes at most, which spare {spared} bytes of memory."
        for cascade in found.cascades:
            yield f"Cascade: {' -> '.join(map(_callee, cascade.calls))}, {cascade.buffers} bytes of buffers."
    for name, (size, calls) in _regions(found).items():
        yield f"Region {name}: {size} bytes at most, in {calls}."
    for work in found.works:
        if work.tiles > 1:
            sizes = f"{work.bytes} bytes with halos, {work.whole} as one"
            yield f"Tiles: {work.name} runs {work.tiles} times, {sizes}."
    if found.open_values:
        yield f"Open sizes: {found.open_values} values count nothing."


def _callee(call: func.CallOp) -> str:
    return call.callee.string_value()


def _regions(found: HardwareEstimate) -> dict[str, tuple[int, str]]:
    """For each region of an engine the most bytes that a trip holds in it, and which trip that is."""
    most: dict[str, tuple[int, str]] = {}
    for work in found.works:
        for region, size in work.regions.items():
            name = f"{region} of {work.engine}"
            if name not in most or size > most[name][0]:
                most[name] = (size, work.name)
    return most


def _cycles(cycles: float | None) -> str:
    return "" if cycles is None else f"{cycles:.0f}"
