"""Errors about one op: a pass raises them, a tool adds `file:line:col` and prints them."""

from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException


class OpError(PassFailedException):
    """A pass cannot go on because of one op; a mistake in the input, never in the pass."""

    def __init__(self, op: Operation, message: str, hint: str | None = None):
        super().__init__(message)
        self.op = op
        """Where the mistake shows."""
        self.hint = hint
        """What to do about it."""
