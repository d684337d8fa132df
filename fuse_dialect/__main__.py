"""`python -m fuse_dialect`: the command lines by another name, where the scripts are not on the PATH."""

import sys
from collections.abc import Callable, Mapping, Sequence

from fuse_dialect.tools.entry import fuse_opt, fuse_run

_TOOLS: Mapping[str, Callable[[Sequence[str]], int]] = {"opt": fuse_opt, "run": fuse_run}
_USAGE = """\
usage: python -m fuse_dialect opt [options] [--PASS[=OPTIONS] ...] [input]
       python -m fuse_dialect run [options] input

  opt   fuse-opt: run passes over a module, MLIR or ONNX:      opt model.onnx --fuse-ops
  run   fuse-run: run a function of it on random or given inputs:  run model.onnx --backend llvm --benchmark

`opt --help` and `run --help` show all options, `opt --demo` what fusion does. In Python: import fuse_dialect as fd.
"""


def main(arguments: Sequence[str]) -> int:
    """Run a tool by its short name; returns the exit code."""
    tool = _TOOLS.get(arguments[0].removeprefix("fuse-")) if arguments else None
    if tool is not None:
        return tool(arguments[1:])
    from fuse_dialect.loading.streams import tell, write_stdout
    from fuse_dialect.tools.exit_status import USAGE, exit_status

    if not arguments or arguments[0] in ("-h", "--help"):
        return exit_status(lambda: write_stdout(_USAGE))
    if arguments[0] in ("-v", "--version"):
        return fuse_opt(["--version"])
    tell(f"error: no tool '{arguments[0]}', expected opt or run\nhint: python -m fuse_dialect shows what there is")
    return USAGE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
