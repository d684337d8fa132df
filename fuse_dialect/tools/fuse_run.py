"""`fuse-run`: run a module on NumPy arrays, compare two modules, or measure one.

Standard output carries the result alone: a summary of each output, or of each difference; nothing with `--outputs`.
Exit codes: 0 ok, 1 a diagnosed error or a difference beyond the tolerances, 2 usage.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fuse_dialect.budget import MOST_VALUE_BYTES
from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.loading.streams import tell, write_stdout
from fuse_dialect.tools.arguments import UsageParser, add_kinds, add_limits, add_print_completion, add_rows, limits_of
from fuse_dialect.tools.backends import (
    add_backend_arguments,
    compile_file,
    measure,
    note_slow_kernels,
    run_program,
)
from fuse_dialect.tools.exit_status import exit_status
from fuse_dialect.tools.version import version_text

if TYPE_CHECKING:
    from fuse_dialect.backends.runtime.program import Program
    from fuse_dialect.backends.stored.store import ProgramStore
    from fuse_dialect.dialect.op import Array
    from fuse_dialect.loading.module_file import ModuleFile

MAX_PRINTED_ELEMENTS = 16
"""Outputs of at most so many elements are printed in full."""
_LETTERS = {"b": "i", "i": "i", "u": "ui", "f": "f"}
"""With which types in the IR begin, by the kinds of NumPy."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the tool; returns the exit code."""
    arguments = list(sys.argv[1:] if args is None else args)
    return exit_status(lambda: _run(arguments), debug="--debug" in arguments)


def _run(arguments: list[str]) -> None:
    if not {"-v", "--version"}.isdisjoint(arguments):
        write_stdout(version_text("fuse-run"))
        return
    parser = _parser()
    if any(word.startswith("--print-completion") for word in arguments):
        from fuse_dialect.tools.completion import completion_script

        # MODULE is not needed for it.
        shell = parser.parse_args([*arguments, "-"]).print_completion
        write_stdout(completion_script(_parser(), shell))
        return
    options = parser.parse_args(arguments)
    if options.cache_info or options.clear_cache:
        if options.module is not None:
            parser.error("--cache-info and --clear-cache take no MODULE")
        from fuse_dialect.tools.cache_folder import clear_cache, tell_of_cache

        if options.clear_cache:
            clear_cache()
        if options.cache_info:
            tell_of_cache()
        return
    if options.module is None:
        parser.error("the following arguments are required: MODULE")
    if options.rows is not None and options.out is None:
        parser.error("argument --rows: --out names the file of the results")
    for name in ("out", "batch", "cluster", "resume", "overwrite"):
        if getattr(options, name) and options.rows is None:
            parser.error(f"argument --{name}: --rows names the rows")
    for name in ("trace", "roofline"):
        if getattr(options, name) is not None and not options.benchmark:
            parser.error(f"argument --{name}: what runs is measured with --benchmark N")
    if options.bisect is not None:
        from fuse_dialect.tools.bisecting import check_bisect

        check_bisect(parser, options)
    _run_module(options)


