"""The table of a loop whose sizes change, from formulas: all iterations at once.

1. A polynomial is a sum of products of two parts: one of atoms that all iterations have in common, one of atoms that
   only the loop has. For each of the latter there is a matrix that gives the coefficients of all rows.
2. Nothing wraps around: the largest sum of magnitudes that may occur is computed beside, as a float.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from fuse_dialect.backends.runtime.size_formulas import Inside, IterationFormulas, LoopFormulas
from fuse_dialect.backends.runtime.traced_sizes import (
    MOST_PRODUCT,
    Monomial,
    Relation,
    Terms,
    TracedSize,
    always_holds,
    value_of,
)
from fuse_dialect.dialect.op import Array

_LARGEST = float(1 << 62)
"""What a sum may be, at most; a float of this size is exact enough to tell."""


class LoopMatrix:
    """The formulas of a loop for one layout of memory."""

    def __init__(
        self, formulas: LoopFormulas, columns: Sequence[Sequence[int]], room: Sequence[Sequence[tuple[int, int]]]
    ):
        """Make the matrices.

        Args:
            formulas: What a trace has found.
            columns: For each kind of iterations what the columns of the table are.
            room: For each kind bytes, and how many there may be.

        Raises:
            OverflowError: A coefficient does not fit a word.
        """
        self._count = formulas.count
        self._kinds = [
            _KindMatrix(kind, own, most) for kind, own, most in zip(formulas.kinds, columns, room, strict=True)
        ]

    def table(self, atoms: Sequence[int], most: int) -> "tuple[Array, bool] | None":
        """The rows of all iterations, and whether no value is larger than its room.

        Args:
            atoms: Those of the function.
            most: How many iterations there may be.

        Returns:
            `None` if these sizes are not such as were traced.
        """
        count = value_of(self._count.terms, atoms) if isinstance(self._count, TracedSize) else self._count
        if not 0 < count <= most:
            return None
        first = self._kinds[0].rows(atoms, np.arange(count))
        if first is None:
            return None
        table, fits, holds = first
        if holds.all():
            return table, bool(fits.all())
        for kind in self._kinds[1:]:
            (left,) = np.nonzero(~holds)
            found = kind.rows(atoms, left)
            if found is None:
                return None
            rows, fit, hold = found
            table[left[hold]], fits[left[hold]], holds[left[hold]] = rows[hold], fit[hold], True
            if holds.all():
                return table, bool(fits.all())
        return None


class _KindMatrix:
    """Those of iterations that are alike."""

    def __init__(self, kind: IterationFormulas, columns: Sequence[int], room: Sequence[tuple[int, int]]):
        self._atoms = kind.atoms
        conditions = [each for each in kind.conditions if not always_holds(*each)]
        polynomials = [_terms(size) for size in columns]
        polynomials += [terms for _, terms in conditions]
        polynomials += [_terms(bytes) for bytes, _ in room]
        self._most = np.array([most for _, most in room], np.int64)
        self._columns, self._room = len(columns), len(polynomials) - len(room)
        self._relations = {
            relation: [self._columns + place for place, (own, _) in enumerate(conditions) if own is relation]
            for relation in Relation
        }
        common: dict[Monomial, int] = {}
        parts: dict[Monomial, list[tuple[int, int, int]]] = {}
        for row, terms in enumerate(polynomials):
            for monomial, number in terms:
                inside = tuple([atom for atom in monomial if atom in kind.atoms])
                outside = tuple([atom for atom in monomial if atom not in kind.atoms])
                column = common.setdefault(outside, len(common))
                parts.setdefault(inside, []).append((row, column, number))
        self._common = list(common)
        self._parts = [
            (inside, *_matrices(entries, len(polynomials), len(common))) for inside, entries in parts.items()
        ]

    def rows(self, atoms: Sequence[int], numbers: Array) -> "tuple[Array, Array, Array] | None":
        """Of some iterations the rows, whether everything has room, and whether the conditions hold."""
        products = [prod([atoms[atom] for atom in monomial]) for monomial in self._common]
        own = _own_atoms(self._atoms, atoms, numbers)
        if own is None or any(not -_LARGEST < product < _LARGEST for product in products):
            return None
        vector = np.array(products, np.int64)
        size = np.abs(vector).astype(np.float64)
        values: Any = None
        bound: Any = 0.0
        for inside, matrix, magnitudes in self._parts:
            basis: Any = prod([own[atom] for atom in inside], start=np.ones(len(numbers), np.int64))
            largest = float(np.abs(basis).max(initial=0))
            bound = bound + (magnitudes @ size) * largest
            if bound.max(initial=0) >= _LARGEST or size.max(initial=0) * largest > MOST_PRODUCT:
                return None
            part = np.multiply.outer(basis, matrix @ vector)
            values = part if values is None else values + part
        if values is None:
            values = np.zeros((len(numbers), self._room + len(self._most)), np.int64)
        holds = np.ones(len(numbers), np.bool_)
        for relation, rows in self._relations.items():
            if rows:
                holds &= _hold(relation, values[:, rows]).all(axis=1)
        fits = (values[:, self._room :] <= self._most).all(axis=1)
        return np.ascontiguousarray(values[:, : self._columns]), fits, holds


def _terms(size: int) -> Terms:
    return size.key if isinstance(size, TracedSize) else (((), size),) if size else ()


def _matrices(entries: Sequence[tuple[int, int, int]], rows: int, columns: int) -> tuple[Array, Array]:
    matrix = np.zeros((rows, columns), np.int64)
    for row, column, number in entries:
        matrix[row, column] += number
    return matrix, np.abs(matrix).astype(np.float64)


def _hold(relation: Relation, values: Any) -> Any:
    match relation:
        case Relation.ZERO:
            return values == 0
        case Relation.NOT_ZERO:
            return values != 0
        case Relation.NOT_NEGATIVE:
            return values >= 0


def _own_atoms(inside: Mapping[int, Inside], atoms: Sequence[int], numbers: Array) -> dict[int, Any] | None:
    """The atoms that only a loop has, for some of its iterations; `None` if a divisor is not positive."""
    own: dict[int, Any] = {}
    for atom, each in inside.items():
        if each.quotient is None:
            own[atom] = numbers
            continue
        divisor = _values(each.quotient.divisor, atoms, own)
        number = _values(each.quotient.number, atoms, own)
        if number is None or divisor is None or np.min(divisor) <= 0:
            return None
        own[atom] = number // divisor
    return own


def _values(terms: Terms, atoms: Sequence[int], own: Mapping[int, Any]) -> Any:
    """The values of a polynomial in some iterations; `None` if they may not fit a word."""
    found: Any = 0
    bound = 0.0
    for monomial, number in terms:
        factors = [own[atom] if atom in own else atoms[atom] for atom in monomial]
        bound += abs(number) * prod([float(np.abs(factor).max()) for factor in factors])
        if bound >= _LARGEST:
            return None
        found = found + prod(factors, start=number)
    return found
