"""`fuse-run --bisect FILE`: finds the merge that breaks a program, and writes a test for lit. Imported when needed."""

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import fields
from io import StringIO
from typing import Any, cast

import numpy as np
from xdsl.dialects import func

from fuse_dialect.bisecting.finding import Finding, smallest_finding
from fuse_dialect.bisecting.search import BadMerge, find_bad_merge
from fuse_dialect.bisecting.way import Way
from fuse_dialect.diagnostics import FuseError, SourceLocation, printable
from fuse_dialect.dialect.op import Array
from fuse_dialect.frontends.mlir.reader import context
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.comparison import Tolerance
from fuse_dialect.interpreters.entry import argument_names, function_named
from fuse_dialect.loading.array_files import random_inputs
from fuse_dialect.loading.failure import located_errors
from fuse_dialect.loading.module_file import ModuleFile
from fuse_dialect.loading.output_file import Writer, write_files, writer_of
from fuse_dialect.loading.streams import tell, write_stdout
from fuse_dialect.targets.mlir import FuseMLIRTarget
from fuse_dialect.tools.backends import compile_options_of

_EXTENSION = ".mlir"
_OTHERS = ("compare_with", "outputs", "benchmark", "json", "trace")
"""Options that ask for another result."""


def check_bisect(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Refuse options that contradict `--bisect`.

    Raises:
        SystemExit: One does.
    """
    for name in _OTHERS:
        if getattr(options, name, None):
            parser.error(f"argument --bisect: not allowed with --{name.replace('_', '-')}")
    if not options.bisect.endswith(_EXTENSION) or options.bisect == _EXTENSION:
        parser.error(f"argument --bisect: expected a file that ends in {_EXTENSION}, got '{options.bisect}'")
    if options.fuse_ops and "fusion-limit" in options.fuse_ops:
        parser.error("argument --bisect: it finds the fusion-limit; --fuse-ops must not give one")


def bisect(file: ModuleFile, inputs: Sequence[Array], options: argparse.Namespace) -> None:
    """Find the merge that breaks the program in a file, and write what shows it.

    Raises:
        FuseError: There is one: then the error names it. Or the program cannot be run, or nothing can be written.
    """
    how = compile_options_of(options.backend, options)
    with located_errors(file.source_map, " while bisecting"):
        way = Way(how, Tolerance(options.rtol, options.atol))
        bad, total = find_bad_merge(file.module, inputs, way, lambda line: tell(printable(line)))
        if bad is None:
            write_stdout(f"the outputs agree with all {total} merges: nothing to find\n")
            return

        def made_up(function: func.FuncOp) -> list[Array]:
            return random_inputs(function, 0, 2, {}, options.max_value_bytes)

        finding = smallest_finding(bad, file.module, inputs, way, made_up)
        write_finding(options.bisect, finding, bad, options)
    raise FuseError(
        f"the outputs differ since merge {bad.number} of {total}: {bad.description}"
        if bad.number
        else "the outputs differ without any merge: an operator alone is wrong",
        SourceLocation(options.module),
        (bad.difference,),
        f"{options.bisect} shows it: lit, or the command in its first line",
    )


def write_finding(path: str, finding: Finding, bad: BadMerge, options: argparse.Namespace) -> None:
    """Write a finding as a test of lit, which fails until it is mended; its inputs beside it, if they matter.

    Raises:
        FuseError: A file cannot be written.
    """
    text = StringIO()
    FuseMLIRTarget().emit(context(), finding.module, text)
    arrays = path.removesuffix(_EXTENSION) + ".npz"
    lines = [
        f"// RUN: {_command(finding, options)}",
        f"// Merge {bad.number} of {bad.total}" + (f": {bad.description}" if bad.number else ", that is without any"),
        f"// in {options.module}; here {finding.difference}.",
    ]
    head = "".join(f"{printable(line)}\n" for line in lines)
    files: list[tuple[str, Writer]] = [(path, writer_of(f"{head}{text.getvalue()}\n"))]
    if finding.inputs is not None:
        names = argument_names(function_named(finding.module, finding.entry))
        given = dict(zip(names, finding.inputs, strict=True))
        files.append((arrays, lambda stream: np.savez(stream, **cast("dict[str, Any]", given))))
    write_files(files)


def _command(finding: Finding, options: argparse.Namespace) -> str:
    """What runs the test: the way in doubt against the interpreter."""
    words = ["--backend", options.backend, "--fuse-ops", _spelled(finding.fuse)]
    for name, default in (("threads", 1), ("atol", None), ("rtol", 1e-4), ("target_cpu", None)):
        if (value := getattr(options, name)) != default:
            words += [f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)]
    words += ["--fast-math"] if options.fast_math else []
    if finding.entry != "main":
        words += ["--entry", finding.entry]
    stem = options.bisect.rpartition("/")[2].removesuffix(_EXTENSION)
    given = ["--random-inputs 0"] if finding.inputs is None else [f"--inputs %S/{shlex.quote(stem)}.npz"]
    return " ".join(["fuse-run %s --compare-with %s", *given, *map(shlex.quote, words)])


def _spelled(fuse: FuseOpsPass) -> str:
    """The options of the pass that are not its defaults."""
    default = FuseOpsPass()
    given = [
        f"{each.name.replace('_', '-')}={str(value).lower() if isinstance(value, bool) else value}"
        for each in fields(fuse)
        if each.init and (value := getattr(fuse, each.name)) != getattr(default, each.name)
    ]
    return " ".join(given)
