"""A module as text, with the place of every op in it, and the name of every value: what people point at."""

from dataclasses import dataclass, field
from io import StringIO
from typing import cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.printer import Printer

from fuse_dialect.dialect.elision import ELIDED_RESOURCE

MOST_ELEMENTS = 8
"""Elements of a constant up to which they are printed."""


@dataclass(frozen=True, slots=True)
class PrintedIR:
    """Text, and what stands where."""

    text: str
    """The module; constants of more than `MOST_ELEMENTS` are elided."""
    spans: dict[int, tuple[int, int]]
    """Start and end of each op in the text, by identity of the op."""
    names: dict[SSAValue, str]
    """The name of each value, with its `%`."""

    def text_of(self, op: Operation) -> str:
        """The lines of an op; empty for an op that is not in the text."""
        start, end = self.spans.get(id(op), (0, 0))
        return self.text[start:end]

    def name_of(self, value: SSAValue) -> str:
        """The name of a value; its type for one that is not in the text."""
        name = self.names.get(value)
        return str(value.type) if name is None else name


@dataclass(eq=False, repr=False)
class _SpanPrinter(Printer):
    """Notes where each op is printed, and under which names values are."""

    spans: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    types: dict[int, tuple[Attribute, str]] = field(default_factory=dict[int, tuple[Attribute, str]])
    """Text of types by identity; they are kept alive with it."""

    def print_op(self, op: Operation) -> None:
        stream = self.stream
        assert isinstance(stream, StringIO), "this printer is made with a stream"
        start = stream.tell()
        super().print_op(op)
        self.spans[id(op)] = (start, stream.tell())

    def print_ssa_value(self, value: SSAValue) -> str:
        name = super().print_ssa_value(value)
        self.names[value] = name if name.startswith("%") else f"%{name}"
        return name

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, DenseIntOrFPElementsAttr) and _is_long(cast(DenseIntOrFPElementsAttr, attribute)):
            self.print_string(f"dense_resource<{ELIDED_RESOURCE}> : ")
            self.print_attribute(cast(DenseIntOrFPElementsAttr, attribute).get_type())
        elif isinstance(attribute, TensorType):
            self._print_type(cast(Attribute, attribute))
        else:
            super().print_attribute(cast(Attribute, attribute))

    def _print_type(self, type: Attribute) -> None:
        """Print a type; a program repeats a few of them at every op, so the text of each is made once."""
        known = self.types.get(id(type))
        if known is None:
            known = self.types[id(type)] = (type, str(type))
        self.print_string(known[1])


def _is_long(attribute: DenseIntOrFPElementsAttr) -> bool:
    return len(attribute.data.data) > MOST_ELEMENTS * attribute.get_element_type().compile_time_size


def printed_ir(module: ModuleOp) -> PrintedIR:
    """The text of a module, to look at: long constants are left out.

    Complexity: O(ops + operands).
    """
    stream = StringIO()
    printer = _SpanPrinter(stream)
    printer.print_op(module)
    return PrintedIR(stream.getvalue(), printer.spans, printer.names)
