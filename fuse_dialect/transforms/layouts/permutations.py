"""Orders of axes.

A permutation `p` of a tensor `t` stands for `numpy.transpose(t, p)`: axis i of that is axis `p[i]` of `t`.
"""

from collections.abc import Sequence
from typing import TypeAlias, TypeVar

from fuse_dialect.dialect.shape_rules import remainder_says
from fuse_dialect.dialect.types import Shape, Tensor, with_shape

Permutation: TypeAlias = tuple[int, ...]

_Axis = TypeVar("_Axis", int, str)


def identity(rank: int) -> Permutation:
    """All axes in their places."""
    return tuple(range(rank))


def channels_moved(rank: int, layout: str) -> Permutation:
    """The axes of a tensor with its channels where `layout` has them: on axis 1 before, last after, or the reverse.

    Args:
        rank: 3 or more.
        layout: `NHWC` for channels last, `NCHW` for channels on axis 1.
    """
    batch, *others = range(rank)
    return (batch, *others[1:], others[0]) if layout == "NHWC" else (batch, others[-1], *others[:-1])


def between(source: Sequence[_Axis], target: Sequence[_Axis]) -> Permutation:
    """The permutation of `transpose(t, source)` that is `transpose(t, target)`; axes may also have letters."""
    return tuple(source.index(axis) for axis in target)


def permuted(type: Tensor, permutation: Permutation) -> Tensor:
    """The type of the permuted tensor."""
    return with_shape(type, permuted_shape(type.get_shape(), permutation))


def permuted_shape(shape: Sequence[int], permutation: Permutation) -> Shape:
    """The shape of the permuted tensor."""
    return tuple(shape[axis] for axis in permutation)


def keeps_elements_in_order(shape: Sequence[int], permutation: Permutation) -> bool:
    """Whether the permutation moves axes of size 1 alone, so that it is a reshape."""
    wide = [axis for axis in permutation if shape[axis] != 1]
    return wide == sorted(wide)


def is_free(shape: Sequence[int], permutation: Permutation) -> bool:
    """Whether the permutation is a reshape that computes at most one `?`."""
    return keeps_elements_in_order(shape, permutation) and remainder_says(shape)