def _parser() -> argparse.ArgumentParser:
    parser = UsageParser(
        prog="fuse-run",
        description="Run a module (.mlir, .onnx) on the NumPy interpreter, compile and run it, or run a saved program.",
        epilog="Without --outputs, a summary of the outputs is printed.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "module", nargs="?", metavar="MODULE", help="a .mlir, .onnx or .fuse file, or - for standard input"
    )
    parser.add_argument(
        "-f", "--frontend", choices=["mlir", "onnx"], help="format of MODULE, if not by its extension (- is MLIR)"
    )
    parser.add_argument(
        "--entry", default="main", metavar="NAME", help="the function to run (default: main, or the only public one)"
    )
    parser.add_argument(
        "--weights", metavar="FILE", help="a safetensors file with the elements of dense_resource constants"
    )
    parser.add_argument("--compare-weights", metavar="FILE", help="the same for OTHER (default: the file of --weights)")
    inputs = parser.add_mutually_exclusive_group()
    inputs.add_argument(
        "--inputs", metavar="FILE", help="an .npz file: arrays by name in the model or in the IR, or arg0, arg1, ..."
    )
    inputs.add_argument("--random-inputs", type=_natural, metavar="SEED", help="make up inputs, always the same ones")
    parser.add_argument(
        "--dynamic-dim",
        type=_size,
        action="append",
        metavar="[NAME=]N",
        help="size of `?` in random inputs (default: 2); with a name, of those that `fuse.sizes` calls so",
    )
    parser.add_argument(
        "--outputs", metavar="FILE", help="write the outputs to an .npz file, by name in the model, or as result0, ..."
    )
    parser.add_argument("--compare-with", metavar="OTHER", help="another module; fail where its outputs differ")
    parser.add_argument(
        "--atol",
        type=_tolerance,
        metavar="X",
        help="absolute tolerance (default: 1e-5 times the greatest element of each output)",
    )
    parser.add_argument("--rtol", type=_tolerance, default=1e-4, metavar="X", help="relative tolerance (default: 1e-4)")
    parser.add_argument(
        "--allow-unregistered-dialect",
        action="store_true",
        help="read operations of unknown dialects in their generic form; running them fails",
    )
    add_rows(parser)
    add_kinds(parser)
    add_backend_arguments(parser, _natural)
    add_limits(parser)
    parser.add_argument(
        "--max-value-bytes",
        type=_natural,
        default=MOST_VALUE_BYTES,
        metavar="N",
        help="bytes of the largest value that a run may take or make (%(default)s)",
    )
    parser.add_argument(
        "--debug", action="store_true", help="print the traceback of an error too, and check plans before they run"
    )
    add_print_completion(parser)
    parser.add_argument("-v", "--version", action="store_true", help="print the versions of fuse-run and xDSL")
    return parser


def _natural(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"expected 0 or more, got {text}")
    return value


_natural.__name__ = "integer"


def _size(text: str) -> tuple[str, int]:
    name, _, number = text.rpartition("=")
    return name, _natural(number)


_size.__name__ = "integer or NAME=integer"


def _tolerance(text: str) -> float:
    value = float(text)
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"expected 0 or more, got {text}")
    return value


_tolerance.__name__ = "number"


def _run_module(options: argparse.Namespace) -> None:
    from fuse_dialect.loading.output_file import check_outputs
    from fuse_dialect.tools.saved_run import is_saved
    from fuse_dialect.tools.stored_run import store_of, stored_outputs

    check_outputs(
        {f"--{name}": getattr(options, name) for name in ("outputs", "json", "trace", "roofline", "bisect", "out")},
        {
            "MODULE": options.module,
            "--inputs": options.inputs,
            "--rows": options.rows,
            "--weights": options.weights,
            "--compare-with": options.compare_with,
            "--compare-weights": options.compare_weights,
            **{f"--kinds {path}": path for path in options.kinds},
        },
    )
    if is_saved(options.module):
        _run_saved(options)
        return
    if options.rows is not None:
        hint = "fuse-opt MODULE -o model.fuse writes one"
        raise FuseError("--rows runs saved programs", SourceLocation(options.module), hint=hint)
    store = store_of(options)
    outputs = None if store is None else stored_outputs(store, options)
    if outputs is not None:
        _deliver(outputs, options)
        return
    _run_with_module(options, store)


def _run_saved(options: argparse.Namespace) -> None:
    """Run a saved program."""
    from fuse_dialect.tools.saved_run import run_rows, saved_inputs, saved_program

    program = saved_program(options)
    if options.rows is not None:
        run_rows(program, options)
        return
    inputs = saved_inputs(program, options)
    try:
        outputs = dict(zip(program.output_names, program(*inputs), strict=True))
    except FuseError as error:
        error.location = error.location or SourceLocation(options.module)
        raise
    _deliver(outputs, options)
    if options.benchmark or options.json is not None:
        measure(program, inputs, options)


