"""Targets of xDSL and its plug-ins: what they cannot write is diagnosed.

They write modules that passes have lowered to a dialect of theirs. On any other module some raise an assertion, and
some print nothing.
"""

import warnings
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.target import Target

from fuse_dialect.diagnostics import FuseError


def foreign_text(target: Target, name: str, ctx: Context, module: ModuleOp) -> str:
    """What a target makes of a module.

    Raises:
        FuseError: It cannot write the module.
        DiagnosticException: The target says itself what is wrong.
    """
    output = StringIO()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target.emit(ctx, module, output)
    except (FuseError, DiagnosticException, ImportError, RecursionError, MemoryError):
        raise
    except Exception as error:
        raise _cannot_write(name) from error
    if not output.getvalue().strip() and module.body.block.first_op is not None:
        raise _cannot_write(name)
    return output.getvalue()


def _cannot_write(name: str) -> FuseError:
    hint = "it writes modules that passes of xDSL have lowered to its own dialect"
    return FuseError(f"target '{name}' cannot write this module", hint=hint)
