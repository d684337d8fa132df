"""Running programs of structural edges: compiled in every crossing of options, called again and again.

What a program means is what the unfused interpreter gives for it. A program with open rows is called with its own rows,
with others, and with its own again, as sizes that come back are compiled for. One that is cached is compiled from a
file twice: the second time it is read whole. Results of an earlier call must stay what they were.
"""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd
from fuse_dialect.backends.runtime import executable, program
from fuse_dialect.backends.runtime.cache import DIRECTORY_VARIABLE
from fuse_dialect.backends.runtime.program import Program
from fuse_dialect.backends.stored.store import wait_for_writers
from fuse_dialect.dialect.op import Array
from fuzzing.file_edges import run_files
from fuzzing.structures import Structure, file_edge_of, structure_of
from fuzzing.ways import MismatchError

TOLERANCE = 2.0**-12
"""Relative to the greatest number of a result: hundreds of roundings of f32 are less, a wrong element is not."""


def through_structures(seed: int) -> None:
    """What the way `structures` does with a seed.

    Raises:
        MismatchError: A result is wrong.
        FuseError: A program was refused.
    """
    run_structure(structure_of(seed))
    file_edge = file_edge_of(seed)
    if file_edge is not None:
        change_files(seed, file_edge)


def run_structure(structure: Structure) -> None:
    """Compile and call a program, and compare.

    Raises:
        MismatchError: A result is not that of the unfused interpreter.
        FuseError: A program was refused, which none should be.
    """
    executable.WORTH_A_THREAD = executable.WORTH_A_PART = 0  # small programs use threads as well
    program.MANY_CALLS = 2  # and get programs for their sizes when these come back
    rows = [structure.writer.rows]
    if structure.crossing.is_open:
        rows = [rows[0], rows[0] + 3, rows[0], 1, rows[0]]
    module = fd.parse(structure.text)
    calls = [structure.writer.inputs(structure.seed + many, many) for many in rows]
    wanted = [fd.run(module, *inputs) for inputs in calls]
    if not structure.crossing.is_cached:
        _call(_compiled(structure, module), calls, wanted, "")
        return
    with own_cache() as folder:
        path = folder / "program.mlir"
        path.write_text(structure.text)
        _call(_compiled(structure, str(path)), calls, wanted, "")
        wait_for_writers()
        _call(_compiled(structure, str(path)), calls, wanted, ", from the cache")


def _compiled(structure: Structure, source: str | ModuleOp) -> Program:
    crossing = structure.crossing
    return fd.compile(
        source,
        threads=crossing.threads,
        cache=crossing.is_cached,
        target_cpu=crossing.processor,
        strategy=crossing.strategy,
    )


@contextmanager
def own_cache() -> Generator[Path]:
    """An empty folder, whose `cache` is meanwhile that of the process."""
    before = os.environ.get(DIRECTORY_VARIABLE)
    with TemporaryDirectory() as folder:
        os.environ[DIRECTORY_VARIABLE] = str(Path(folder) / "cache")
        try:
            yield Path(folder)
        finally:
            wait_for_writers()  # they write into a folder that is about to go
            if before is None:
                del os.environ[DIRECTORY_VARIABLE]
            else:
                os.environ[DIRECTORY_VARIABLE] = before


def change_files(seed: int, name: str) -> None:
    """Run an edge of files.

    Raises:
        MismatchError: A program computes what other files say.
    """
    with own_cache() as folder:
        place = folder / "model"
        place.mkdir()
        if text := run_files(name, place, Random(seed)):
            raise MismatchError(f"{name}: {text}")


def _call(compiled: Program, calls: Sequence[Sequence[Array]], wanted: Sequence[Sequence[Array]], where: str) -> None:
    """Make all calls, and look at all results once the last is made: no call may write into those of another."""
    found: list[Sequence[Array]] = []
    for inputs in calls:
        found.append(compiled(*inputs))
        compiled.finish_specializing()  # so that sizes that come back are those of a program of their own
    for number, (results, expected) in enumerate(zip(found, wanted, strict=True)):
        for place, (result, other) in enumerate(zip(results, expected, strict=True)):
            if text := difference(result, other):
                raise MismatchError(f"result {place} of call {number}{where}: {text}")


def difference(found: Array, expected: Array, tolerance: float = TOLERANCE) -> str:
    """What is wrong with a result; nothing if it is right."""
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"{found.dtype}{list(found.shape)} in place of {expected.dtype}{list(expected.shape)}"
    if expected.dtype.kind != "f":
        good = found == expected
    else:
        finite = expected[np.isfinite(expected)]
        scale = np.abs(finite).max(initial=1.0)
        with np.errstate(invalid="ignore"):  # infinities of one sign are equal, and have no difference
            good = (np.abs(found - expected) <= tolerance * scale) | (found == expected)
        good |= np.isnan(found) & np.isnan(expected)
    if good.all():
        return ""
    at = tuple(np.argwhere(~np.atleast_1d(good))[0])
    pair = [np.atleast_1d(each)[at] for each in (found, expected)]
    return f"{np.count_nonzero(~good)} of {good.size} differ, first {pair[0]} in place of {pair[1]}"
