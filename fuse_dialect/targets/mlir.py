"""The `mlir` target of `fuse-opt`: xDSL's printer, with constants printed exactly and, on request, elided.

An op that its own form cannot say is printed in the generic form, with all that is in it. Otherwise the printer differs
from xDSL 0.74 in what follows `dense<`:

1. A splat is recognised by its bytes: xDSL compares numbers, and prints `[0.0, -0.0]` as `dense<0.0>`.
2. A nan is a splat too, and hexadecimal digits are upper case, as in MLIR.
3. i1 is never printed as a hexadecimal string, because xDSL writes it as bytes and MLIR reads it as bits.

And in names of values:

4. Operands of an isolated op have names outside of it. xDSL begins the scope of the op before them, and forgets the
   name of one that is defined in a later block: another value gets the same name.

And in places:

5. An op has one location, at its end. xDSL prints it behind a function type, too, wherever an op's own form has one:
   `scf.while` and the ops of TOSA had two, which nothing can read.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import IO, TYPE_CHECKING, Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    DenseIntOrFPElementsAttr,
    FusedLoc,
    IndexType,
    IntegerType,
    ModuleOp,
    TensorType,
    UnregisteredAttr,
    i1,
)
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import Rewriter
from xdsl.syntax_printer import SyntaxPrinter
from xdsl.targets.mlir import MLIRTarget
from xdsl.traits import IsolatedFromAbove

from fuse_dialect.dialect.elision import ELIDED_RESOURCE
from fuse_dialect.frontends.mlir.clauses import ClausePrinter
from fuse_dialect.frontends.mlir.locations import RANGE, range_text
from fuse_dialect.frontends.mlir.own_form import PartialForm
from fuse_dialect.targets.location_aliases import LOCATIONS_OF_OTHERS, shared_locations

if TYPE_CHECKING:
    from fuse_dialect.targets.weights import Weights

_HEX_ABOVE = 100
"""Elements; longer lists are printed as one hexadecimal string, as in MLIR."""
_HEX_BYTES = 1 << 20
"""Bytes of a hexadecimal string that are printed at a time."""


@dataclass(eq=False, repr=False)
class FusePrinter(ClausePrinter):
    """xDSL's printer with exact and elidable constants."""

    elide_larger_than: int | None = field(default=None)
    """A constant of more elements, unless a splat, is printed as `dense_resource<__elided__>`; `None` for never."""
    weights: "Weights | None" = field(default=None)
    """Constants that are printed as references to tensors of a file; `None` if all elements are printed."""
    _aliases: dict[int, str] = field(default_factory=dict[int, str], init=False)
    """Names of the locations that are printed at the end, by identity."""
    _types: dict[int, tuple[Attribute, str]] = field(default_factory=dict[int, tuple[Attribute, str]], init=False)
    """Text of each type that was printed, by identity; the type is kept alive with it."""

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        """Print text; most of it has no newline, and then a plain `write` is three times as fast."""
        if "\n" in text:
            super().print_string(text, indent=indent)
        else:
            self._current_column += len(text)
            assert self.stream is not None, "this printer is made with a stream"
            self.stream.write(text)

    def print_op(self, op: Operation) -> None:
        """Print an op, in the generic form where its own leaves something out."""
        if op.regions and op.operands and op.has_trait(IsolatedFromAbove):
            self._name_operands(op)
        if self.print_generic_format or not isinstance(op, PartialForm) or op.has_own_form():
            super().print_op(op)
            return
        self.print_generic_format = True
        super().print_op(op)
        self.print_generic_format = False

    def print_op_with_default_format(self, op: Operation) -> None:
        """Print what stands behind the name in the generic form, and the location (5)."""
        super().print_op_with_default_format(op)
        if self.print_debuginfo:
            self.print_string(" ")
            self.print_attribute(op.location)

    def print_operation_type(self, op: Operation) -> None:
        """Print `(operands) -> results`, and no location (5)."""
        self.print_function_type(op.operand_types, op.result_types)

    def _name_operands(self, op: Operation) -> None:
        """Name operands that stand in a block further below before the scope of the op begins (4)."""
        for operand in op.operands:
            if operand not in self._ssa_values:
                stream, column, self.stream = self.stream, self._current_column, StringIO()
                self.print_ssa_value(operand)
                self.stream, self._current_column = stream, column

    def print_attribute(self, attribute: Attribute) -> None:
        """Print an attribute or type."""
        if type(attribute) is TensorType:
            self._print_tensor_type(attribute)
        elif isinstance(attribute, DenseIntOrFPElementsAttr):
            self._print_dense(cast(DenseIntOrFPElementsAttr, attribute))
        elif isinstance(attribute, LOCATIONS_OF_OTHERS):
            self._print_location(attribute)
        elif isinstance(attribute, UnregisteredAttr):
            # Its text is kept as it was read; a line break in it must not be indented.
            level, self._indent = self._indent, 0
            super().print_attribute(attribute)
            self._indent = level
        else:
            super().print_attribute(attribute)

    def _print_tensor_type(self, tensor: TensorType) -> None:
        """Print a type that a program repeats at every op: its text is made once."""
        known = self._types.get(id(tensor))
        if known is None:
            text = StringIO()
            stream, self.stream = self.stream, text
            column = self._current_column
            super().print_attribute(tensor)
            self.stream, self._current_column = stream, column
            self._types[id(tensor)] = known = (tensor, text.getvalue())
        # An encoding of an unknown dialect may have line breaks, behind which nothing may be put.
        self.print_string(known[1], indent=0)

    def print_with_aliases(self, module: ModuleOp) -> None:
        """Print the module, and before and behind it the locations that it names more than once."""
        shared = shared_locations(module, of_ops=self.print_debuginfo)
        self._aliases = {id(each): f"#loc{index or ''}" for index, each in enumerate((*shared.early, *shared.late))}
        for each in shared.early:
            self._print_alias(each)
            self.print_string("\n")
        self.print_op(module)
        for each in shared.late:
            self.print_string("\n")
            self._print_alias(each)
        self._aliases.clear()

    def _print_alias(self, location: Attribute) -> None:
        alias = self._aliases.pop(id(location))
        self.print_string(f"{alias} = ")
        self.print_attribute(location)
        self._aliases[id(location)] = alias

    def _print_location(self, attribute: Attribute) -> None:
        if (alias := self._aliases.get(id(attribute))) is not None:
            with self.in_location():
                self.print_string(alias)
        elif isinstance(attribute, FusedLoc) and attribute.metadata == RANGE:
            with self.in_location():
                self.print_string(range_text(attribute))
        else:
            super().print_attribute(attribute)

    def print_float(self, value: float, type: AnyFloat) -> None:
        """Print a float so that the parser gets the same bits back."""
        if math.isfinite(value):
            super().print_float(value, type)
        else:
            self.print_string(f"0x{type.pack((value,))[::-1].hex().upper()}")

    def _print_dense(self, attribute: DenseIntOrFPElementsAttr) -> None:
        # Imported for a constant that has elements: NumPy is a third of the time that a small module takes.
        from fuse_dialect.dialect.constants import is_splat as all_equal
        from fuse_dialect.dialect.mapped_file import release

        element_type, data = attribute.get_element_type(), attribute.data.data
        size = element_type.compile_time_size
        count = len(data) // size
        if self.weights is not None and (name := self.weights.name_of(attribute)) is not None:
            self.print_string(f"dense_resource<{name}> : ")
            self.print_attribute(attribute.get_type())
            return
        is_splat = all_equal(data, size)
        if self.elide_larger_than is not None and count > self.elide_larger_than and not is_splat:
            self.print_string(f"dense_resource<{ELIDED_RESOURCE}>")
        elif count > _HEX_ABOVE and not is_splat and element_type != i1:
            self.print_string('dense<"0x')
            for start in range(0, len(data), _HEX_BYTES):
                self.print_string(data[start : start + _HEX_BYTES].hex().upper())
                release(data[start : start + _HEX_BYTES])
            self.print_string('">')
        else:
            values = element_type.unpack(data[:size], 1) if is_splat else attribute.get_values()
            shape = attribute.get_shape() if attribute.shape_is_complete else (count,)
            self.print_string("dense<")
            if values:
                self._print_elements(values, () if is_splat else shape, element_type)
            self.print_string(">")
        self.print_string(" : ")
        self.print_attribute(attribute.get_type())

    def _print_elements(self, values: Sequence[Any], shape: Sequence[int], type: Attribute) -> None:
        """Print row-major `values` as nested lists of the given shape; no shape for a single value."""
        if not shape:
            self._print_element(values[0], type)
            return
        stride = len(values) // shape[0]
        rows = (values[start : start + stride] for start in range(0, len(values), stride))
        with self.in_square_brackets():
            self.print_list(rows, lambda row: self._print_elements(row, shape[1:], type))

    def _print_element(self, value: Any, type: Attribute) -> None:
        match type:
            case IntegerType() | IndexType():
                self.print_int(value, type)
            case ComplexType():
                self.print_complex(value, type)
            case _:
                assert isinstance(type, AnyFloat), "elements of dense attributes are numbers"
                self.print_float(value, type)


