"""MLIR text in: xDSL's parser, with exact floats, twice the speed, and places for error messages.

`parse_mlir` is the way in for Python code; `read_mlir` also gives the places of the operations.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import lru_cache
from importlib import import_module

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnregisteredOp
from xdsl.ir import Attribute, Dialect, Operation, SSAValue, TypeAttribute
from xdsl.parser import AttrParser, ForwardDeclaredValue, ParserState, UnresolvedOperand
from xdsl.universe import Universe
from xdsl.utils.exceptions import DiagnosticException, ParseError
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from fuse_dialect.budget import LARGEST_SIZE
from fuse_dialect.diagnostics import FuseError, SourceLocation, printable
from fuse_dialect.dialect.elision import ELIDED_RESOURCE
from fuse_dialect.extensions import folders_of_packages
from fuse_dialect.frontends.mlir.deep_stack import call_with_deep_stack
from fuse_dialect.frontends.mlir.dense_literal import DenseLiteralParser
from fuse_dialect.frontends.mlir.lexer import FuseLexer
from fuse_dialect.frontends.mlir.locations import LocationParser
from fuse_dialect.frontends.mlir.parse_error import GENERIC_FORM_ONLY, diagnose_parse_error
from fuse_dialect.frontends.mlir.repeated_lines import RepeatedLines
from fuse_dialect.frontends.mlir.source_map import SourceMap
from fuse_dialect.source_names import unnumbered

_MAX_INTEGER_WIDTH = (1 << 24) - 1
"""MLIR's `IntegerType::kMaxWidth`; xDSL computes with numbers of that many bits."""
_MOST_EXPANSION, _FREE_EXPANSION = 64, 1 << 20
"""Characters that the aliases of a file may stand for: so many for each of its own, and some that are free."""
_NAME_RULE = ": it holds a quote, a backslash or a control character"
_BYTECODE_MAGIC = b"ML\xefR"
_TEXT_HINT = "mlir-opt prints it as text; JAX prints what it has exported by `exported.mlir_module()`"


def _lazily(module: str, table: str, name: str) -> Callable[[], Dialect]:
    def load() -> Dialect:
        return getattr(import_module(f"fuse_dialect.frontends.{module}"), table)[name]()

    return load


_PRETTY: dict[str, Callable[[], Dialect]] = {
    **{
        name: _lazily("mlir.upstream", "UPSTREAM", name)
        for name in ("arith", "check", "flow", "linalg", "math", "tensor", "tosa", "util")
    },
    **{name: _lazily("stablehlo.dialect", "DIALECTS", name) for name in ("stablehlo", "chlo", "quant", "sdy")},
}
"""Dialects of which xDSL reads less than MLIR and JAX print."""


def context(*, allow_unregistered: bool = False) -> Context:
    """A context that knows every dialect that xDSL and its plug-ins provide, loaded when first used."""
    ctx = Context(allow_unregistered)
    ours = {"builtin": _fresh_builtin, **_PRETTY}
    # No rows of the universe, where two tables must not have one name: a plug-in of xDSL may bring such a dialect.
    for name, factory in {**_dialects_of_plugins(folders_of_packages()), **ours}.items():
        ctx.register_dialect(name, factory)
    return ctx


@lru_cache(maxsize=4)
def _dialects_of_plugins(folders: tuple[tuple[str, int], ...]) -> dict[str, Callable[[], Dialect]]:
    return {**Universe.get_multiverse().all_dialects}


def _fresh_builtin() -> Dialect:
    """The builtin dialect with a resource table of its own.

    xDSL keeps the table in one dialect object per process, so that the second of two equal modules would get other
    keys than the first.
    """
    from xdsl.dialects.builtin import Builtin

    return Dialect("builtin", list(Builtin.operations), list(Builtin.attributes), [OpAsmDialectInterface()])


