"""Ops on lines of elements: running sums and products, sequences of different lengths, Fourier transforms."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fields import flag, integer, optional_integer, tensor_operand, tensor_result
from fuse_dialect.dialect.loops import Nest
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.opaque import LineOp
from fuse_dialect.dialect.shape_rules import require_float, require_integers, require_positive, unify
from fuse_dialect.dialect.types import (
    DYNAMIC,
    element_count,
    is_unsigned,
    normalize_axis,
    require_rank,
    shape_text,
    with_shape,
)
from fuse_dialect.loops.indices import Guard, number
from fuse_dialect.loops.program import Combiner
from fuse_dialect.loops.special_functions import widened
from fuse_dialect.pattern_kind import PatternKind


class CumulativeOp(LineOp, ABC):
    """What the elements of each line up to each element combine to."""

    COMBINE: ClassVar[np.ufunc]
    """Combines two elements; its identity is what an exclusive line begins with."""
    COMBINER: ClassVar[Combiner]
    """The same, of a loop program."""

    result = tensor_result()

    axis = integer()
    """The axis of the lines."""
    exclusive = flag()
    """Whether an element is left out of its own result."""
    reverse = flag()
    """Whether lines run from their end."""

    def infer_types(self) -> Sequence[Attribute]:
        """The operand's type."""
        self.line_axis(self.axis.value.data)
        return (self.input.type,)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.ufunc.accumulate`, shifted by one element when exclusive."""
        x = np.moveaxis(widened(operands[0]), self.axis.value.data, 0)
        x = x[::-1] if self.reverse.value.data else x
        y = self.COMBINE.accumulate(x, axis=0, dtype=x.dtype)
        if self.exclusive.value.data:
            y = np.concatenate([np.full_like(y[:1], self.COMBINE.identity), y[:-1]])
        y = y[::-1] if self.reverse.value.data else y
        return (np.moveaxis(y, 0, self.axis.value.data).astype(operands[0].dtype, copy=False),)

    def loops(self, nest: Nest) -> SSAValue:
        """One step for each element, which keeps what the elements so far combine to."""
        axis = self.line_axis(self.axis.value.data)
        (size,) = nest.shape(0)[axis : axis + 1] if not self.reverse.value.data else nest.counted(nest.shape(0)[axis])
        nest.equal(nest.extents[axis], size)
        step = nest.reduced(size)
        if self.reverse.value.data and isinstance(size, int):
            step = number(size - 1) - step
        element = nest.read(0, [*nest.at[:axis], step, *nest.at[axis + 1 :]])
        is_exclusive = bool(self.exclusive.value.data)
        if self.reverse.value.data and isinstance(size, str):
            # No place counts from an end that is not known: all that stand behind an element are combined for it.
            behind = nest.inside([Guard(step - nest.at[axis] - int(is_exclusive), size)])
            nothing = scalars.constant(self.COMBINE.identity, scalars.widened(element).type)
            total = nest.total(self.COMBINER, scalars.select(behind, scalars.widened(element), nothing))
            return scalars.rounded(total, element)
        total = nest.running(axis, step, self.COMBINER, scalars.widened(element), is_exclusive=is_exclusive)
        return scalars.rounded(total, element)


@irdl_op_definition
class CumsumOp(CumulativeOp):
    """Sums of the elements of each line up to each element.

    Shapes: any of rank 1 or more, unchanged.
    Types: numbers; f16 and bf16 are summed in f32. With `exclusive` the element itself does not count, with `reverse`
        the line runs from its end.
    Kind: opaque.
    Cost: one operation an element.
    Source: ONNX CumSum, `numpy.cumsum`, Relay `cumsum`.
    """

    name = "fuse.cumsum"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))
    COMBINE: ClassVar[np.ufunc] = np.add
    COMBINER: ClassVar[Combiner] = Combiner.ADD


@irdl_op_definition
class CumprodOp(CumulativeOp):
    """Products of the elements of each line up to each element.

    Shapes: any of rank 1 or more, unchanged.
    Types: numbers; f16 and bf16 are multiplied in f32. With `exclusive` the element itself does not count, with
        `reverse` the line runs from its end.
    Kind: opaque.
    Cost: one operation an element.
    Source: ONNX CumProd, `numpy.cumprod`, Relay `cumprod`.
    """

    name = "fuse.cumprod"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))
    COMBINE: ClassVar[np.ufunc] = np.multiply
    COMBINER: ClassVar[Combiner] = Combiner.MULTIPLY


@irdl_op_definition
class ReverseSequenceOp(FuseOp):
    """The first `lengths[b]` elements along `seq_axis` in opposite order, for each `b` along `batch_axis`.

    Shapes: input of rank 2 or more, lengths [the size of `batch_axis`]; result as the input. A length is at most the
        size of `seq_axis`; a greater one counts as that.
    Types: any; integer lengths.
    Kind: injective.
    Cost: no arithmetic.
    Source: ONNX ReverseSequence, Relay `reverse_sequence`.
    """

    name = "fuse.reverse_sequence"
    traits = traits_def(OpPatternKind(PatternKind.INJECTIVE))
    FLOPS_PER_RESULT_ELEMENT: ClassVar[int] = 0

    input = tensor_operand()
    lengths = tensor_operand()
    result = tensor_result()

    seq_axis = integer(1)
    """The axis of the sequences."""
    batch_axis = integer(0)
    """The axis that tells sequences apart."""

    def infer_types(self) -> Sequence[Attribute]:
        """The input's type."""
        shape = tuple(self.input.type.get_shape())
        axes = [normalize_axis(axis.value.data, len(shape)) for axis in (self.seq_axis, self.batch_axis)]
        if axes[0] == axes[1]:
            raise VerifyException(f"expects two different axes, got {axes[0]} twice")
        require_integers(self.lengths.type, "lengths")
        (count,) = require_rank(self.lengths.type, 1, "lengths")
        unify(shape[axes[1]], count, "the batch axis and 'lengths'")
        return (self.input.type,)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """The elements at mirrored places."""
        x, lengths = operands
        seq, batch = (axis.value.data % x.ndim for axis in (self.seq_axis, self.batch_axis))
        size: int = x.shape[seq]
        places = np.arange(size, dtype=np.int64).reshape(1, -1)
        ends = np.minimum(lengths.astype(np.int64), size).reshape(-1, 1)
        order = np.where(places < ends, ends - 1 - places, places)
        moved = np.moveaxis(x, (batch, seq), (0, 1))
        return (np.moveaxis(moved[np.arange(len(moved))[:, None], order], (0, 1), (batch, seq)),)

    def loops(self, nest: Nest) -> SSAValue:
        """The element at the mirrored place."""
        rank = len(nest.at)
        seq, batch = (normalize_axis(axis.value.data, rank) for axis in (self.seq_axis, self.batch_axis))
        size = nest.extent(nest.shape(0)[seq])
        wanted = scalars.convert(
            nest.read(1, [nest.at[batch]]), i64, unsigned_source=is_unsigned(nest.type_of(1)), unsigned_target=False
        )
        place, end = nest.position(nest.at[seq]), scalars.minimum(wanted, size)
        mirrored = scalars.subtract(scalars.subtract(end, scalars.constant(1, i64)), place)
        place = scalars.select(scalars.compare("less", place, end), mirrored, place)
        return nest.read(0, [*nest.at[:seq], place, *nest.at[seq + 1 :]])


@irdl_op_definition
class DftOp(FuseOp):
    """The discrete Fourier transform of each line of complex or real numbers.

    Shapes: input [..., 1 or 2]: real parts, and imaginary parts if there are two. `axis` is one of the others; a line
        is cut or filled with zeros to `length`. Result [..., 2], with n elements on the axis, n / 2 + 1 of them with
        `onesided`. The inverse of a onesided one takes n / 2 + 1 elements and gives [..., 1].
    Types: floating point; f16 and bf16 are computed in f32.
    Kind: opaque.
    Cost: 5 * ceil(log2 n) operations an element of the result.
    Source: ONNX DFT, `numpy.fft`, Relay `dft`.
    """

    name = "fuse.dft"
    traits = traits_def(OpPatternKind(PatternKind.OPAQUE))

    input = tensor_operand()
    result = tensor_result()

    axis = integer(-2)
    """The axis of the lines; not the last one."""
    length = optional_integer()
    """Elements of a line; those that the input has when left out, or that its half stands for."""
    inverse = flag()
    """Whether the inverse transform is meant, which divides by the length."""
    onesided = flag()
    """Whether only the first half of a result is computed, or given in the input: the other half mirrors it."""

    def _line(self) -> tuple[int, int]:
        """The axis from the front, and the number of elements of a transformed line."""
        shape = self.input.type.get_shape()
        axis = normalize_axis(self.axis.value.data, len(shape))
        if axis == len(shape) - 1:
            raise VerifyException("expects an axis other than the last, which holds real and imaginary parts")
        if self.length is not None:
            return axis, require_positive(self.length.value.data, "length")
        if shape[axis] == DYNAMIC:
            return axis, DYNAMIC
        return axis, self._length_of(shape[axis])

    def line_of(self, shape: Sequence[int]) -> tuple[int, int]:
        """The axis from the front, and the number of elements of a transformed line, of an input of a shape."""
        axis = self.axis.value.data % len(shape)
        return axis, self._length_of(shape[axis]) if self.length is None else self.length.value.data

    def _length_of(self, size: int) -> int:
        """Elements of a transformed line, of an input with `size` of them."""
        length = 2 * (size - 1) if self.inverse.value.data and self.onesided.value.data else size
        if length < 1:
            raise VerifyException(f"expects lines of at least one element, got {size} on the axis")
        return length

    def infer_types(self) -> Sequence[Attribute]:
        """The input's shape with the elements of the result on the axis, and both parts."""
        require_float(self.input.type)
        shape = list(self.input.type.get_shape())
        if len(shape) < 2 or shape[-1] not in (1, 2):
            raise VerifyException(
                f"expects an input of rank 2 or more whose last axis has 1 or 2 elements, got {shape_text(shape)}"
            )
        axis, length = self._line()
        inverse, onesided = bool(self.inverse.value.data), bool(self.onesided.value.data)
        if onesided and (shape[-1] == 2) != inverse:
            raise VerifyException(
                f"expects {2 if inverse else 1} on the last axis of a onesided input, got {shape[-1]}"
            )
        shape[axis] = length // 2 + 1 if onesided and not inverse and length != DYNAMIC else length
        shape[-1] = 1 if onesided and inverse else 2
        return (with_shape(self.input.type, shape),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """`numpy.fft`."""
        x = widened(operands[0])
        onesided, inverse = self.onesided.value.data, self.inverse.value.data
        axis, length = self.line_of(x.shape)
        values = x[..., 0] if x.shape[-1] == 1 else x[..., 0] + 1j * x[..., 1]
        if onesided:
            y = np.fft.irfft(values, length, axis) if inverse else np.fft.rfft(values, length, axis)
        else:
            y = (np.fft.ifft if inverse else np.fft.fft)(values, length, axis)
        parts = y[..., None] if onesided and inverse else np.stack([y.real, y.imag], axis=-1)
        return (parts.astype(operands[0].dtype),)

    def flops(self) -> int | None:
        """A fast transform of each line."""
        count, (_, length) = element_count(self.result.type), self._line()
        return None if count is None or length == DYNAMIC else count * 5 * max(1, (length - 1).bit_length())
