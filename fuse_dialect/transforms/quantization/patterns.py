"""What ops on quantized numbers look like: integers of 8 bits that stand for `(q - zero) * scale`.

Frontends write these conversions by their formulas:

    integers(q)    cast(q) as i32, less the zero point if there is one
    reals(q)       cast(integers(q)) as f32, times the scale
    rounded(x)     cast(clip(round(x) + zero)) as i8 or ui8, perhaps with the least number where that is nan
    quantized(x)   rounded(x / scale)

Zero points and scales that count here are one number for the whole tensor, or, of weights, one for each channel.
"""

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import IntegerType, f32, i32
from xdsl.ir import SSAValue

from fuse_dialect.dialect.constants import constant_of
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.activation import ClipOp, ReluOp
from fuse_dialect.dialect.ops.broadcast import AddOp, BiasAddOp, DivideOp, MultiplyOp, SubtractOp, WhereOp
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.dialect.ops.convolution import Conv2dOp
from fuse_dialect.dialect.ops.elementwise import IsnanOp, RoundOp
from fuse_dialect.dialect.ops.layout import ReshapeOp, TransposeOp
from fuse_dialect.dialect.ops.matmul import DenseOp, MatmulOp
from fuse_dialect.dialect.ops.replication import ExpandDimsOp
from fuse_dialect.dialect.types import is_tensor, is_unsigned, tensor_type

_PARAMETER_OPS = (CastOp, ReshapeOp, ExpandDimsOp)
_MOST_STEPS = 4
_SUMS = (AddOp, BiasAddOp, ReluOp, ClipOp, ReshapeOp, TransposeOp)
_PRODUCTS = (Conv2dOp, DenseOp, MatmulOp)
_LARGE = 1e6
"""Products of integers of 32 bits by such numbers, products of two of these, and sums of any number are numbers."""
_MOST_LOOKED_AT = 16


@dataclass(frozen=True, slots=True)
class Integers:
    """The i32 `q - zero`."""

    q: SSAValue
    """Integers of 8 bits."""
    zero: SSAValue | None
    """What is subtracted, as i32; `None` for nothing."""


@dataclass(frozen=True, slots=True)
class Reals:
    """The f32 `(q - zero) * scale`."""

    integers: Integers
    scale: SSAValue


@dataclass(frozen=True, slots=True)
class Rounding:
    """The conversion of f32 to integers of 8 bits without a scale: rounded, perhaps a zero point added, and bounded."""

    source: SSAValue
    """What is rounded."""
    rounded: SSAValue
    cast: CastOp
    zero: int
    has_least_for_nan: bool
    """Whether nan gives the least integer; else it gives 0, as `cast` does. Without sign both are the same."""


@dataclass(frozen=True, slots=True)
class Quantization:
    """The conversion of f32 to integers of 8 bits, by one scale and one zero point that are known."""

    source: SSAValue
    divide: DivideOp
    scale: np.float32
    rounding: Rounding

    @property
    def cast(self) -> CastOp:
        """What gives the integers."""
        return self.rounding.cast

    @property
    def zero(self) -> int:
        """The zero point."""
        return self.rounding.zero


def is_byte(value: SSAValue) -> bool:
    """Whether a value is a tensor of i8 or ui8."""
    if not is_tensor(value.type):
        return False
    match value.type.element_type:
        case IntegerType() as element:
            return element.width.data == 8
        case _:
            return False


def elements_of(value: SSAValue) -> Array | None:
    """The elements of a constant, or of what a few conversions make of one; `None` if they are not known."""
    steps: list[FuseOp] = []
    while isinstance(value.owner, _PARAMETER_OPS) and len(steps) < _MOST_STEPS:
        steps.append(value.owner)
        value = value.owner.operands[0]
    array = constant_of(value)
    for op in reversed(steps):
        if array is not None:
            with np.errstate(all="ignore"):
                (array,) = op.evaluate(array)
    return array


def single(value: SSAValue | None) -> float | None:
    """The only element of a value that is known; 0 for no value, `None` for several or unknown elements."""
    if value is None:
        return 0
    array = elements_of(value)
    return None if array is None or array.size != 1 else array.reshape(-1)[0].item()


def integers_of(value: SSAValue) -> Integers | None:
    """How an i32 comes from integers of 8 bits."""
    zero: SSAValue | None = None
    if isinstance(value.owner, SubtractOp):
        value, zero = value.owner.operands
    match value.owner:
        case CastOp() as cast if cast.result.type.element_type == i32 and is_byte(cast.input):
            # A zero point that makes the result larger would be no parameter.
            if zero is not None and _rank(zero) > _rank(value):
                return None
            return Integers(cast.input, zero)
        case _:
            return None


