"""How `fuse` ops are written as ONNX operators: one row for each op class."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.targets.onnx.graph import GraphWriter

Row: TypeAlias = Callable[[GraphWriter, FuseOp, Sequence[str]], "str | Sequence[str]"]
"""Writes an op: gets the names of its operands, gives the name of its result or of each of them."""


class OpRows:
    """Rows of one family."""

    def __init__(self) -> None:
        self.rows: dict[type[FuseOp], Row] = {}

    def row(self, *classes: type[FuseOp]) -> Callable[[Row], Row]:
        """Register how ops of these classes are written."""

        def register(write: Row) -> Row:
            for op_class in classes:
                assert op_class not in self.rows, f"{op_class.__name__} has two rows"
                self.rows[op_class] = write
            return write

        return register

    def same(self, operators: Mapping[type[FuseOp], str]) -> None:
        """Register ops that an ONNX operator without attributes computes from the same operands."""
        for op_class, op_type in operators.items():
            self.row(op_class)(_same(op_type))


def _same(op_type: str) -> Row:
    return lambda graph, op, operands: graph.emit(op_type, *operands)
