"""What NumPy's views do to sizes and strides, for arrays that nobody has: sizes may be traced."""

from collections.abc import Sequence
from dataclasses import dataclass

from fuse_dialect.backends.runtime.traced_sizes import UntraceableError, is_known, is_same
from fuse_dialect.dialect.spans import span


@dataclass(frozen=True, slots=True)
class Strided:
    """Elements of an array, in an order that strides say."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In bytes."""
    item: int
    """Bytes of an element."""
    start: int = 0
    """Where the first element is, in bytes behind the first one of the array."""

    @staticmethod
    def dense(shape: Sequence[int], item: int) -> "Strided":
        """A row-major array."""
        return Strided(tuple(shape), dense_strides(shape, item), item)

    def transposed(self, order: Sequence[int]) -> "Strided":
        """`numpy.transpose`."""
        shape, strides = (tuple(words[axis] for axis in order) for words in (self.shape, self.strides))
        return Strided(shape, strides, self.item, self.start)

    def reshaped_dense(self, shape: Sequence[int]) -> "Strided":
        """`numpy.reshape` of an array without gaps."""
        return Strided(tuple(shape), dense_strides(shape, self.item), self.item, self.start)

    def broadcast_to(self, shape: Sequence[int]) -> "Strided":
        """`numpy.broadcast_to`.

        Raises:
            ValueError: A size is neither 1 nor the wanted one.
        """
        added = len(shape) - len(self.shape)
        if added < 0:
            raise ValueError("fewer axes are wanted than there are")
        strides: list[int] = [0] * added
        for size, wanted, stride in zip(self.shape, shape[added:], self.strides, strict=True):
            if not is_same(size, wanted) and size == 1:
                strides.append(0)
            elif is_same(size, wanted) or size == wanted:
                strides.append(stride)
            else:
                raise ValueError("sizes do not broadcast")
        return Strided(tuple(shape), tuple(strides), self.item, self.start)

    def cut(self, axis: int, begin: int | None, end: int | None, step: int | None = None) -> "Strided":
        """A slice along one axis, as `slice.indices` has it.

        Raises:
            ValueError: The step is 0.
            UntraceableError: The step is not known.
        """
        step = 1 if step is None else step
        if not is_known(step):
            raise UntraceableError("the step of a slice is not known")
        if not step:
            raise ValueError("the step of a slice is 0")
        stride = self.strides[axis]
        first, count = span(begin, end, step, self.shape[axis])
        shape, strides = list(self.shape), list(self.strides)
        shape[axis], strides[axis] = count, stride * step
        return Strided(tuple(shape), tuple(strides), self.item, self.start + first * stride)


def dense_strides(shape: Sequence[int], item: int) -> tuple[int, ...]:
    """Strides of a row-major array, in bytes."""
    strides: list[int] = []
    step: int = item
    for size in reversed(shape):
        strides.append(step)
        step = step * size
    return tuple(strides[::-1])


def broadcast_sizes(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    """The shape that two shapes broadcast to.

    Raises:
        ValueError: Sizes differ of which none is 1.
    """
    rank = max(len(one), len(other))
    found: list[int] = []
    for first, second in zip((*[1] * (rank - len(one)), *one), (*[1] * (rank - len(other)), *other), strict=True):
        if is_same(first, second) or second == 1:
            found.append(first)
        elif first == 1 or first == second:
            found.append(second)
        else:
            raise ValueError("sizes do not broadcast")
    return tuple(found)
