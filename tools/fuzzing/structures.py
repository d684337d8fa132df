"""Programs made of structural edges: each edge is a row of a table, made on purpose and counted.

A program is a few edges in any order with random operators between them, so that later edges read what earlier ones
made, and a choice of every option that could matter together: see `Crossing`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random

from fuzzing.file_edges import FILE_EDGES
from fuzzing.kernel_edges import KERNEL_EDGES, Edge
from fuzzing.loop_edges import LOOP_EDGES
from fuzzing.structure_writer import StructureWriter

EDGES: Mapping[str, Edge] = {**KERNEL_EDGES, **LOOP_EDGES}
"""Every edge of a program, by name."""
MOST_EDGES = 3
STRATEGIES, THREADS, PROCESSORS = ("tvm", "cost"), (1, 2), ("native", "haswell", "x86-64-v2")


@dataclass(frozen=True, slots=True)
class Crossing:
    """Options that are chosen together."""

    strategy: str
    threads: int
    processor: str
    is_cached: bool
    """Whether the program is compiled from a file, and comes from the cache the second time."""
    is_open: bool
    """Whether rows are open: then it is called with some, with others, and with the first again."""

    def __str__(self) -> str:
        """The words of the table."""
        cache, sizes = "on" if self.is_cached else "off", "open" if self.is_open else "fixed"
        return f"{self.strategy}, threads {self.threads}, {self.processor}, cache {cache}, sizes {sizes}"


CROSSINGS: Sequence[Crossing] = tuple(
    Crossing(*each) for each in product(STRATEGIES, THREADS, PROCESSORS, (False, True), (False, True))
)
"""All of them: seeds go through them in turn."""


EVERY = 7
"""Seeds from one edge of files to the next; coprime to all other numbers here."""
SIZE_EDGES: Mapping[str, Callable[[Crossing], bool]] = {
    "sizes-that-come-back": lambda crossing: crossing.is_open,
    "called-from-the-cache": lambda crossing: crossing.is_cached,
}
"""Edges of how a program is called, by whether a crossing has them."""


@dataclass(frozen=True, slots=True)
class Structure:
    """A program of edges, and how it is run."""

    seed: int
    edges: tuple[str, ...]
    crossing: Crossing
    writer: StructureWriter
    """What has been written."""
    text: str


def structure_of(seed: int, edges: Sequence[str] | None = None) -> Structure:
    """The program of a seed.

    Args:
        seed: It says everything.
        edges: Some edges of the program alone, for a smaller one.
    """
    random = Random(seed ^ 0x57)
    crossing = CROSSINGS[seed % len(CROSSINGS)]
    names = list(EDGES)
    # Seeds go through the edges in turn, one ahead after each round of crossings; others are chosen.
    chosen = [names[(seed // len(CROSSINGS) + seed) % len(names)]]
    chosen += random.choices(names, k=random.randint(0, MOST_EDGES - 1))
    random.shuffle(chosen)
    writer = StructureWriter(
        random, rows=random.choice((2, 3, 5, 8, 17)), columns=random.choice((2, 3, 4, 8, 9)), is_open=crossing.is_open
    )
    kept = tuple(chosen if edges is None else edges)
    for name in kept:
        for _ in range(random.randrange(3)):
            _operator(writer)
        EDGES[name](writer)
    return Structure(seed, kept, crossing, writer, writer.text())


def file_edge_of(seed: int) -> str | None:
    """The edge of files that a seed runs besides, if it does."""
    names = list(FILE_EDGES)
    return names[seed // EVERY % len(names)] if seed % EVERY == 0 else None


def met(seed: int) -> list[tuple[str, str]]:
    """What a seed counts for in the table: kinds of rows, and their names."""
    structure = structure_of(seed)
    rows = [("edges", name) for name in dict.fromkeys(structure.edges)]
    rows.append(("options", str(structure.crossing)))
    rows += [("edges", name) for name, holds in SIZE_EDGES.items() if holds(structure.crossing)]
    file_edge = file_edge_of(seed)
    return rows if file_edge is None else [*rows, ("edges", file_edge)]


def expected() -> list[tuple[str, str]]:
    """Every row of the table."""
    names = (*EDGES, *SIZE_EDGES, *FILE_EDGES)
    return [*(("edges", name) for name in names), *(("options", str(each)) for each in CROSSINGS)]


def _operator(writer: StructureWriter) -> None:
    """Any operator on any values."""
    x = writer.pick()
    writer.keep(writer.unary(x) if writer.random.random() < 0.5 else writer.binary(x, writer.pick()))
