"""What lets a program leave its process: files, pickles, copies; and what was decided about it, in words.

1. A pickle has no code of Python, and none that runs unchecked: it has the path of the file that the program was saved
   to or loaded from, with the hash of that file; or, for one that was in no file, the bytes that a file would have.
2. Programs do not change, so a copy is the program itself. One process that is sent the same program twice has it once.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Self, cast

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.extensions import at_place

if TYPE_CHECKING:
    from fuse_dialect.remarks.module_plan import Decision, ModulePlan

_SAVE = "fuse_dialect.loading.saved_programs:save"
_BYTES = "fuse_dialect.loading.saved_programs:saved_bytes"
_LOAD = "fuse_dialect.loading.saved_programs:load"
"""Places of what reads and writes files; whoever only runs a program does not need it."""
_loaded: "OrderedDict[tuple[str, int], Portable]" = OrderedDict()
"""By the hash of the file and threads what pickles have brought here last: tasks bring the same one again and again."""
_MOST_LOADED = 4


class Portable:
    """A program that can be saved, pickled and copied."""

    threads: int
    origin: "tuple[str | bytes, str] | None" = None
    """The file that the program is in, or its bytes, and its hash; `None` for one that is in none."""

    if TYPE_CHECKING:

        @property
        def plan(self) -> "ModulePlan":
            """See `Program`."""
            ...

    def save(self, path: "str | PathLike[str]", *, target_cpus: "Sequence[str]" = ()) -> None:
        """Write the program to one file: IR, constants, and machine code for this processor.

        `fuse_dialect.load` reads it, on another machine, too; docs/reference/saved-file.md describes it.

        Args:
            path: The file. It is written as a whole or not at all.
            target_cpus: Other processors that the file is to have machine code for, beside that of the program:
                `x86-64-v4`, `skylake-avx512`, `x86-64-v3`, `haswell`, `x86-64-v2`, `x86-64`. It runs where the file is
                loaded with `trust`. The program is compiled for each; weights that its kernels read in another order
                are there once more.

        Raises:
            FuseError: The program depends on objects of yours, a strategy or a backend that is no name; there is no
                code for a processor; or the file cannot be written.
        """
        at_place(_SAVE)(self, fspath(path), target_cpus)

    def to_bytes(self) -> bytes:
        """What `save` writes, for `fuse_dialect.load`.

        Raises:
            FuseError: As for `save`.
        """
        return at_place(_BYTES)(self)

    @property
    def remarks(self) -> "tuple[Decision, ...]":
        """What was decided about each operator, and why: the decisions of `plan`.

        Raises:
            FuseError: As for `plan`.
        """
        return self.plan.decisions

    def explain(self, op: str) -> str:
        """The story of an operator: see `ModulePlan.explain`.

        Args:
            op: `%value`, `@function:%value`, or the name of an ONNX node.

        Raises:
            FuseError: There is no such op; or as for `plan`.
        """
        return self.plan.explain(op)

    def __reduce_ex__(self, protocol: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickle by the file, or by what it would hold (1)."""
        source, digest = self.origin or (self.to_bytes(), "")
        return unpickled, (source, digest, self.threads)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


def unpickled(source: str | bytes, digest: str, threads: int) -> "Portable":
    """The program of a pickle.

    Raises:
        FuseError: Its file is not there, or is another one by now; or as for `fuse_dialect.load`.
    """
    known = _loaded.get((digest, threads)) if digest else None
    if known is not None:
        _loaded.move_to_end((digest, threads))
        return known
    load = cast("Callable[[str | bytes, int], Portable]", at_place(_LOAD))
    try:
        program = load(source, threads)
    except FuseError as error:
        if isinstance(source, str) and error.location == SourceLocation(source):
            error.hint = "a pickle names the file of its program: put it where both sides see it, or send to_bytes()"
        raise
    assert program.origin is not None, "a program that was loaded knows its file"
    if digest and program.origin[1] != digest:
        hint = "pickle the program that is in the file now, or save it under another name"
        raise FuseError("the saved program is not the one that was pickled", SourceLocation(str(source)), hint=hint)
    _loaded[(program.origin[1], threads)] = program
    while len(_loaded) > _MOST_LOADED:
        _loaded.popitem(last=False)
    return program
