"""Convolutions: contractions in which each row of results reads a window of the first factor. Pure data.

1. The last two row axes span a grid of output pixels. A reduced axis that stands in one index together with a grid
   axis counts the *taps* of a window along that axis; the index is `step * pixel + dilation * tap`, times a factor,
   plus others.
2. Such an index depends on one number, the *position* `step * pixel + dilation * tap`. Neighbouring windows share
   positions. So the factor is computed once for each position of a strip, not once for each pixel and tap.
3. Reduced axes without a window are *free*. The innermost of them is the one whose neighbours lie side by side in
   memory, the channels.
"""

from dataclasses import dataclass, replace
from math import gcd

from fuse_dialect.loops.bodies import indices_of, with_indices
from fuse_dialect.loops.contraction import Contraction, shapes_of
from fuse_dialect.loops.indices import Index, Loop, axes_of
from fuse_dialect.loops.places import flat_place
from fuse_dialect.loops.program import Body, LoopProgram, Read


@dataclass(frozen=True, slots=True)
class Window:
    """How input positions along one grid axis follow from pixels and taps."""

    pixel: int | None
    """The axis of the pixels; `None` if there is one pixel."""
    pixels: int
    step: int
    tap: int | None
    """The reduced axis of the taps; `None` if there is one tap."""
    taps: int
    dilation: int

    def positions(self, pixels: int) -> int:
        """Number of positions that the windows of some neighbouring pixels cover."""
        return (pixels - 1) * self.step + (self.taps - 1) * self.dilation + 1


@dataclass(frozen=True, slots=True)
class Convolution:
    """A contraction with windows along up to two axes."""

    contraction: Contraction
    """Its reduced axes are in the order free, taps, innermost."""
    outer: tuple[int, ...]
    """All parallel axes but those of the grid and of the columns."""
    windows: tuple[Window, Window]
    free: tuple[int, ...]
    innermost: int | None
    by_position: Body
    """The rows factor; positions are two further axes, behind those of the stage."""


def convolution_of(program: LoopProgram, contraction: Contraction) -> Convolution | None:
    """The contraction as a convolution; `None` if its indices are of another form, or sizes are not known."""
    if len(contraction.column_axes) != 1 or not contraction.row_axes:
        return None
    sizes = [each.size for each in contraction.stage.axes]
    grid = (None, *contraction.row_axes)[-2:]
    found: list[Window] = []
    for axis in grid:
        window = _window(contraction, axis)
        if window is None:
            return None
        found.append(window)
    if not all(isinstance(sizes[axis], int) for axis in contraction.reduced):
        return None
    taps = [window.tap for window in found if window.tap is not None]
    free = [axis for axis in contraction.reduced if axis not in taps]
    innermost = _innermost(program, contraction, free)
    # (3) Neighbours in memory are read last, so that the innermost loop walks along them.
    free = [axis for axis in free if axis != innermost]
    body = _by_position(contraction, (found[0], found[1]))
    if body is None or len(set(taps)) < len(taps):
        return None
    order = (*free, *taps, *(() if innermost is None else (innermost,)))
    outer = tuple(sorted((*contraction.outer, *(axis for axis in contraction.row_axes if axis not in grid))))
    return Convolution(replace(contraction, reduced=order), outer, (found[0], found[1]), tuple(free), innermost, body)


def _window(contraction: Contraction, pixel: int | None) -> Window | None:
    """The window along a grid axis; one pixel and one tap if there is no axis."""
    if pixel is None:
        return Window(None, 1, 1, None, 1, 1)
    pixels = contraction.stage.axes[pixel].size
    if not isinstance(pixels, int):
        return None
    taps = {
        axis
        for index in indices_of(contraction.rows.body)
        if pixel in axes_of(index)
        for axis in axes_of(index)
        if axis in contraction.reduced
    }
    # (1) Two taps along one grid axis are no window: positions would not be one number.
    if len(taps) > 1:
        return None
    if not taps:
        return Window(pixel, pixels, 1, None, 1, 1)
    tap = taps.pop()
    count = contraction.stage.axes[tap].size
    for index in indices_of(contraction.rows.body):
        factors = {atom.axis: factor for atom, factor in index.terms if isinstance(atom, Loop)}
        if pixel in factors and tap in factors and isinstance(count, int):
            # (1) What both have in common is the distance of positions; what is left are step and dilation.
            common = gcd(factors[pixel], factors[tap])
            if min(factors[pixel], factors[tap]) > 0:
                return Window(pixel, pixels, factors[pixel] // common, tap, count, factors[tap] // common)
    return None


def _innermost(program: LoopProgram, contraction: Contraction, free: list[int]) -> int | None:
    shapes, rank = shapes_of(program), len(contraction.stage.axes)
    for instruction in contraction.rows.body:
        if isinstance(instruction, Read):
            place = flat_place(instruction.indices, shapes[instruction.buffer], rank)
            for axis in free:
                if place is not None and place.strides[axis].number == 1:
                    return axis
    return free[-1] if free else None


def _by_position(contraction: Contraction, windows: tuple[Window, Window]) -> Body | None:
    rank = len(contraction.stage.axes)
    failed: list[Index] = []

    def changed(index: Index) -> Index:
        for position, window in enumerate(windows):
            moved = _in_positions(index, window, rank + position)
            if moved is None:
                failed.append(index)
                return index
            index = moved
        return index

    body = tuple(with_indices(instruction, changed) for instruction in contraction.rows.body)
    return None if failed else body


def _in_positions(index: Index, window: Window, position: int) -> Index | None:
    """The index by a position in place of a pixel and a tap; `None` if it is of another form."""
    axes = [axis for axis in (window.pixel, window.tap) if axis is not None]
    if not any(axis in axes_of(index) for axis in axes):
        return index
    factors = {atom.axis: factor for atom, factor in index.terms if isinstance(atom, Loop)}
    rest = Index(tuple(term for term in index.terms if term[0] not in [Loop(axis) for axis in axes]), index.constant)
    times = [
        (factors.get(axis, 0), unit)
        for axis, unit in ((window.pixel, window.step), (window.tap, window.dilation))
        if axis is not None
    ]
    # (2) Pixel and tap must move the index in the ratio of step and dilation, or equal positions would differ in it.
    ratios = {factor // unit if factor % unit == 0 else None for factor, unit in times}
    if len(ratios) != 1 or None in ratios or any(axis in axes_of(rest) for axis in axes):
        return None
    ratio = ratios.pop()
    assert ratio is not None
    return rest + Index(((Loop(position), ratio),)) if ratio else rest
