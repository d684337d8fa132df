"""xDSL's parse errors, said in the package's single format."""

from xdsl.utils.exceptions import MultipleSpansParseError, ParseError
from xdsl.utils.lexer import Span

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.frontends.mlir.excerpt import excerpt

_AnySpan = Span[str] | Span[bytes]

GENERIC_FORM_ONLY = "is of a dialect whose assembly is not known; only its generic form can be read"
"""What is said of an unregistered operation in its own assembly, after its name."""


def diagnose_parse_error(error: ParseError, line_offset: int = 0) -> FuseError:
    """The parse error with its place, and the source line with a caret as notes.

    Args:
        error: What the parser raised.
        line_offset: Lines before the text in its file.
    """
    content = error.span.input.content
    notes = list(excerpt(content, error.span.start, error.span.end)) if isinstance(content, str) else []
    if isinstance(error, MultipleSpansParseError):
        for span, message in error.refs:
            notes.append(f"{_place(span, line_offset)}: {message or error.ref_text or 'see here'}")
    message, *rest = error.msg.splitlines() or ["syntax error"]
    # xDSL writes the name of its variable where the character is meant, in mlir_lexer.py.
    message = message.replace("{first_char}", f"'{error.span.text[:1]}'")
    if message.startswith(" "):
        # Some of xDSL's messages are only the end of a sentence, " in block definition".
        message = f"unexpected {_quoted(error.span)}{message}"
    return FuseError(sentence(message), _place(error.span, line_offset), (*rest, *notes), _hint(message))


def sentence(message: str) -> str:
    """A message in the package's form: lower case, no final period, nothing that a terminal would obey."""
    message = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in message)
    message = message.strip().rstrip(".!")
    if len(message) > 1 and message[0].isupper() and not message[1].isupper():
        return message[0].lower() + message[1:]
    return message


def _quoted(span: _AnySpan) -> str:
    return f"'{span.text}'" if span.text else "end of input"


def _place(span: _AnySpan, line_offset: int) -> SourceLocation:
    location = span.get_location()
    return SourceLocation(location.file, location.line + line_offset, location.col)


_OF_JAX = ("'mhlo.", "'sdy.", "'vhlo.", "'tpu.", "'mpmd.")


def _hint(message: str) -> str | None:
    if any(dialect in message for dialect in _OF_JAX):
        return (
            "--allow-unregistered-dialect reads the generic form, which JAX prints by "
            "`lowered.compiler_ir().operation.get_asm(print_generic_op_form=True)`"
        )
    if "end of input in block" in message:
        return "a '}' is missing"
    if "is not registered" in message and "did you mean" not in message:
        return (
            "--allow-unregistered-dialect reads operations of unknown dialects in their generic form, "
            "which `mlir-opt --mlir-print-op-generic` prints"
        )
    if GENERIC_FORM_ONLY in message or "does not have a custom format" in message:
        return (
            '`mlir-opt --mlir-print-op-generic` prints the generic form, "dialect.name"(...) : (...) -> ...; '
            "iree-opt and torch-mlir-opt have the same flag"
        )
    return None