def _run_with_module(options: argparse.Namespace, store: "ProgramStore | None") -> None:
    from fuse_dialect.backends.stored.files import FilesRead
    from fuse_dialect.interpreters.entry import function_named, result_names
    from fuse_dialect.loading.module_file import read_module
    from fuse_dialect.read_files import noting_files

    allow_unregistered = options.allow_unregistered_dialect
    limits = limits_of(options)
    read = FilesRead()
    with noting_files(read.note):
        file = read_module(
            options.module,
            options.frontend,
            allow_unregistered=allow_unregistered,
            limits=limits,
            weights=options.weights,
        )
    path, weights = options.compare_with, options.compare_weights or options.weights
    other = (
        None
        if path is None
        else read_module(path, allow_unregistered=allow_unregistered, limits=limits, weights=weights)
    )
    _stamp_kinds([file] if other is None else [file, other], options)
    for each in (file, other):
        if each is not None:
            _make_runnable(each)
            _check_sizes(each, options)
    inputs = _inputs(file, options)
    if options.bisect is not None:
        from fuse_dialect.tools.bisecting import bisect

        bisect(file, inputs, options)
        return
    # Before compiling, which changes the module.
    names = result_names(function_named(file.module, options.entry))
    program = _program(file, options)
    if store is not None and program is not None:
        store.keep(program, read)
    outputs = dict(zip(names, _outputs(file, inputs, options, program), strict=True))
    _deliver(outputs, options)
    if other is not None:
        _compare(outputs, _other_outputs(other, inputs, options), options)
    if program is not None and (options.benchmark or options.json is not None):
        measure(program, inputs, options)


def _deliver(outputs: "Mapping[str, Array]", options: argparse.Namespace) -> None:
    """Write the outputs to their file, or print what they are unless another result is wanted."""
    if options.outputs is not None:
        from fuse_dialect.loading.array_archives import write_arrays

        write_arrays(options.outputs, outputs)
    elif options.compare_with is None and not options.benchmark:
        write_stdout("".join(f"{name}: {_summary(array)}\n" for name, array in outputs.items()))


def _check_sizes(file: "ModuleFile", options: argparse.Namespace) -> None:
    """Refuse values that are larger than the command line allows."""
    from fuse_dialect.interpreters.sizes import check_sizes
    from fuse_dialect.loading.failure import located_errors

    with located_errors(file.source_map, " before running"):
        check_sizes(file.module, options.entry, options.max_value_bytes)


def _stamp_kinds(files: "Sequence[ModuleFile]", options: argparse.Namespace) -> None:
    """Write the kinds of the command line on the ops of modules."""
    if not options.kinds:
        return
    from fuse_dialect.loading.given_kinds import GivenKinds

    kinds = GivenKinds(options.kinds)
    for file in files:
        kinds.stamp(file.module, file.source_map)
    for warning in kinds.warnings():
        tell(warning.format())


def _make_runnable(file: "ModuleFile") -> None:
    """Say the StableHLO of a module with `fuse` ops."""
    from fuse_dialect.loading.failure import located_errors
    from fuse_dialect.transforms.runnable import make_runnable

    with located_errors(file.source_map, " before running"):
        make_runnable(file.module)


def _inputs(file: "ModuleFile", options: argparse.Namespace) -> list["Array"]:
    """The inputs in the order of the entry's arguments."""
    from fuse_dialect.frontends.mlir.source_map import SourceMap
    from fuse_dialect.interpreters.entry import argument_names, bind_inputs, function_named
    from fuse_dialect.loading.array_archives import read_arrays
    from fuse_dialect.loading.array_files import match_bfloat16, random_inputs
    from fuse_dialect.loading.failure import located_errors

    with located_errors(file.source_map, " before running"):
        function = function_named(file.module, options.entry)
        names = argument_names(function)
        if options.random_inputs is not None:
            sizes = dict[str, int](options.dynamic_dim or ())
            return random_inputs(function, options.random_inputs, sizes.pop("", 2), sizes, options.max_value_bytes)
    if options.inputs is not None:
        arrays = match_bfloat16(function, read_arrays(options.inputs, options.max_value_bytes))
        with located_errors(SourceMap(options.inputs, ""), " before running"):
            return bind_inputs(function, arrays)
    if not names:
        return []
    raise FuseError(
        f"'{options.entry}' needs inputs: {', '.join(names)}",
        file.source_map.locate(function),
        hint="give --inputs FILE.npz or --random-inputs SEED",
    )


def _program(file: "ModuleFile", options: argparse.Namespace) -> "Program | None":
    """The compiled module, or `None` if it is interpreted as it stands."""
    is_asked = options.benchmark or options.json is not None or options.fuse_ops is not None
    if options.backend == "numpy" and not is_asked:
        return None
    program = compile_file(file, options.backend, options)
    note_slow_kernels(program, file)
    return program


