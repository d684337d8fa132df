"""The arguments of `fuse-opt`, apart from passes (see `pass_flags`)."""

import argparse
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, NoReturn

from fuse_dialect.budget import Limits
from fuse_dialect.diagnostics import printable
from fuse_dialect.loading.streams import tell, write_stdout
from fuse_dialect.tools.exit_status import USAGE

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_EPILOG = """\
Passes run in the order in which they are given, each of these spellings being good for any number of them:
  --fuse-ops                      a flag per pass; --list-passes shows them all, --help-pass=fuse-ops their options
  --fuse-ops="max-depth=8"        with options, separated by blanks
  -p 'fuse-ops{max-depth=8},cse'  as xdsl-opt takes them
  --pass-pipeline='builtin.module(fuse-ops,cse)'

Exit codes: 0 done, 1 an error was reported on stderr, 2 wrong usage.
"""


LIMITS = Limits()
"""Limits when the command line sets none."""

_UNRECOGNIZED = "unrecognized arguments: "


class UsageParser(argparse.ArgumentParser):
    """An argument parser whose errors have the package's form, and suggest what may have been meant."""

    pass_names: Iterable[str] = ()
    explain: Callable[[str], str | None] | None = None
    """Gives a hint for an argument that the tool does not know."""

    def error(self, message: str) -> NoReturn:
        """Print the error and a hint, and leave with the exit code for wrong usage."""
        tell(printable(f"error: {message}"))
        unknown = message.removeprefix(_UNRECOGNIZED).split() if message.startswith(_UNRECOGNIZED) else []
        known = [*self._option_string_actions, *(f"--{name}" for name in self.pass_names)]
        meant = self.explain(unknown[0]) if unknown and self.explain is not None else None
        close = get_close_matches(unknown[0].partition("=")[0], known, n=1) if unknown else []
        hint = meant or (f"did you mean {close[0]}?" if close else f"{self.prog} --help shows all options")
        tell(printable(f"hint: {hint}"))
        self.exit(USAGE)

    def print_help(self, file: "SupportsWrite[str] | None" = None) -> None:
        """Print the help, by default to stdout; argparse would not notice that it cannot."""
        if file is None:
            write_stdout(self.format_help())
        else:
            super().print_help(file)

    @property
    def long_options(self) -> frozenset[str]:
        """All options that begin with two dashes."""
        return frozenset(option for option in self._option_string_actions if option.startswith("--"))