def parse_mlir(
    text: str | bytes,
    file_name: str = "<string>",
    ctx: Context | None = None,
    *,
    implicit_module: bool = True,
) -> ModuleOp:
    """The module spelled by `text`; it is not verified.

    Args:
        text: MLIR text; bytes are UTF-8.
        file_name: Name for error messages.
        ctx: Known dialects; by default those of `context()`.
        implicit_module: Put top-level operations into a module; otherwise the text must be one module.

    Raises:
        FuseError: The text is not MLIR, with its place.
    """
    ctx = context() if ctx is None else ctx
    return read_mlir_of_any_depth(text, file_name, ctx, implicit_module=implicit_module)[0]


def read_mlir_of_any_depth(
    text: str | bytes, file_name: str, ctx: Context, *, implicit_module: bool = True
) -> tuple[ModuleOp, SourceMap]:
    """The module spelled by `text`, and where its operations stand; on a larger stack if this thread's is too small.

    Raises:
        FuseError: The text is not MLIR.
    """
    try:
        return read_mlir(text, file_name, ctx, implicit_module=implicit_module)
    except RecursionError:
        return call_with_deep_stack(lambda: read_mlir(text, file_name, ctx, implicit_module=implicit_module), file_name)


def read_mlir(
    text: str | bytes,
    file_name: str,
    ctx: Context,
    *,
    implicit_module: bool = True,
    line_offset: int = 0,
) -> tuple[ModuleOp, SourceMap]:
    """The module spelled by `text`, and where its operations stand.

    Raises:
        FuseError: The text is not MLIR; its cause is xDSL's `ParseError`, if that was raised.
        RecursionError: The text is nested too deeply for this thread's stack.
    """
    content = text if isinstance(text, str) else _decode(text, file_name, line_offset)
    try:
        parser = FuseParser(ctx, content, file_name)
    except ParseError as error:
        raise diagnose_parse_error(error, line_offset) from error
    parser.source_map.line_offset = line_offset
    try:
        return parser.parse_module(implicit_module), parser.source_map
    except ParseError as error:
        raise diagnose_parse_error(error, line_offset) from error
    except (FuseError, RecursionError, MemoryError):
        raise
    except UnicodeDecodeError as error:
        message = f"byte 0x{error.object[error.start]:02X} of a string is not UTF-8 text"
        raise diagnose_parse_error(parser.error_here(message), line_offset) from error
    except (DiagnosticException, ValueError, OverflowError, NotImplementedError) as error:
        raise diagnose_parse_error(parser.error_here(str(error) or "not supported"), line_offset) from error
    except Exception as error:
        # xDSL asserts some of its expectations of the input: no diagnosis, but the place is known.
        message = f"cannot parse this ({type(error).__name__} in the parser)"
        raise diagnose_parse_error(parser.error_here(message), line_offset) from error


def _decode(data: bytes, file_name: str, line_offset: int) -> str:
    if data.startswith(_BYTECODE_MAGIC):
        raise FuseError("MLIR bytecode cannot be read", SourceLocation(file_name), hint=_TEXT_HINT)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        valid = SourceMap(file_name, data[: error.start].decode("utf-8"), line_offset)
        place = valid.place(len(valid.text))
        raise FuseError(f"byte 0x{data[error.start]:02X} is not UTF-8 text", place) from error


def is_printable_op_name(name: str) -> bool:
    """Whether the printer, which knows no escapes there, prints a name between quotes so that it is read back."""
    return name.isprintable() and '"' not in name and "\\" not in name


_VISIBILITIES = frozenset(map(StringAttr, ("public", "private", "nested")))


