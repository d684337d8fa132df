"""Images sampled at another resolution: kind `injective`."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.budget import MOST_PLACES
from fuse_dialect.counts import Size
from fuse_dialect.dialect import resampling, scalars
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.axis_layout import permutation
from fuse_dialect.dialect.fields import (
    flag,
    integers,
    optional_reals,
    real,
    string,
    tensor_operand,
    tensor_result,
)
from fuse_dialect.dialect.loops import Kept, LoopFormError, Nest, Place
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.reals import Real
from fuse_dialect.dialect.shape_rules import (
    integer_list,
    one_of,
    require_float,
)
from fuse_dialect.dialect.types import (
    element_count,
    element_dtype,
    require_rank,
    shape_text,
    with_shape,
)
from fuse_dialect.loops.indices import Index
from fuse_dialect.loops.program import Combiner
from fuse_dialect.loops.special_functions import widened
from fuse_dialect.pattern_kind import PatternKind


@irdl_op_definition
class Resize2dOp(FuseOp):
    """An image sampled at another resolution.

    Shapes: [N, C, H, W] to [N, C, *size], or NHWC. `scales`, where given, replace size / operand size in the
        formula of the coordinates.
    Types: any for method `nearest`, floating point for the others; f16 and bf16 are computed in f32.
    Kind: injective.
    Cost: none for `nearest`, nine operations an element for `linear`: three interpolations of three; forty for `cubic`.
    Source: ONNX Resize, Relay `image.resize2d`.
    """

    name = "fuse.resize2d"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))

    input = tensor_operand()
    result = tensor_result()

    size = integers()
    """Height and width of the result."""
    layout = string("NCHW")
    """`NCHW` or `NHWC`."""
    method = string("nearest")
    """`nearest`, `linear` or `cubic`."""
    coordinate_transformation_mode = string("half_pixel")
    """Where a pixel lies in the operand: `half_pixel`, `align_corners`, `asymmetric`, `pytorch_half_pixel`,
    `half_pixel_symmetric` or `tf_crop_and_resize`."""
    nearest_mode = string("round_prefer_floor")
    """How a place becomes a pixel: `round_prefer_floor`, `round_prefer_ceil`, `floor`, `ceil`."""
    scales = optional_reals()
    """Vertical and horizontal scale, for the places alone; result / operand size when left out."""
    cubic_alpha = real(-0.75)
    """The slope of the cubic kernel at a distance of one pixel."""
    exclude_outside = flag()
    """Whether pixels beyond the ends count for nothing, in place of the outermost pixel; not for `nearest`."""
    antialias = flag()
    """Whether all pixels that a pixel of a smaller result covers count; not for `nearest`."""
    roi = optional_reals()
    """The part of the operand that `tf_crop_and_resize` takes: top, left, bottom, right, 0 to 1 of the last pixel."""
    extrapolation_value = real(0.0)
    """What `tf_crop_and_resize` puts where `roi` reaches beyond the operand."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's batch and channels with the new height and width."""
        layout = one_of(self.layout, ("NCHW", "NHWC"), "layout")
        method = one_of(self.method, ("nearest", "linear", "cubic"), "method")
        one_of(self.coordinate_transformation_mode, resampling.COORDINATE_MODES, "coordinate_transformation_mode")
        one_of(self.nearest_mode, resampling.NEAREST_MODES, "nearest_mode")
        if method != "nearest":
            require_float(self.input.type)
        if (self.roi is None) == (self.coordinate_transformation_mode.data == "tf_crop_and_resize"):
            raise VerifyException("expects roi with the mode 'tf_crop_and_resize', and only with it")
        if self.roi is not None and not (len(self.roi) == 4 and all(map(math.isfinite, self.roi.get_values()))):
            raise VerifyException(f"expects 4 finite numbers in roi, got {list(self.roi.get_values())}")
        scales = (1.0, 1.0) if self.scales is None else self.scales.get_values()
        if len(scales) != 2 or not all(scale > 0 for scale in scales):
            raise VerifyException(f"expects 2 positive numbers in scales, got {list(scales)}")
        shape = list(require_rank(self.input.type, 4, "input"))
        sizes = integer_list(self.size, 2, "size", least=1)
        for letter, size in zip("HW", sizes, strict=True):
            if not shape[layout.index(letter)]:
                raise VerifyException(f"expects pixels to sample, got {shape_text(shape)}")
            shape[layout.index(letter)] = size
        return (with_shape(self.input.type, shape),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Samples along the height, then along the width."""
        (x,), method = operands, self.method.data
        y = x.transpose(permutation(self.layout.data, "NCHW"))
        y = y if method == "nearest" else widened(y)
        for axis in (2, 3):
            y = self._sampled(y, axis)
        return (y.transpose(permutation("NCHW", self.layout.data)).astype(x.dtype, copy=False),)

    def _sampled(self, y: Array, axis: int) -> Array:
        """The samples along the height (2) or the width (3)."""
        count, size, method = self.size.get_values()[axis - 2], y.shape[axis], self.method.data
        if not size:
            raise VerifyException(f"expects pixels to sample, got {shape_text(y.shape)} in the layout NCHW")
        scale = count / size if self.scales is None else self.scales.get_values()[axis - 2]
        roi = None if self.roi is None else self.roi.get_values()
        if roi is None:
            places = resampling.coordinates(size, count, scale, self.coordinate_transformation_mode.data)
        else:
            places = resampling.cropped_coordinates(size, count, roi[axis - 2], roi[axis])
        if method == "nearest":
            sampled = resampling.nearest(y, axis, places, self.nearest_mode.data)
        elif method == "linear" and not self.antialias.value.data and not self.exclude_outside.value.data:
            sampled = resampling.linear(y, axis, places)
        else:
            covers = bool(self.antialias.value.data)
            sampled = resampling.weighted(
                y,
                axis,
                places,
                method,
                alpha=self.cubic_alpha.value.data,
                shrink=min(scale, 1.0) if covers else 1.0,
                exclude_outside=bool(self.exclude_outside.value.data),
                only_covered=covers,
            )
        if roi is not None:
            beyond = ((places < 0) | (places > size - 1)).reshape([-1 if i == axis else 1 for i in range(4)])
            sampled = np.where(beyond, np.array(self.extrapolation_value.value.data).astype(y.dtype), sampled)
        return sampled

    def loops(self, nest: Nest) -> SSAValue:
        """The nearest pixel, or the four around the place, by their distances along the height and the width.

        The size of the result is that of the nest: `dyn_resize2d` has these loops, too.
        """
        height, width = axes = [self._axis(nest, letter) for letter in "HW"]
        if nest.is_for_kernel and any(isinstance(axis.count, int) and axis.count > MOST_PLACES for axis in axes):
            raise LoopFormError(f"has more than {MOST_PLACES} pixels along an axis")
        if self.method.data == "nearest":
            value = self._pixel(nest, [self._near(nest, axis) for axis in axes])
        elif self.antialias.value.data:
            value = self._covered(nest, height, width)
        else:
            value = self._weighted(nest, height, width)
        if self.roi is None:
            return value
        beyond = nest.read_kept(*self._beyond(nest, height))
        beyond = scalars.apply(arith.OrIOp, beyond, nest.read_kept(*self._beyond(nest, width)))
        return scalars.select(beyond, scalars.constant(self.extrapolation_value.value.data, value.type), value)

    def _beyond(self, nest: Nest, axis: "_Axis") -> tuple[Kept, list[Place]]:
        """A table of whether a place lies outside of the pixels along an axis, and where it is read."""

        def value(inner: Nest) -> SSAValue:
            place = self._place(inner, inner.at[0], axis)
            last = (axis.real_size(inner) - 1).code
            return scalars.apply(arith.OrIOp, scalars.is_negative(place), scalars.compare("less", last, place))

        return nest.kept([axis.count], value), [nest.at[axis.place]]

    def _covered(self, nest: Nest, height: "_Axis", width: "_Axis") -> SSAValue:
        """The sum of all pixels that a pixel of a smaller result covers: along the height, then along the width."""
        tables = {axis.place: self._covering(nest, axis) for axis in (height, width)}

        def along(inner: Nest, axes: Sequence["_Axis"], read: Callable[[list[Place]], SSAValue]) -> SSAValue:
            places, weights = list[Place](inner.at), list[SSAValue]()
            for axis in axes:
                indices, shares, _, taps = tables[axis.place]
                at = [inner.at[axis.place], inner.reduced(taps)]
                places[axis.place] = inner.read_kept(indices, at)
                weights.append(inner.read_kept(shares, at))
            value = scalars.widened(read(places))
            weight = reduce(scalars.multiply, weights)
            # The list has room for pixels that are not covered: an infinite one must add nothing.
            nothing = scalars.constant(0, weight.type)
            value = scalars.select(scalars.compare("equal", weight, nothing), nothing, value)
            total = inner.total(Combiner.ADD, scalars.multiply(value, weight))
            wholes = [inner.read_kept(tables[axis.place][2], [inner.at[axis.place]]) for axis in axes]
            return scalars.divide(total, reduce(scalars.multiply, wholes))

        shape = nest.extents
        if all(isinstance(size, int) for size in (*shape, width.size)):
            size = (*shape[: width.place], width.size, *shape[width.place + 1 :])
            lines = nest.kept(size, lambda inner: along(inner, [height], lambda places: inner.read(0, places)))
            total = along(nest, [width], lambda places: nest.read_kept(lines, places))
        else:  # a kernel has no room for as many lines as sizes say that are known only when it runs
            total = along(nest, [height, width], lambda places: nest.read(0, places))
        return scalars.rounded(total, scalars.constant(0, scalars.signless(self.input.type.element_type)))

    def _covering(self, nest: Nest, axis: "_Axis") -> tuple[Kept, Kept, Kept, int]:
        """Tables of the pixels that count for each place along an axis, of their shares and their sum; how many count.

        Raises:
            LoopFormError: A scale is not known, on which it depends how many count, or too many do for a kernel.
        """
        if axis.scale is None:
            nest.static(axis.size, axis.count)
        scale = cast("int", axis.count) / cast("int", axis.size) if axis.scale is None else axis.scale
        shrink, (reach, _) = min(scale, 1.0), resampling.KERNELS[self.method.data]
        span = math.ceil(reach / shrink)
        taps, wide = 2 * span + 1, self._wide
        if nest.is_for_kernel and taps > MOST_PLACES:
            raise LoopFormError(f"reads more than {MOST_PLACES} pixels along an axis")

        def pixel(inner: Nest, place: SSAValue, tap: Index) -> SSAValue:
            offset = _converted(inner.position(tap - span), f64)
            return scalars.add(scalars.apply(math_dialect.FloorOp, place), offset)

        def share(inner: Nest, tap: Index) -> SSAValue:
            """Not yet of a whole."""
            place, size = self._place(inner, inner.at[0], axis), axis.real_size(inner).code
            return self._share(pixel(inner, place, tap), place, size, shrink)

        def index(inner: Nest) -> SSAValue:
            at = pixel(inner, self._place(inner, inner.at[0], axis), inner.at[1])
            return _converted(resampling.clipped(at, inner.count(axis.size, plus=-1)), i32)

        shares = nest.kept([axis.count, taps], lambda inner: _converted(share(inner, inner.at[1]), wide))

        def whole(inner: Nest) -> SSAValue:
            return inner.total(Combiner.ADD, inner.read_kept(shares, [inner.at[0], inner.reduced(taps)]))

        return nest.kept([axis.count, taps], index), shares, nest.kept([axis.count], whole), taps

    def _weighted(self, nest: Nest, height: "_Axis", width: "_Axis") -> SSAValue:
        """The sum of the pixels around a place by their shares: between the rows, then between the columns."""
        rows, columns = (self._taps(nest, axis) for axis in (height, width))

        def line(inner: Nest, column: Place) -> SSAValue:
            """Between the rows, at one pixel of the operand's lines."""
            row = inner.at[height.place]
            values = [scalars.widened(self._pixel(inner, [tap.index(inner, row), column])) for tap in rows]
            return _weighted(inner, values, rows, row)

        shape, column = nest.extents, nest.at[width.place]
        at = [tap.index(nest, column) for tap in columns]
        like = scalars.constant(0, scalars.signless(self.input.type.element_type))
        if self.layout.data == "NHWC" or not all(isinstance(size, int) for size in (*shape, width.size)):
            return scalars.rounded(_weighted(nest, [line(nest, each) for each in at], columns, column), like)
        # Lanes run along the width: from each line the pixels are picked once for both directions.
        size = (*shape[: width.place], width.size, *shape[width.place + 1 :])
        lines = nest.kept(size, lambda inner: line(inner, inner.at[width.place]))
        picked = [nest.read_kept(lines, [*nest.at[: width.place], each, *nest.at[width.place + 1 :]]) for each in at]
        return scalars.rounded(_weighted(nest, picked, columns, column), like)

    def _axis(self, nest: Nest, letter: str) -> "_Axis":
        """What the nest knows of the height or of the width."""
        place = self.layout.data.index(letter)
        scale = None if self.scales is None else self.scales.get_values()["HW".index(letter)]
        roi = None if self.roi is None else self.roi.get_values()["HW".index(letter) :: 2]
        return _Axis(place, nest.shape(0)[place], nest.extents[place], scale, roi)

    def _taps(self, nest: Nest, axis: "_Axis") -> list["_Tap"]:
        """The pixels around a place that count, along the height or the width."""
        wide = self._wide

        def table(compute: Callable[[Nest, SSAValue, SSAValue], SSAValue]) -> Kept:
            def value(inner: Nest) -> SSAValue:
                place = self._place(inner, inner.at[0], axis)
                return compute(inner, place, scalars.apply(math_dialect.FloorOp, place))

            return nest.kept([axis.count], value)

        def index(offset: int) -> Kept:
            def value(inner: Nest, _: SSAValue, first: SSAValue) -> SSAValue:
                pixel = scalars.add(first, scalars.constant(offset, f64))
                return _converted(resampling.clipped(pixel, inner.count(axis.size, plus=-1)), i32)

            return table(value)

        def share(inner: Nest, place: SSAValue, first: SSAValue, offset: int) -> SSAValue:
            if self._is_between:
                part = _converted(scalars.subtract(place, first), wide)
                return part if offset else scalars.subtract(scalars.constant(1, wide), part)
            shares = self._shares(place, first, axis.real_size(inner).code)
            total = reduce(scalars.add, shares.values())
            return _converted(scalars.divide(shares[offset], total), wide)

        return [
            _Tap(index(offset), table(lambda inner, place, first, offset=offset: share(inner, place, first, offset)))
            for offset in self._offsets(axis)
        ]

    @property
    def _wide(self) -> Attribute:
        """The type in which pixels are weighted."""
        element = scalars.signless(self.input.type.element_type)
        return f32 if element_dtype(element).itemsize == 2 else element

    @property
    def _is_between(self) -> bool:
        """Whether two pixels count, by their distances alone."""
        return self.method.data == "linear" and not self.exclude_outside.value.data

    @property
    def _all_offsets(self) -> Sequence[int]:
        """Which pixels around a place may count, as distances from the one before it."""
        return (0, 1) if self.method.data == "linear" else (-1, 0, 1, 2)

    def _offsets(self, axis: "_Axis") -> Sequence[int]:
        """Those that count for any of the places; all that may, where sizes that are open decide it."""
        places = self._places(axis)
        if self._is_between or places is None:
            return self._all_offsets
        method, alpha, excludes = self.method.data, self.cubic_alpha.value.data, bool(self.exclude_outside.value.data)
        return resampling.offsets_of(places, cast("int", axis.size), method, alpha, exclude_outside=excludes)

    def _shares(self, place: SSAValue, first: SSAValue, size: SSAValue) -> dict[int, SSAValue]:
        """The shares of the pixels around a place that may count, not yet a whole."""
        shares: dict[int, SSAValue] = {}
        for offset in self._all_offsets:
            pixel = scalars.add(first, scalars.constant(offset, f64))
            shares[offset] = self._share(pixel, place, size)
        return shares

    def _share(self, pixel: SSAValue, place: SSAValue, size: SSAValue, shrink: float = 1.0) -> SSAValue:
        """The share of a pixel by its distance from a place, not yet of a whole."""
        distance = scalars.subtract(pixel, place)
        if shrink != 1:
            distance = scalars.multiply(distance, scalars.constant(shrink, f64))
        distance = scalars.apply(math_dialect.AbsFOp, distance)
        share = resampling.share_code(distance, self.method.data, self.cubic_alpha.value.data)
        if not self.exclude_outside.value.data:
            return share
        zero = scalars.constant(0, f64)
        is_inside = scalars.apply(
            arith.AndIOp, scalars.compare("greater_equal", pixel, zero), scalars.compare("less", pixel, size)
        )
        return scalars.select(is_inside, share, zero)

    def _pixel(self, nest: Nest, places: Sequence[Place]) -> SSAValue:
        """The operand's element of the same sample and channel at a height and a width."""
        indices: list[Place] = list(nest.at)
        for letter, place in zip("HW", places, strict=True):
            indices[self.layout.data.index(letter)] = place
        return nest.read(0, indices)

    def _place(self, nest: Nest, at: Index, axis: "_Axis") -> SSAValue:
        """Where the result's pixel at an index lies among the pixels of the operand, along one axis."""
        pixel, size, count = _converted(nest.position(at), f64), axis.real_size(nest), axis.real_count(nest)
        if axis.part is not None:
            return resampling.cropped_code(pixel, size, count, *axis.part)
        scale = count / size if axis.scale is None else Real(axis.scale)
        return resampling.coordinate_code(pixel, size, count, scale, self.coordinate_transformation_mode.data)

    def _places(self, axis: "_Axis") -> npt.NDArray[np.float64] | None:
        """The same for all pixels; `None` if a size is open, or too large for a list."""
        size, count = axis.size, axis.count
        if not isinstance(size, int) or not isinstance(count, int) or count > MOST_PLACES:
            return None
        if axis.part is not None:
            return resampling.cropped_coordinates(size, count, *axis.part)
        scale = count / size if axis.scale is None else axis.scale
        return resampling.coordinates(size, count, scale, self.coordinate_transformation_mode.data)

    def _near(self, nest: Nest, axis: "_Axis") -> Place:
        """The nearest pixel along the height or the width: by a plain formula, if there is one, else from a table."""
        mode, places, at = self.nearest_mode.data, self._places(axis), nest.at[axis.place]
        if places is not None:
            size = cast("int", axis.size)
            steps = resampling.as_steps(resampling.nearest_places(places, size, mode), size)
            if steps is not None:
                factor, offset, divisor = steps
                return (at * factor + offset) // divisor

        def pixel(inner: Nest) -> SSAValue:
            place, last = self._place(inner, inner.at[0], axis), inner.count(axis.size, plus=-1)
            return _converted(resampling.nearest_code(place, last, mode), i32)

        return nest.read_kept(nest.kept([axis.count], pixel), [at])

    def flops(self) -> int | None:
        """Three linear interpolations an element, each a subtraction, a multiplication and an addition; or five cubic.

        A cubic one has four products and sums.
        """
        count = element_count(self.result.type)
        return None if count is None else count * {"nearest": 0, "linear": 9, "cubic": 40}[self.method.data]


@dataclass(frozen=True, slots=True)
class _Axis:
    """The height or the width."""

    place: int
    """Which axis of the layout it is."""
    size: Size
    """Pixels of the operand."""
    count: Size
    """Pixels of the result."""
    scale: float | None
    """Pixels of the result for one of the operand, if it is not the quotient of the two."""
    part: Sequence[float] | None
    """Where the part of the operand that is taken begins and ends; `None` for the whole."""

    def real_size(self, nest: Nest) -> Real:
        """The size as a float."""
        return _real(nest, self.size)

    def real_count(self, nest: Nest) -> Real:
        """The count as a float."""
        return _real(nest, self.count)


@dataclass(frozen=True, slots=True)
class _Tap:
    """One of the pixels around a place, along one axis."""

    indices: Kept
    """A table of where it is."""
    shares: Kept
    """A table of what it counts."""

    def index(self, nest: Nest, at: Index) -> SSAValue:
        """Where the pixel is for one pixel of the result."""
        return nest.read_kept(self.indices, [at])


def _weighted(nest: Nest, values: Sequence[SSAValue], taps: Sequence[_Tap], at: Index) -> SSAValue:
    """The sum of values by their shares at a place, from the first on."""
    shares = [nest.read_kept(tap.shares, [at]) for tap in taps]
    return reduce(scalars.add, [scalars.multiply(*pair) for pair in zip(values, shares, strict=True)])


def _real(nest: Nest, size: Size) -> Real:
    return Real(float(size)) if isinstance(size, int) else Real(_converted(nest.extent(size), f64))


def _converted(x: SSAValue, type: Attribute) -> SSAValue:
    """A number in another type; integers have a sign."""
    return scalars.convert(x, type, unsigned_source=False, unsigned_target=False)
