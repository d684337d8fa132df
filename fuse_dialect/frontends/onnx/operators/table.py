"""How an ONNX operator enters the table: one decorated function, or one row of a dict."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.frontends.onnx.node import OnnxNode
from fuse_dialect.frontends.onnx.values import Value

Importer: TypeAlias = Callable[[OnnxNode], Value | Sequence[Value]]
"""Imports one node: emits ops and returns the node's results, one value when there is one."""
_Own = TypeVar("_Own", bound=Importer)


class OperatorTable(dict[str, Importer]):
    """The importers of a family of operators, by ONNX operator name."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[type[FuseOp], str] = {}
        """Operators that are one op on the same operands, without attributes, by that op."""

    def operator(self, *names: str) -> Callable[[_Own], _Own]:
        """Decorator: the function imports the operators of these names."""

        def register(importer: _Own) -> _Own:
            for name in names:
                assert name not in self, f"ONNX operator '{name}' is in the table already"
                self[name] = importer
            return importer

        return register

    def simple(self, rows: Iterable[tuple[str, type[FuseOp]]]) -> None:
        """Enter operators that are one op on the same operands, without attributes."""
        for name, op in rows:
            self.operator(name)(_direct(op))
            self.names[op] = name


def _direct(op: type[FuseOp]) -> Importer:
    def import_node(node: OnnxNode) -> Value:
        return node.emit(op, *node.all_operands())

    return import_node
