"""Why is this call still there? One remark for each call of a primitive that `defuse-ops` keeps."""

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.defuse_ops import calls_that_stay
from fuse_dialect.remarks import wording


@dataclass(frozen=True, slots=True)
class CallRemark:
    """Why a call of a primitive stays."""

    op: func.CallOp
    reason: Reason = Reason.CALL_ATTRIBUTES
    """The stable code."""

    @property
    def message(self) -> str:
        """The op in quotes and what it calls, then the code."""
        return wording.call_message(self)

    @property
    def explanation(self) -> str:
        """Which attributes would be lost."""
        return wording.call_explanation(self)


def call_remarks(module: ModuleOp) -> Iterator[CallRemark]:
    """Remarks on what `defuse-ops` would keep in the module, in the order of the text."""
    return map(CallRemark, calls_that_stay(module))
