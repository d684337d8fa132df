"""Errors about one op: a pass raises them, a tool adds `file:line:col` and prints them."""

from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

from fuse_dialect.diagnostics import FuseError


class OpError(PassFailedException):
    """A pass cannot go on because of one op; a mistake in the input, never in the pass."""

    def __init__(self, op: Operation, message: str, hint: str | None = None):
        super().__init__(message)
        self.op = op
        """Where the mistake shows."""
        self.hint = hint
        """What to do about it."""


class TemplateError(FuseError, PassFailedException):
    """There is no hardware template of that name, or its file is wrong.

    It is xDSL's error of a pass too, so that `xdsl-opt --verify-diagnostics` prints it instead of a traceback.
    """

    def __str__(self) -> str:
        return self.diagnostic.format()
