"""`fuse-opt --compare-pipelines A B`: two ways to fuse one module, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from os.path import basename
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from fuse_dialect.diagnostics import FuseError, printable
from fuse_dialect.frontends.mlir.source_map import SourceMap
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.ir.function_like import place_name
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.hardware.trips import trips_of
from fuse_dialect.loading.failure import located_errors
from fuse_dialect.loading.output_file import write_output
from fuse_dialect.loading.pipeline import build_passes
from fuse_dialect.loading.source import read_sources
from fuse_dialect.loading.streams import write_stdout
from fuse_dialect.loading.verification import verify_module
from fuse_dialect.remarks.hardware import hardware_remarks
from fuse_dialect.remarks.module_plan import ModulePlan, plan_module
from fuse_dialect.remarks.statistics import FusionStatistics, primitives_of, statistics_of
from fuse_dialect.tools.browser import deliver_page
from fuse_dialect.tools.pass_flags import split_pipeline

if TYPE_CHECKING:
    from fuse_dialect.tools.opt_main import FuseOptMain

MOST_LISTED = 20
"""Kernels of one side that are listed; the others are counted."""


@dataclass(frozen=True, slots=True)
class Side:
    """What a pipeline does."""

    title: str
    statistics: FusionStatistics
    kernels: tuple[str, ...]
    """Its kernels in words, in order."""


def show_comparison(tool: "FuseOptMain") -> None:
    """Say or show what the two pipelines of a command line do to its input.

    Raises:
        FuseError: The input or a pipeline is wrong, or the page cannot be written.
    """
    (source,) = read_sources(tool.args.input_file, tool.args.frontend, split=False)
    specs: list[str] = tool.args.compare_pipelines
    pipelines = [(spec, build_passes(split_pipeline(spec), tool.available_passes)) for spec in specs]
    module, source_map = tool.parse_source(source)
    args = tool.args
    if tool.target_spec.name != "html":
        write_stdout(compare_pipelines(module, source_map, tool.ctx, pipelines))
        return
    page = comparing_page(module, source_map, tool.ctx, pipelines)
    if args.view:
        deliver_page(page, args.output_file, args.input_file, opens=not args.no_open)
    else:
        write_output(args.output_file, page)


def comparing_page(
    module: ModuleOp, source_map: SourceMap, ctx: Context, pipelines: Sequence[tuple[str, Sequence[ModulePass]]]
) -> str:
    """A page with the plans of two pipelines beside each other; for the arguments see `compare_pipelines`.

    Raises:
        FuseError: A pipeline does not end in `fuse-ops`, or a pass fails.
    """
    from fuse_dialect.pictures.scene import SceneOptions, scene_of, title_of
    from fuse_dialect.pictures.side_by_side import side_by_side

    with located_errors(source_map, " in the verifier"):
        verify_module(module)
    scenes: list[dict[str, Any]] = []
    for spec, passes in pipelines:
        copy, last = _prepared(module, source_map, ctx, spec, passes)
        with located_errors(source_map, " while the picture is drawn"):
            scenes.append(scene_of(copy, last, SceneOptions(spec)))
    return side_by_side(basename(source_map.file) or title_of(module), scenes)


def compare_pipelines(
    module: ModuleOp, source_map: SourceMap, ctx: Context, pipelines: Sequence[tuple[str, Sequence[ModulePass]]]
) -> str:
    """A table of numbers, and the kernels that one of two pipelines has alone.

    Args:
        module: The module, which is not changed.
        source_map: Where its ops stand.
        ctx: For the passes.
        pipelines: Each as the user spells it, and its passes.

    Raises:
        FuseError: A pipeline does not end in `fuse-ops`, or a pass fails.
    """
    with located_errors(source_map, " in the verifier"):
        verify_module(module)
    sides = [_side(module, source_map, ctx, spec, passes) for spec, passes in pipelines]
    return "".join(f"{printable(line)}\n" for line in _lines(sides))


def _prepared(
    module: ModuleOp, source_map: SourceMap, ctx: Context, spec: str, passes: Sequence[ModulePass]
) -> tuple[ModuleOp, FuseOpsPass | FuseOpsHwPass]:
    """A copy of a module as it is before the last pass, and that pass.

    Raises:
        FuseError: The pipeline does not end in `fuse-ops` or `fuse-ops-hw`, or a pass fails.
    """
    if not passes or not isinstance(passes[-1], FuseOpsPass | FuseOpsHwPass):
        what = f"expected a pipeline that ends in fuse-ops or fuse-ops-hw, got '{spec}'"
        raise FuseError(what, hint="write 'cse,fuse-ops'")
    copy = module.clone()
    for each in passes[:-1]:
        with located_errors(source_map, f" in pass '{each.name}'", f"while running pass '{each.name}' of '{spec}'"):
            each.apply(ctx, copy)
            verify_module(copy)
    return copy, passes[-1]


def _side(module: ModuleOp, source_map: SourceMap, ctx: Context, spec: str, passes: Sequence[ModulePass]) -> Side:
    copy, last = _prepared(module, source_map, ctx, spec, passes)
    with located_errors(source_map, f" in pass '{last.name}'"):
        if isinstance(last, FuseOpsPass):
            plan = plan_module(copy, last)
            return Side(spec, plan.summary(), _kernels(plan))
        known = frozenset(primitives_of(copy))
        refusals = [remark.reason.value for remark in hardware_remarks(copy, last, ctx)]
        last.apply(ctx, copy)
        return Side(spec, statistics_of(last.name, copy, known, refusals), _trips(copy))


def _trips(fused: ModuleOp) -> tuple[str, ...]:
    """The trips of a module in words, once for each call."""
    names = {
        trip.name: f"{trip.template}: " + ", ".join(f"{step.op} on {step.unit}" for step in trip.steps if step.unit)
        for trip in trips_of(fused)
    }
    calls = [op.callee.string_value() for op in fused.walk() if isinstance(op, func.CallOp)]
    return tuple(names[name] for name in calls if name in names)


def _kernels(plan: ModulePlan) -> tuple[str, ...]:
    return tuple(f"{place_name(group.function)}: {group!r}" for group in plan.groups)


def _lines(sides: Sequence[Side]) -> list[str]:
    numbers = [side.statistics.as_json() for side in sides]
    rows = [["", *(side.title for side in sides)]]
    for name in ("ops", "groups", "primitives", "bytes-before", "bytes-after"):
        rows.append([name, *(str(each[name]) for each in numbers)])
    codes = dict.fromkeys(code for side in sides for code in side.statistics.refusals)
    for code in codes:
        rows.append([code, *(str(side.statistics.refusals.get(code, 0)) for side in sides)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    for side in sides:
        others = {kernel for other in sides if other is not side for kernel in other.kernels}
        alone = [kernel for kernel in side.kernels if kernel not in others]
        if alone:
            lines += ["", f"{len(alone)} kernels of {side.title} alone:"]
            lines += [f"  {kernel}" for kernel in alone[:MOST_LISTED]]
            lines += [f"  ... and {len(alone) - MOST_LISTED} more"] if len(alone) > MOST_LISTED else []
    return lines