def _other_outputs(file: "ModuleFile", inputs: Sequence["Array"], options: argparse.Namespace) -> list["Array"]:
    """The outputs of the module to compare with."""
    backend = options.compare_backend
    program = None if backend == "numpy" else compile_file(file, backend, options)
    return _outputs(file, inputs, options, program)


def _outputs(
    file: "ModuleFile", inputs: Sequence["Array"], options: argparse.Namespace, program: "Program | None"
) -> list["Array"]:
    from fuse_dialect.interpreters.numpy import run_module
    from fuse_dialect.loading.failure import located_errors

    if program is not None:
        return run_program(program, file, inputs)
    with located_errors(file.source_map, " while running"):
        return run_module(file.module, inputs, options.entry, limits=limits_of(options))


def _compare(outputs: Mapping[str, "Array"], references: Sequence["Array"], options: argparse.Namespace) -> None:
    """Print the difference of each output.

    Raises:
        FuseError: An output is beyond the tolerances, or cannot be compared.
    """
    from fuse_dialect.interpreters.comparison import (
        RELATIVE_ATOL,
        Tolerance,
        difference,
        is_uniform,
        layout_mismatch,
    )

    tolerance = Tolerance(options.rtol, options.atol)
    place = SourceLocation(options.compare_with)
    if len(outputs) != len(references):
        raise FuseError(f"expected {len(outputs)} outputs as from '{options.module}', got {len(references)}", place)
    beyond, lines = 0, list[str]()
    for (name, output), reference in zip(outputs.items(), references, strict=True):
        if (mismatch := layout_mismatch(output, reference)) is not None:
            raise FuseError(f"{name} cannot be compared: {mismatch}", place)
        found = difference(output, reference, atol=tolerance.absolute(reference), rtol=options.rtol)
        verdict = (
            "ok"
            if found.is_within
            else f"{found.beyond} of {output.size} elements differ, worst at {list(found.worst)}"
        )
        lines.append(f"{name}: max absolute error {found.absolute:.3g}, relative {found.relative:.3g}: {verdict}")
        lines += (
            _doubts(name, output, reference, options.atol)
            if not is_uniform(output)
            else [f"note: all {output.size} elements of {name} are {output.flat[0]}: this shows little"]
        )
        beyond += not found.is_within
    allowed = f"atol {RELATIVE_ATOL:g} of the greatest element" if options.atol is None else f"atol {options.atol:g}"
    write_stdout("".join(f"{line}\n" for line in lines))
    if beyond:
        raise FuseError(f"{beyond} of {len(outputs)} outputs differ beyond {allowed} and rtol {options.rtol:g}", place)


def _doubts(name: str, output: "Array", reference: "Array", atol: float | None) -> list[str]:
    """A note where an absolute tolerance that was asked for lets any output pass."""
    from fuse_dialect.interpreters.comparison import greatest

    size = greatest(reference)
    if atol is None or not output.size or atol < size or not size:
        return []
    return [f"note: the greatest element of {name} is {size:.3g}, within --atol {atol:g} of 0: this shows little"]


def _summary(array: "Array") -> str:
    """Type, then all elements of a small array, or statistics of a large one."""
    import numpy as np

    head = _type_text(array)
    if array.size <= MAX_PRINTED_ELEMENTS:
        return f"{head} = {array.tolist()}"
    if array.dtype.kind == "b":
        return f"{head} {np.count_nonzero(array)} of {array.size} true"
    with np.errstate(all="ignore"):
        wide = array.astype(np.float64)
        nans = np.count_nonzero(np.isnan(wide))
        note = f" nan {nans}" if nans else ""
        known = wide[~np.isnan(wide)]
        if not known.size:
            return f"{head}{note}"
        return f"{head} min {known.min():.6g} max {known.max():.6g} mean {known.mean():.6g}{note}"


def _type_text(array: "Array") -> str:
    """The type as the IR prints it; that of usual elements without the IR, which takes longer to import than to run."""
    kind, bits = array.dtype.kind, 8 * array.dtype.itemsize
    if kind in _LETTERS and array.dtype.isbuiltin:
        element = "i1" if kind == "b" else f"{_LETTERS[kind]}{bits}"
        return f"tensor<{''.join(f'{size}x' for size in array.shape)}{element}>"
    from fuse_dialect.dialect.types import element_type_of, tensor

    return str(tensor(array.shape, element_type_of(array.dtype)))


if __name__ == "__main__":
    sys.exit(main())
