"""Options of `fuse-run` that choose how a module is run, and what they do."""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from os.path import basename
from typing import TYPE_CHECKING, Any

from fuse_dialect.budget import MAX_REPETITIONS
from fuse_dialect.diagnostics import Diagnostic, FuseError, Severity

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from fuse_dialect.backends.backend import Backend
    from fuse_dialect.backends.options import CompileOptions
    from fuse_dialect.backends.runtime.program import Program
    from fuse_dialect.dialect.op import Array
    from fuse_dialect.fusion.fuse_ops import FuseOpsPass
    from fuse_dialect.loading.module_file import ModuleFile


MOST_TRACED = 5
"""Runs of a benchmark that a trace shows: more of them say the same."""


def add_backend_arguments(parser: argparse.ArgumentParser, natural: Callable[[str], int]) -> None:
    """Options for backends, threads and measuring.

    Args:
        parser: It gets a group of arguments.
        natural: Reads a number that is not negative.
    """
    group = parser.add_argument_group("backends")
    group.add_argument(
        "--backend",
        type=_backend_name,
        default="numpy",
        metavar="NAME",
        help="numpy interprets (default), llvm compiles to machine code; packages may add others",
    )
    group.add_argument(
        "--fuse-ops",
        metavar="OPTIONS",
        help="compile with these options of fuse-ops, as fuse-opt takes them: 'strategy=separate fusion-limit=8'; "
        "cost groups if they name no strategy",
    )
    group.add_argument("--threads", type=natural, default=1, metavar="N", help="threads of --backend llvm (default: 1)")
    group.add_argument(
        "--compare-backend",
        type=_backend_name,
        default="numpy",
        metavar="NAME",
        help="what runs the module of --compare-with (default: numpy)",
    )
    group.add_argument(
        "--benchmark",
        type=_repetitions,
        metavar="N",
        help=f"run N times, at most {MAX_REPETITIONS}, and print a table of kernels instead of outputs",
    )
    group.add_argument("--json", metavar="FILE", help="write kernels, memory and the times of --benchmark to a file")
    group.add_argument(
        "--trace",
        metavar="FILE",
        help="with --benchmark: write when each kernel ran, and on which thread, for Perfetto or Chrome's tracing",
    )
    group.add_argument(
        "--roofline",
        metavar="FILE",
        help="with --benchmark: draw what kernels reach of what the machine allows, as SVG",
    )
    group.add_argument(
        "--bisect",
        metavar="FILE",
        help="find the first merge of fuse-ops after which --backend gives something else than the interpreter, and "
        "write the smallest program that shows it as a test for lit",
    )
    group.add_argument(
        "--target-cpu",
        metavar="NAME",
        help="compile for what this machine can do too: a processor as LLVM names it, haswell, a machine of this "
        "package or of another, or a .toml file; strategy=cost plans for it "
        "(default: $FUSE_TARGET_CPU, or the one at hand)",
    )
    group.add_argument(
        "--fast-math",
        action="store_true",
        help="let kernels multiply rows by reciprocals where the program divides, and lose nan and infinities",
    )
    group.add_argument("--no-cache", action="store_true", help="neither read nor write machine code on disk")
    group.add_argument(
        "--cache-info",
        action="store_true",
        help="say where machine code is kept ($FUSE_CACHE_DIR), how much there is and how much there may be "
        "($FUSE_CACHE_BYTES), and leave",
    )
    group.add_argument("--clear-cache", action="store_true", help="remove the machine code on disk, and leave")


def _backend_name(text: str) -> str:
    from fuse_dialect.backends.table import check_backend_name

    try:
        check_backend_name(text)
    except FuseError as error:
        raise argparse.ArgumentTypeError(error.message) from error
    return text


def _repetitions(text: str) -> int:
    number = int(text)
    if not 0 <= number <= MAX_REPETITIONS:
        raise argparse.ArgumentTypeError(f"expected 0 to {MAX_REPETITIONS}, got {text}")
    return number


_repetitions.__name__ = "integer"


def fuse_ops_of(options: argparse.Namespace) -> "FuseOpsPass":
    """The pass that groups operators, with the options of the command line.

    Raises:
        FuseError: There is no such option, or its value is of another type.
    """
    from fuse_dialect.fusion.fuse_ops import FuseOpsPass
    from fuse_dialect.loading.pipeline import build_passes

    given = (options.fuse_ops or "").strip()
    (made,) = build_passes([f"fuse-ops{{{given}}}" if given else "fuse-ops"], {"fuse-ops": lambda: FuseOpsPass})
    assert isinstance(made, FuseOpsPass), "the table has no other"
    return made


