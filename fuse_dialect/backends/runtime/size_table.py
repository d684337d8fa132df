"""Formulas of sizes as one matrix, for one table of the driver.

1. Every polynomial that is asked for is a row of integers, every product of atoms that occurs a column. For given sizes
   the products are computed as Python's integers; one product of the matrix and their vector gives all the rest.
2. Nothing wraps around: a row is exact if no product is too large, which follows from the coefficients. For larger
   products there is no answer. A condition that holds up to there is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from fuse_dialect.backends.runtime.counting import RELATIONS, polynomial_words
from fuse_dialect.backends.runtime.iteration_matrix import LoopMatrix
from fuse_dialect.backends.runtime.shapes import MOST_ITERATIONS
from fuse_dialect.backends.runtime.size_formulas import FoundSizes, SizeFormulas
from fuse_dialect.backends.runtime.traced_sizes import MOST_PRODUCT, Monomial, Relation, Terms, TracedSize, always_holds
from fuse_dialect.backends.types import Shape
from fuse_dialect.dialect.op import Array

LARGEST = 1 << 62
"""What a row may give, at most."""


@dataclass(eq=False, slots=True)
class _Rows:
    """Polynomials, each once, with the numbers of their rows."""

    numbers: dict[Terms, int] = field(default_factory=dict[Terms, int])
    columns: dict[Monomial, int] = field(default_factory=dict[Monomial, int])

    def row(self, size: int | TracedSize) -> int:
        """The row of a size."""
        return self.row_of(size.key if isinstance(size, TracedSize) else (((), size),))

    def row_of(self, terms: Terms) -> int:
        """The row of a polynomial."""
        for monomial, _ in terms:
            self.columns.setdefault(monomial, len(self.columns))
        return self.numbers.setdefault(terms, len(self.numbers))

    def matrix(self) -> Array:
        """The rows."""
        matrix = np.zeros((len(self.numbers), len(self.columns)), np.int64)
        for terms, row in self.numbers.items():
            for monomial, number in terms:
                matrix[row, self.columns[monomial]] = number
        return matrix


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a table of the driver needs of one set of sizes."""

    variables: Array
    """Words in the order in which `SizeTable` was given them."""
    outputs: Sequence[Shape]
    fits: bool
    """Whether no value is larger than its room."""
    tables: Sequence[Array] = ()
    """Of loops whose sizes change."""
    sections: Sequence[Array] = ()
    """What follows from each count, see `counting`."""


class SizeTable:
    """The formulas of a function for one layout of its memory."""

    def __init__(
        self,
        formulas: SizeFormulas,
        words: Sequence[int],
        room: Sequence[tuple[int, int]],
        outputs: Sequence[Shape],
        loops: Sequence[LoopMatrix] = (),
        places: Sequence[int] = (),
    ):
        """Make the matrix.

        Args:
            formulas: What a trace has found.
            words: Words that sizes fill in, in order.
            room: Bytes, and how many there may be.
            outputs: Shapes of outputs.
            loops: Those whose sizes change.
            places: Where the words are in a frame.

        Raises:
            OverflowError: A coefficient does not fit a word, or a quotient of counts may be larger than it is before.
        """
        rows = _Rows()
        conditions: dict[Relation, list[int]] = {relation: [] for relation in Relation}
        late = formulas.late
        for relation, terms in formulas.conditions:
            # Those that follow from a count are looked at when it is known.
            if always_holds(relation, terms):
                continue
            row = rows.row_of(terms)  # so that its products are not too large, whenever it is looked at
            if late.count_in(terms, -1) < 0:
                conditions[relation].append(row)
        for _, quotient in late.quotients:
            rows.row_of(quotient.number)
        # Few rows, and called for each new length: lists of Python are faster here than arrays.
        self._zero, self._not_zero, self._not_negative = [list(dict.fromkeys(rows)) for rows in conditions.values()]
        self._words = np.array([rows.row(word) for word in words], np.int64)
        least: dict[int, int] = {}
        for bytes, most in room:
            row = rows.row(bytes)
            least[row] = min(most, least.get(row, most))
        self._room = list(least.items())
        by_output = [tuple([rows.row(size) for size in shape]) for shape in outputs]
        # Caches of all layers have one shape.
        self._shapes = list(dict.fromkeys(by_output))
        self._outputs = [self._shapes.index(shape) for shape in by_output]
        self._matrix = rows.matrix()
        self._monomials = list(rows.columns)
        widest = max((sum(abs(number) for _, number in terms) for terms in rows.numbers), default=1)
        self._most = min(MOST_PRODUCT, LARGEST // max(widest, 1))
        self.formulas = formulas
        self.sections = _sections(formulas, words, places) if late.counts else []
        """What follows from each count (3 of `counting`); sizes before a run are those of the most there can be."""
        self._loops = loops

    def sizes(self, found: FoundSizes) -> "Sizes | None":
        """What follows from atoms; `None` if a condition does not hold."""
        atoms = found.atoms
        products = [prod([atoms[atom] for atom in monomial]) for monomial in self._monomials]
        if products and not (-self._most <= min(products) and max(products) <= self._most):
            return None
        values: Any = self._matrix @ np.array(products, np.int64)
        listed = values.tolist()
        if any(listed[row] for row in self._zero) or not all(listed[row] for row in self._not_zero):
            return None
        if any(listed[row] < 0 for row in self._not_negative):
            return None
        fits = all(listed[row] <= most for row, most in self._room)
        shapes = [tuple([listed[row] for row in shape]) for shape in self._shapes]
        tables: list[Array] = []
        for loop in self._loops:
            made = loop.table(atoms, MOST_ITERATIONS)
            if made is None:
                return None
            tables.append(made[0])
            fits = fits and made[1]
        shapes = [shapes[number] for number in self._outputs]
        return Sizes(values.take(self._words), shapes, fits=fits, tables=tables, sections=self.sections)


def _sections(formulas: SizeFormulas, words: Sequence[int], places: Sequence[int]) -> list[Array]:
    """What follows from each count.

    Before a run no product of atoms was too large, with the largest that counts can be; so none is in it.

    Raises:
        OverflowError: See `SizeTable`.
    """
    late = formulas.late
    sections: list[Array] = []
    for place, atom in enumerate(late.counts):
        section = [atom]
        quotients = [each for each in late.quotients if late.after[each[0]] == place]
        section.append(len(quotients))
        for number, quotient in quotients:
            grows = all(coefficient > 0 for _, coefficient in quotient.number)
            if not grows or late.count_in(quotient.divisor, -1) >= 0:
                raise OverflowError("a quotient that is largest elsewhere")
            section += [number, *polynomial_words(quotient.number), *polynomial_words(quotient.divisor)]
        conditions = [
            (relation, terms)
            for relation, terms in formulas.conditions
            if late.count_in(terms, -1) == place and not always_holds(relation, terms)
        ]
        section.append(len(conditions))
        for relation, terms in conditions:
            section += [RELATIONS.index(relation), *polynomial_words(terms)]
        written: dict[Terms, list[int]] = {}
        for word, size in zip(places, words, strict=True):
            if isinstance(size, TracedSize) and late.count_of(size) == place:
                written.setdefault(size.key, []).append(word)
        section.append(len(written))
        for terms, own in written.items():
            section += [*polynomial_words(terms), len(own), *own]
        sections.append(np.array(section, np.int64))
    return sections
