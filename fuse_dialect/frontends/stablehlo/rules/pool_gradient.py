"""`select_and_scatter` as JAX writes it for the gradient of a maximum or minimum over windows."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import comparison as c
from fuse_dialect.dialect.ops import elementwise as e
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.frontends.fuse_values import NoFuseFormError, dtype, result, scalar, shape
from fuse_dialect.frontends.stablehlo.rules.building import Rule, combined_by, ints, known_number, padding
from fuse_dialect.frontends.stablehlo.rules.fingerprint import fingerprint
from fuse_dialect.frontends.stablehlo.rules.reductions import MOST_SLICES, neutral
from fuse_dialect.frontends.stablehlo.rules.shapes import pad, slice_of


def _select_and_scatter(op: Operation) -> Sequence[SSAValue]:
    """Adds each element of the source where the maximum, or minimum, of its window stands, the first one in order.

    For each position in the window there is a slice of the operand, an element a window. The slices are compared with
    the greatest one; what each gets of the source is spread over the operand again, and the parts are added.
    """
    x, source, init = op.operands
    sizes = shape(x)
    ones = [1] * len(sizes)
    window, strides = ints(op, "window_dimensions", ones), ints(op, "window_strides", ones)
    around = padding(op, len(sizes))
    extreme = _CHOICES.get(fingerprint(op.regions[0].blocks[0]))
    if extreme is None or combined_by(op, 1) != "add" or dtype(x).kind == "b":
        raise NoFuseFormError("a choice or a combination of its own")
    if math.prod(window) > MOST_SLICES:
        raise NoFuseFormError(f"a window of {math.prod(window)} positions")
    axes = zip(sizes, window, strides, around, strict=True)
    if any(size == DYNAMIC and (wide, step, *edge) != (1, 1, 0, 0) for size, wide, step, edge in axes):
        raise NoFuseFormError("a window on an axis of open size")
    low, high = [edge[0] for edge in around], [edge[1] for edge in around]
    padded = pad(x, scalar(x, neutral(extreme, dtype(x))), low, high, [0] * len(sizes))
    # What is padded may equal the extreme of a window, and is not chosen.
    is_own = _own_places(x, low, high) if any((*low, *high)) else None
    whole, counts, zero = shape(padded), shape(source), scalar(source, 0)
    spans = [(count - 1) * step + 1 for count, step in zip(counts, strides, strict=True)]
    places = list(np.ndindex(*window))
    parts = [slice_of(padded, place, _ends(place, spans, counts), strides) for place in places]
    combine = b.MaximumOp if extreme == "maximum" else b.MinimumOp
    best = parts[0]
    for part in parts[1:]:
        best = result(combine(best, part))
    taken: SSAValue | None = None
    total: SSAValue | None = None
    for place, part in zip(places, parts, strict=True):
        chosen = result(c.EqualOp(part, best))
        if is_own is not None:
            own = slice_of(is_own, place, _ends(place, spans, counts), strides)
            chosen = result(c.LogicalAndOp(chosen, own))
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
    cut = slice_of(total, low, ends, ones)
    start = known_number(init)
    return [cut if start is not None and start == 0 else result(b.AddOp(cut, init))]


_CHOICES: Mapping[str, str] = {"compare GE a0 a1;return 0": "maximum", "compare LE a0 a1;return 0": "minimum"}
"""What a region chooses: of equal elements the first."""


def _own_places(x: SSAValue, low: Sequence[int], high: Sequence[int]) -> SSAValue:
    """For each element of the padded operand, whether it is one of the operand."""
    yes = result(c.EqualOp(x, x)) if DYNAMIC in shape(x) else constant(np.ones(shape(x), np.bool_)).result
    return pad(yes, constant(np.zeros((), np.bool_)).result, low, high, [0] * len(low))


def _ends(place: Sequence[int], spans: Sequence[int], counts: Sequence[int]) -> list[int]:
    """Where the slice of a place in the window ends; an open axis stays whole."""
    return [
        DYNAMIC if count == DYNAMIC else first + span for first, span, count in zip(place, spans, counts, strict=True)
    ]


POOL_GRADIENTS: Mapping[str, Rule] = {"stablehlo.select_and_scatter": _select_and_scatter}
"""Rules by the name of the op."""
