"""Sizes, and numbers made of sizes, that may be known only when a program runs. Pure data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Size: TypeAlias = int | str
"""Number of elements along an axis; a string names a size that is known when the program runs."""


@dataclass(frozen=True, slots=True)
class Count:
    """A polynomial in symbolic sizes; equal polynomials compare equal."""

    terms: tuple[tuple[tuple[str, ...], int], ...] = ()
    """Products of symbols, in order, each once, with factors other than 0."""

    @staticmethod
    def of(size: Size) -> "Count":
        """A size as a polynomial."""
        if isinstance(size, str):
            return Count((((size,), 1),))
        return Count((((), size),)) if size else Count()

    @property
    def number(self) -> int | None:
        """The value, if it depends on no symbol."""
        if not self.terms:
            return 0
        (symbols, factor), *rest = self.terms
        return factor if not symbols and not rest else None

    def at(self, sizes: Mapping[str, int]) -> int | None:
        """The value for these sizes; `None` if one of its symbols is none of them."""
        total = 0
        for symbols, factor in self.terms:
            for symbol in symbols:
                if symbol not in sizes:
                    return None
                factor *= sizes[symbol]
            total += factor
        return total

    def __str__(self) -> str:
        terms = (
            " * ".join((*([str(factor)] if factor != 1 or not names else []), *names)) for names, factor in self.terms
        )
        return " + ".join(terms) or "0"

    def __add__(self, other: "Count") -> "Count":
        return _collected((*self.terms, *other.terms))

    def __mul__(self, other: "Count") -> "Count":
        return _collected(
            (tuple(sorted((*symbols, *others))), factor * times)
            for symbols, factor in self.terms
            for others, times in other.terms
        )

    def times(self, factor: int) -> "Count":
        """The polynomial, `factor` times."""
        return self * Count.of(factor)


def product(sizes: Iterable[Size]) -> Count:
    """The number of elements of an array of these sizes."""
    total = Count.of(1)
    for size in sizes:
        total = total * Count.of(size)
    return total


def _collected(terms: Iterable[tuple[tuple[str, ...], int]]) -> Count:
    sums: dict[tuple[str, ...], int] = {}
    for symbols, factor in terms:
        sums[symbols] = sums.get(symbols, 0) + factor
    return Count(tuple((symbols, factor) for symbols, factor in sorted(sums.items()) if factor))
