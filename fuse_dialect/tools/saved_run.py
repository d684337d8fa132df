"""A run of `fuse-run model.fuse`: a saved program, without the IR unless something asks for it."""

import argparse
from typing import TYPE_CHECKING

from fuse_dialect.backends.stored.saved_file import SUFFIX
from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.interpreters.input_names import InputNamesError, inputs_by_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuse_dialect.backends.runtime.program import InputForm, Program
    from fuse_dialect.dialect.op import Array

_OF_A_MODULE = {
    "compare_with": "--compare-with",
    "bisect": "--bisect",
    "weights": "--weights",
    "fuse_ops": "--fuse-ops",
    "target_cpu": "--target-cpu",
    "fast_math": "--fast-math",
    "kinds": "--kinds",
    "frontend": "--frontend",
}
"""Options that say how a module is read or compiled, by where they are kept."""


def is_saved(path: str) -> bool:
    """Whether a file is a saved program, by its name."""
    return path.lower().endswith(SUFFIX)


def saved_program(options: argparse.Namespace) -> "Program":
    """The saved program that the command line names.

    Raises:
        FuseError: It cannot be read or compiled here, or an option is for modules.
    """
    place = SourceLocation(options.module)
    for name, option in _OF_A_MODULE.items():
        if getattr(options, name):
            raise FuseError(f"{option} is for modules, and this is a saved program", place)
    from fuse_dialect.loading.saved_programs import load
    from fuse_dialect.tools.progress import progress_line

    with progress_line() as progress:
        program = load(options.module, options.threads if options.threads != 1 else None, progress=progress)
    if options.entry not in ("main", program.name):
        raise FuseError(f"the saved program is '{program.name}', and no '{options.entry}'", place)
    return program


def saved_inputs(program: "Program", options: argparse.Namespace) -> "Sequence[Array]":
    """The inputs that the command line gives a saved program.

    Raises:
        FuseError: None are given, a file cannot be read, or names do not fit.
    """
    from fuse_dialect.loading.array_archives import random_array, read_arrays

    forms = program.interface.inputs
    if options.random_inputs is not None:
        sizes = dict[str, int](options.dynamic_dim or ())
        default = sizes.pop("", 2)
        known = {size for form in forms for size in form.sizes if size}
        if unknown := [name for name in sizes if name not in known]:
            raise FuseError(f"no argument has a size '{unknown[0]}'", SourceLocation(options.module))
        return [
            random_array(_shape(form, sizes, default), form.type.dtype, options.random_inputs, place)
            for place, form in enumerate(forms)
        ]
    if options.inputs is None:
        if not forms:
            return []
        names = ", ".join(form.model_name or form.name for form in forms)
        hint = "give --inputs FILE.npz or --random-inputs SEED"
        raise FuseError(f"'{program.name}' needs inputs: {names}", SourceLocation(options.module), hint=hint)
    arrays = read_arrays(options.inputs, options.max_value_bytes)
    try:
        return inputs_by_name(program.input_names, [form.model_name for form in forms], arrays)
    except InputNamesError as error:
        raise FuseError(str(error), SourceLocation(options.inputs)) from error


def run_rows(program: "Program", options: argparse.Namespace) -> None:
    """Run a saved program on the rows that the command line names.

    Raises:
        FuseError: As for `fuse_dialect.map_rows`.
    """
    from fuse_dialect.loading.streams import write_stdout
    from fuse_dialect.rows.mapping import map_rows

    map_rows(
        program,
        options.rows,
        batch=options.batch,
        out=options.out,
        resume=options.resume,
        overwrite=options.overwrite,
        cluster=options.cluster,
    )
    write_stdout(f"{options.out}\n")


def _shape(form: "InputForm", sizes: dict[str, int], default: int) -> tuple[int, ...]:
    names = form.sizes or ("",) * len(form.type.shape)
    return tuple(
        sizes.get(name, default) if size < 0 else size for size, name in zip(form.type.shape, names, strict=True)
    )
