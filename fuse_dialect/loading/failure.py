"""Places for the errors of verifiers and passes."""

from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException, ShrinkException

from fuse_dialect.diagnostics import FuseError, SourceLocation, internal_error
from fuse_dialect.extras import EXTRA_OF, install_hint
from fuse_dialect.frontends.mlir.parse_error import sentence
from fuse_dialect.frontends.mlir.source_map import SourceMap
from fuse_dialect.loading.dominance import DominanceError

_CODE_OF_REPORTERS = frozenset({Operation.verify.__code__, Operation.emit_error.__code__})

_OWN_PACKAGES = ("fuse_dialect", "xdsl")


@contextmanager
def located_errors(
    source_map: SourceMap, where: str, note: str | None = None, *, is_verified: bool = True
) -> Generator[None]:
    """Turn what the body raises into `FuseError`s with a place.

    Args:
        source_map: Knows where operations stand.
        where: End of a sentence for internal errors, as in ` in pass 'cse'`.
        note: Added to the notes of the error.
        is_verified: Whether the module is known to be valid; on any other, whatever happens is no bug.
    """
    notes = () if note is None else (note,)
    try:
        yield
    except FuseError as error:
        error.notes = (*error.notes, *notes)
        raise
    except DiagnosticException as error:
        op = failing_operation(error)
        message, *rest = str(error).splitlines() or ["failed"]
        if op is not None and (pair := _same_symbol(op, message)) is not None:
            first, op = pair
            rest.append(f"{source_map.locate(first)}: first defined here")
        if isinstance(error, DominanceError) and (place := _definition(error, source_map)) is not None:
            rest.append(f"{place}: operand defined here")
        if op is not None and not message.startswith("'"):
            message = f"'{_name(op)}' op {sentence(message)}"
        place = source_map.locate(op) if op is not None else source_map.file_alone()
        if op is not None:
            rest = [*source_map.excerpt(op), *rest]
        hint = getattr(error, "hint", None)
        raise FuseError(message, place, (*rest, *notes), hint if isinstance(hint, str) else None) from error
    except (RecursionError, MemoryError, ShrinkException):
        raise
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in _OWN_PACKAGES:
            raise internal_error(error, where) from error
        extra = EXTRA_OF.get((error.name or "").partition(".")[0])
        hint = None if extra is None else install_hint(extra)
        raise FuseError(f"package '{error.name}' is not installed, and needed{where}", hint=hint) from error
    except Exception as error:
        if (op := _unprintable_operation(error)) is not None:
            message = f"'{_name(op)}' op has no custom form ({type(error).__name__} in its printer: {error})"
            hint = "--print-op-generic prints it"
            raise FuseError(message, source_map.locate(op), notes, hint) from error
        failed = internal_error(error, where) if is_verified else _unverified(error, where)
        op = failing_operation(error)
        failed.location = source_map.locate(op) if op is not None else source_map.file_alone()
        raise failed from error


def _unverified(error: Exception, where: str) -> FuseError:
    return FuseError(
        f"the module is not valid, as it seems: {type(error).__name__}{where}",
        hint="without --disable-verify the verifier says what is wrong",
    )


def failing_operation(error: BaseException) -> Operation | None:
    """The operation that an error is about.

    An error may say it in a field `op`. xDSL's verifier knows it too, but hands out only a dump of the whole module:
    the operation is the one whose `verify` or `emit_error` is the innermost on the stack of the error.
    """
    if isinstance(op := getattr(error, "op", None), Operation):
        return op
    found: Operation | None = None
    frame: TracebackType | None = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code in _CODE_OF_REPORTERS:
            owner = frame.tb_frame.f_locals.get("self")
            found = owner if isinstance(owner, Operation) else found
        frame = frame.tb_next
    return found


def _unprintable_operation(error: BaseException) -> Operation | None:
    """The operation that xDSL cannot print: its printers rely on more than its verifiers check."""
    found: Operation | None = None
    by_dialect = False
    frame: TracebackType | None = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code is Printer.print_op.__code__:
            printed = frame.tb_frame.f_locals.get("op")
            found, by_dialect = (printed if isinstance(printed, Operation) else None), False
        elif frame.tb_frame.f_globals.get("__name__", "").startswith("xdsl.dialects."):
            by_dialect = True
        frame = frame.tb_next
    return found if by_dialect else None


def _same_symbol(table: Operation, message: str) -> tuple[Operation, Operation] | None:
    """The two operations with one name that the verifier of a symbol table complains about by naming the table."""
    if not message.lower().startswith("redefinition of symbol"):
        return None
    seen: dict[Attribute, Operation] = {}
    for op in (op for region in table.regions for block in region.blocks for op in block.ops):
        name = op.get_attr_or_prop("sym_name")
        if name is not None and name in seen:
            return seen[name], op
        if name is not None:
            seen[name] = op
    return None


def _definition(error: DominanceError, source_map: SourceMap) -> SourceLocation | None:
    """Where the value is defined that is used too early."""
    owner = error.definition
    op = owner if isinstance(owner, Operation) else owner.parent_op()
    return source_map.locate(op) if op is not None else None


def _name(op: Operation) -> str:
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name
