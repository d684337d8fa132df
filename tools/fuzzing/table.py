"""The table of ops that need more than `generic` knows: one row says what may be valid."""

from collections.abc import Callable
from typing import TypeAlias

from fuse_dialect.dialect.op import FuseOp
from fuzzing.draft import Draft, Known, Proposal

Row: TypeAlias = Callable[[Draft, type[FuseOp], Known], Proposal | None]
"""Proposes an op that reads the given value if it can; `None` if it finds nothing."""


class Rows:
    """Rows of one family."""

    def __init__(self) -> None:
        self.rows: dict[type[FuseOp], Row] = {}

    def row(self, *classes: type[FuseOp]) -> Callable[[Row], Row]:
        """Register what is proposed for ops of these classes."""

        def register(propose: Row) -> Row:
            for op_class in classes:
                assert op_class not in self.rows, f"{op_class.__name__} has two rows"
                self.rows[op_class] = propose
            return propose

        return register
