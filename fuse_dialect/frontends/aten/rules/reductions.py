"""Reductions, scans and orders."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import broadcast as b
from fuse_dialect.dialect.ops import elementwise as e
from fuse_dialect.dialect.ops import reduction as r
from fuse_dialect.dialect.ops.comparison import EqualOp, LogicalOrOp, NotEqualOp
from fuse_dialect.dialect.ops.indexing import GatherOp
from fuse_dialect.dialect.ops.opaque import ArgsortOp, SortOp, TopkOp
from fuse_dialect.dialect.ops.sequences import CumprodOp, CumsumOp
from fuse_dialect.frontends.aten.rules.shapes import sliced
from fuse_dialect.frontends.aten.rules.table import RULES, Want, as_type, made
from fuse_dialect.frontends.fuse_values import NoFuseFormError, counting, dtype, integers, reshape, scalar, shape
from fuse_dialect.frontends.stablehlo.rules.reductions import running, running_logsumexp

_EXTREMA: Mapping[str, tuple[type[FuseOp], type[FuseOp]]] = {
    "max": (r.MaxOp, r.ArgmaxOp),
    "min": (r.MinOp, r.ArgminOp),
}


def _axes(value: SSAValue, dim: int | Sequence[int] | None) -> list[int]:
    """The axes to reduce, counted from the front; all for none."""
    rank = len(shape(value))
    if dim is None or (not isinstance(dim, int) and not dim):
        return list(range(rank))
    return sorted(each % max(rank, 1) for each in ([dim] if isinstance(dim, int) else dim))[: rank or 0]


def _reduced(op: type[FuseOp], value: SSAValue, dim: int | Sequence[int] | None, keepdim: bool) -> SSAValue:
    axes = _axes(value, dim)
    return made(op(value, axes=axes, keepdims=keepdim)) if axes else value


@RULES.of("aten.sum.dim_IntList", "aten.sum.default")
def total(want: Want, self: SSAValue, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> SSAValue:
    """`sum`, in the type of the result."""
    return _reduced(r.SumOp, as_type(self, want.dtype), dim, keepdim)


@RULES.of("aten.mean.dim", "aten.mean.default")
def mean(want: Want, self: SSAValue, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> SSAValue:
    """`mean`."""
    return _reduced(r.MeanOp, as_type(self, want.dtype), dim, keepdim)


@RULES.of("aten.linalg_vector_norm.default")
def vector_norm(
    want: Want, self: SSAValue, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> SSAValue:
    """The `ord`-th root of the sum of powers; the greatest magnitude for infinity."""
    x = as_type(self, want.dtype)
    if abs(ord) == math.inf:
        return _reduced(r.MaxOp if ord > 0 else r.MinOp, made(e.AbsOp(x)), dim, keepdim)
    if ord == 0:
        return _reduced(r.SumOp, as_type(made(NotEqualOp(x, scalar(x, 0))), want.dtype), dim, keepdim)
    if ord == 2:
        return made(e.SqrtOp(_reduced(r.SumOp, made(b.MultiplyOp(x, x)), dim, keepdim)))
    if ord == 1:
        return _reduced(r.SumOp, made(e.AbsOp(x)), dim, keepdim)
    powers = _reduced(r.SumOp, made(b.PowerOp(made(e.AbsOp(x)), scalar(x, ord))), dim, keepdim)
    return made(b.PowerOp(powers, scalar(x, 1 / ord)))


@RULES.of("aten.prod.dim_int", "aten.prod.default")
def product(want: Want, self: SSAValue, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> SSAValue:
    """`prod`."""
    return _reduced(r.ProdOp, as_type(self, want.dtype), dim, keepdim)


@RULES.of("aten.any.dim", "aten.any.dims", "aten.any.default")
def any_of(want: Want, self: SSAValue, dim: Any = None, keepdim: bool = False) -> SSAValue:
    """`any`."""
    return _reduced(r.AnyOp, as_type(self, np.dtype(np.bool_)), dim, keepdim)


@RULES.of("aten.all.dim", "aten.all.dims", "aten.all.default")
def all_of(want: Want, self: SSAValue, dim: Any = None, keepdim: bool = False) -> SSAValue:
    """`all`."""
    return _reduced(r.AllOp, as_type(self, np.dtype(np.bool_)), dim, keepdim)


@RULES.of("aten.amax.default")
def amax(want: Want, self: SSAValue, dim: Any = (), keepdim: bool = False) -> SSAValue:
    """`max`."""
    return _reduced(r.AnyOp if want.dtype.kind == "b" else r.MaxOp, self, dim, keepdim)


@RULES.of("aten.amin.default")
def amin(want: Want, self: SSAValue, dim: Any = (), keepdim: bool = False) -> SSAValue:
    """`min`."""
    return _reduced(r.AllOp if want.dtype.kind == "b" else r.MinOp, self, dim, keepdim)


@RULES.of("aten.max.default")
def max_of_all(want: Want, self: SSAValue) -> SSAValue:
    """`max` of all elements."""
    return _reduced(r.MaxOp, self, None, False)


@RULES.of("aten.min.default")
def min_of_all(want: Want, self: SSAValue) -> SSAValue:
    """`min` of all elements."""
    return _reduced(r.MinOp, self, None, False)


def _enter_extremum(name: str) -> None:
    reduce, locate = _EXTREMA[name]

    @RULES.of(f"aten.{name}.dim")
    def with_place(want: Want, self: SSAValue, dim: int, keepdim: bool = False) -> list[SSAValue]:
        if not shape(self):
            return [self, integers(np.zeros((), np.int64))]
        return [_reduced(reduce, self, dim, keepdim), _reduced(locate, self, dim, keepdim)]

    @RULES.of(f"aten.arg{name}.default")
    def place(want: Want, self: SSAValue, dim: int | None = None, keepdim: bool = False) -> SSAValue:
        if not shape(self):
            return integers(np.zeros((), np.int64))
        if dim is None:
            flat = reshape(self, [int(np.prod(shape(self)))])
            return reshape(_reduced(locate, flat, 0, False), want.shape)
        return _reduced(locate, self, dim, keepdim)


for _name in _EXTREMA:
    _enter_extremum(_name)


def _variance(value: SSAValue, dim: Any, correction: float | None, keepdim: bool) -> SSAValue:
    axes = _axes(value, dim)
    if not axes:
        raise NoFuseFormError("the variance of one number")
    if correction in (None, 1, 0):
        unbiased = correction is None or correction == 1
        return made(r.VarianceOp(value, axes=axes, keepdims=keepdim, unbiased=unbiased))
    count = int(np.prod([shape(value)[axis] for axis in axes]))
    biased = made(r.VarianceOp(value, axes=axes, keepdims=keepdim))
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = float(np.float64(count) / np.float64(max(count - float(correction or 0), 0)))
    return made(b.MultiplyOp(biased, scalar(value, factor)))


@RULES.of("aten.var.correction")
def variance(
    want: Want, self: SSAValue, dim: Any = None, *, correction: float | None = None, keepdim: bool = False
) -> SSAValue:
    """`variance`."""
    return _variance(self, dim, correction, keepdim)


@RULES.of("aten.var_mean.correction")
def variance_and_mean(
    want: Want, self: SSAValue, dim: Any = None, *, correction: float | None = None, keepdim: bool = False
) -> list[SSAValue]:
    """`variance` and `mean`."""
    return [_variance(self, dim, correction, keepdim), _reduced(r.MeanOp, self, dim, keepdim)]


@RULES.of("aten.cumsum.default")
def running_sum(want: Want, self: SSAValue, dim: int, *, dtype: Any = None) -> SSAValue:
    """`cumsum`."""
    x = as_type(self, want.dtype)
    return made(CumsumOp(x, axis=dim % len(want.shape))) if want.shape else x


@RULES.of("aten.logcumsumexp.default")
def running_logarithm(want: Want, self: SSAValue, dim: int) -> SSAValue:
    """The logarithm of the running sum of exponentials."""
    return running_logsumexp(self, dim % len(want.shape)) if want.shape else self


@RULES.of("aten.cumprod.default")
def running_product(want: Want, self: SSAValue, dim: int, *, dtype: Any = None) -> SSAValue:
    """`cumprod`."""
    x = as_type(self, want.dtype)
    return made(CumprodOp(x, axis=dim % len(want.shape))) if want.shape else x


def _enter_running_extremum(name: str, op: type[FuseOp], is_max: bool) -> None:
    @RULES.of(f"aten.{name}.default")
    def running_extremum(want: Want, self: SSAValue, dim: int) -> list[SSAValue]:
        """The extremum so far, and the last place that has it; a nan stays, and its place is that of the last nan."""
        if not want.shape:
            return [self, integers(np.zeros((), np.int64))]
        if want.dtype.kind in "bu":
            raise NoFuseFormError("running extrema of truth values or numbers without sign")
        axis, size = dim % len(want.shape), want.shape[dim]
        if not math.prod(want.shape):
            return [self, as_type(self, np.dtype(np.int64))]
        least = np.iinfo(want.dtype).min if want.dtype.kind == "i" else -math.inf
        greatest = np.iinfo(want.dtype).max if want.dtype.kind == "i" else math.inf
        extremum = running(self, lambda one, other: made(op(one, other)), least if is_max else greatest, axis)
        is_it = made(EqualOp(self, extremum))
        if want.dtype.kind != "i":
            is_it = made(LogicalOrOp(is_it, made(e.IsnanOp(self))))
        line = [size if place == axis else 1 for place in range(len(want.shape))]
        places = made(b.WhereOp(is_it, reshape(counting(size, i64), line), integers(np.array(-1))))
        return [extremum, running(places, lambda one, other: made(b.MaximumOp(one, other)), -1, axis)]


_enter_running_extremum("cummax", b.MaximumOp, is_max=True)
_enter_running_extremum("cummin", b.MinimumOp, is_max=False)


@RULES.of("aten.topk.default")
def topk(
    want: Want, self: SSAValue, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> list[SSAValue]:
    """`topk`."""
    if not want.shape:
        raise NoFuseFormError("the greatest of one number")
    if dtype(self).kind == "b":
        raise NoFuseFormError("an order of truth values")
    return list(TopkOp(self, k=k, axis=dim % len(want.shape), is_ascend=not largest).results)


@RULES.of("aten.sort.default", "aten.sort.stable")
def sort(
    want: Want, self: SSAValue, dim: int = -1, descending: bool = False, *, stable: bool | None = None
) -> list[SSAValue]:
    """Values and places; equal elements keep their order."""
    return _in_order(self, _axis_of_order(self, dim), not descending)


def _axis_of_order(value: SSAValue, dim: int) -> int:
    if not shape(value):
        raise NoFuseFormError("the order of one number")
    return dim % len(shape(value))


def _in_order(value: SSAValue, axis: int, is_ascend: bool = True) -> list[SSAValue]:
    places = made(ArgsortOp(value, axis=axis, is_ascend=is_ascend))
    if dtype(value).kind in "biu":
        return [made(SortOp(value, axis=axis, is_ascend=is_ascend)), places]
    return [made(GatherOp(value, places, axis=axis)), places]


@RULES.of("aten.kthvalue.default")
def smallest_but(want: Want, self: SSAValue, k: int, dim: int = -1, keepdim: bool = False) -> list[SSAValue]:
    """The `k`-th smallest element, and its place."""
    axis = _axis_of_order(self, dim)
    return [_at_rank(each, k - 1, axis, keepdim) for each in _in_order(self, axis)]


@RULES.of("aten.median.dim")
def median(want: Want, self: SSAValue, dim: int, keepdim: bool = False) -> list[SSAValue]:
    """The lower of the middle elements, and its place; nan where there is one."""
    axis = _axis_of_order(self, dim)
    middle = [_at_rank(each, (shape(self)[axis] - 1) // 2, axis, keepdim) for each in _in_order(self, axis)]
    if dtype(self).kind in "biu":
        return middle
    is_nan = made(e.IsnanOp(self))
    place = _reduced(r.ArgmaxOp, as_type(is_nan, np.dtype(np.int8)), axis, keepdim)
    first = [_reduced(r.MaxOp, self, axis, keepdim), place]
    has_nan = _reduced(r.AnyOp, is_nan, axis, keepdim)
    return [made(b.WhereOp(has_nan, one, other)) for one, other in zip(first, middle, strict=True)]


@RULES.of("aten.median.default")
def median_of_all(want: Want, self: SSAValue) -> SSAValue:
    """The lower of the middle elements of all, or nan."""
    return median(want, reshape(self, [math.prod(shape(self))]), 0)[0]


def _at_rank(ordered: SSAValue, rank: int, axis: int, keepdim: bool) -> SSAValue:
    """Of elements in order along an axis that at one place."""
    sizes = list(shape(ordered))
    place = sliced(ordered, axis, rank, rank + 1)
    return place if keepdim else reshape(place, [*sizes[:axis], *sizes[axis + 1 :]])