class FuseSyntaxPrinter(FusePrinter, SyntaxPrinter):
    """The same in colours, for a terminal."""


@dataclass(frozen=True)
class FuseMLIRTarget(MLIRTarget):
    """MLIR text."""

    elide_larger_than: int | None = None
    weights: "Weights | None" = None
    """Constants that are written to a file of their own."""
    clauses: bool = False
    """Ops of TOSA and elementwise ops of linalg in the form that newer versions of MLIR read alone; see `clauses`."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the module and the resources it refers to, ended by one newline."""
        printer = (FuseSyntaxPrinter if self.syntax_highlight else FusePrinter)(
            stream=output,
            print_generic_format=self.print_generic_format,
            print_properties_as_attributes=self.print_properties_as_attributes,
            print_debuginfo=self.print_debuginfo,
            elide_larger_than=self.elide_larger_than,
            weights=self.weights,
            clauses=self.clauses,
        )
        printer.print_with_aliases(_with_elementwise_ops(module) if self.clauses else module)
        # Resources are the built-in dialect's, which is loaded only where a text was read.
        printer.print_metadata([*ctx.loaded_dialects, ctx.get_dialect("builtin")])
        print(file=output)


def _with_elementwise_ops(module: ModuleOp) -> ModuleOp:
    """A copy in which named elementwise ops of linalg, which newer versions of MLIR lack, are `linalg.elementwise`."""
    from fuse_dialect.frontends.mlir.structured_linalg import elementwise_of

    copy = module.clone()
    for op in [op for op in copy.walk() if op.name.startswith("linalg.")]:
        if (new := elementwise_of(op)) is not None:
            Rewriter.replace_op(op, new)
    return copy