def opt_argument_parser(
    description: str, frontends: Iterable[str], targets: Iterable[str], foreign_targets: Iterable[str] = ()
) -> UsageParser:
    """The parser of `fuse-opt`'s arguments.

    Args:
        description: First line of the help.
        frontends: Names of input formats.
        targets: Names of the package's output formats.
        foreign_targets: Names of xDSL's, which write what was lowered to dialects of theirs.
    """
    parser = UsageParser(
        prog="fuse-opt",
        usage="fuse-opt [options] [--PASS[=OPTIONS] ...] [input]",
        description=description,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_input(parser, frontends)
    _add_output(parser, targets, foreign_targets)
    _add_passes(parser)
    _add_testing(parser)
    return parser


def _add_input(parser: argparse.ArgumentParser, frontends: Iterable[str]) -> None:
    group = parser.add_argument_group("input")
    group.add_argument("input_file", nargs="?", metavar="input", help="an .mlir or .onnx file, - for stdin (default)")
    group.add_argument("-f", "--frontend", choices=list(frontends), help="format of the input, if not by its extension")
    _flag(group, "--allow-unregistered-dialect", help="read operations of unknown dialects in their generic form")
    _flag(group, "--allow-unsupported-onnx", help="keep ONNX operators that are not supported as opaque operations")
    group.add_argument(
        "--input-weights",
        metavar="FILE",
        help="a safetensors file with the elements of the input's dense_resource constants",
    )
    add_kinds(group)
    group.add_argument(
        "--irdl",
        action="append",
        default=[],
        metavar="FILE",
        help="a file with irdl.dialect ops, whose dialects the input may use; may be given several times",
    )
    _flag(group, "--no-implicit-module", help="the input must be one module, not a list of operations")
    _flag(group, "--split-input-file", help="process each part between lines '// -----' on its own")
    _flag(group, "--disable-verify", help="do not verify attributes and operations")
    add_limits(group)


def add_limits(group: argparse._ArgumentGroup | argparse.ArgumentParser) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the options that limit what a small input may expand to."""
    for unit, default, what in (
        ("ops", LIMITS.ops, "operations that the functions of an ONNX model may expand to"),
        ("bytes", LIMITS.bytes, "bytes of constants that an ONNX model may expand to, besides 6 for each of its own"),
    ):
        group.add_argument(f"--max-{unit}", type=_natural, default=default, metavar="N", help=f"{what} ({default})")


def add_kinds(group: argparse._ArgumentGroup | argparse.ArgumentParser) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the option that names files of kinds."""
    group.add_argument(
        "--kinds",
        action="append",
        default=[],
        metavar="FILE",
        help="a TOML file with the pattern kinds of ops by name, which fuse-ops then knows; may be given several times",
    )


def add_rows(parser: argparse.ArgumentParser) -> None:
    """Options that run a saved program on many rows."""
    group = parser.add_argument_group(
        "rows", "A saved program on all rows of a file, along the first axis of its inputs."
    )
    group.add_argument("--rows", metavar="FILE", help="the rows: a file or folder that ends in .npy, .zarr or .parquet")
    group.add_argument(
        "--out", metavar="FILE", help="where results go, likewise; they have this name when all are there"
    )
    group.add_argument(
        "--batch", type=_positive, metavar="N", help="rows of a call, where the program leaves it open (default: 256)"
    )
    group.add_argument(
        "--cluster", metavar="ADDRESS", help="run on a cluster of Dask, tcp://host:8786, or in N processes, local:N"
    )
    _flag(group, "--resume", help="go on with what a run before has begun to write to --out")
    _flag(group, "--overwrite", help="replace what is there")


def limits_of(options: argparse.Namespace) -> Limits:
    """What `add_limits` has read, and `fuse-run` besides."""
    most = getattr(options, "max_value_bytes", LIMITS.value_bytes)
    return Limits(ops=options.max_ops, bytes=options.max_bytes, value_bytes=most)


def _add_output(parser: argparse.ArgumentParser, targets: Iterable[str], foreign_targets: Iterable[str]) -> None:
    group = parser.add_argument_group("output")
    group.add_argument("-o", "--output-file", metavar="FILE", help="where to write the result, - for stdout (default)")
    group.add_argument(
        "--weights",
        metavar="FILE",
        help="write large constants to this safetensors file; the result refers to them by name",
    )
    theirs = ", ".join(foreign_targets)
    group.add_argument(
        "-t",
        "--target",
        help="form of the result, by default onnx or fuse for a file that ends so, else mlir: "
        + ", ".join(targets)
        + (f"; xDSL's, for modules lowered to dialects of its own: {theirs}" if theirs else ""),
    )
    group.add_argument(
        "--target-cpu",
        metavar="NAME",
        help="machine that -t llvm writes for, and strategy=cost plans for: a processor as LLVM names it, a machine of "
        "this package or of another, or a .toml file (default: $FUSE_TARGET_CPU, or the one at hand)",
    )
    _flag(
        group,
        "--view",
        help="write a page that shows the kernels of the last pass that fuses (default: fuse-ops) and why the others "
        "did not come about, to -o or a new file, and open it in a browser",
    )
    _flag(group, "--no-open", help="with --view: print the path of the page instead of opening it")
    group.add_argument(
        "--profile",
        metavar="FILE",
        help="with a picture or --fusion-report: times of kernels and limits of the machine, as fuse-run --benchmark "
        "--json has written them",
    )
    _flag(group, "--print-op-generic", "--mlir-print-op-generic", help="print every operation in its generic form")
    _flag(
        group,
        "--print-clauses",
        help="print TOSA and elementwise linalg as new versions of MLIR and IREE 3.13 read them",
    )
    _flag(group, "--print-no-properties", help="print properties as attributes, for old tools")
    _flag(group, "--print-debuginfo", "--mlir-print-debuginfo", help="print locations")
    _flag(group, "--syntax-highlight", help="print in colours")
    group.add_argument(
        "--mlir-elide-elementsattrs-if-larger",
        dest="elide_larger_than",
        type=_natural,
        metavar="N",
        help="print constants of more than N elements as dense_resource<__elided__>",
    )


def _add_passes(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("passes")
    group.add_argument("-p", "--passes", metavar="PASSES", help="comma-separated passes, with options in braces")
    group.add_argument("--pass-pipeline", metavar="PIPELINE", help="the same, also as builtin.module(...)")
    _flag(group, "--list-passes", help="list all passes and leave")
    group.add_argument(
        "--list-template", metavar="NAME", help="print what the hardware of a template runs, as a table, and leave"
    )
    group.add_argument("--help-pass", metavar="NAME", help="say what a pass and its options do, and leave")
    _flag(
        group,
        "--fusion-remarks",
        help="say on stderr what fuse-ops and fuse-ops-hw do not fuse, what defuse-ops keeps, and why",
    )
    add_remarks(group)
    _flag(group, "--mlir-pass-statistics", help="say on stderr in one line what each fusing pass did, in numbers")
    group.add_argument(
        "--mlir-pass-statistics-display",
        choices=("line", "json"),
        default="line",
        help="how to say it (default: %(default)s)",
    )
    group.add_argument(
        "--verify-each",
        default=True,
        type=_switch,
        metavar="true|false",
        help="verify the module after each pass, as is done by default; false: before the first and after the last",
    )
    _flag(group, "--mlir-disable-threading", help="accepted because mlir-opt has it; passes run in one thread anyway")
    _flag(group, "--time-passes", "--mlir-timing", help="report on stderr how long each step took")
    _flag(group, "--print-between-passes", help="print the module between passes to stderr")
    _flag(group, "--dump-pass-pipeline", help="print the pipeline with all options to stderr")
    _flag(group, "--mlir-print-ir-before-all", help="print the module before each pass to stderr")
    _flag(group, "--mlir-print-ir-after-all", help="print the module after each pass to stderr")
    _flag(group, "--mlir-print-ir-after-change", help="print it after each pass that has changed it")
    for when in ("before", "after"):
        group.add_argument(
            f"--mlir-print-ir-{when}",
            type=lambda text: text.split(","),
            action="extend",
            default=[],
            metavar="PASS,...",
            help=f"print the module {when} these passes to stderr",
        )
    group.add_argument(
        "--mlir-pass-pipeline-crash-reproducer",
        metavar="FILE",
        help="if a pass fails, write the module before all passes and the command that fails to this file",
    )


def add_remarks(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the options that say which remarks there are, and how they are written."""
    group.add_argument(
        "--remarks-filter",
        metavar="REGEX",
        help="remarks of all types whose pass:code, op, value, source or function matches: passed (merges), missed, "
        "analysis (kernels); --fusion-remarks alone gives all that were missed",
    )
    for type in ("passed", "missed", "analysis"):
        group.add_argument(f"--remarks-filter-{type}", metavar="REGEX", help=f"the same for {type} ones alone")
    group.add_argument(
        "--remark-format", choices=("text", "json", "yaml"), default="text", help="form of remarks (default: text)"
    )
    group.add_argument("--remarks-output-file", metavar="FILE", help="write remarks to this file instead of stderr")
    _flag(group, "--remarks-verbose", help="say in a note below each remark what the rule allows, and count nothing")
    group.add_argument(
        "--fusion-report",
        metavar="FILE",
        help="write a table of the kernels of the last pass that fuses (default: fuse-ops): .md, .json or .html, - for "
        "Markdown on stdout",
    )
    group.add_argument(
        "--compare-pipelines",
        nargs=2,
        metavar=("A", "B"),
        help="print what two pipelines that end in fuse-ops do to the input, side by side, and leave; with --view or "
        "-t html, a page with both plans",
    )
    group.add_argument(
        "--debug-only",
        action="append",
        default=[],
        metavar="PASS",
        help="say on stderr each step of this pass: fuse-ops tells what it tries, and numbers its merges",
    )
    group.add_argument(
        "--fusion-limit",
        type=_natural,
        metavar="N",
        help="make only the first N merges of fuse-ops, as its option fusion-limit says; fuse-run --bisect finds N",
    )
    group.add_argument(
        "--explain",
        action="append",
        default=[],
        metavar="OP",
        help="tell the story of an op before fuse-ops runs: %%value, @function:%%value or the name of an ONNX node; on "
        "stdout, unless -t or -o - puts the result there",
    )


def _add_testing(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("other")
    _flag(group, "--show-dialects", help="list all dialects and leave")
    _flag(group, "--demo", help="show what fusion does on a small program, and why one pair was not fused")
    _flag(
        group,
        "--verify-diagnostics",
        help="check that the diagnostics are those which comments expect, 'expected-error@+1 {{text}}' or 'warning', "
        "'note', 'remark', as mlir-opt does; in an input without such comments, print errors of verifiers and passes "
        "as results, and exit with 0",
    )
    _flag(group, "--parsing-diagnostics", help="print errors of the parser as results, and exit with 0")
    _flag(group, "--shrink", help="exit with 0 if a pass raises ShrinkException, with 1 otherwise")
    _flag(group, "--debug", help="show the traceback of an error, and check plans before they run")
    add_print_completion(group)
    group.add_argument("-v", "--version", action="store_true", help="print the versions of fuse-opt and xDSL")


def add_print_completion(group: argparse._ArgumentGroup | argparse.ArgumentParser) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the option that asks for a script of a shell."""
    group.add_argument(
        "--print-completion",
        choices=("bash", "zsh", "tcsh"),
        help="print a script by which this shell completes the command, and leave",
    )


def _flag(group: argparse._ArgumentGroup, *names: str, help: str) -> None:  # pyright: ignore[reportPrivateUsage]
    group.add_argument(*names, action="store_true", help=help)


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"expected a number of 1 or more, got '{text}'")
    return int(text)


_positive.__name__ = "integer"


def _switch(text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0"):
        raise argparse.ArgumentTypeError(f"expected true or false, got '{text}'")
    return text.lower() in ("true", "1")


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number of 0 or more, got '{text}'")
    return int(text)