class FuseParser(LocationParser, DenseLiteralParser):
    """xDSL's parser of MLIR, with the differences that the modules of this package describe."""

    source_map: SourceMap

    def __init__(self, ctx: Context, input: str, name: str = "<unknown>") -> None:
        # `Parser.__init__` does the same with xDSL's own lexer.
        AttrParser.__init__(self, ParserState(FuseLexer(Input(input, name))), ctx)
        self.ssa_values = {}
        self.blocks = {}
        self.forward_block_references = defaultdict(list)
        self.forward_ssa_references = {}
        self.source_map = SourceMap(name, input)
        self._op_name_offsets: list[int] = []
        self._first_uses: dict[str, Span] = {}
        self._types: dict[str, TypeAttribute] = {}
        self._lines = RepeatedLines()
        self._alias_sizes: dict[str, int] = {}
        self._expanded = 0
        self.find_location_aliases(input)

    def parse_shape_dimension(self, allow_dynamic: bool = True) -> int:
        """Parse a size, which MLIR holds in 64 bits."""
        start = self._current_token.span
        size = super().parse_shape_dimension(allow_dynamic)
        if size > LARGEST_SIZE:
            self.raise_error(f"expected a size of at most 2**63 - 1, got {size}", start)
        return size

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """Parse the whole input; an input without operations is an empty module."""
        if not allow_implicit_module:
            return super().parse_module(False)
        if self._current_token.kind is MLIRTokenKind.EOF:
            return ModuleOp([])
        try:
            return super().parse_module()
        except ParseError as error:
            if error.msg.startswith("values used but not defined"):
                name = next(iter(self.forward_ssa_references))
                raise ParseError(self._first_uses[name], f"use of undefined value '%{name}'") from None
            if error.msg == "Could not parse entire input!":
                if error.span.start >= len(self.source_map.text):
                    return ModuleOp([])
                raise ParseError(error.span, f"expected an operation, found '{error.span.text}'") from None
            raise

    def _parse_alias_def(self) -> None:
        """Parse the definition of an alias, and note how much text its value would be."""
        name, start, before = self._current_token.text, self._current_token.span.start, self._expanded
        super()._parse_alias_def()
        self._alias_sizes[name] = self._expanded - before + self._current_token.span.start - start

    def _parse_extended_type_or_attribute(self, attr_or_dialect_name: str, is_type: bool) -> Attribute:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Parse an attribute or type; an alias is counted as the text that it stands for.

        Raises:
            ParseError: Aliases of aliases stand for far more text than there is.
        """
        start = self._current_token.span.start
        parsed = super()._parse_extended_type_or_attribute(attr_or_dialect_name, is_type)  # pyright: ignore[reportCallIssue, reportArgumentType, reportUnknownVariableType]
        alias = f"{'!' if is_type else '#'}{attr_or_dialect_name}"
        if (size := self._alias_sizes.get(alias)) is not None:
            self._expanded += size
            if self._expanded > _FREE_EXPANSION + _MOST_EXPANSION * len(self.source_map.text):
                self.raise_error(f"the aliases up to '{alias}' stand for {self._expanded} characters of text", start)
        return parsed

    def error_here(self, message: str) -> ParseError:
        """An error where the parser is: at the next token, or at the end of the last one if the next begins a line.

        What makes xDSL raise errors without a place is what it has just read, a number that is too large for one.
        """
        span, text = self._current_token.span, self.source_map.text
        line_start = text.rfind("\n", 0, span.start) + 1
        if text[line_start : span.start].strip():
            return ParseError(span, message)
        while line_start > 0:
            line_end, line_start = line_start - 1, text.rfind("\n", 0, line_start - 1) + 1
            line = text[line_start:line_end].partition("//")[0].rstrip()
            if line:
                end = line_start + len(line)
                return ParseError(Span(end - 1, end, span.input), message)
        return ParseError(span, message)

    def parse_operation(self) -> Operation:
        """Parse an operation and remember where its name stands."""
        start, stack = self._current_token.span.start, self._parser_state.dialect_stack
        line = self._lines.line_at(self.source_map.text, start)
        if line is not None and (known := self._lines.op_of(line, self, stack[-1] if stack else "")) is not None:
            for name, result in zip(line.results, known.results, strict=True):
                self._register_ssa_definition(name, (result,), Span(start, line.start, self.lexer.input))
            self.source_map.offsets[known] = line.start
            self._resume_from(line.end)
            return known
        depth = len(self._op_name_offsets)
        op = super().parse_operation()
        self.source_map.offsets[op] = self._op_name_offsets[depth]
        visibility = op.properties.get("sym_visibility")
        if visibility is not None and visibility not in _VISIBILITIES:
            # The printer writes the word as it is.
            name = self._name_span(op.name)
            raise ParseError(name, f"'{op.name}' op visibility expected to be one of public, private or nested")
        del self._op_name_offsets[depth:]
        if line is not None:
            self._lines.remember(line, op, self, stack[-1] if stack else "")
        return op

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        results = super()._parse_op_result_list()
        self._op_name_offsets.append(self._current_token.span.start)
        return results

    def _get_op_by_name(self, name: str) -> type[Operation]:
        if (op_type := self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)) is not None:
            if issubclass(op_type, UnregisteredOp) and not is_printable_op_name(name):
                raise ParseError(
                    self._name_span(name), f"the operation name '{printable(name)}' cannot be printed{_NAME_RULE}"
                )
            if issubclass(op_type, UnregisteredOp) and not self._is_generic_here():
                raise ParseError(self._name_span(name), f"operation '{printable(name)}' {GENERIC_FORM_ONLY}")
            return op_type
        close = get_close_matches(name, [op.name for op in self.ctx.loaded_ops], n=1)
        suggestion = f", did you mean '{close[0]}'?" if close else ""
        raise ParseError(self._name_span(name), f"operation '{printable(name)}' is not registered{suggestion}")

    def _is_generic_here(self) -> bool:
        """Whether the current op's name stands in quotes."""
        return self.source_map.text.startswith('"', self._op_name_offsets[-1])

    def _name_span(self, name: str) -> Span:
        """Where the name of the current op stands; the opening quote alone if the name is spelled with escapes."""
        start, text = self._op_name_offsets[-1], self.source_map.text
        quotes = int(text.startswith('"', start))
        length = len(name) + 2 * quotes if text.startswith(name, start + quotes) else 1
        return Span(start, start + length, self._current_token.span.input)

    def resolve_operand(self, operand: UnresolvedOperand, type: Attribute) -> SSAValue:
        """The operand's value; a name that is not defined yet is remembered for the error message."""
        value = super().resolve_operand(operand, type)
        if isinstance(value, ForwardDeclaredValue):
            self._first_uses.setdefault(operand.operand_name, operand.span)
        return value

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        super()._register_ssa_definition(name, values, span)
        for value in values:
            if (hint := value.name_hint) is not None and hint[-1].isdigit():
                value.name_hint = unnumbered(hint)
        self._first_uses.pop(name, None)

    def parse_optional_type(self) -> TypeAttribute | None:
        """Parse a type, if present; equal spellings of simple tensor types are lexed once."""
        token = self._current_token
        if token.kind is not MLIRTokenKind.BARE_IDENT or token.text != "tensor":
            return super().parse_optional_type()
        text, start = token.span.input.content, token.span.start
        end = text.find(">", start) + 1
        key = text[start:end]
        if (known := self._types.get(key)) is not None:
            self._resume_from(end)
            return known
        parsed = super().parse_optional_type()
        if parsed is not None and key.count("<") == 1 and not set(key) & set('/"!'):
            self._types[key] = parsed
        return parsed

    def _parse_optional_integer_or_float_type(self) -> TypeAttribute | None:
        token = self._current_token
        if token.kind is MLIRTokenKind.BARE_IDENT and (match := self._builtin_integer_type_regex.match(token.text)):
            digits = match.group(1)
            if len(digits) > 8 or int(digits) > _MAX_INTEGER_WIDTH:
                self.raise_error(f"integer bitwidth is limited to {_MAX_INTEGER_WIDTH} bits")
        return super()._parse_optional_integer_or_float_type()

    def _parse_dialect_resource_handle(self, dialect_name: str, interface: OpAsmDialectInterface) -> str:
        if self._current_token.text == ELIDED_RESOURCE:
            return self.parse_identifier()
        return super()._parse_dialect_resource_handle(dialect_name, interface)
