"""Sizes by formulas, as words that native code reads: it evaluates polynomials, and writes what they give.

1. A *section* says in words of 64 bits: how many quotients there are, each with the number of its atom, its number and
   its divisor, which must be positive; how many conditions, each with the number of its relation; how many polynomials
   are written, each with how many cells hold it, and their numbers.
2. A polynomial is the number of its terms, then for each its coefficient, the number of its atoms, and which they are.
3. Nothing wraps around: magnitudes are added up beside, as floats, and a section of which one is too large gives no
   answer.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from fuse_dialect.backends.runtime.traced_sizes import Quotient, Relation, Terms, terms_of
from fuse_dialect.dialect.op import Array

RELATIONS = (Relation.ZERO, Relation.NOT_ZERO, Relation.NOT_NEGATIVE)
"""By the number that a section has for each."""
LARGEST = 1 << 62
"""What the magnitudes of a polynomial's terms may add up to; a float of this size is exact enough to tell."""


def section(
    quotients: Sequence[tuple[int, Quotient]],
    conditions: Sequence[tuple[Relation, Terms]],
    cells: Iterable[tuple[int, int]],
    first: Sequence[int] = (),
) -> Array:
    """A section (1).

    Args:
        quotients: Numbers of atoms with what they are.
        conditions: What must hold.
        cells: Numbers of cells, with their sizes.
        first: Words in front of it.

    Raises:
        OverflowError: A coefficient does not fit a word.
    """
    words = [*first, len(quotients)]
    for atom, quotient in quotients:
        words += [atom, *_polynomial(quotient.number), *_polynomial(quotient.divisor)]
    words.append(len(conditions))
    for relation, terms in conditions:
        words += [RELATIONS.index(relation), *_polynomial(terms)]
    written: dict[Terms, list[int]] = {}
    for cell, size in cells:
        written.setdefault(terms_of(size), []).append(cell)
    words.append(len(written))
    for terms, own in written.items():
        words += [*_polynomial(terms), len(own), *own]
    return np.array(words, np.int64)


def _polynomial(terms: Terms) -> list[int]:
    words = [len(terms)]
    for monomial, coefficient in terms:
        words += [coefficient, len(monomial), *monomial]
    return words
