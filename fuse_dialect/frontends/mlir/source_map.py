"""Where the operations of a parsed module stand in the text, for errors that say `file:line:col`.

MLIR stores a location on every operation, xDSL only what `loc(...)` spells. Positions are kept beside the module, as
offsets, which costs next to nothing; they become lines when an error asks, and locations when they are to be printed.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr, UnknownLoc
from xdsl.ir import Attribute, Operation

from fuse_dialect.diagnostics import SourceLocation
from fuse_dialect.dialect.places import place_of
from fuse_dialect.frontends.mlir.excerpt import excerpt


@dataclass(eq=False, slots=True)
class SourceMap:
    """Positions of operations in one source text."""

    file: str
    text: str = field(repr=False)
    line_offset: int = 0
    """Lines before `text` in the file; not 0 for the later parts of a split file."""
    offsets: dict[Operation, int] = field(default_factory=dict[Operation, int], repr=False)
    """Offset of the operation's name in `text`, in code points."""
    _line_starts: list[int] = field(default_factory=list[int], init=False, repr=False)

    def place(self, offset: int) -> SourceLocation:
        """Line and column of an offset in the text.

        Complexity: O(len(text)) the first time, then O(log lines).
        """
        if not self._line_starts:
            self._line_starts = list(_line_starts(self.text))
        line = bisect_right(self._line_starts, offset)
        return SourceLocation(self.file, line + self.line_offset, offset - self._line_starts[line - 1] + 1)

    def locate(self, op: Operation) -> SourceLocation:
        """The best known place of `op`.

        An explicit `loc(...)` comes first, then the place in the text; an operation that a pass has built has neither,
        and stands where its closest ancestor stands. Without any, the file alone.
        """
        current: Operation | None = op
        while current is not None:
            if (explicit := _explicit_location(current.location)) is not None:
                return explicit
            if (offset := self.offsets.get(current)) is not None:
                return self.place(offset)
            current = current.parent_op()
        return self.file_alone()

    def excerpt(self, op: Operation) -> Iterator[str]:
        """The line of the text where `op` stands and carets below its name; nothing for ops that passes have built."""
        offset = self.offsets.get(op)
        if offset is not None and _explicit_location(op.location) is None:
            end = offset
            while end < len(self.text) and (self.text[end].isalnum() or self.text[end] in '"._$'):
                end += 1
            yield from excerpt(self.text, offset, end)

    def write_locations(self) -> None:
        """Give every operation without an explicit location the place where it stands, as MLIR's parser does."""
        for op, offset in self.offsets.items():
            if isinstance(op.location, UnknownLoc):
                place = self.place(offset)
                op.location = FileLineColLoc(StringAttr(place.file), IntAttr(place.line), IntAttr(place.column))

    def file_alone(self) -> SourceLocation:
        """The place of an error that is about the whole module."""
        return SourceLocation(self.file)


def _line_starts(text: str) -> Iterator[int]:
    start = 0
    while True:
        yield start
        start = text.find("\n", start) + 1
        if start == 0:
            return


def _explicit_location(location: Attribute) -> SourceLocation | None:
    """The file, line and column that a location attribute names first, if it names any."""
    place = place_of(location)
    return None if place is None else SourceLocation(place.filename.data, place.line.data, place.column.data)
