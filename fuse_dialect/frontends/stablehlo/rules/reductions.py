"""Reductions and windows: what a region does with two elements is recognised by its ops."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import i1, i8
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import comparison as c
from fuse_dialect.dialect.ops import elementwise as e
from fuse_dialect.dialect.ops import reduction as r
from fuse_dialect.dialect.ops.pooling import MaxPool2dOp
from fuse_dialect.dialect.ops.sequences import CumsumOp
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.frontends.fuse_values import (
    NoFuseFormError,
    broadcast,
    cast_to,
    dtype,
    reshape,
    result,
    scalar,
    shape,
    static_shape,
    tensor,
)
from fuse_dialect.frontends.stablehlo.rules.building import Rule, combined_by, ints, known_number, number, padding
from fuse_dialect.frontends.stablehlo.rules.fingerprint import fingerprint
from fuse_dialect.frontends.stablehlo.rules.shapes import pad, slice_of
from fuse_dialect.frontends.stablehlo.rules.sizes import insert_axes
from fuse_dialect.frontends.stablehlo.rules.special_functions import log_plus_one

MOST_SLICES = 256
"""Positions in a window that become a slice each; a larger one is made of halves."""

_REDUCTIONS: Mapping[str, tuple[type[FuseOp], type[FuseOp]]] = {
    "add": (r.SumOp, b.AddOp),
    "multiply": (r.ProdOp, b.MultiplyOp),
    "maximum": (r.MaxOp, b.MaximumOp),
    "minimum": (r.MinOp, b.MinimumOp),
    "and": (r.AllOp, c.LogicalAndOp),
    "or": (r.AnyOp, c.LogicalOrOp),
}
"""What reduces an axis, and what combines two elements."""


_BITWISE: Mapping[str, type[FuseOp]] = {"and": c.BitwiseAndOp, "or": c.BitwiseOrOp, "xor": c.BitwiseXorOp}
_BITS: Mapping[str, type[FuseOp]] = {f"bits {name}": op for name, op in _BITWISE.items()}
"""The same under names that say of integers what they are."""


def neutral(name: str, kind: "np.dtype[np.generic]") -> float:
    """What changes nothing."""
    match name:
        case "add" | "or":
            return 0
        case "multiply" | "and":
            return 1
        case "logaddexp":
            return -math.inf
        case _:
            if kind.kind not in "iu":
                return -math.inf if name == "maximum" else math.inf
            bounds = np.iinfo(str(kind))
            return int(bounds.min if name == "maximum" else bounds.max)


def _combiner(op: Operation) -> str:
    """The name in `_REDUCTIONS` of what the region does."""
    name = combined_by(op)
    found = _name_for(tensor(op.operands[0]).element_type, name)
    if not found:
        raise NoFuseFormError(f"a combination of its own: {name or 'several ops'}")
    return found


def _name_for(element: Attribute, name: str) -> str:
    """The name in `_REDUCTIONS` of an op on elements of a type; empty if there is none."""
    is_boolean = element == i1
    if is_boolean:
        name = {"maximum": "or", "minimum": "and", "add": "or", "multiply": "and"}.get(name, name)
    return name if name in _REDUCTIONS and (name in ("and", "or")) == is_boolean else ""


def _combine_bits(x: SSAValue, init: SSAValue, combine: type[FuseOp], axes: Sequence[int]) -> SSAValue:
    """A reduction that no `fuse` op is: the slices along the axes, combined with each other."""
    sizes = static_shape(x)
    if math.prod(sizes[axis] for axis in axes) > MOST_SLICES:
        raise NoFuseFormError("bits of many elements")
    kept = [size for axis, size in enumerate(sizes) if axis not in axes]
    total = broadcast(init, kept)
    for position in np.ndindex(*(sizes[axis] if axis in axes else 1 for axis in range(len(sizes)))):
        end = [place + (1 if axis in axes else sizes[axis]) for axis, place in enumerate(position)]
        total = result(combine(total, reshape(slice_of(x, position, end, [1] * len(sizes)), kept)))
    return total


def _starts_neutral(init: SSAValue, name: str) -> bool:
    known = known_number(init)
    return known is not None and bool(known == np.array(neutral(name, dtype(init))).astype(dtype(init)))


def _reduce(op: Operation) -> Sequence[SSAValue]:
    axes = ints(op, "dimensions")
    if len(op.operands) == 4 and (apart := _combined_apart(op)):
        return [_reduced(*each, axes) for each in apart]
    if len(op.operands) == 4:
        return _reduce_with_index(op, axes)
    if len(op.operands) != 2:
        raise NoFuseFormError("several operands")
    x, init = op.operands
    if combined_by(op) in _BITWISE and dtype(x).kind in "iu":
        return [_combine_bits(x, init, _BITWISE[combined_by(op)], axes)]
    return [_reduced(x, init, _combiner(op), axes)]


def _reduced(x: SSAValue, init: SSAValue, name: str, axes: Sequence[int]) -> SSAValue:
    reduce, combine = _REDUCTIONS[name]
    value = result(reduce(x, axes=list(axes))) if axes else x
    return value if _starts_neutral(init, name) else result(combine(value, init))


def _combined_apart(op: Operation) -> list[tuple[SSAValue, SSAValue, str]]:
    """The operands, starts and combinations of a reduction of two tensors that have nothing to do with each other."""
    block = op.regions[0].blocks[0]
    found = fingerprint(block).split(";")
    names = [line.partition(" ")[0] for line in found[:-1]]
    if found != [f"{name} a{place} a{2 + place}" for place, name in enumerate(names)] + ["return 0 1"]:
        return []
    pairs = zip(op.operands[:2], op.operands[2:], names, strict=True)
    named = [(x, init, _name_for(tensor(x).element_type, name)) for x, init, name in pairs]
    return named if all(name for _, _, name in named) else []


_ARGMAX = (
    "compare {0} a0 a2;compare NE a0 a0;or 0 1;compare EQ a0 a2;compare LT a1 a3;and 3 4;or 2 5;select 2 a0 a2;"
    "select 6 a1 a3;return 7 8"
)
"""JAX's `argmax` with `GT`, and its `argmin` with `LT`; those of integers have no test for nan."""
_INTEGER_ARGMAX = (
    "compare {0} a0 a2;compare EQ a0 a2;compare LT a1 a3;and 1 2;or 0 3;select 0 a0 a2;select 4 a1 a3;return 5 6"
)


