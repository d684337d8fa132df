"""Complex numbers and Fourier transforms: a complex tensor is two real ones while the graph is read.

1. An operator that moves elements, adds them or makes zeros does to each part what it does to real numbers: its own
   rule is asked twice. Real operands have imaginary parts of 0; indices are the same for both.
2. Others have a rule here; what has none is refused.

Source: aten/src/ATen/native/native_functions.yaml and SpectralOps.cpp of PyTorch 2.14.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from xdsl.ir import SSAValue

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.ops.concatenation import StackOp
from fuse_dialect.dialect.ops.elementwise import NegativeOp
from fuse_dialect.dialect.ops.fourier import FftOp, IrfftOp, RfftOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp
from fuse_dialect.dialect.ops.trigonometry import CosOp, SinOp
from fuse_dialect.dialect.types import element_type_of
from fuse_dialect.frontends.aten.graph import TensorMeta
from fuse_dialect.frontends.aten.rules.table import RULES, Want, is_value, made
from fuse_dialect.frontends.fuse_values import NoFuseFormError, broadcast, cast_to, reshape, scalar, shape
from fuse_dialect.frontends.stablehlo.rules.arithmetic import difference, over, times, total
from fuse_dialect.frontends.stablehlo.rules.complex_functions import FUNCTIONS, magnitude
from fuse_dialect.frontends.stablehlo.rules.complex_pairs import product
from fuse_dialect.frontends.stablehlo.rules.special_functions import atan2


@dataclass(frozen=True, slots=True)
class Parts:
    """A complex tensor."""

    real: SSAValue
    imag: SSAValue

    @property
    def both(self) -> tuple[SSAValue, SSAValue]:
        """Both parts, in order."""
        return self.real, self.imag


ComplexRule: TypeAlias = Callable[..., "SSAValue | Parts"]
_OneRule = TypeVar("_OneRule", bound=ComplexRule)
COMPLEX: dict[str, ComplexRule] = {}
"""Rules of operators that take or give complex numbers, by name; their tensors are `Parts` or real ones."""
MOVING = frozenset(
    f"aten.{name}"
    for name in (
        "view.default", "view_copy.default", "_unsafe_view.default", "reshape.default", "squeeze.dim", "squeeze.dims",
        "squeeze.default", "squeeze_copy.dim", "squeeze_copy.dims", "unsqueeze.default", "unsqueeze_copy.default",
        "permute.default", "permute_copy.default", "transpose.int", "transpose_copy.int", "t.default",
        "expand.default", "expand_copy.default", "repeat.default", "flip.default", "cat.default", "stack.default",
        "slice.Tensor", "slice_copy.Tensor", "select.int", "select_copy.int", "unfold.default", "diagonal.default",
        "index_select.default", "index.Tensor", "clone.default", "alias.default", "detach.default",
        "contiguous.default", "neg.default", "sum.default", "sum.dim_IntList", "mean.default", "mean.dim",
        "cumsum.default", "gather.default", "split_with_sizes.default", "split_with_sizes_copy.default",
        "split.Tensor", "unbind.int", "slice_scatter.default", "select_scatter.default", "index_put.default",
        "_unsafe_index_put.default", "copy.default", "zeros.default", "zeros_like.default", "new_zeros.default",
        "empty.memory_format", "empty_like.default", "new_empty.default", "empty_strided.default",
        "new_empty_strided.default", "empty_permuted.default",
    )
)  # fmt: skip
"""Operators that do the same to both parts (1)."""
_INDICES = {
    f"aten.{name}": place
    for name, place in (
        ("index.Tensor", 1),
        ("index_put.default", 1),
        ("_unsafe_index_put.default", 1),
        ("index_select.default", 2),
        ("gather.default", 2),
    )
}
"""Which argument of an operator is indices."""


def of(*targets: str) -> Callable[[_OneRule], _OneRule]:
    """Make a function the rule of operators on complex numbers."""

    def enter(rule: _OneRule) -> _OneRule:
        COMPLEX.update({f"aten.{target}": rule for target in targets})
        return rule

    return enter


def part_meta(meta: TensorMeta) -> TensorMeta:
    """What is known of the parts of a complex tensor; of a real one the same."""
    return TensorMeta(meta.shape, part_dtype(meta.dtype))


def part_dtype(kind: "np.dtype[Any]") -> "np.dtype[Any]":
    """The element type of the parts of complex numbers; of others the same."""
    return np.dtype(f"f{kind.itemsize // 2}") if kind.kind == "c" else kind


def of_pairs(pairs: SSAValue) -> Parts:
    """The complex numbers whose parts are pairs along the last axis."""
    *sizes, _ = shape(pairs)
    axis = len(sizes)
    one, other = (
        reshape(made(StridedSliceOp(pairs, begin=[at], end=[at + 1], axes=[axis], strides=[1])), sizes) for at in (0, 1)
    )
    return Parts(one, other)


def as_pairs(value: Parts) -> SSAValue:
    """Both parts along a new last axis, as complex numbers lie in memory."""
    return made(StackOp(*value.both, axis=-1))


def has_parts(argument: Any) -> bool:
    """Whether an argument is complex numbers, or a list with some."""
    if isinstance(argument, list | tuple):
        return any(map(has_parts, cast("Sequence[Any]", argument)))
    return isinstance(argument, Parts | complex)


def complex_results(
    target: str, want: Want, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> "Sequence[SSAValue | Parts]":
    """The value of an operator that takes or gives complex numbers.

    Raises:
        NoFuseFormError: There is no rule.
    """
    if (rule := COMPLEX.get(target)) is not None:
        return [rule(want, *args, **kwargs)]
    if target not in MOVING:
        raise NoFuseFormError("complex numbers")
    whole = [each if place == _INDICES.get(target) else _as_parts(want, each) for place, each in enumerate(args)]
    both = list[Sequence[SSAValue]]()
    for part in ("real", "imag"):
        found = RULES.rules[target](
            Want(tuple(meta and part_meta(meta) for meta in want.results)),
            *(_part(each, part) for each in whole),
            **{name: _part(_as_parts(want, each), part) for name, each in kwargs.items()},
        )
        both.append([found] if isinstance(found, SSAValue) else found)
    return [Parts(real, imag) for real, imag in zip(*both, strict=True)]


def _as_parts(want: Want, argument: Any) -> Any:
    """An argument with its real tensors as complex ones."""
    if isinstance(argument, list | tuple):
        return [_as_parts(want, each) for each in cast("Sequence[Any]", argument)]
    return _parts(want, argument) if is_value(argument) else argument


def _part(argument: Any, part: str) -> Any:
    if isinstance(argument, list | tuple):
        return [_part(each, part) for each in cast("Sequence[Any]", argument)]
    return getattr(argument, part) if isinstance(argument, Parts) else argument


def _parts(want: Want, value: Any) -> Parts:
    """The parts of a tensor or number, of the shape and the element type that are wanted."""
    element = element_type_of(part_dtype(want.dtype))
    if isinstance(value, Parts):
        parts = [cast_to(each, element) for each in value.both]
    elif is_value(value):
        real = cast_to(value, element)
        parts = [real, broadcast(scalar(real, 0), shape(real))]
    else:
        number = complex(value)
        kind = part_dtype(want.dtype)
        parts = [constant(np.array(part).astype(kind)).result for part in (number.real, number.imag)]
    return Parts(*parts)


def _wide(want: Want, value: Any) -> Parts:
    """The same, broadcast."""
    return Parts(*(broadcast(each, want.shape) for each in _parts(want, value).both))


def _scaled(value: Parts, factor: float) -> Parts:
    return value if factor == 1 else Parts(*(times(each, scalar(each, factor)) for each in value.both))


def _factor(x: SSAValue, dim: Sequence[int], normalization: int, *, points: int | None = None) -> float:
    """What a sum over the axes is multiplied with: 1, or one through the number of points or its root."""
    count = math.prod(shape(x)[axis] for axis in dim) if points is None else points
    return (1.0, 1 / math.sqrt(count), 1 / count)[normalization]


@of("_fft_r2c.default")
def transform_of_reals(want: Want, self: SSAValue, dim: Sequence[int], normalization: int, onesided: bool) -> Parts:
    """`rfft`, or `fft` of numbers without imaginary parts."""
    if onesided:
        found = Parts(*RfftOp(self, axes=list(dim)).results)
    else:
        zeros = broadcast(scalar(self, 0), shape(self))
        found = Parts(*FftOp(self, zeros, axes=list(dim), inverse=False).results)
    return _scaled(found, _factor(self, dim, normalization))


@of("_fft_c2c.default")
def transform(want: Want, self: Any, dim: Sequence[int], normalization: int, forward: bool) -> Parts:
    """`fft` or its inverse, whose division by the number of points is undone where none is wanted."""
    x = _parts(want, self)
    if not dim:
        return x
    found = Parts(*FftOp(*x.both, axes=list(dim), inverse=not forward).results)
    count = math.prod(shape(x.real)[axis] for axis in dim)
    return _scaled(found, _factor(x.real, dim, normalization) * (1 if forward else count))


@of("_fft_c2r.default")
def transform_to_reals(want: Want, self: Parts, dim: Sequence[int], normalization: int, last_dim_size: int) -> SSAValue:
    """`irfft`."""
    found = made(IrfftOp(*self.both, axes=list(dim), length=last_dim_size))
    count = math.prod(shape(found)[axis] for axis in dim)
    factor = _factor(found, dim, normalization) * count
    return found if factor == 1 else times(found, scalar(found, factor))


@of("complex.default")
def joined(want: Want, real: SSAValue, imag: SSAValue) -> Parts:
    """Complex numbers of their parts."""
    return Parts(broadcast(real, want.shape), broadcast(imag, want.shape))


@of("view_as_complex.default", "view_as_complex_copy.default")
def view_as_complex(want: Want, self: SSAValue) -> Parts:
    """The complex numbers of pairs."""
    return of_pairs(self)


@of("view_as_real.default", "view_as_real_copy.default")
def view_as_real(want: Want, self: Parts) -> SSAValue:
    """Pairs of the parts."""
    return as_pairs(self)


@of("real.default")
def real(want: Want, self: Parts) -> SSAValue:
    """The real parts."""
    return self.real


@of("imag.default")
def imaginary(want: Want, self: Parts) -> SSAValue:
    """The imaginary parts."""
    return self.imag


@of("_conj.default", "_conj_physical.default", "conj_physical.default", "_conj_copy.default")
def conjugate(want: Want, self: Parts) -> Parts:
    """The conjugates."""
    return Parts(self.real, made(NegativeOp(self.imag)))


@of("resolve_conj.default", "resolve_neg.default", "_to_copy.default")
def converted(want: Want, self: Any, *_: Any, **options: Any) -> Parts:
    """The same numbers in the type that is wanted.

    Raises:
        NoFuseFormError: Real numbers are wanted, which drops what is imaginary.
    """
    if want.dtype.kind != "c":
        raise NoFuseFormError("complex numbers as real ones")
    return _parts(want, self)


@of("abs.default")
def absolute(want: Want, self: Parts) -> SSAValue:
    """The sizes."""
    return magnitude(self.both)


@of("angle.default")
def angle(want: Want, self: Parts) -> SSAValue:
    """The angles from the positive real axis."""
    return atan2(self.imag, self.real)


def _added(combine: Callable[[SSAValue, SSAValue], SSAValue]) -> Callable[..., Parts]:
    def rule(want: Want, self: Any, other: Any, alpha: float = 1) -> Parts:
        x, y = _wide(want, self), _scaled(_wide(want, other), alpha)
        return Parts(*(combine(one, another) for one, another in zip(x.both, y.both, strict=True)))

    return rule


for _name in ("Tensor", "Scalar"):
    COMPLEX[f"aten.add.{_name}"] = _added(total)
    COMPLEX[f"aten.sub.{_name}"] = _added(difference)


@of("mul.Tensor", "mul.Scalar")
def multiply(want: Want, self: Any, other: Any) -> Parts:
    """Products; of real numbers with complex ones, of each part."""
    for x, factor in ((self, other), (other, self)):
        if is_value(factor) or isinstance(factor, int | float):
            scale = _wide(want, factor).real
            return Parts(*(times(each, scale) for each in _wide(want, x).both))
    return Parts(*product(_wide(want, self).both, _wide(want, other).both))


@of("div.Tensor", "div.Scalar")
def divide(want: Want, self: Any, other: Any) -> Parts:
    """Quotients."""
    x = _wide(want, self)
    if not has_parts(other):
        divisor = _wide(want, other).real
        return Parts(*(over(each, divisor) for each in x.both))
    return Parts(*FUNCTIONS["stablehlo.divide"](x.both, _wide(want, other).both))


@of("pow.Tensor_Scalar")
def power(want: Want, self: Parts, exponent: Any) -> Parts:
    """Powers; squares are products."""
    if exponent == 2:
        return Parts(*product(self.both, self.both))
    return Parts(*FUNCTIONS["stablehlo.power"](self.both, _wide(want, exponent).both))


def _function(name: str) -> ComplexRule:
    def rule(want: Want, self: Parts) -> Parts:
        return Parts(*FUNCTIONS[f"stablehlo.{name}"](self.both))

    return rule


COMPLEX.update(
    (f"aten.{aten}.default", _function(name))
    for aten, name in (
        ("exp", "exponential"), ("log", "log"), ("sqrt", "sqrt"), ("rsqrt", "rsqrt"), ("sin", "sine"),
        ("cos", "cosine"), ("tanh", "tanh"), ("sigmoid", "logistic"), ("sgn", "sign"),
    )
)  # fmt: skip


def _product(name: str) -> Callable[[Want, Any, Any], Parts]:
    """A product of matrices by its name: four products of real ones."""

    def rule(want: Want, self: Any, other: Any) -> Parts:
        real = Want((part_meta(want.first),))
        multiplied = cast("Callable[..., SSAValue]", RULES.rules[f"aten.{name}.default"])
        (a, b), (c, d) = _parts(want, self).both, _parts(want, other).both
        return Parts(
            difference(multiplied(real, a, c), multiplied(real, b, d)),
            total(multiplied(real, a, d), multiplied(real, b, c)),
        )

    return rule


def _sum_with_product(name: str) -> ComplexRule:
    def rule(want: Want, self: Any, one: Any, other: Any, *, beta: complex = 1, alpha: complex = 1) -> Parts:
        product = multiply(want, _product(name)(want, one, other), alpha)
        return _added(total)(want, product, multiply(want, self, beta)) if beta else product

    return rule


COMPLEX.update({f"aten.{name}.default": _product(name) for name in ("mm", "bmm", "mv", "dot")})
COMPLEX.update({"aten.addmm.default": _sum_with_product("mm"), "aten.baddbmm.default": _sum_with_product("bmm")})


@of("full.default", "new_full.default", "full_like.default", "scalar_tensor.default")
def full(want: Want, *arguments: Any, **options: Any) -> Parts:
    """One number everywhere."""
    return _wide(want, arguments[-1])


@of("constant_pad_nd.default")
def pad(want: Want, self: Any, pad: Sequence[int], value: complex = 0) -> Parts:
    """`pad`, with each part of the number."""
    x, fill, rule = _parts(want, self), complex(value), RULES.rules["aten.constant_pad_nd.default"]
    sides = zip(x.both, (fill.real, fill.imag), strict=True)
    return Parts(*(cast(SSAValue, rule(Want((part_meta(want.first),)), each, pad, number)) for each, number in sides))


@of("where.self")
def where(want: Want, condition: SSAValue, self: Any, other: Any) -> Parts:
    """`where`."""
    pairs = zip(_wide(want, self).both, _wide(want, other).both, strict=True)
    rule = RULES.rules["aten.where.self"]
    return Parts(*(cast(SSAValue, rule(Want((part_meta(want.first),)), condition, *pair)) for pair in pairs))


@of("polar.default")
def polar(want: Want, abs: SSAValue, angle: SSAValue) -> Parts:
    """Complex numbers of their sizes and angles."""
    return Parts(*(broadcast(times(abs, made(op(angle))), want.shape) for op in (CosOp, SinOp)))


@of("reciprocal.default")
def reciprocal(want: Want, self: Any) -> Parts:
    """One over each."""
    return divide(want, 1, self)
