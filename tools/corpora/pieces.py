"""Pieces of files of MLIR, and what `fuse-ops` did to each.

1. A piece is what stands between two `// -----` of a file, as for `mlir-opt -split-input-file`.
2. A piece that cannot be read is *refused*: test files hold ops in forms that are not known, and mistakes on purpose.
3. A piece is *flagged* if something is wrong with what was read: see `Flag`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from fuse_dialect.loading.source import Source, read_sources


class Flag(StrEnum):
    """What must not happen to a piece that was read."""

    INTERNAL_ERROR = "internal error"
    """Something was raised that nobody diagnosed."""
    OP_LOST = "op lost"
    """After `fuse-ops` and `defuse-ops` there are other ops than before, dead ones and constants apart."""
    EFFECT_REORDERED = "effect reordered"
    """Ops without a kind stand in another order."""
    NOT_STABLE = "second run changes something"
    """A second `fuse-ops` gives another text."""
    NOT_READ_AGAIN = "output not read"
    """The printed output cannot be read, or is printed differently when it is."""
    OUT_OF_TIME = "out of time"
    """A bound on the seconds of a piece."""


Group: TypeAlias = tuple[str, str, str]
"""A reason code, the op that is not fused, and the op that it would have been fused into; `-` for none."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An op that was not fused, and why."""

    group: Group
    place: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a piece."""

    file: Path
    line: int = 1
    """Where the piece starts in the file, from 1."""
    refused: str = ""
    """Why it was not read, or not fused; empty if it was."""
    flags: Sequence[tuple[Flag, str]] = ()
    """What is wrong, with a line of detail."""
    operators: int = 0
    """Ops that have kinds, and are not dead."""
    pairs: int = 0
    """Pairs of those where one reads what the other gives, in one block."""
    fused: int = 0
    """Kernels of several operators."""
    refusals: Sequence[Refusal] = ()
    is_unprintable: bool = False
    """xDSL prints it, without this package, and cannot read what it printed: no flag of ours."""

    @property
    def place(self) -> str:
        """The file and the line."""
        return f"{self.file}:{self.line}"


def files_of(folders: Iterable[Path]) -> list[Path]:
    """The files of MLIR in folders, at any depth, in order; a file stands for itself."""
    found: list[Path] = []
    for folder in folders:
        found += sorted(folder.rglob("*.mlir")) if folder.is_dir() else [folder]
    return found


def pieces_of(path: Path) -> list[Source]:
    """The pieces of a file that hold more than comments.

    Raises:
        FuseError: The file cannot be read.
    """
    return [piece for piece in read_sources(str(path), "mlir", split=True) if _says_something(piece.data)]


def _says_something(data: bytes) -> bool:
    return any(line.strip() and not line.strip().startswith(b"//") for line in data.splitlines())
