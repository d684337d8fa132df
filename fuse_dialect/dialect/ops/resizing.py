"""Images sampled at another resolution: kind `injective`."""

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect import resampling, scalars
from fuse_dialect.dialect.accumulation import widened
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
from fuse_dialect.dialect.loops import LoopFormError, Nest, Place
from fuse_dialect.dialect.op import Array, FuseOp
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
            shrink = min(scale, 1.0) if self.antialias.value.data else 1.0
            outside, alpha = bool(self.exclude_outside.value.data), self.cubic_alpha.value.data
            sampled = resampling.weighted(y, axis, places, method, alpha=alpha, shrink=shrink, exclude_outside=outside)
        if roi is not None:
            beyond = ((places < 0) | (places > size - 1)).reshape([-1 if i == axis else 1 for i in range(4)])
            sampled = np.where(beyond, np.array(self.extrapolation_value.value.data).astype(y.dtype), sampled)
        return sampled

    def loops(self, nest: Nest) -> SSAValue:
        """The nearest pixel, or the four around the place, by their distances along the height and the width."""
        plain = not self.antialias.value.data and not self.exclude_outside.value.data and self.roi is None
        if not plain or self.method.data == "cubic":
            raise LoopFormError("has no loop form for these properties")
        if self.method.data == "nearest":
            return self._pixel(nest, [self._near(nest, axis) for axis in (0, 1)])
        element = scalars.signless(self.input.type.element_type)
        wide = f32 if element_dtype(element).itemsize == 2 else element
        sides: list[tuple[SSAValue, SSAValue]] = []
        weights: list[SSAValue] = []
        for axis in (0, 1):
            place = self._place(nest, axis)
            first = scalars.apply(math_dialect.FloorOp, place)
            second = scalars.add(first, scalars.constant(1, f64))
            size = self._sizes(nest)[axis]
            sides.append((resampling.clipped(first, size), resampling.clipped(second, size)))
            distance = scalars.subtract(place, first)
            weights.append(scalars.convert(distance, wide, unsigned_source=False, unsigned_target=False))
        corners = [[self._pixel(nest, [row, column]) for row in sides[0]] for column in sides[1]]
        left, right = (_between(scalars.widened(one), scalars.widened(other), weights[0]) for one, other in corners)
        return scalars.rounded(_between(left, right, weights[1]), corners[0][0])

    def _sizes(self, nest: Nest) -> tuple[int, ...]:
        """Height and width of the operand."""
        return nest.static(*(nest.shape(0)[self.layout.data.index(letter)] for letter in "HW"))

    def _pixel(self, nest: Nest, places: Sequence[Place]) -> SSAValue:
        """The operand's element of the same sample and channel at a height and a width."""
        indices: list[Place] = list(nest.at)
        for letter, place in zip("HW", places, strict=True):
            indices[self.layout.data.index(letter)] = place
        return nest.read(0, indices)

    def _scale(self, nest: Nest, axis: int) -> float:
        """Pixels of the result for one of the operand, along the height (0) or the width (1)."""
        return self.scales.get_values()[axis] if self.scales else self.size.get_values()[axis] / self._sizes(nest)[axis]

    def _place(self, nest: Nest, axis: int) -> SSAValue:
        """Where the result's pixel lies in the operand, along the height or the width."""
        index = nest.position(nest.at[self.layout.data.index("HW"[axis])])
        pixel = scalars.convert(index, f64, unsigned_source=False, unsigned_target=False)
        mode = self.coordinate_transformation_mode.data
        size, count = self._sizes(nest)[axis], self.size.get_values()[axis]
        return resampling.coordinate_code(pixel, size, count, self._scale(nest, axis), mode)

    def _near(self, nest: Nest, axis: int) -> Place:
        """The nearest pixel along the height or the width: by a plain formula, if there is one."""
        size, count, mode = self._sizes(nest)[axis], self.size.get_values()[axis], self.nearest_mode.data
        transformation = self.coordinate_transformation_mode.data
        places = resampling.coordinates(size, count, self._scale(nest, axis), transformation)
        steps = resampling.as_steps(resampling.nearest_places(places, size, mode), size)
        if steps is None:
            return resampling.nearest_code(self._place(nest, axis), size, mode)
        factor, offset, divisor = steps
        return (nest.at[self.layout.data.index("HW"[axis])] * factor + offset) // divisor

    def flops(self) -> int | None:
        """Three linear interpolations an element, each a subtraction, a multiplication and an addition; or five cubic.

        A cubic one has four products and sums.
        """
        count = element_count(self.result.type)
        return None if count is None else count * {"nearest": 0, "linear": 9, "cubic": 40}[self.method.data]


def _between(one: SSAValue, other: SSAValue, weight: SSAValue) -> SSAValue:
    """What lies on the line between two values."""
    rest = scalars.subtract(scalars.constant(1, weight.type), weight)
    return scalars.add(scalars.multiply(one, rest), scalars.multiply(other, weight))
