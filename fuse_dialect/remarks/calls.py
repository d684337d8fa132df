"""Why is this call still there? One remark for each call of a primitive that `defuse-ops` keeps."""

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.fusion.inlining import calls_that_stay
from fuse_dialect.remarks.wording import CallRemark


def call_remarks(module: ModuleOp) -> Iterator[CallRemark]:
    """Remarks on what `defuse-ops` would keep in the module, in the order of the text."""
    return map(CallRemark, calls_that_stay(module))
