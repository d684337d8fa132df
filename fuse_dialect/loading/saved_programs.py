"""Programs in files: `save` and `load`. Loading one that was made here imports nothing that reads, fuses or compiles.

1. Machine code of the file runs if it was made here (`stored.saved_file`). Else the program is compiled from the IR,
   and kept in the cache under the hash of the file: the second start on a machine is as fast as on that which made it.
2. A program that was loaded knows its file. It pickles by that.
3. A file may have code for other processors, each for a level that is known (`machines.levels`). Since the signature is
   of one machine, it runs only if the user trusts the file, on a processor that has all that the level needs.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from errno import EFAULT
from time import perf_counter
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from fuse_dialect.backends.runtime.cache import key_of, open_cache
from fuse_dialect.backends.stored.key import environment, machines_in, processor
from fuse_dialect.backends.stored.machine_code import CannotRunError, is_supported
from fuse_dialect.backends.stored.saved_file import SUFFIX as SUFFIX
from fuse_dialect.backends.stored.saved_file import SavedFile, open_saved, saved_in, write_saved
from fuse_dialect.backends.stored.trust import Signer
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.logs import COMPILE, heard

if TYPE_CHECKING:
    from fuse_dialect.backends.progress import Progress
    from fuse_dialect.backends.runtime.program import Program

_FLAGS = "flags"


def save(program: "Program", path: str, target_cpus: "Sequence[str]" = ()) -> None:
    """Write a program to a file: whole, or not at all.

    Args:
        program: The program.
        path: Of the file.
        target_cpus: Other processors that the file is to have code for.

    Raises:
        FuseError: The program depends on objects of the caller, there is no code for a processor, or the file cannot be
            written.
    """
    from fuse_dialect.loading.output_file import write_file

    digests: list[str] = []
    names = _levels(target_cpus)
    write_file(path, lambda stream: digests.append(_write(program, stream, names)))
    program.origin = (os.path.abspath(path), digests[0])


def saved_writer(program: "Program") -> Callable[[BinaryIO], object]:
    """What fills a file with a program."""
    return lambda stream: _write(program, stream)


def saved_bytes(program: "Program") -> bytes:
    """What `save` would write.

    Raises:
        FuseError: As for `save`.
    """
    from io import BytesIO

    stream = BytesIO()
    _write(program, stream)
    return stream.getvalue()


def _levels(names: "Sequence[str]") -> list[str]:
    """Names of processors that code can be made for, each once.

    Raises:
        FuseError: Of one nobody knows what it needs.
    """
    from fuse_dialect.machines.levels import LEVELS

    if isinstance(names, str):
        raise FuseError(f"target_cpus expects a list of processors, got '{names}'", hint=f"write ['{names}']")
    for name in names:
        if name not in LEVELS:
            hint = f"there are {', '.join(LEVELS)}; on others the program is compiled from its IR"
            raise FuseError(f"no code for the processor {name!r} can go to other machines", hint=hint)
    return [name for name in LEVELS if name in names]


def _for_others(program: "Program", names: "Sequence[str]") -> "dict[str, Program]":
    """A program compiled for other processors, from the IR that its file will have."""
    from fuse_dialect.loading.restoring import compiled
    from fuse_dialect.loading.saving import draft_of

    draft = draft_of(program)
    assert draft is not None, "code is not needed"
    members = {name: memoryview(b"".join(pieces)) for name, pieces in draft.members}
    saved = SavedFile("<bytes>", memoryview(b""), members, draft.manifest, "", is_in_file=False)
    return {name: compiled(saved, program.threads, is_ours=True, target_cpu=name) for name in names}


def _write(program: "Program", stream: BinaryIO, target_cpus: "Sequence[str]" = ()) -> str:
    """Write a program; the digest of its manifest."""
    saved = getattr(program, "saved", None)
    if target_cpus:
        # What was loaded is compiled from its IR, too: the file has no module in memory.
        saved, program = None, getattr(program, "whole", program)
    if isinstance(saved, SavedFile):
        _refuse_files_of_machines(saved.manifest)
        try:
            stream.write(saved.data)
        except OSError as error:
            if error.errno == EFAULT:  # a call of the system has met the end of the file, and no handler of ours
                raise saved.error("the saved program has been cut short while it was in use", hint=None) from error
            raise
        saved.check_whole()
        return saved.digest
    from fuse_dialect.loading.saving import draft_of

    draft = draft_of(program, others=_for_others(program, target_cpus) if target_cpus else None)
    assert draft is not None, "code is not needed"
    _refuse_files_of_machines(draft.manifest)
    return write_saved(stream, draft, Signer.made(_environment_of(draft.manifest)))


def _machines(manifest: Mapping[str, Any]) -> list[str]:
    """The names of machines that the options of a program have."""
    options = manifest.get("options")
    if not isinstance(options, dict):
        return []
    found = cast("dict[str, Any]", options)
    fuse = found.get("fuse_ops")
    named = [found.get("target_cpu"), cast("dict[str, Any]", fuse).get("machine") if isinstance(fuse, dict) else None]
    return [name for name in named if isinstance(name, str) and name]


def _refuse_files_of_machines(manifest: Mapping[str, Any]) -> None:
    for name in _machines(manifest):
        if name.endswith(".toml"):
            hint = "name one that comes with this package, or that an installed package adds"
            raise FuseError(f"a program for the machine in '{name}' cannot be saved: files stay here", hint=hint)


def _environment_of(manifest: Mapping[str, Any]) -> str:
    """All that machine code of a program depends on besides its IR."""
    names = [name for name in _machines(manifest) if not name.endswith(".toml")]
    return key_of(environment(), *machines_in(names))


def load(
    source: "str | bytes | memoryview",
    threads: int | None = None,
    *,
    trust: bool = False,
    progress: "Progress | None" = None,
) -> "Program":
    """The program in a file, or in what `saved_bytes` gave; see `fuse_dialect.load`.

    Raises:
        FuseError: It cannot be read, is damaged or of another version, or cannot be compiled here.
    """
    start = perf_counter()
    saved = open_saved(source) if isinstance(source, str) else saved_in(source)
    usable = _threads(saved, threads)
    made_in = _environment_of_stranger(saved)
    program = _with_code(saved, usable, made_in, trust=trust)
    how = "with its machine code"
    if program is None:
        program, how = _kept_or_compiled(saved, usable, made_in, progress)
    program.origin = (os.path.abspath(saved.path) if saved.is_in_file else bytes(saved.data), saved.digest)
    if (log := heard(COMPILE)) is not None:
        log.info("'%s' loaded %s in %.3f s: %r", saved.path, how, perf_counter() - start, program)
    return program


def _environment_of_stranger(saved: SavedFile) -> str:
    try:
        return _environment_of(saved.manifest)
    except FuseError as error:
        raise saved.error(f"the saved program is for a machine that is not known here: {error.message}") from error


def _threads(saved: SavedFile, threads: int | None) -> int:
    from fuse_dialect.backends.threads import usable_threads, warn_of_threads

    options = saved.manifest.get("options")
    said: Any = cast("dict[str, Any]", options).get("threads") if isinstance(options, dict) else None
    if threads is None and (said.__class__ is not int or not 1 <= said <= 1 << 12):
        raise saved.error("the saved program is damaged: it does not say how many threads it is for")
    return usable_threads(said if threads is None else threads, warn_of_threads)


def _with_code(saved: SavedFile, threads: int, made_in: str, *, trust: bool) -> "Program | None":
    """The program by its machine code; `None` if that is for something else, or may not run."""
    if not is_supported():
        return None
    is_trusted = trust and _is_for_this_processor(saved.manifest)
    is_ours = is_trusted or saved.is_signed(made_in)
    # Condition 3: first the code of the program, then that which can do most.
    choices = [("", is_trusted), *((name, True) for name in (_for_here(saved.manifest) if trust else ()))]
    for target_cpu, may_run in choices:
        image = saved.image(made_in, trust=may_run, target_cpu=target_cpu)
        if image is None or image.table.threads != threads:
            continue
        from fuse_dialect.backends.stored.program import StoredProgram

        with suppress(CannotRunError):
            return StoredProgram(image, "llvm", lambda: _compiled(saved, threads, None, is_ours=is_ours), saved)
    return None


def _for_here(manifest: Mapping[str, Any]) -> list[str]:
    """The other processors whose code in a file runs here, and was made by this package; what can do most is first."""
    from fuse_dialect.loading.saving_version import package_version
    from fuse_dialect.machines.levels import LEVELS, is_run_by

    listed = manifest.get("other_code")
    entries = (
        [cast("dict[str, Any]", each) for each in cast("list[Any]", listed) if isinstance(each, dict)]
        if isinstance(listed, list)
        else []
    )
    names = {str(each.get("target_cpu")) for each in entries if each.get("made_by") == package_version()}
    flags = frozenset(_flags(processor()))
    return [name for name in LEVELS if name in names and is_run_by(name, flags)]


def _is_for_this_processor(manifest: Mapping[str, Any]) -> bool:
    """Whether code that the user trusts can run: this package has made it, for what this processor has."""
    from fuse_dialect.loading.saving_version import package_version

    code = manifest.get("code")
    found = cast("dict[str, Any]", code) if isinstance(code, dict) else {}
    lines = found.get("processor")
    if found.get("made_by") != package_version() or not isinstance(lines, list):
        return False
    needed, here = _flags(cast("list[object]", lines)), _flags(processor())
    return bool(needed) and needed <= here


def _flags(lines: "list[Any] | list[str] | list[object]") -> set[str]:
    texts = [line for line in lines if isinstance(line, str) and line.startswith(_FLAGS)]
    return {flag for line in texts for flag in line.partition(":")[2].split()}


def _compiled(
    saved: SavedFile, threads: int, progress: "Progress | None", *, is_ours: bool, cache: bool = True
) -> "Program":
    from fuse_dialect.loading.restoring import compiled
    from fuse_dialect.process_wide import collector_paused

    with collector_paused():
        return compiled(saved, threads, progress, is_ours=is_ours, cache=cache)


def _kept_or_compiled(
    saved: SavedFile, threads: int, made_in: str, progress: "Progress | None"
) -> "tuple[Program, str]":
    """The program as this machine has compiled it before, or as it compiles it now: condition 1."""
    cache = open_cache()
    is_ours = saved.is_signed(made_in)
    key = key_of("saved program", saved.digest, str(threads), made_in, str(is_ours))
    if not isinstance(cache, str) and is_supported() and (path := cache.file_of(key)) is not None:
        with suppress(FuseError, CannotRunError):
            kept = open_saved(path)
            image = kept.image(made_in)
            if image is not None and kept.manifest.get("key") == key:
                from fuse_dialect.backends.stored.program import StoredProgram

                make = lambda: _compiled(saved, threads, None, is_ours=is_ours)  # noqa: E731
                return StoredProgram(image, "llvm", make, kept), "from the cache"
        cache.drop(key)
    program = _compiled(saved, threads, progress, is_ours=is_ours)
    if not isinstance(cache, str) and is_supported():
        from fuse_dialect.backends.stored.store import keep_under

        keep_under(cache, key, made_in, program)
    return program, "by compiling its IR"
