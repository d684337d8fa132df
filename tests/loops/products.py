"""Stages of matrix products and convolutions, written by hand."""

from fuse_dialect.loops.indices import Guard, loop
from fuse_dialect.loops.program import (
    Apply,
    Axis,
    Body,
    Buffer,
    Combiner,
    Literal,
    LoopProgram,
    Read,
    Reduction,
    Role,
    Stage,
)

ZERO = Literal(0.0, "f32")
SUM = Reduction(Combiner.ADD, ZERO)
PRODUCT = Apply("arith.mulf", (0, 1), "f32")


def matmul(m: int | str, k: int, n: int, *, swapped: bool = False, batch: tuple[int, ...] = ()) -> LoopProgram:
    """`a[.., m, k] @ b[.., k, n]`; `b` is `[.., n, k]` if `swapped`."""
    lead = [loop(axis) for axis in range(len(batch))]
    i, j, p = (loop(len(batch) + axis) for axis in range(3))
    a = Buffer("a", "f32", (*batch, m, k), Role.ARGUMENT)
    b = Buffer("b", "f32", (*batch, *((n, k) if swapped else (k, n))), Role.ARGUMENT)
    c = Buffer("c", "f32", (*batch, m, n), Role.RESULT)
    body: Body = (Read("a", (*lead, i, p), "f32"), Read("b", (*lead, *((j, p) if swapped else (p, j))), "f32"), PRODUCT)
    axes = (*(Axis(size) for size in batch), Axis(m), Axis(n), Axis(k, is_reduced=True))
    return LoopProgram("matmul", (a, b, c), (Stage("matmul", "c", axes, body, SUM),))


def convolution(
    size: int, channels: int, outputs: int, taps: int, *, step: int = 1, pad: int = 0, groups: int = 1
) -> LoopProgram:
    """A square convolution of one NHWC image with an HWIO kernel."""
    count = (size + 2 * pad - taps) // step + 1
    y, x, o, i, j, c = (loop(axis) for axis in range(1, 7))
    inner = channels // groups
    row, column = y * step + i - pad, x * step + j - pad
    guards = (Guard(row, size), Guard(column, size)) if pad else ()
    channel = c + (o // (outputs // groups)) * inner if groups > 1 else c
    read = Read("x", (loop(0), row, column, channel), "f32", guards, ZERO if pad else None)
    body: Body = (read, Read("w", (i, j, c, o), "f32"), PRODUCT)
    buffers = (
        Buffer("x", "f32", (1, size, size, channels), Role.ARGUMENT),
        Buffer("w", "f32", (taps, taps, inner, outputs), Role.ARGUMENT),
        Buffer("y", "f32", (1, count, count, outputs), Role.RESULT),
    )
    axes = (Axis(1), Axis(count), Axis(count), Axis(outputs), *(Axis(n, is_reduced=True) for n in (taps, taps, inner)))
    return LoopProgram("conv2d", buffers, (Stage("conv2d", "y", axes, body, SUM),))
