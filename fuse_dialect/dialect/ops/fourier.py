"""Fourier transforms of several axes, on complex numbers whose real and imaginary parts are two tensors.

Two tensors and not pairs on a last axis: what surrounds a transform then works on whole vectors of parts. `fuse.dft`
has the pairs that ONNX has.
"""

from abc import ABC
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import flag, integer, integers, tensor_operand, tensor_result
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.shape_rules import product, require_positive, require_wide_float, unify, unify_shapes
from fuse_dialect.dialect.types import (
    DYNAMIC,
    Shape,
    Tensor,
    element_count,
    normalize_axis,
    require_same_element,
    with_shape,
)
from fuse_dialect.pattern_kind import PatternKind


class TransformOp(FuseOp, ABC):
    """A transform of some axes."""

    axes = integers(default=[-1])
    """The axes, each once; the last one of the list is halved where one is."""

    def axes_of(self, type: Tensor) -> tuple[int, ...]:
        """The axes from the front.

        Raises:
            VerifyException: The elements are not f32 or f64, or an axis is none, empty or there twice.
        """
        require_wide_float(type)
        shape = type.get_shape()
        axes = tuple(normalize_axis(axis, len(shape)) for axis in self.axes.get_values())
        if not axes or len(set(axes)) != len(axes):
            raise VerifyException(f"expects one axis or more, each once, got {list(self.axes.get_values())}")
        if any(shape[axis] == 0 for axis in axes):
            raise VerifyException("expects at least one element on each axis of the transform")
        return axes

    def transform_flops(self, type: Tensor) -> int | None:
        """5 n log2 n operations, for n points of complex numbers."""
        count = element_count(type)
        if count is None:
            return None
        points = product(type.get_shape()[axis] for axis in self.axes_of(type))
        return count * 5 * max(1, (points - 1).bit_length())


@irdl_op_definition
class FftOp(TransformOp):
    """The discrete Fourier transform of complex numbers; the inverse one divides by the number of points.

    Shapes: both operands and results have one shape.
    Types: f32 or f64.
    Kind: opaque.
    Cost: 5 * ceil(log2 n) operations an element of a result, for n points.
    Source: `numpy.fft.fftn` and `numpy.fft.ifftn`, StableHLO `fft`.
    """

    name = "fuse.fft"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))

    real = tensor_operand()
    imag = tensor_operand()
    real_result = tensor_result()
    imag_result = tensor_result()

    inverse = flag()
    """Whether the inverse transform is meant."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operands' type, twice."""
        self.axes_of(self.real.type)
        require_same_element([self.real.type, self.imag.type])
        both = with_shape(self.real.type, unify_shapes(self.real.type.get_shape(), self.imag.type.get_shape()))
        return (both, both)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.fft`."""
        function = np.fft.ifftn if self.inverse.value.data else np.fft.fftn
        y = function(joined(*operands), axes=self.axes.get_values())
        return (np.ascontiguousarray(y.real), np.ascontiguousarray(y.imag))

    def flops(self) -> int | None:
        """A fast transform."""
        return self.transform_flops(self.real.type)


@irdl_op_definition
class RfftOp(TransformOp):
    """The half of the transform of real numbers that says the other half: n // 2 + 1 points on the last axis of `axes`.

    Shapes: [..., n, ...]; results [..., n // 2 + 1, ...].
    Types: f32 or f64.
    Kind: opaque.
    Cost: 5 * ceil(log2 n) operations an element of the operand, for n points.
    Source: `numpy.fft.rfftn`, StableHLO `fft`.
    """

    name = "fuse.rfft"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))

    input = tensor_operand()
    real_result = tensor_result()
    imag_result = tensor_result()

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's shape with the last axis halved, twice."""
        halved, shape = self.axes_of(self.input.type)[-1], list(self.input.type.get_shape())
        shape[halved] = DYNAMIC if shape[halved] == DYNAMIC else shape[halved] // 2 + 1
        half = with_shape(self.input.type, shape)
        return (half, half)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.fft`."""
        y = np.fft.rfftn(operands[0], axes=self.axes.get_values())
        return (np.ascontiguousarray(y.real), np.ascontiguousarray(y.imag))

    def flops(self) -> int | None:
        """A fast transform."""
        return self.transform_flops(self.input.type)


@irdl_op_definition
class IrfftOp(TransformOp):
    """The real numbers whose transform has this half: `length` of them on the last axis of `axes`.

    The imaginary parts of the first point there, and of the last one if `length` is even, are taken for zeros.

    Shapes: both operands [..., length // 2 + 1, ...]; result [..., length, ...].
    Types: f32 or f64.
    Kind: opaque.
    Cost: 5 * ceil(log2 n) operations an element of the result, for n points.
    Source: `numpy.fft.irfftn`, StableHLO `fft`.
    """

    name = "fuse.irfft"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 5

    real = tensor_operand()
    imag = tensor_operand()
    result = tensor_result()

    length = integer()
    """Points on the last axis of `axes`."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operands' shape with `length` elements on the last axis."""
        halved, length = self.axes_of(self.real.type)[-1], require_positive(self.length.value.data, "length")
        require_same_element([self.real.type, self.imag.type])
        shape = list(unify_shapes(self.real.type.get_shape(), self.imag.type.get_shape()))
        unify(length // 2 + 1, shape[halved], "half of 'length', rounded down, and one, and the last axis")
        shape[halved] = length
        return (with_shape(self.real.type, shape),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.fft`."""
        *others, last = self.axes.get_values()
        values = joined(*operands)
        if others:
            values = np.fft.ifftn(values, axes=others)
        return (np.fft.irfft(values, self.length.value.data, last),)

    def flops(self) -> int | None:
        """A fast transform."""
        return self.transform_flops(self.result.type)


def joined(real: Array, imag: Array, *, empty: Callable[[Shape, "np.dtype[Any]"], Array] = np.empty) -> Array:
    """Complex numbers of real and imaginary parts, none of which a product changes.

    Args:
        real: One part.
        imag: The other.
        empty: What makes their memory.
    """
    values = empty(real.shape, np.result_type(real.dtype, np.complex64))
    values.real, values.imag = real, imag
    return values
