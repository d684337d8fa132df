"""The fewest structural edges that show a finding, as a file."""

import math
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from fuzzing.shrinking import in_fork, shrink
from fuzzing.structures import EDGES, Structure, structure_of

SECONDS = 60
"""For one candidate."""


def is_wrong(structure: Structure) -> bool:
    """Whether a program shows a finding, in a process of its own."""

    def attempt() -> int:
        from fuzzing.structure_way import run_structure

        try:
            run_structure(structure)
        except Exception:
            return 1
        return 0

    return in_fork(attempt, SECONDS) != 0


def smallest(seed: int) -> Structure | None:
    """The program of the fewest edges of a seed that shows a finding; `None` if none does."""
    whole = structure_of(seed)

    def smaller(structure: Structure) -> Iterator[Structure]:
        for count in range(1, len(structure.edges)):
            yield from (structure_of(seed, edges) for edges in combinations(structure.edges, count))

    found = shrink(whole, smaller, is_wrong, math.inf)
    return None if found is whole and not is_wrong(whole) else found


def write_structure(folder: Path, seed: int) -> Path | None:
    """Write the smallest program of a finding, with its options and edges above it.

    Args:
        folder: Where; it is made.
        seed: Of the finding. One of files is not made smaller: its name says everything.

    Returns:
        The file, or `None` if no program is wrong.
    """
    found = smallest(seed)
    if found is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"structure-{seed}.mlir"
    lines = [f"// {name}: {(EDGES[name].__doc__ or '').partition('.')[0]}" for name in found.edges]
    path.write_text("\n".join([f"// {found.crossing}", *lines, found.text]))
    return path
