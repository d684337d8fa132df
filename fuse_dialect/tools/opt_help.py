"""`fuse-opt --help`, without what only running passes needs: the help starts as fast as `xdsl-opt --help`."""

from xdsl.universe import Universe

from fuse_dialect.tools.arguments import UsageParser, opt_argument_parser
from fuse_dialect.universe import FUSE_UNIVERSE, OWN_NAMES

DESCRIPTION = "Run passes over a module, MLIR or ONNX; operator fusion is `--fuse-ops`."
FRONTENDS = ("mlir", "onnx")
"""Names of the input formats."""
OWN_TARGETS = ("mlir", "llvm", "onnx", "fuse", *OWN_NAMES.all_targets)
"""Targets of this package."""
PICTURES = ("html", "svg", "dot", "model-explorer")
"""Those that draw the plan of the last pass that fuses."""


def help_parser() -> UsageParser:
    """The arguments of `fuse-opt`, apart from passes."""
    foreign = sorted({*Universe.get_multiverse().all_targets} - {*OWN_TARGETS, *FUSE_UNIVERSE.all_targets})
    return opt_argument_parser(DESCRIPTION, FRONTENDS, OWN_TARGETS, foreign)


def help_text() -> str:
    """What `--help` prints."""
    return help_parser().format_help()
