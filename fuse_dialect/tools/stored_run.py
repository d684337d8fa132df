"""A run of `fuse-run` whose program comes from the cache: without the IR, and without what makes it.

Only what is plain runs so: outputs are wanted and nothing else, and inputs fit as they are. Everything else, an error
in particular, takes the way through the module, which says what it always says.
"""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fuse_dialect.diagnostics import Diagnostic, FuseError, Severity
from fuse_dialect.interpreters.input_names import InputNamesError, inputs_by_name
from fuse_dialect.loading.streams import tell
from fuse_dialect.tools.arguments import limits_of

if TYPE_CHECKING:
    from fuse_dialect.backends.runtime.program import InputForm, Program
    from fuse_dialect.backends.stored.program import StoredProgram
    from fuse_dialect.backends.stored.store import ProgramStore
    from fuse_dialect.dialect.op import Array

_OF_THE_MODULE = ("compare_with", "bisect", "json", "trace", "roofline", "benchmark", "dynamic_dim", "kinds")
"""Options that ask for more than the outputs, or for sizes by name, or say what a file says that may change."""
_OF_THE_PROGRAM = ("entry", "frontend", "allow_unregistered_dialect", "fuse_ops", "target_cpu", "fast_math")
"""Options on which the program depends besides numbers."""


def store_of(options: argparse.Namespace) -> "ProgramStore | None":
    """Where the program of a run is kept in the cache; `None` for a run that needs the module."""
    if options.backend != "llvm" or options.no_cache or options.module == "-":
        return None
    # A machine in a file may change.
    if any(getattr(options, name) for name in _OF_THE_MODULE) or ".toml" in (options.fuse_ops or ""):
        return None
    from fuse_dialect.backends.stored.store import open_store
    from fuse_dialect.backends.threads import usable_threads

    limits = limits_of(options)
    try:
        threads = usable_threads(options.threads, lambda _: None)
    except FuseError:
        return None
    numbers = [threads, limits.ops, limits.bytes, limits.value_bytes]
    asked = {"fuse-run": numbers, **{name: getattr(options, name) for name in _OF_THE_PROGRAM}}
    try:
        return open_store(options.module, options.weights, asked, [options.target_cpu or ""])
    except FuseError:
        return None


def stored_outputs(store: "ProgramStore", options: argparse.Namespace) -> "dict[str, Array] | None":
    """The outputs of a program in the cache by name; `None` if there is none, or not all goes as it should."""
    program = store.load("llvm", _refuse)
    if program is None:
        return None
    try:
        inputs = _inputs(program, options)
        outputs = None if inputs is None else program(*inputs)
    except (FuseError, InputNamesError, ValueError, MemoryError):
        return None
    if outputs is None:
        return None
    _warn_of_threads(options)
    return dict(zip(program.output_names, outputs, strict=True))


def _refuse() -> "Program":
    raise FuseError("what has no IR cannot say why it stops")


def _inputs(program: "StoredProgram", options: argparse.Namespace) -> "Sequence[Array] | None":
    """Inputs that fit as they are, else `None`."""
    from fuse_dialect.loading.array_archives import random_array, read_arrays

    forms = program.interface.inputs
    if options.random_inputs is not None:
        # None is too large: the limit is part of the key, and what was compiled with it takes them.
        return [
            random_array(form.type.shape, form.type.dtype, options.random_inputs, place)
            for place, form in enumerate(forms)
        ]
    if options.inputs is None:
        return None if forms else []
    arrays = inputs_by_name(
        program.input_names, [form.model_name for form in forms], read_arrays(options.inputs, options.max_value_bytes)
    )
    return arrays if all(map(_fits, forms, arrays)) else None


def _fits(form: "InputForm", array: "Array") -> bool:
    return array.dtype == form.type.dtype and array.shape == form.type.shape


def _warn_of_threads(options: argparse.Namespace) -> None:
    from fuse_dialect.backends.threads import usable_threads

    usable_threads(options.threads, lambda text: tell(Diagnostic(Severity.WARNING, text).format()))
