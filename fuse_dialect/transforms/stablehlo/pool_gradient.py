"""`select_and_scatter` as JAX writes it for the gradient of a maximum over windows."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import comparison as c
from fuse_dialect.dialect.ops import elementwise as e
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.transforms.stablehlo.building import (
    NoFuseFormError,
    Rule,
    combined_by,
    dtype,
    ints,
    known_number,
    padding,
    result,
    scalar,
    shape,
)
from fuse_dialect.transforms.stablehlo.fingerprint import fingerprint
from fuse_dialect.transforms.stablehlo.reductions import MOST_SLICES
from fuse_dialect.transforms.stablehlo.shapes import pad, slice_of


def _select_and_scatter(op: Operation) -> Sequence[SSAValue]:
    """Adds each element of the source where the maximum of its window stands, the first one in order.

    For each position in the window there is a slice of the operand, an element a window. The slices are compared with
    the greatest one; what each gets of the source is spread over the operand again, and the parts are added.
    """
    x, source, init = op.operands
    sizes = shape(x)
    ones = [1] * len(sizes)
    window, strides = ints(op, "window_dimensions", ones), ints(op, "window_strides", ones)
    around = padding(op, len(sizes))
    start = known_number(init)
    if fingerprint(op.regions[0].blocks[0]) != "compare GE a0 a1;return 0" or combined_by(op, 1) != "add":
        raise NoFuseFormError("a choice or a combination of its own")
    if dtype(x).kind in "iub" or start is None or start != 0:
        raise NoFuseFormError("integers, or a start other than 0")
    if math.prod(window) > MOST_SLICES:
        raise NoFuseFormError(f"a window of {math.prod(window)} positions")
    axes = zip(sizes, window, strides, around, strict=True)
    if any(size == DYNAMIC and (wide, step, *edge) != (1, 1, 0, 0) for size, wide, step, edge in axes):
        raise NoFuseFormError("a window on an axis of open size")
    low, high = [edge[0] for edge in around], [edge[1] for edge in around]
    padded = pad(x, scalar(x, -math.inf), low, high, [0] * len(sizes))
    whole, counts, zero = shape(padded), shape(source), scalar(source, 0)
    spans = [(count - 1) * step + 1 for count, step in zip(counts, strides, strict=True)]
    places = list(np.ndindex(*window))
    parts = [slice_of(padded, place, _ends(place, spans, counts), strides) for place in places]
    greatest = parts[0]
    for part in parts[1:]:
        greatest = result(b.MaximumOp(greatest, part))
    taken: SSAValue | None = None
    total: SSAValue | None = None
    for place, part in zip(places, parts, strict=True):
        chosen = result(c.EqualOp(part, greatest))
        if taken is not None:
            chosen = result(c.LogicalAndOp(chosen, result(e.LogicalNotOp(taken))))
        taken = chosen if taken is None else result(c.LogicalOrOp(taken, chosen))
        behind = [
            0 if size == DYNAMIC else size - first - span for size, first, span in zip(whole, place, spans, strict=True)
        ]
        given = pad(result(b.WhereOp(chosen, source, zero)), zero, place, behind, [step - 1 for step in strides])
        total = given if total is None else result(b.AddOp(total, given))
    assert total is not None, "a window has a position"
    ends = [DYNAMIC if size == DYNAMIC else first + size for first, size in zip(low, sizes, strict=True)]
    return [slice_of(total, low, ends, ones)]


def _ends(place: Sequence[int], spans: Sequence[int], counts: Sequence[int]) -> list[int]:
    """Where the slice of a place in the window ends; an open axis stays whole."""
    return [
        DYNAMIC if count == DYNAMIC else first + span for first, span, count in zip(place, spans, counts, strict=True)
    ]


POOL_GRADIENTS: Mapping[str, Rule] = {"stablehlo.select_and_scatter": _select_and_scatter}
"""Rules by the name of the op."""