def _rank(value: SSAValue) -> int:
    return tensor_type(value).get_num_dims()


def reals_of(value: SSAValue) -> Reals | None:
    """How an f32 comes from integers of 8 bits."""
    match value.owner:
        case MultiplyOp() as multiply:
            cast, scale = multiply.operands
        case _:
            return None
    match cast.owner:
        case CastOp() as inner if inner.result.type.element_type == f32 and cast.type == value.type:
            integers = integers_of(inner.input)
            return None if integers is None else Reals(integers, scale)
        case _:
            return None


def rounding_of(value: SSAValue) -> Rounding | None:
    """How integers of 8 bits come from f32, in full range; no step may have another reader."""
    cast = value.owner
    if not isinstance(cast, CastOp):
        return None
    value = cast.input
    bounded = _without_least_for_nan(value)
    steps: list[FuseOp] = []
    zero: SSAValue | None = None
    for kind, is_optional in ((ClipOp, False), (AddOp, True), (RoundOp, False)):
        if not steps and bounded is not None:
            value = bounded
        elif not value.has_one_use():
            return None
        owner = value.owner
        if not isinstance(owner, kind):
            if is_optional:
                continue
            return None
        steps.append(owner)
        value = owner.operands[0]
        if isinstance(owner, AddOp):
            zero = owner.operands[1]
    clip, rounding = steps[0], steps[-1]
    assert isinstance(clip, ClipOp)
    zero_point = single(zero)
    if zero_point is None or tensor_type(value).element_type != f32 or not is_byte(cast.result):
        return None
    low, high = (0.0, 255.0) if is_unsigned(cast.result.type) else (-128.0, 127.0)
    bounds = [None if bound is None else bound.value.data for bound in (clip.min, clip.max)]
    if bounds != [low, high] or not low <= zero_point <= high:
        return None
    if tensor_type(value).get_shape() != cast.result.type.get_shape():
        return None
    has_least = bounded is not None or is_unsigned(cast.result.type)
    return Rounding(value, rounding.results[0], cast, int(zero_point), has_least)


def quantization_of(value: SSAValue) -> Quantization | None:
    """How integers of 8 bits come from f32 by a scale, in full range; no step may have another reader."""
    rounding = rounding_of(value)
    if rounding is None or not isinstance(divide := rounding.source.owner, DivideOp):
        return None
    scale = single(divide.operands[1])
    # Scales that overflow or vanish in a quotient are left to the formulas.
    if not rounding.source.has_one_use() or scale is None or not _is_sound(scale):
        return None
    source = divide.operands[0]
    if tensor_type(source).get_shape() != tensor_type(rounding.source).get_shape():
        return None
    return Quantization(source, divide, np.float32(scale), rounding)


def _without_least_for_nan(value: SSAValue) -> SSAValue | None:
    """The bounded number for which a value has the least i8 where it is nan; `None` if that is not what it is."""
    where = value.owner
    if not isinstance(where, WhereOp) or not value.has_one_use():
        return None
    test, bounded = where.condition.owner, where.rhs
    is_test = isinstance(test, IsnanOp) and test.operands[0] is bounded and test.result.has_one_use()
    if not is_test or single(where.lhs) != -128 or {use.operation for use in bounded.uses} != {test, where}:
        return None
    return bounded


def is_never_nan(value: SSAValue) -> bool:
    """Whether an f32 is an integer times a number, or a sum of such, perhaps behind one product: none overflows."""
    waiting, products = [value], 0
    for _ in range(_MOST_LOOKED_AT):
        if not waiting:
            return products <= 1
        value = waiting.pop()
        scaled = _scale_of_integers(value)
        if _is_ordinary(value if scaled is None else scaled):
            continue
        if not isinstance(value.owner, (*_SUMS, *_PRODUCTS)):
            return False
        products += isinstance(value.owner, _PRODUCTS)
        waiting += value.owner.operands
    return False


def _scale_of_integers(value: SSAValue) -> SSAValue | None:
    """The other factor of a product with integers of at most 32 bits; `None` if it is no such product."""
    if not isinstance(value.owner, MultiplyOp):
        return None
    for one, other in (value.owner.operands, reversed(value.owner.operands)):
        if isinstance(one.owner, CastOp):
            match tensor_type(one.owner.input).element_type:
                case IntegerType() as element if element.width.data <= 32:
                    return other
                case _:
                    pass
    return None


def _is_ordinary(value: SSAValue) -> bool:
    """Whether a value is known, and far from the greatest f32."""
    array = elements_of(value)
    return array is not None and array.dtype == np.float32 and bool((np.abs(array) < _LARGE).all())


def _is_sound(scale: float) -> bool:
    return bool(np.isfinite(scale)) and 1e-30 < scale < 1e30
