"""Random programs with regions, blocks and effects, through every pass: they must mean the same before and after.

    python tools/fuzz_passes.py --count 1000 --seed 0 [--cluster local:2]

`effect_programs` makes the program of a seed, `effect_semantics` says what it does. For each program and each pass:

1. what the program does after the pass is what it did before, every effect in its place;
2. the result is valid, and what is printed is read back as the same; that is checked after a quarter of the passes,
   others for each program, because it takes longer than all the rest;
3. `fuse-ops` a second time changes nothing;
4. the plan of `cost` is checked after each of its changes (`FUSE_CHECKED`).
"""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from time import monotonic

from checking.cluster import add_cluster, spread
from fuzzing.effect_programs import program_text
from fuzzing.effect_semantics import Outcome, run_program
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from fuse_dialect import checked
from fuse_dialect.api import text
from fuse_dialect.frontends.mlir.reader import context, read_mlir
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.loading.verification import verify_module
from fuse_dialect.transforms.compile_prefix import compile_prefix
from fuse_dialect.transforms.convert_layout import ConvertLayoutPass
from fuse_dialect.transforms.defuse_ops import DefuseOpsPass
from fuse_dialect.transforms.eliminate_common_subexpr import EliminateCommonSubexprPass
from fuse_dialect.transforms.fold_constants import FoldConstantsPass
from fuse_dialect.transforms.fold_scale_axis import FoldScaleAxisPass
from fuse_dialect.transforms.fused_regions import InlineFusedPass, OutlineFusedPass
from fuse_dialect.transforms.simplify_inference import SimplifyInferencePass

PIPELINES: Mapping[str, tuple[Sequence[ModulePass], float]] = {
    "fuse-ops": ((FuseOpsPass(),), 0.0),
    "fuse-ops, defuse-ops": ((FuseOpsPass(link_params=True, max_function_args=6, dedup=False), DefuseOpsPass()), 0.0),
    "fuse-ops, no dedup": ((FuseOpsPass(dedup=False, max_depth=3),), 0.0),
    "separate": ((FuseOpsPass(strategy="separate"),), 0.0),
    "cost": ((FuseOpsPass(strategy="cost"),), 0.0),
    "cost, defuse-ops": ((FuseOpsPass(strategy="cost", link_params=True), DefuseOpsPass()), 0.0),
    "inline form": ((FuseOpsPass(form="inline"),), 0.0),
    "inline, outline": ((FuseOpsPass(form="inline"), OutlineFusedPass()), 0.0),
    "inline, outline, inline": ((FuseOpsPass(form="inline"), OutlineFusedPass(), InlineFusedPass()), 0.0),
    "fuse-ops, inline": ((FuseOpsPass(), InlineFusedPass()), 0.0),
    "fuse-ops, inline, outline": ((FuseOpsPass(), InlineFusedPass(), OutlineFusedPass()), 0.0),
    "cost inline, outline, inline": (
        (FuseOpsPass(form="inline", strategy="cost"), OutlineFusedPass(dedup=False), InlineFusedPass()),
        0.0,
    ),
    "inline, defuse-ops": ((FuseOpsPass(form="inline"), DefuseOpsPass()), 0.0),
    "defuse-ops": ((DefuseOpsPass(),), 0.0),
    "fuse-ops-hw": ((FuseOpsHwPass(),), 0.0),
    "eliminate-common-subexpr": ((EliminateCommonSubexprPass(),), 0.0),
    "simplify-inference": ((SimplifyInferencePass(),), 1e-6),
    "fold-constants": ((FoldConstantsPass(),), 1e-9),
    "fold-scale-axis": ((SimplifyInferencePass(), FoldScaleAxisPass()), 1e-6),
    "convert-layout": ((ConvertLayoutPass(),), 1e-9),
    "compile-prefix, fuse-ops": ((*compile_prefix(), FuseOpsPass()), 1e-6),
}
"""By name the passes, and how far values may differ: 0 for passes that change no arithmetic."""


PORTION = 50
"""Programs of one process on a cluster."""


def check_program(seed: int, names: Sequence[str] = tuple(PIPELINES)) -> Iterator[str]:
    """What is wrong with the program of a seed after each of the named pipelines."""
    ctx = context(allow_unregistered=True)
    text = program_text(seed)
    program = read_mlir(text, "program.mlir", ctx)[0]
    verify_module(program)
    before = run_program(program)
    for index, name in enumerate(names):
        try:
            problem = _problem(program.clone(), name, before, ctx, reads_back=(seed + index) % 4 == 0)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem is not None:
            yield f"seed {seed}, {name}: {problem}"


def _problem(module: ModuleOp, name: str, before: Outcome, ctx: Context, *, reads_back: bool) -> str | None:
    passes, tolerance = PIPELINES[name]
    for each in passes:
        each.apply(ctx, module)
    verify_module(module)
    difference = before.differs(run_program(module), tolerance=tolerance)
    if difference is not None:
        return difference
    fuses, printed = isinstance(passes[-1], FuseOpsPass), ""
    if fuses or reads_back:
        printed = text(module)
    if reads_back and text(read_mlir(printed, "printed.mlir", ctx)[0]) != printed:
        return "is read back as something else"
    if fuses:
        passes[-1].apply(ctx, module)
        if text(module) != printed:
            return "changes when it is fused again"
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Check from the command line; 1 when something is wrong."""
    os.environ.setdefault(checked.VARIABLE, checked.PLANS)
    parser = argparse.ArgumentParser(description="Random programs with effects, before and after every pass.")
    parser.add_argument("--count", type=int, default=1000, help="programs (default: 1000)")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no program after so long (default: no limit)")
    parser.add_argument("--seed", type=int, default=0, help="of the first program (default: 0)")
    parser.add_argument(
        "--share", type=int, default=1, metavar="N", help="one in N pipelines for each program, in turn"
    )
    parser.add_argument("--only", choices=tuple(PIPELINES), action="append", help="a pipeline; all by default")
    add_cluster(parser)
    options = parser.parse_args(arguments)
    if options.cluster is not None:
        seeds = range(options.seed, options.seed + options.count)
        return spread(options.cluster, __file__, arguments, seeds, PORTION, minutes=options.minutes)
    end, done, failed = monotonic() + 60 * options.minutes, 0, 0
    first, *others = options.only or tuple(PIPELINES)
    for seed in range(options.seed, options.seed + options.count):
        if monotonic() > end:
            break
        done += 1
        names = [first, *(name for index, name in enumerate(others) if (seed + index) % options.share == 0)]
        for problem in check_program(seed, names):
            failed += 1
            print(problem[:600], flush=True)
    print(f"{done} programs from seed {options.seed} on, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
