"""A kernel in the making: its nodes, its form, and its price."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from fuse_dialect.loops.forms import Form


class Price(NamedTuple):
    """What a kernel takes, and of what that is the sum; in seconds."""

    reading: Mapping[int, float]
    """What reading each value takes."""
    storing: float
    moving: float
    """Of reading and storing, what is read several times counted once."""
    work: float
    """Of arithmetic outside of products."""
    products: float
    """Of arithmetic in products."""
    between: float
    """Of moving what passes between stages."""
    apart: float
    """Of loops that run before the others, or after them."""
    seconds: float
    """Of all."""


@dataclass(eq=False, slots=True)
class Draft:
    """A kernel in the making."""

    members: frozenset[int]
    """Nodes; scalar constants and views are left out."""
    form: Form
    price: Price
    escapes: bool
    """Whether something outside the graph sees what it stores."""
    may_repeat: bool
    """Whether all of it may be computed again."""
    has_copies: bool = False
    """Whether some of its nodes are in other kernels, too."""

    @property
    def seconds(self) -> float:
        """What it takes."""
        return self.price.seconds
