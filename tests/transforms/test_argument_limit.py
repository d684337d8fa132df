"""`max-function-args` on the recorded programs: where TVM's limit breaks its own promises, ours keeps them.

TVM's limit changes partitions even when it does not bind, and can abort the compiler, so the partitions are not
compared. What must hold: no merged primitive exceeds the limit, a limit that never binds changes nothing, and nothing
aborts. How many primitives we need beside TVM is a figure that the tests print, and that may not drift.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from relay_records import outlined_functions, recorded_programs
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.dialect.ops.tuples import GetTupleElementOp, TupleOp
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.ir.block_graph import argument_weight
from fuse_dialect.fusion.kinds.kind_of import kind_of

PRIMITIVES = {
    "relay_tests": (5, 44, 2016, 0),
    "limits": (44, 2107, 1858, 0),
    "fuzz_relay": (710, 2875, 2955, 0),
    "crash_max_function_args": (1, 5, 3, 6),
}
"""For each file the runs with a limit that TVM finished, the primitives that we need in them, those that TVM needs, and
the runs in which TVM aborted."""

Case: TypeAlias = dict[str, Any]


def limited_programs(name: str) -> list[tuple[Case, ModuleOp]]:
    """The cases of a file that were run with a limit."""
    return [(case, module) for case, _, module in recorded_programs(name) if limited_runs(case)]


def limited_runs(case: Case) -> list[tuple[Case, Case]]:
    """The runs with an argument limit, and each with the run that says what it gave."""
    runs = [run for run in case["runs"] if run["max_function_args"] > 0]
    return [(run, case["runs"][run["same_as"]] if "same_as" in run else run) for run in runs]


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIMITIVES)
def test_limit_is_kept_on_every_recorded_program(name: str, record_property: Callable[[str, str], None]) -> None:
    finished = ours = theirs = aborted = 0
    for case, module in limited_programs(name):
        counts: dict[tuple[int, int, int], int] = {}
        for run, result in limited_runs(case):
            options = (run["opt_level"], run["max_depth"], run["max_function_args"])
            if options not in counts:
                counts[options] = fuse_with_limit(module, *options)
            if "functions" in result:
                finished += 1
                ours += counts[options]
                theirs += sum(function["primitive"] for function in result["functions"])
            else:
                aborted += 1
    record_property(
        "figure",
        f"argument limits, {name}: {ours} primitives, TVM {theirs}, in {finished} runs; TVM aborts in {aborted}",
    )
    assert (finished, ours, theirs, aborted) == PRIMITIVES[name]


def fuse_with_limit(original: ModuleOp, opt_level: int, max_depth: int, limit: int) -> int:
    """Fuse a copy, check the limit, and count the primitives."""
    module = original.clone()
    FuseOpsPass(opt_level, max_depth, limit, dedup=False).apply(Context(), module)
    primitives = [op for op in module.ops if isinstance(op, func.FuncOp) and "primitive" in op.attributes]
    for primitive in primitives:
        type = primitive.function_type
        if len(operators(primitive)) > 1:
            assert sum(argument_weight(each) for each in (*type.inputs, *type.outputs)) <= limit
    return len(primitives)


def operators(primitive: func.FuncOp) -> list[str]:
    """Names of the operators of a primitive."""
    return [
        op.name
        for op in primitive.body.block.ops
        if kind_of(op) is not None and not isinstance(op, TupleOp | GetTupleElementOp)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIMITIVES)
def test_a_limit_that_never_binds_changes_nothing(name: str) -> None:
    for case, original in limited_programs(name):
        loose, unlimited = original.clone(), original.clone()
        FuseOpsPass(max_function_args=10_000, dedup=False).apply(Context(), loose)
        FuseOpsPass(dedup=False).apply(Context(), unlimited)
        assert outlined_functions(loose) == outlined_functions(unlimited), case["name"]
