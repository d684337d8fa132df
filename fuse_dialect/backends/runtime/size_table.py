"""Formulas of sizes for one table of the driver, as sections that native code follows.

For given atoms one section says whether the conditions hold, and gives what words of the table hold and the sizes of
results; another one says whether everything has room. What follows from counts has sections of its own.
"""

from collections.abc import Sequence
from ctypes import addressof, c_int64
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import prod

import numpy as np

from fuse_dialect.backends.runtime.arrays import address_of
from fuse_dialect.backends.runtime.counting import native_sections
from fuse_dialect.backends.runtime.iteration_matrix import LoopMatrix
from fuse_dialect.backends.runtime.shapes import MOST_ITERATIONS
from fuse_dialect.backends.runtime.size_formulas import FoundSizes, SizeFormulas
from fuse_dialect.backends.runtime.size_sections import section
from fuse_dialect.backends.runtime.traced_sizes import Relation, Terms, always_holds, terms_of
from fuse_dialect.backends.types import Shape
from fuse_dialect.dialect.op import Array


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
        atoms: int = 0,
    ):
        """Make the sections.

        Args:
            formulas: What a trace has found.
            words: Words that sizes fill in, in order.
            room: Bytes, and how many there may be.
            outputs: Shapes of outputs.
            loops: Those whose sizes change.
            places: Where the words are in a frame.
            atoms: How many there are; those behind them say how many elements each result has room for.

        Raises:
            OverflowError: A coefficient does not fit a word.
        """
        self.formulas = formulas
        self._loops = loops
        self._follow = native_sections()
        late = formulas.late
        conditions: dict[int, list[tuple[Relation, Terms]]] = {}
        for relation, terms in formulas.conditions:
            if not always_holds(relation, terms):
                conditions.setdefault(late.place(terms), []).append((relation, terms))
        fits = [(Relation.NOT_NEGATIVE, terms_of(most - bytes)) for bytes, most in room]
        # The largest count need not make everything largest: what has room before the run may not have it in the run.
        for each in (*fits, *_of_results(outputs, atoms)) if late.counts else ():
            if late.place(each[1]) >= 0:
                conditions.setdefault(late.place(each[1]), []).append(each)
        # Caches of all layers have one shape.
        self._shapes = list(dict.fromkeys(map(_keys, outputs)))
        self._outputs = [self._shapes.index(_keys(shape)) for shape in outputs]
        by_keys = {_keys(shape): shape for shape in outputs}
        cells = [*words, *(size for keys in self._shapes for size in by_keys[keys])]
        # Before a run sizes are those of the largest counts, conditions on counts are left out.
        self._sizes = section([], conditions.get(-1, []), enumerate(cells))
        self._room = section([], fits, [])
        self._addresses = address_of(self._sizes), address_of(self._room)
        # One set of sizes after the other: native code reads atoms here, and writes cells.
        self._atoms = (c_int64 * max(atoms, 1))()
        self._cells = (c_int64 * max(len(cells), 1))()
        self._at, self._to = addressof(self._atoms), addressof(self._cells)
        self._variables: Array = np.frombuffer(memoryview(self._cells), np.int64)[: len(words)]
        ends = [*accumulate(map(len, self._shapes), initial=len(words))]
        self._places = list(pairwise(ends))
        self.sections = [
            section(
                [each for each in late.quotients if late.after[each[0]] == place],
                conditions.get(place, []),
                [(cell, size) for cell, size in zip(places, words, strict=True) if late.place(terms_of(size)) == place],
                [atom],
            )
            for place, atom in enumerate(late.counts)
        ]

    def sizes(self, found: FoundSizes) -> "Sizes | None":
        """What follows from atoms; `None` if a condition does not hold. One thread at a time may ask."""
        cells = self._cells
        self._atoms[: len(found.atoms)] = found.atoms
        if self._follow(self._addresses[0], self._to, self._at) != 1:
            return None
        fits = self._follow(self._addresses[1], self._to, self._at) == 1
        shapes = [tuple(cells[begin:end]) for begin, end in self._places]
        tables: list[Array] = []
        for loop in self._loops:
            made = loop.table(found.atoms, MOST_ITERATIONS)
            if made is None:
                return None
            tables.append(made[0])
            fits = fits and made[1]
        return Sizes(self._variables.copy(), [shapes[number] for number in self._outputs], fits, tables, self.sections)


def _of_results(outputs: Sequence[Shape], atoms: int) -> list[tuple[Relation, Terms]]:
    """That results have as many elements as there is room for, at most."""
    elements = [terms_of(prod(shape)) for shape in outputs]
    return [
        (Relation.NOT_NEGATIVE, (*((monomial, -number) for monomial, number in terms), ((atoms + place,), 1)))
        for place, terms in enumerate(elements)
    ]


def _keys(shape: Shape) -> tuple[object, ...]:
    return tuple(map(terms_of, shape))