def compile_options_of(backend: "str | Backend", options: argparse.Namespace) -> "CompileOptions":
    """How the command line wants programs compiled.

    Raises:
        FuseError: An option of `fuse-ops` is wrong.
    """
    from fuse_dialect.backends.options import CompileOptions
    from fuse_dialect.backends.threads import usable_threads
    from fuse_dialect.loading.streams import tell
    from fuse_dialect.tools.arguments import limits_of

    def warn(text: str) -> None:
        tell(Diagnostic(Severity.WARNING, text).format())

    return CompileOptions(
        backend=backend,
        threads=usable_threads(options.threads, warn),
        entry=options.entry,
        cache=not options.no_cache,
        limits=limits_of(options),
        fuse=fuse_ops_of(options),
        target_cpu=options.target_cpu,
        fast_math=options.fast_math,
    )


def compile_file(file: "ModuleFile", backend: str, options: argparse.Namespace) -> "Program":
    """The module in a file, compiled; the module is changed.

    Raises:
        FuseError: It cannot be compiled; the place is that of the op.
    """
    from fuse_dialect.backends.compile import compile_program
    from fuse_dialect.loading.failure import located_errors
    from fuse_dialect.tools.progress import progress_line

    with progress_line() as progress, located_errors(file.source_map, " while compiling"):
        return compile_program(file.module, compile_options_of(backend, options), in_place=True, progress=progress)


def run_program(program: "Program", file: "ModuleFile", inputs: Sequence["Array"]) -> list["Array"]:
    """The outputs of a compiled file.

    Raises:
        FuseError: An operator rejects its values; the place is that of the op.
    """
    from fuse_dialect.loading.failure import failing_operation

    try:
        return list(program(*inputs))
    except FuseError as error:
        op = None if error.__cause__ is None else failing_operation(error.__cause__)
        if error.location is None and op is not None:
            error.location = file.source_map.locate(op)
        raise


def note_slow_kernels(program: "Program", file: "ModuleFile") -> None:
    """Say on stderr which kernels of a native program NumPy runs, and which are slower than the plan has counted on.

    Args:
        program: Was compiled from the file.
        file: Knows where ops stand that have kept their places.
    """
    from fuse_dialect.backends.runtime.slow_parts import slow_kernels, wide_floats
    from fuse_dialect.loading.streams import tell

    def place_of(op: "Operation") -> str:
        place = file.source_map.locate(op)
        return str(place) if place.line else ""

    if program.backend == "numpy":
        return
    kernels = program.kernels
    slow = tuple(map(str, slow_kernels(program, place_of)))
    if slow:
        tell(Diagnostic(Severity.WARNING, f"{len(slow)} of {len(kernels)} kernels run on NumPy", notes=slow).format())
    if where := wide_floats(program):
        text = f"the program computes mostly in f64, {where}"
        tell(Diagnostic(Severity.REMARK, text, hint="f32 takes half of the time and memory").format())
    others = tuple(f"{each.name}: planned as {each.promised}, is {each.family}" for each in kernels if each.promised)
    if others:
        text = f"{len(others)} of {len(kernels)} kernels are slower than planned"
        tell(Diagnostic(Severity.REMARK, text, notes=others).format())


def measure(program: "Program", inputs: Sequence["Array"], options: argparse.Namespace) -> None:
    """Do what `--benchmark`, `--json`, `--trace` and `--roofline` ask for.

    Raises:
        FuseError: The file cannot be written; or sizes are known only while the program runs.
    """
    from fuse_dialect.loading.output_file import write_output
    from fuse_dialect.loading.streams import write_stdout

    report: dict[str, Any] = {
        "module": options.module,
        "backend": program.backend,
        "threads": program.threads,
        "peak_bytes": program.peak_bytes,
        "constant_bytes": program.constant_bytes,
        "inputs": program.input_names,
        "outputs": program.output_names,
    }
    if options.benchmark:
        profile = program.profile(*inputs, repeat=options.benchmark)
        write_stdout(f"{profile}\n")
        report |= profile.as_json()
        if options.roofline is not None:
            write_output(options.roofline, profile.to_svg(f"{basename(options.module)}, {program.backend}"))
        if options.trace is not None:
            trace = program.trace(*inputs, repeat=min(options.benchmark, MOST_TRACED))
            write_output(options.trace, json.dumps(trace.as_json(), separators=(",", ":")) + "\n")
    else:
        report["kernels"] = [asdict(kernel) for kernel in program.kernels]
    if options.json is not None:
        write_output(options.json, json.dumps(report, indent=1) + "\n")
