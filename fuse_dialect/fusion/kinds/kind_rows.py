"""Pattern kinds of ops by name, as users give them: rows, and the table that finds the row of an op.

1. A row is for ops of one dialect: an exact name, `npu.gelu`, or a pattern in which `*` stands for any characters,
   `npu.*`.
2. The most specific row wins: an exact name before all patterns, and of two patterns the one with more characters
   besides `*`; of two alike the first one.
3. A name has one row. Where several sources give one name, they say the same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.pattern_kind import PatternKind

KEYS = ("name", "kind", "edges", "reshape_only")
"""What a row says, in files and in the attribute of a module."""
NAME_HINT = "write a name, 'npu.gelu', or a pattern of one dialect, 'npu.*'"


def is_name_of_rows(name: str) -> bool:
    """Whether a text names ops of one dialect: (1)."""
    dialect, dot, rest = name.partition(".")
    return bool(dialect and dot and rest) and "*" not in dialect and name.isprintable() and " " not in name


@dataclass(frozen=True, slots=True)
class KindRow:
    """What is said about the ops of a name."""

    name: str
    """An op's name, or a pattern."""
    kind: PatternKind
    edges: tuple[PatternKind, ...] = ()
    """How the first operands are read; the others are read as an op of the kind reads them."""
    reshape_only: bool = False
    """Whether the result holds the operand's elements in the same row-major order."""
    place: SourceLocation = field(default=SourceLocation("<rows>"), compare=False)
    """Where it is said."""

    def matches(self, name: str) -> bool:
        """Whether the row is for ops of a name.

        Complexity: O(length of both), whatever the number of `*`.
        """
        first, *others = self.name.split("*")
        if not others:
            return name == first
        *middle, last = others
        if not name.startswith(first) or not name.endswith(last) or len(name) < len(first) + len(last):
            return False
        # The leftmost place of each part leaves the most room for the next.
        place, end = len(first), len(name) - len(last)
        for part in middle:
            found = name.find(part, place, end)
            if found < 0:
                return False
            place = found + len(part)
        return True

    @property
    def specificity(self) -> tuple[bool, int]:
        """Greater for the row that wins: (2)."""
        stars = self.name.count("*")
        return not stars, len(self.name) - stars


@dataclass(frozen=True, slots=True)
class KindTable:
    """Rows by name; of several files together, too."""

    rows: tuple[KindRow, ...]

    @classmethod
    def of(cls, rows: Iterable[KindRow]) -> "KindTable":
        """The table of rows of several sources, those of each being checked.

        Raises:
            FuseError: Two give one name different kinds.
        """
        by_name: dict[str, KindRow] = {}
        for row in rows:
            known = by_name.setdefault(row.name, row)
            if known != row:
                raise FuseError(
                    f"'{row.name}' is said to be {_words(row)} here, and {_words(known)} elsewhere",
                    row.place,
                    (f"{known.place}: the other row of this name",),
                    "an op has one kind: remove one of the rows",
                )
        return cls(tuple(sorted(by_name.values(), key=lambda row: row.specificity, reverse=True)))

    def matching(self, names: Iterable[str]) -> Mapping[str, list[KindRow]]:
        """All rows for each of some names, the one that wins first."""
        of_dialect: dict[str, list[KindRow]] = {}
        for row in self.rows:
            of_dialect.setdefault(_dialect(row.name), []).append(row)
        return {name: [row for row in of_dialect.get(_dialect(name), ()) if row.matches(name)] for name in names}

    def without_ops(self, names: Iterable[str]) -> list[KindRow]:
        """The rows for none of some names, in the order of their places."""
        used = {row.name for rows in self.matching(names).values() for row in rows}
        idle = [row for row in self.rows if row.name not in used]
        return sorted(idle, key=lambda row: (row.place.file, row.place.line))


def _dialect(name: str) -> str:
    return name.partition(".")[0]


def _words(row: KindRow) -> str:
    edges = f", edges {' '.join(edge.keyword for edge in row.edges)}" if row.edges else ""
    return f"{row.kind.keyword}{edges}{', reshape_only' if row.reshape_only else ''}"
