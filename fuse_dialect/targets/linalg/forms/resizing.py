"""Images at another resolution: computed sizes, kernels wider than two pixels, parts of images."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import math as functions
from xdsl.dialects.builtin import f64, i1
from xdsl.ir import SSAValue

from fuse_dialect.dialect.loops import LoopFormError
from fuse_dialect.dialect.ops.dynamic import DynResize2dOp
from fuse_dialect.dialect.ops.resizing import Resize2dOp
from fuse_dialect.targets.linalg.elements import (
    Number,
    Size,
    Table,
    as_index,
    choose,
    constant,
    generated,
    narrowed,
    wide_type,
)
from fuse_dialect.targets.linalg.forms.shapes import known_or, numbers_in


@dataclass(frozen=True, slots=True)
class _Axis:
    """Pixels along the height or the width."""

    size: Number
    """Of the operand, as a float."""
    count: Number
    """Of the result."""
    scale: Number
    """Of the result for one of the operand."""
    part: tuple[float, float] | None
    """The part of the operand that is taken."""


def _floor(number: Number) -> Number:
    return Number(functions.FloorOp(number.value).result)


def _ceil(number: Number) -> Number:
    return Number(functions.CeilOp(number.value).result)


def _place(pixel: Number, axis: _Axis, mode: str) -> Number:
    """Where a pixel of the result lies in the operand; sizes that are data make cases of the formulas."""
    size, count, scale, zero = axis.size, axis.count, axis.scale, constant(0, f64)
    if axis.part is not None:
        start, end = (constant(number, f64) for number in axis.part)
        last = size - 1
        spread = start * last + pixel * (end - start) * last / (count - 1)
        return choose(count.equals(1), (start + end) * last / 2, spread)
    length = size * scale
    centred = (pixel + 0.5) / scale - 0.5
    match mode:
        case "align_corners":
            return choose(length.equals(1), zero, pixel * (size - 1) / (length - 1))
        case "asymmetric":
            return pixel / scale
        case "pytorch_half_pixel":
            return choose(length <= 1, zero, centred)
        case "half_pixel_symmetric":
            return size / 2 * (constant(1, f64) - count / length) + centred
        case _:
            return centred


_NEAREST: dict[str, Callable[[Number], Number]] = {
    "round_prefer_floor": lambda place: _ceil(place - 0.5),
    "round_prefer_ceil": lambda place: _floor(place + 0.5),
    "floor": _floor,
    "ceil": _ceil,
}
"""How a place becomes a pixel."""


def _triangle(distance: Number, alpha: float) -> Number:
    return (constant(1, f64) - Number(functions.AbsFOp(distance.value).result)).greatest(0)


def _cubic(distance: Number, alpha: float) -> Number:
    x = Number(functions.AbsFOp(distance.value).result)
    near = (x * (alpha + 2) - (alpha + 3)) * x * x + 1
    far = ((x * alpha - 5 * alpha) * x + 8 * alpha) * x - 4 * alpha
    return choose(x <= 1, near, choose(x < 2, far, constant(0, f64)))


_KERNELS: dict[str, tuple[int, Callable[[Number, float], Number]]] = {"linear": (1, _triangle), "cubic": (2, _cubic)}
"""Reach and weights of a pixel by its distance."""


def _taps(op: Resize2dOp | DynResize2dOp, place: Number, axis: _Axis, shrink: float) -> list[tuple[Number, Number]]:
    """Pixels around a place, as floats that may lie outside, and their shares."""
    if op.method.data == "nearest":
        return [(_NEAREST[op.nearest_mode.data](place), constant(1, f64))]
    first = _floor(place)
    is_plain = op.method.data == "linear" and not op.antialias.value.data and not op.exclude_outside.value.data
    if is_plain:
        share = place - first
        return [(first, constant(1, f64) - share), (first + 1, share)]
    reach, kernel = _KERNELS[op.method.data]
    span = math.ceil(reach / shrink)
    pixels = [first + offset for offset in range(-span, span + 1)]
    shares = [kernel((pixel - place) * shrink, op.cubic_alpha.value.data) for pixel in pixels]
    if op.exclude_outside.value.data:
        zero = constant(0, f64)
        shares = [
            choose(~(pixel < 0) & (pixel < axis.size), share, zero) for pixel, share in zip(pixels, shares, strict=True)
        ]
    total = shares[0]
    for share in shares[1:]:
        total = total + share
    return [(pixel, share / total) for pixel, share in zip(pixels, shares, strict=True)]


def _shrinks(op: Resize2dOp | DynResize2dOp, sizes: Sequence[Size], counts: Sequence[Size]) -> list[float]:
    """Pixels of the result for one of the operand, where those in between count.

    Raises:
        LoopFormError: That is not known.
    """
    if not op.antialias.value.data or op.method.data == "nearest":
        return [1.0, 1.0]
    if op.scales is not None:
        return [min(scale, 1.0) for scale in op.scales.get_values()]
    known = [(count, size) for count, size in zip(counts, sizes, strict=True)]
    if not all(isinstance(count, int) and isinstance(size, int) for count, size in known):
        raise LoopFormError("needs static sizes")
    return [min(count / size, 1.0) for count, size in known if isinstance(count, int) and isinstance(size, int)]


def write_resize2d(op: Resize2dOp | DynResize2dOp, operands: Sequence[Table]) -> Sequence[SSAValue]:
    """Sums of the pixels around each place, weighted along the height and the width."""
    x = operands[0]
    axes, shape = [op.layout.data.index(letter) for letter in "HW"], x.sizes()
    sizes = [shape[axis] for axis in axes]
    counts: list[Size] = list(op.size.get_values()) if isinstance(op, Resize2dOp) else list(numbers_in(operands[1]))
    for axis, count in zip(axes, counts, strict=True):
        shape[axis] = count
    shape = known_or(op, shape)
    counts = [shape[axis] for axis in axes]
    shrinks, lines = _shrinks(op, sizes, counts), list[_Axis]()
    roi = None if op.roi is None else op.roi.get_values()
    for number in (0, 1):
        size, count = (as_index(own[number]).to(f64) for own in (sizes, counts))
        scale = count / size if op.scales is None else constant(op.scales.get_values()[number], f64)
        lines.append(_Axis(size, count, scale, None if roi is None else (roi[number], roi[number + 2])))
    element = x.element if op.method.data == "nearest" else wide_type(x.element)

    def body(at: Sequence[Number]) -> Number:
        outside, taps = constant(0, i1), list[list[tuple[Number, Number]]]()
        for line, axis, shrink in zip(lines, axes, shrinks, strict=True):
            place = _place(at[axis].to(f64), line, op.coordinate_transformation_mode.data)
            outside = outside | (place < 0) | ((line.size - 1) < place)
            own = _taps(op, place, line, shrink)
            taps.append([(pixel.greatest(0).least(line.size - 1).index(), share) for pixel, share in own])
        value = _weighted(x, at, axes, taps, is_nearest=op.method.data == "nearest")
        if roi is None:
            return narrowed(value, x.element)
        beyond = constant(op.extrapolation_value.value.data, element)
        return narrowed(choose(outside, beyond, value), x.element)

    return [generated(shape, x.element, body).value]


def _weighted(
    x: Table,
    at: Sequence[Number],
    axes: Sequence[int],
    taps: Sequence[Sequence[tuple[Number, Number]]],
    *,
    is_nearest: bool,
) -> Number:
    """The sum of pixels times their shares: along the height first, rounded as the op says."""

    def pixel(row: Number, column: Number) -> Number:
        places = list(at)
        places[axes[0]], places[axes[1]] = row, column
        return x.at(*places)

    if is_nearest:
        return pixel(taps[0][0][0], taps[1][0][0])
    total: Number | None = None
    for column, weight in taps[1]:
        line: Number | None = None
        for row, share in taps[0]:
            here = pixel(row, column).widened()
            part = here * share.to(here.type)
            line = part if line is None else line + part
        assert line is not None, "there are taps"
        part = line * weight.to(line.type)
        total = part if total is None else total + part
    assert total is not None, "there are taps"
    return total
