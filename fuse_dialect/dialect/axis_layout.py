"""Layout strings: which axis of a tensor means what.

`NCHW` names four axes. A number and a lower-case letter make a block: in `NCHW4c` the channels are cut in blocks of
four, axis 1 counts the blocks and axis 4 the channels within one.

Source: TVM `Layout`, include/tvm/tir/data_layout.h (v0.18).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.shape_rules import quotient, unify
from fuse_dialect.dialect.types import DYNAMIC, Shape, shape_text

_TOKEN = re.compile(r"([A-Z])|([1-9][0-9]*)([a-z])")


def permutation(source: str, target: str) -> tuple[int, ...]:
    """Axes of a `source` layout in the order of `target`, for layouts without blocks: what `numpy.transpose` takes."""
    return tuple(source.index(letter) for letter in target)


@dataclass(frozen=True, slots=True)
class AxisLayout:
    """A layout with blocks."""

    axes: tuple[str, ...]
    """One letter for each axis; lower case for the position within a block."""
    blocks: dict[str, int]
    """Size of the block of each upper-case letter that has one."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """The layout of a string such as `NCHW4c`.

        Raises:
            VerifyException: The string is no layout.
        """
        axes: list[str] = []
        blocks: dict[str, int] = {}
        position = 0
        while position < len(text):
            token = _TOKEN.match(text, position)
            if token is None:
                raise VerifyException(f"expects a layout such as 'NCHW' or 'NCHW4c', got '{text}'")
            upper, factor, lower = token.groups()
            axes.append(upper or lower)
            if lower:
                blocks[lower.upper()] = int(factor)
            position = token.end()
        if not axes or len(set(axes)) != len(axes) or any(letter not in axes for letter in blocks):
            raise VerifyException(f"expects a layout that names each axis once and blocks only its axes, got '{text}'")
        return cls(tuple(axes), blocks)

    @property
    def primal(self) -> tuple[str, ...]:
        """The axes that are no blocks, in the layout's order."""
        return tuple(letter for letter in self.axes if letter.isupper())

    def primal_sizes(self, shape: Sequence[int]) -> dict[str, int]:
        """Size of each axis before it is cut into blocks, for a tensor of this layout and `shape`.

        Raises:
            VerifyException: The rank is not the layout's, or an axis has not its block's size.
        """
        text = self.text
        if len(shape) != len(self.axes):
            raise VerifyException(f"expects rank {len(self.axes)} for layout '{text}', got {shape_text(shape)}")
        sizes: dict[str, int] = {}
        for letter, dim in zip(self.axes, shape, strict=True):
            if letter.islower():
                unify(self.blocks[letter.upper()], dim, f"block '{letter}' of layout '{text}'")
            else:
                sizes[letter] = dim if dim == DYNAMIC else dim * self.blocks.get(letter, 1)
        return sizes

    def shape(self, sizes: dict[str, int]) -> Shape:
        """Shape in this layout of a tensor whose axes have `sizes` before they are cut.

        Raises:
            VerifyException: A size is not a multiple of its block.
        """
        return tuple(
            quotient(sizes[letter], self.blocks.get(letter, 1), f"axis '{letter}'")
            if letter.isupper()
            else self.blocks[letter.upper()]
            for letter in self.axes
        )

    @property
    def split_axes(self) -> tuple[str, ...]:
        """The axes with each block right behind the axis that it cuts: the order in which cutting is a reshape."""
        order: list[str] = []
        for letter in self.primal:
            order.append(letter)
            if letter in self.blocks:
                order.append(letter.lower())
        return tuple(order)

    @property
    def text(self) -> str:
        """The layout as it is written."""
        return "".join(a if a.isupper() else f"{self.blocks[a.upper()]}{a}" for a in self.axes)