_TIES = "compare {0} a0 a2;select 0 a0 a2;compare EQ a0 a2;minimum a1 a3;select 0 a1 a3;select 2 3 4;return 1 5"
"""The same of integers as TensorFlow writes it, with `GE` and `LE`; a nan would be lost."""


def _reduce_with_index(op: Operation, axes: Sequence[int]) -> Sequence[SSAValue]:
    """`argmax` and `argmin`: a reduction of elements beside their positions."""
    x, positions = op.operands[:2]
    block = op.regions[0].blocks[0]
    found = fingerprint(block)
    choices: dict[str, tuple[type[FuseOp], type[FuseOp], str]] = {}
    for form, greater, less in ((_ARGMAX, "GT", "LT"), (_INTEGER_ARGMAX, "GT", "LT"), (_TIES, "GE", "LE")):
        choices[form.format(greater)] = (r.ArgmaxOp, r.MaxOp, "maximum")
        choices[form.format(less)] = (r.ArgminOp, r.MinOp, "minimum")
    if found not in choices:
        raise NoFuseFormError("a combination of its own")
    if dtype(x).kind not in "iu" and found in (_TIES.format("GE"), _TIES.format("LE")):
        raise NoFuseFormError("a combination that loses a nan")
    arg, reduce, name = choices[found]
    counts = len(axes) == 1 and _counts_along(positions, axes[0])
    if counts and dtype(x).kind == "b" and known_number(op.operands[2]) == (name == "minimum"):
        numbers = cast_to(x, i8)
        index = result(arg(numbers, axes=list(axes), result_types=[op.results[1].type]))
        return [cast_to(result(reduce(numbers, axes=list(axes))), tensor(x).element_type), index]
    if counts and _starts_neutral(op.operands[2], name):
        index = result(arg(x, axes=list(axes), result_types=[op.results[1].type]))
        return [result(reduce(x, axes=list(axes))), index]
    if not axes or dtype(x).kind not in "iu" or dtype(positions).kind not in "iu":
        raise NoFuseFormError("a combination of its own" if not counts else "a start of its own")
    return _with_least_companion(op, axes, name)


def _with_least_companion(op: Operation, axes: Sequence[int], name: str) -> Sequence[SSAValue]:
    """The greatest or least integers with their starts, and beside each the least of what stands beside its equals."""
    x, companions, init, init_companion = op.operands
    best = _reduced(x, init, name, axes)
    spread = insert_axes(best, sorted(axes))
    none = scalar(companions, neutral("minimum", dtype(companions)))
    beside = result(b.WhereOp(result(c.EqualOp(x, spread)), companions, none))
    least = result(r.MinOp(beside, axes=list(axes)))
    with_start = result(b.MinimumOp(least, init_companion))
    return [best, result(b.WhereOp(result(c.EqualOp(best, init)), with_start, least))]


