"""The boxes of a block from the outside in: sections by module, equal layers folded, and long rows cut.

Kernels stand in a row, producers before readers. (1) A stretch of the row whose ops come from one module is a section
named after it, as long as it has more than `MOST_WHOLE` kernels to divide. (2) Equal neighbours, three times or more,
are one section: `12 x layer`, which holds the first of them and the others. (3) What is still long is cut where few
values pass on (`sections`). All sections are stretches of the row, so they make no cycles among each other.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from re import compile, sub

from fuse_dialect.pictures.sections import Box, Section, cut, first_of, last_of, passing
from fuse_dialect.remarks.folding import runs

MOST_WHOLE = 24
"""Kernels that are drawn together, whatever modules they come from."""
MOST_DEEP = 12
"""Modules within modules that are told apart."""
_PLACE_IN_FILE = compile(r":\d+(:\d+)?$")
_NUMBER = compile(r"[._]?\d+$")


@dataclass(frozen=True, slots=True)
class Unit:
    """A kernel, or an op alone, in the row."""

    label: str
    """What it is, in words."""
    key: str
    """What makes it equal to another."""
    path: tuple[str, ...] = ()
    """The modules that it comes from, the outermost first."""


def module_path(source: str) -> tuple[str, ...]:
    """The modules that an op comes from, by the name that its model gives it; the last part is the op's own.

    Example:
        >>> module_path("/encoder/layer.0/dense/MatMul")
        ('encoder', 'layer.0', 'dense')
        >>> module_path("model/layers.py:10:4"), module_path("n47")
        ((), ())
    """
    if "/" not in source or _PLACE_IN_FILE.search(source):
        return ()
    return tuple(part for part in source.split("/") if part)[:-1][:MOST_DEEP]


def outline(units: Sequence[Unit], edges: Iterable[tuple[int, int]]) -> tuple[Box, ...]:
    """The row as boxes, of which no section and no top level holds more than `sections.MOST_FLAT`.

    Args:
        units: The row.
        edges: Pairs of a producer's place and a reader's, which is greater.

    Complexity: O(units * `MOST_DEEP` + edges), and that of `runs`.
    """
    numbers: dict[str, int] = {}
    row = _Row(units, [numbers.setdefault(unit.key, len(numbers)) for unit in units], passing(len(units), edges))
    return tuple(row.fitted(row.divided(range(len(units)), 0)))


@dataclass(frozen=True, slots=True)
class _Row:
    units: Sequence[Unit]
    keys: Sequence[int]
    passing: Sequence[int]

    def divided(self, places: range, depth: int) -> list[Box]:
        """(1) and (2) for a stretch of the row that has `depth` modules in common; recursion ends at `MOST_DEEP`."""
        boxes: list[Box] = list(places)
        # A module that holds all of the stretch says nothing new.
        while len(places) > MOST_WHOLE and depth < MOST_DEEP:
            groups = [(name, list(own)) for name, own in groupby(places, partial(self._module, depth))]
            depth += 1
            if len(groups) > 1:
                boxes = [box for name, own in groups for box in self._section(name, own, depth)]
                break
        return self._folded(boxes)

    def _module(self, depth: int, place: int) -> str:
        path = self.units[place].path
        return path[depth] if depth < len(path) else ""

    def _section(self, name: str, places: Sequence[int], depth: int) -> Iterator[Box]:
        if not name or len(places) == 1:
            yield from places
            return
        inside = self.fitted(self.divided(range(places[0], places[-1] + 1), depth))
        only = inside[0] if len(inside) == 1 else None
        # A module that is nothing but a run of layers needs no box of its own.
        yield (
            only.named(f"{name}: {only.name}")
            if isinstance(only, Section)
            else Section(places[0], places[-1], tuple(inside), name)
        )

    def _folded(self, boxes: Sequence[Box]) -> list[Box]:
        """(2): layers that repeat as one section."""
        found: list[Box] = []
        for run in runs([tuple(self.keys[first_of(box) : last_of(box) + 1]) for box in boxes]):
            layers = [boxes[start : start + run.length] for start in range(run.start, run.end, run.length)]
            found += boxes[run.start : run.end] if run.times == 1 else [self._run(layers)]
        return found

    def _run(self, layers: Sequence[Sequence[Box]]) -> Section:
        """A section of equal layers: the first of them, and one that holds the others."""
        times, length = len(layers), len(layers[0])
        first, *others = (self._layer(layer, number, times) for number, layer in enumerate(layers))
        stems = ", ".join(dict.fromkeys(self._stem(box) for box in layers[0]))
        name = f"{times} x {stems}" if length == 1 else f"{times} x [{length} kernels: {stems}]"
        more = f"{len(others)} more, equal"
        ends = f"{self._name(others[0])} … {self._name(others[-1])}" if length == 1 else f"2 … {times} of {times}"
        ends, note = (more, "") if isinstance(first, int) else (ends, more)
        last = last_of(others[-1])
        rest = Section(first_of(others[0]), last, tuple(self.fitted(others)), ends, note)
        return Section(first_of(first), last, (first, rest), name, is_open=True)

    def _layer(self, boxes: Sequence[Box], number: int, times: int) -> Box:
        if len(boxes) == 1:
            only = boxes[0]
            return only if isinstance(only, int) or number else only.opened()
        start, end = first_of(boxes[0]), last_of(boxes[-1])
        return Section(start, end, tuple(self.fitted(boxes)), f"{number + 1} of {times}", is_open=not number)

    def _name(self, box: Box) -> str:
        return self.units[box].label if isinstance(box, int) else box.name

    def _stem(self, box: Box) -> str:
        """The name of a layer without its number."""
        return self.units[box].label if isinstance(box, int) else sub(_NUMBER, "", box.name) or "layer"

    def fitted(self, boxes: Sequence[Box]) -> list[Box]:
        """(3): boxes that are too many in sections."""

        def named(part: Section) -> Section:
            ends = [part.boxes[0], part.boxes[-1]]
            if any(isinstance(box, int) or not box.name for box in ends):
                return part.named(f"kernels {part.first + 1} … {part.last + 1}")
            return part.named(f"{self._name(ends[0])} … {self._name(ends[1])}")

        return cut(boxes, self.passing, named)
