"""Words of kernels and loops that change with the iterations of a loop around them, as columns of one table.

Condition 4 of `control` says who reads it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from fuse_dialect.backends.runtime.shapes import IterationSizes, bytes_of
from fuse_dialect.backends.runtime.size_formulas import IterationFormulas
from fuse_dialect.backends.types import Shape, TensorType
from fuse_dialect.dialect.op import Array

_Sizes: TypeAlias = Callable[[int], Shape]


@dataclass(eq=False, slots=True)
class IterationTable:
    """The words of one loop."""

    types: Sequence[TensorType]
    words: list[int] = field(default_factory=list[int])
    """Numbers of the words, one for each column."""
    _told: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """What calls are told of sizes: their first result, and how many columns there are; they come first in a row."""
    _values: list[int] = field(default_factory=list[int])
    """Tensors whose integers kernels read; they come next."""
    _numbers: list[Callable[[_Sizes], int]] = field(default_factory=list["Callable[[_Sizes], int]"])
    """What is in the other columns."""
    _of_values: list[int] = field(default_factory=list[int])
    _others: list[int] = field(default_factory=list[int])

    def add_call(self, first: int, tensor: int, room: int) -> None:
        """Add what a call is told of sizes.

        Args:
            first: The first word.
            tensor: The first result of the call.
            room: How many words.
        """
        self._told.append((tensor, room))
        self.words += range(first, first + room)

    def add_value(self, first: int, tensor: int, count: int) -> None:
        """Add integers that kernels read.

        Args:
            first: The first word.
            tensor: What has them.
            count: How many there are.
        """
        self._values.append(tensor)
        self._of_values += range(first, first + count)

    def add_bytes(self, word: int, tensor: int) -> None:
        """Add how many bytes a tensor has."""
        self._others.append(word)
        self._numbers.append(lambda shape: bytes_of(self.types[tensor], shape(tensor)))

    def add_rows(self, word: int, tensors: Sequence[int]) -> None:
        """Add how many rows some tensors have, of which there is one at least; all have as many."""
        self._others.append(word)
        self._numbers.append(lambda shape: shape(tensors[0])[0])

    @property
    def columns(self) -> list[int]:
        """The words, in the order of the columns."""
        return [*self.words, *self._of_values, *self._others]

    def rows(self, sizes: IterationSizes, shapes: Sequence[Shape]) -> Array:
        """The table.

        Args:
            sizes: Of the iterations.
            shapes: Of tensors that all iterations have in common.
        """
        table = np.zeros((len(sizes.shapes), len(self.columns)), np.int64)
        for number, (own, words, told) in enumerate(zip(sizes.shapes, sizes.words, sizes.told, strict=True)):
            table[number] = [*self._calls(words), *self._integers(told), *self._rest(own, shapes)]
        return table

    def formulas(self, kind: IterationFormulas, shapes: Sequence[Shape]) -> list[int]:
        """What the columns are in iterations that are alike; `shapes` as for `rows`."""
        return [*self._calls(kind.words), *self._integers(kind.told), *self._rest(kind.shapes, shapes)]

    def _calls(self, words: Mapping[int, Sequence[int]]) -> list[int]:
        found: list[int] = []
        for tensor, room in self._told:
            own = words[tensor]
            found += own
            found += [0] * (room - len(own))
        return found

    def _integers(self, told: Mapping[int, Sequence[int]]) -> list[int]:
        return [number for tensor in self._values for number in told[tensor]]

    def _rest(self, own: Mapping[int, Shape], shapes: Sequence[Shape]) -> list[int]:
        return [number(lambda tensor: own[tensor] if tensor in own else shapes[tensor]) for number in self._numbers]