_REPEATS = frozenset(f"fuse.{name}" for name in ("broadcast_to", "dyn_broadcast_to", "reshape", "expand_dims", "cast"))
"""What the positions on an axis may pass through; a cast of as many of them as an axis has loses nothing."""


def _counts_along(value: SSAValue, axis: int) -> bool:
    """Whether each element is its position on an axis."""
    if isinstance(value, OpResult) and value.op.name in ("stablehlo.iota", "stablehlo.dynamic_iota"):
        return number(value.op, "iota_dimension") == axis
    rank, tail = len(shape(value)), 0
    while isinstance(value, OpResult) and value.op.name in _REPEATS:
        source = shape(value.op.operands[0])
        if value.op.name in ("fuse.reshape", "fuse.expand_dims"):
            tail += len(shape(value)) - len(source)
            if shape(value)[: len(source)] != source:
                return False
        value = value.op.operands[0]
    counts = isinstance(value, OpResult) and value.op.name in ("fuse.arange", "fuse.dyn_arange")
    return counts and rank - 1 - tail == axis


_LOGADDEXP = (
    "maximum a0 a1;subtract a0 a1;compare NE 1 1;add a0 a1;abs 1;negate 4;exponential 5;log_plus_one 6;add 0 7;"
    "select 2 3 8;return 9"
)
"""What JAX's `cumlogsumexp` combines two elements by."""


def logaddexp(one: SSAValue, other: SSAValue) -> SSAValue:
    """`log(exp(one) + exp(other))`; of two infinities alike, and of a nan, their sum."""
    apart = result(b.SubtractOp(one, other))
    less = log_plus_one(result(e.ExpOp(result(e.NegativeOp(result(e.AbsOp(apart)))))))
    both = result(b.AddOp(result(b.MaximumOp(one, other)), less))
    return result(b.WhereOp(result(e.IsnanOp(apart)), result(b.AddOp(one, other)), both))


def running(x: SSAValue, combine: Callable[[SSAValue, SSAValue], SSAValue], neutral: float, axis: int) -> SSAValue:
    """What the elements up to each one are combined to, in as many steps as the number of elements has bits."""
    rank, size = len(shape(x)), shape(x)[axis]
    low = [size - 1 if each == axis else 0 for each in range(rank)]
    return _doubled_window(pad(x, scalar(x, neutral), low, [0] * rank, [0] * rank), combine, axis, size, 1)


def running_logsumexp(x: SSAValue, axis: int) -> SSAValue:
    """The logarithm of the running sum of `exp(x)`."""
    return running(x, logaddexp, -math.inf, axis)


def _combining(name: str) -> Callable[[SSAValue, SSAValue], SSAValue]:
    """What combines two elements."""
    if name == "logaddexp":
        return logaddexp
    op = _BITS[name] if name in _BITS else _REDUCTIONS[name][1]
    return lambda one, other: result(op(one, other))


def _window_combiner(op: Operation) -> str:
    """The name of what combines two elements of a window: in `_REDUCTIONS`, in `_BITS`, or `logaddexp`."""
    if dtype(op.operands[0]).kind in "iu" and combined_by(op) in _BITWISE:
        return f"bits {combined_by(op)}"
    return "logaddexp" if fingerprint(op.regions[0].blocks[0]) == _LOGADDEXP else _combiner(op)


