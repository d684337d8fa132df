"""What of a compiled program will be slow, and why: kernels that NumPy runs, and numbers wider than most programs need.

1. A kernel that NumPy runs is said with its reason and its place in the program of the user, where that is known.
2. A program computes mostly in f64 if more than half of the floats that its kernels give are f64. It often comes from
   one constant or input: where f64 begins is said, too.
3. A program that is meant for NumPy has no slow parts.
4. What is one call of a library for transforms is not slow.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation

from fuse_dialect.backends.runtime.entry_graph import EntryGraph, How
from fuse_dialect.backends.runtime.primitives import Compiled
from fuse_dialect.backends.runtime.program import Program
from fuse_dialect.logs import COMPILE, warn

_MOST_NAMED = 5
"""Kernels that a warning names before it counts the others."""
_F64 = np.dtype(np.float64)


@dataclass(frozen=True, slots=True)
class SlowKernel:
    """A kernel that NumPy runs in a program of machine code."""

    name: str
    reason: str
    source: str
    """Where it comes from; empty if that is unknown."""

    def __str__(self) -> str:
        """One line: the kernel, the reason, the place."""
        return f"{self.name}: {self.reason}" + (f", from {self.source}" if self.source else "")


def slow_kernels(program: Program, place_of: Callable[[Operation], str] = lambda _: "") -> tuple[SlowKernel, ...]:
    """The kernels of a program that NumPy runs, in the order of their first calls.

    Args:
        program: A compiled program.
        place_of: Says where an op of the source stands, for kernels that do not know it themselves; or nothing.
    """
    if program.backend == "numpy":  # condition 3
        return ()
    reports = [report for report in program.kernels if report.family == "numpy"]
    if not reports:
        return ()  # programs from the cache have none, and know no ops
    primitives = program._primitives  # pyright: ignore[reportPrivateUsage]
    of_name = {each.name: each for each in primitives}
    direct = {each.name for each in primitives if each.direct is not None}
    return tuple(
        SlowKernel(report.name, report.reason, report.source or place_of(_slow_op(of_name[report.name])))
        for report in reports
        if report.name not in direct  # condition 4
    )


def _slow_op(compiled: Compiled) -> Operation:
    """The op that the reason names, or the first one."""
    named = (op for op in compiled.primitive.function.body.block.ops if f"'{op.name}'" in compiled.reason)
    return next(named, compiled.op)


def wide_floats(program: Program) -> str:
    """Where f64 begins in a program that computes mostly in it (2), as a clause; empty for any other."""
    graph: EntryGraph | None = getattr(program, "_graph", None)
    if program.backend == "numpy" or graph is None:
        return ""
    primitives = program._primitives  # pyright: ignore[reportPrivateUsage]
    wide, floats, begins = 0, 0, ""
    for call in graph.all_calls:
        if call.control is not None or primitives[call.kernel].how in (How.VIEW, How.SETTLED):
            continue
        types = [graph.tensors[tensor].dtype for tensor in call.results]
        floats += sum(dtype.kind == "f" or dtype.name == "bfloat16" for dtype in types)
        if _F64 in types:
            wide += types.count(_F64)
            begins = begins or primitives[call.kernel].name + (f" ({call.source})" if call.source else "")
    if 2 * wide <= floats:
        return ""
    inputs = zip(graph.inputs, graph.input_names, strict=True)
    given = next((name for tensor, name in inputs if graph.tensors[tensor].dtype == _F64), None)
    return f"from kernel {begins} on" if given is None else f"from input '{given}' on"


def warn_of_slow_parts(program: Program) -> None:
    """Say once of a program that was just compiled what will be slow, by the logger `fuse_dialect.compile`."""
    if slow := slow_kernels(program):
        more = len(slow) - _MOST_NAMED
        texts = "; ".join([*map(str, slow[:_MOST_NAMED]), *([f"{more} more"] if more > 0 else [])])
        count = len(program.kernels)
        warn(COMPILE, "'%s': %d of %d kernels run on NumPy, which is slow: %s", program.name, len(slow), count, texts)
    if where := wide_floats(program):
        warn(COMPILE, "'%s' computes mostly in f64, %s: f32 takes half of the time and memory", program.name, where)
