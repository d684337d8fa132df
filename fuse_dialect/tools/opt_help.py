"""`fuse-opt --help`, without what only running passes needs: the help starts as fast as `xdsl-opt --help`."""

from xdsl.universe import Universe

from fuse_dialect.tools.arguments import opt_argument_parser
from fuse_dialect.universe import FUSE_UNIVERSE

DESCRIPTION = "Run passes over a module, MLIR or ONNX; operator fusion is `--fuse-ops`."
FRONTENDS = ("mlir", "onnx")
"""Names of the input formats."""
OWN_TARGETS = ("mlir", "llvm", "onnx", *FUSE_UNIVERSE.all_targets)
"""Targets of this package."""


def help_text() -> str:
    """What `--help` prints."""
    foreign = sorted({*Universe.get_multiverse().all_targets} - {*OWN_TARGETS})
    return opt_argument_parser(DESCRIPTION, FRONTENDS, OWN_TARGETS, foreign).format_help()