def _reduce_window(op: Operation) -> Sequence[SSAValue]:
    if len(op.operands) != 2:
        raise NoFuseFormError("several operands")
    x, init = op.operands
    sizes = shape(x)
    ones = [1] * len(sizes)
    window = ints(op, "window_dimensions")
    strides = ints(op, "window_strides", ones)
    dilations = ints(op, "window_dilations", ones)
    base = ints(op, "base_dilations", ones)
    around = padding(op, len(sizes))
    name = _window_combiner(op)
    combine, is_neutral = _combining(name), name not in _BITS and _starts_neutral(init, name)
    is_plain = list(strides) == list(dilations) == list(base) == ones
    wide = [axis for axis, size in enumerate(window) if size > 1]
    if name == "add" and is_neutral and is_plain and len(wide) == 1 and window[wide[0]] == sizes[wide[0]]:
        (axis,) = wide
        others = all(around[each] == (0, 0) for each in range(len(sizes)) if each != axis)
        if others and around[axis] in ((sizes[axis] - 1, 0), (0, sizes[axis] - 1)):
            return [result(CumsumOp(x, axis=axis, reverse=around[axis][0] == 0))]
    if name == "maximum" and is_neutral and list(base) == ones and len(sizes) == 4:
        pooled = _max_pool(x, window, strides, dilations, around)
        if pooled is not None:
            return [pooled]
    target = shape(op.results[0])
    open_ = [axis for axis, size in enumerate(target) if size == DYNAMIC]
    if any((window[axis], strides[axis], base[axis], *around[axis]) != (1, 1, 1, 0, 0) for axis in open_):
        raise NoFuseFormError("a window on an axis of open size")
    if 0 in target:
        return [broadcast(init, target)]
    low, high = [each[0] for each in around], [each[1] for each in around]
    x = pad(x, init, low, high, [each - 1 for each in base])
    if math.prod(window) <= MOST_SLICES and name != "logaddexp":
        found = _combine_window(x, combine, window, strides, dilations, target)
        return [found if is_neutral else combine(found, init)]
    for axis, size in enumerate(window):
        x = _doubled_window(x, combine, axis, size, dilations[axis])
    end = [DYNAMIC if count == DYNAMIC else (count - 1) * step + 1 for count, step in zip(target, strides, strict=True)]
    x = slice_of(x, [0] * len(sizes), end, strides)
    return [x if is_neutral else combine(x, broadcast(init, shape(x)))]


def _doubled_window(
    x: SSAValue, combine: Callable[[SSAValue, SSAValue], SSAValue], axis: int, size: int, dilation: int
) -> SSAValue:
    """Windows along one axis at every position, made of windows of 1, 2, 4, ... positions: a few slices each."""
    if size == 1:
        return x
    whole = shape(x)[axis]
    total: SSAValue | None = None
    power, covered = x, 0
    for bit in range(size.bit_length()):
        width = 1 << bit
        if bit:
            kept = whole - (width - 1) * dilation
            halves = [_cut(power, axis, start, kept) for start in (0, width // 2 * dilation)]
            power = combine(*halves)
        if size & width:
            kept = whole - (covered + width - 1) * dilation
            piece = _cut(power, axis, covered * dilation, kept)
            total = piece if total is None else combine(_cut(total, axis, 0, kept), piece)
            covered += width
    assert total is not None, "a window has a position"
    return total


def _cut(x: SSAValue, axis: int, start: int, size: int) -> SSAValue:
    """So many positions on an axis, from `start` on."""
    begin, end = [0] * len(shape(x)), list(shape(x))
    begin[axis], end[axis] = start, start + size
    return slice_of(x, begin, end, [1] * len(end))


def _max_pool(
    x: SSAValue,
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    around: Sequence[tuple[int, int]],
) -> SSAValue | None:
    """The maximum of windows on two neighbouring axes of an image, as a pool."""
    for layout, first in (("NCHW", 2), ("NHWC", 1)):
        inside = [first, first + 1]
        outside = [axis for axis in range(4) if axis not in inside]
        if all(window[axis] == strides[axis] == 1 and around[axis] == (0, 0) for axis in outside):
            pads = [around[axis][side] for side in (0, 1) for axis in inside]
            if min(pads) < 0 or any(
                pads[place % 2 + 2 * (place // 2)] >= window[inside[place % 2]] for place in range(4)
            ):
                return None
            return result(
                MaxPool2dOp(
                    x,
                    pool_size=[window[axis] for axis in inside],
                    strides=[strides[axis] for axis in inside],
                    padding=pads,
                    dilation=[dilations[axis] for axis in inside],
                    layout=layout,
                )
            )
    return None


def _combine_window(
    x: SSAValue,
    combine: Callable[[SSAValue, SSAValue], SSAValue],
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    target: Sequence[int],
) -> SSAValue:
    """Slices of a padded tensor, one for each position in the window, combined with each other."""
    total: SSAValue | None = None
    for position in np.ndindex(*window):
        begin = [place * step for place, step in zip(position, dilations, strict=True)]
        end = [
            DYNAMIC if count == DYNAMIC else start + (count - 1) * stride + 1
            for start, count, stride in zip(begin, target, strides, strict=True)
        ]
        part = slice_of(x, begin, end, strides)
        total = part if total is None else combine(total, part)
    assert total is not None, "a window has a position"
    return total


REDUCTIONS: Mapping[str, Rule] = {
    "stablehlo.reduce": _reduce,
    "stablehlo.reduce_window": _reduce_window,
}
"""Rules by the name of the op."""
