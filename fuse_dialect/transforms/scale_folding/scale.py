"""Factors along one axis of a tensor, as constants of multiplications give them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import SSAValue

from fuse_dialect.dialect.constants import constant_of, without_repeats
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.ops.broadcast import AddOp, BiasAddOp, DivideOp, MultiplyOp, SubtractOp
from fuse_dialect.dialect.types import Tensor, is_tensor, normalize_axis

MAX_SPREAD = 64.0
"""Power of two of the factors that one value may take, together: products with weights then keep their digits."""


@dataclass(frozen=True)
class Scale:
    """One number for each element of an axis, or one for all elements."""

    axis: int | None
    """Counted from the front of the tensor that is scaled; `None` for one number."""
    factors: npt.NDArray[np.float64]
    """Of rank 1; of size 1 for one number."""

    def times(self, other: "Scale") -> "Scale":
        """Both scales at once; they run along the same axis, where they have one."""
        axis = other.axis if self.axis is None else self.axis
        return Scale(axis, self.factors * other.factors)

    @cached_property
    def is_positive(self) -> bool:
        """Whether multiplying keeps the sign, also that of what is not zero."""
        return bool((self.factors > 0).all())

    @cached_property
    def has_zero(self) -> bool:
        """Whether some factor is zero."""
        return not self.factors.all()

    @cached_property
    def spread(self) -> float:
        """The greatest power of two, up or down, of the factors that are not zero; infinite for inf and nan."""
        with np.errstate(all="ignore"):
            powers = np.abs(np.log2(np.abs(self.factors[self.factors != 0])))
        return float(np.where(np.isnan(powers), np.inf, powers).max(initial=0))

    def aligned(self, rank: int) -> npt.NDArray[np.float64]:
        """The factors in a shape that broadcasts against the scaled tensor of this rank."""
        if self.axis is None:
            return self.factors.reshape(())
        return self.factors.reshape((-1, *(1,) * (rank - 1 - self.axis)))


NO_SCALE = Scale(None, np.ones(1))
"""Leaves everything as it is."""


def is_scalable(value: SSAValue) -> bool:
    """Whether the elements are f32 or f64: products of narrower types would be rounded once more than before."""
    return is_tensor(value.type) and isinstance(value.type.element_type, Float32Type | Float64Type)


def along_one_axis(array: Array, shape: Sequence[int]) -> Scale | None:
    """The numbers of a constant that broadcasts to `shape`, when they differ along one axis at most.

    A splat is one number, so that it takes no memory for the elements that it stands for.
    """
    first = len(shape) - array.ndim
    if first < 0 or not array.size:
        return None
    # Where sizes differ, the constant is what makes the tensor wide, or the size is dynamic.
    if any(size not in (1, shape[first + axis]) for axis, size in enumerate(array.shape)):
        return None
    different = without_repeats(array)
    wide = [axis for axis, size in enumerate(different.shape) if size != 1]
    if len(wide) > 1:
        return None
    return Scale(first + wide[0] if wide else None, different.reshape(-1).astype(np.float64))


@dataclass(frozen=True, slots=True)
class Scaling:
    """A multiplication by, or division by, a constant."""

    data: SSAValue
    scale: Scale


KnownScales: TypeAlias = dict[tuple[SSAValue, tuple[int, ...], bool], Scale | None]
"""The scale of each constant, by the shape that it broadcasts to and whether it divides: many ops may share one."""


def scaling_of(op: MultiplyOp | DivideOp, known: KnownScales) -> Scaling | None:
    """What the op scales, and by what; `None` when that is no constant along one axis, or changes the type."""
    sides = ((op.lhs, op.rhs), (op.rhs, op.lhs))
    for data, factor in sides if isinstance(op, MultiplyOp) else sides[:1]:
        if data.type != op.result.type or not is_scalable(data):
            continue
        key = (factor, tuple(data.type.get_shape()), isinstance(op, DivideOp))
        if key not in known:
            known[key] = _scale_of(*key)
        scale = known[key]
        if scale is not None and scale.spread <= MAX_SPREAD:
            return Scaling(data, scale)
    return None


def _scale_of(factor: SSAValue, shape: tuple[int, ...], divides: bool) -> Scale | None:
    array = constant_of(factor)
    scale = None if array is None else along_one_axis(array, shape)
    if scale is None or not divides:
        return scale
    with np.errstate(all="ignore"):
        return Scale(scale.axis, 1 / scale.factors)


@dataclass(frozen=True, slots=True)
class Shifting:
    """An addition of a constant."""

    data: SSAValue
    index: int
    """Which operand of the op the constant is."""
    term: Array
    """The constant, in a shape that broadcasts against the data."""
    is_vector: bool = False
    """Whether the op wants a constant of rank 1, one number for each element of an axis."""

    def times(self, factors: Array) -> Array:
        """The constant, scaled; of the type of both, and a splat if both are one number."""
        scaled = np.asarray(without_repeats(self.term).astype(np.float64) * factors)
        return np.broadcast_to(scaled, np.broadcast_shapes(self.term.shape, factors.shape))

    def admits(self, axis: int) -> bool:
        """Whether the constant can take a scale along `axis` without growing by other axes."""
        rank = rank_of(self.data)
        wide = {place + rank - self.term.ndim for place, size in enumerate(self.term.shape) if size != 1}
        is_ordinary = bool((np.abs(without_repeats(self.term)) < 2.0 ** (126 - MAX_SPREAD)).all())
        return is_ordinary and (axis in wide or not (wide or self.is_vector))


def shifting_of(op: AddOp | SubtractOp | BiasAddOp) -> Shifting | None:
    """What the op adds to, and what: a scale of the result is one of both, also where one is subtracted."""
    if isinstance(op, BiasAddOp):
        bias = constant_of(op.bias)
        if bias is None or not is_scalable(op.input) or op.input.type != op.result.type:
            return None
        rank = rank_of(op.input)
        axis = normalize_axis(op.axis.value.data, rank)
        return Shifting(op.input, 1, bias.reshape((-1, *(1,) * (rank - 1 - axis))), is_vector=True)
    for index, data, term in ((1, op.lhs, op.rhs), (0, op.rhs, op.lhs)):
        array = constant_of(term)
        if array is not None and data.type == op.result.type and is_scalable(data):
            return Shifting(data, index, array)
    return None


def rank_of(value: SSAValue) -> int:
    """The number of axes of a tensor."""
    return cast(Tensor, value.type).get_num_dims()
