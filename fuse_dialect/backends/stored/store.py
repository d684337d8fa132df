"""Whole programs in the cache: found by the bytes of their model, and kept behind the back of who compiled them.

1. The key of a program is made of samples of its files, the options it was compiled with, and `key.environment`. The
   entry has digests of these files and of all others that the model has read, and is good while they hold the same
   bytes. So a file is read as a whole when there is an entry, and not before it is compiled.
2. A program is kept under the digests of what it was compiled from: what its files are is noted while they are read
   (`files.py`), and compared when their digests are taken and once more when all of the entry is written: constants may
   be views of a file until then.
3. Nor is a program to which another package may have added something: the versions of packages are known, but not
   whether somebody is working on one.
4. A thread writes the entry, while the program runs already. Python waits for it at its end.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Lock, Thread
from time import perf_counter
from typing import TYPE_CHECKING, Any, BinaryIO

from fuse_dialect.backends.runtime.cache import ObjectCache, key_of, open_cache
from fuse_dialect.backends.runtime.hashing import digest_of_file, digest_of_samples
from fuse_dialect.backends.stored.files import FilesRead, absolute
from fuse_dialect.backends.stored.key import environment, machines_in
from fuse_dialect.backends.stored.machine_code import CannotRunError, is_supported
from fuse_dialect.backends.stored.saved_file import size_of, write_saved
from fuse_dialect.backends.stored.trust import Signer
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.extensions import at_place
from fuse_dialect.logs import COMPILE, heard
from fuse_dialect.read_files import noting_files

if TYPE_CHECKING:
    from fuse_dialect.backends.runtime.program import Program
    from fuse_dialect.backends.stored.program import StoredProgram
    from fuse_dialect.backends.stored.saved_file import Draft

_FORMAT = "4"
_OWN_FILES, _OTHER_FILES, _KEY = "own_files", "other_files", "key"
DRAFTED = "fuse_dialect.loading.saving:draft_of"
"""Place of what writes the IR of a program."""
_LARGEST_SHARE = 0.75
"""Part of the room that one program may take, so that it does not drive out all others."""
_ADDED_BY = ("xdsl.universe", "fuse_dialect.backends", "fuse_dialect.strategies", "fuse_dialect.machines")
"""Groups of the entry points by which packages add to what a model means."""
_OWN = ("fuse_dialect.", "xdsl.")
_Digests = tuple[Any, Any]
"""Of the files of the key by place, and of others, each beside its path: lists, as JSON reads them."""
_writers: list[Thread] = []
_writers_lock = Lock()


@dataclass(frozen=True, slots=True)
class ProgramStore:
    """The place of one program in the cache."""

    cache: ObjectCache
    key: str
    paths: tuple[str, ...]
    """The files that the key was made of, the model first; the entry has their digests by place."""
    machines: tuple[str, ...] = ()
    """Names of the machines that the key was made of."""
    described: tuple[str, ...] = ()
    """What they were."""

    @property
    def environment(self) -> str:
        """All that the program depends on besides its files and options."""
        return key_of(environment(), *self.described)

    def load(self, backend: str, make_whole: "Callable[[], Program]") -> "StoredProgram | None":
        """The program, if it is there and can be trusted.

        Args:
            backend: Name of the backend, for reports.
            make_whole: Compiles the program from `paths`.
        """
        start = perf_counter()
        path = self.cache.file_of(self.key)
        if path is None:
            return None
        # Imported for a hit alone, as nothing else is.
        from fuse_dialect.backends.stored.program import StoredProgram
        from fuse_dialect.backends.stored.saved_file import open_saved

        try:
            saved = open_saved(path)
        except FuseError:
            self.cache.drop(self.key)
            return None
        image = saved.image(self.environment)
        if image is None or saved.manifest.get(_KEY) != self.key:
            self.cache.drop(self.key)
            return None
        digests = saved.manifest.get(_OWN_FILES), saved.manifest.get(_OTHER_FILES)
        if self._changed(digests) is not None:
            return None
        try:
            program = StoredProgram(image, backend, lambda: self._same(digests, make_whole), saved)
        except CannotRunError:
            return None
        if (log := heard(COMPILE)) is not None:
            seconds = perf_counter() - start
            log.info("'%s' as a whole from the cache in %.3f s: %r", self.paths[0], seconds, program)
        return program

    def keep(self, program: "Program", read: FilesRead) -> None:
        """Write the program to the cache, in a thread of its own; what cannot be stored is not.

        Args:
            program: What was compiled from the files.
            read: All files that were read for it.
        """
        signer = Signer.made(self.environment)
        if signer is None:
            return

        def write() -> None:
            draft = None if _has_additions() else _draft_of(program)
            if draft is None or size_of(draft) > self.cache.max_bytes * _LARGEST_SHARE:
                return
            try:
                # Python may be ending, and this thread is what it waits for.
                digests = self._digests(read)
            except OSError:
                return
            if digests is not None:
                files = dict(zip((_OWN_FILES, _OTHER_FILES), digests, strict=True))
                whole = replace(draft, manifest={**draft.manifest, **files, _KEY: self.key})

                def fill(stream: BinaryIO) -> bool:
                    write_saved(stream, whole, signer, alone=True)
                    # Condition 2: what has the digests is what was compiled.
                    return read.are_unchanged()

                self.cache.store_file(self.key, fill)

        _in_a_thread(write)

    def _digests(self, read: FilesRead) -> "_Digests | None":
        """Digests of the files of the key, and of others with their paths from the model's folder.

        Returns:
            `None` if a file of the key was not read, or another lies outside of the folder.

        Raises:
            OSError: A file is no longer what was read.
        """
        found = read.digests()
        own = [found.get(path) for path in self.paths]
        folder = os.path.join(os.path.dirname(self.paths[0]), "")
        others = {path: digest for path, digest in found.items() if path not in self.paths}
        if None in own or not all(path.startswith(folder) for path in others):
            return None
        return own, [[path.removeprefix(folder), digest] for path, digest in others.items()]

    def _changed(self, digests: "_Digests") -> str | None:
        """The first file that does not hold what an entry was made from, if there is one: condition 1."""
        own, others = digests
        folder = os.path.dirname(self.paths[0])
        try:
            # What an entry says is checked like any input.
            pairs = [*zip(self.paths, own, strict=True), *((os.path.join(folder, path), each) for path, each in others)]
        except (TypeError, ValueError):
            return self.paths[0]
        return next((path for path, digest in pairs if _digest_now(path) != digest), None)

    def _same(self, digests: "_Digests", make: "Callable[[], Program]") -> "Program":
        """Compile a program once more.

        Raises:
            FuseError: One of its files has changed, or the machine.
        """
        if tuple(machines_in(self.machines)) != self.described:
            raise FuseError("the machine has changed since the program was compiled for it: compile it again")
        changed, read = self._changed(digests), FilesRead()
        if changed is None:
            with noting_files(read.note):
                program = make()
            with suppress(OSError):
                if self._digests(read) == digests:
                    return program
            changed = self._changed(digests) or self.paths[0]
        raise FuseError(f"'{changed}' has changed since it was compiled: compile it again")


def open_store(
    path: str, weights: str | None, options: Mapping[str, Any], machines: Sequence[str] = ()
) -> ProgramStore | None:
    """The place of a program in the cache; `None` where programs are not stored, or this one cannot be.

    Args:
        path: Of the model.
        weights: Of a file with its weights.
        options: All that the program depends on besides, as JSON can say it.
        machines: Names of machines in the options; what they are may change.

    Raises:
        FuseError: There is no such machine.
    """
    if not is_supported():
        return None
    cache = open_cache()
    if isinstance(cache, str):
        return None
    paths = tuple(absolute(each) for each in (path, weights) if each is not None)
    if not all(map(os.path.isfile, paths)):
        return None
    try:
        described = tuple(machines_in(machines))
        asked = json.dumps([options, path.rpartition(".")[2].lower(), described], sort_keys=True)
        samples = [digest_of_samples(each).hex() for each in paths]
        key = key_of("program", _FORMAT, environment(), asked, *samples)
    except (OSError, TypeError, ValueError):
        return None
    return ProgramStore(cache, key, paths, tuple(machines), described)


def keep_under(cache: ObjectCache, key: str, made_in: str, program: "Program") -> None:
    """Write a program that a saved file has been compiled to, in a thread of its own; what has no code is not kept.

    Args:
        cache: Where to.
        key: Its name there.
        made_in: All that its code depends on besides the file.
        program: The program.
    """
    signer = Signer.made(made_in)
    if signer is None:
        return

    def write() -> None:
        draft = None if _has_additions() else _draft_of(program)
        if draft is not None and size_of(draft) <= cache.max_bytes * _LARGEST_SHARE:
            whole = replace(draft, manifest={**draft.manifest, _KEY: key})
            cache.store_file(key, lambda stream: bool(write_saved(stream, whole, signer, alone=True)))

    _in_a_thread(write)


def _draft_of(program: "Program") -> "Draft | None":
    """What a program is kept as; `None` if it has no machine code, or depends on objects of its caller."""
    try:
        return at_place(DRAFTED)(program, needs_code=True)
    except FuseError:
        return None


def _in_a_thread(write: Callable[[], None]) -> None:
    thread = Thread(target=write, name="fuse-store")
    with _writers_lock:
        _writers[:] = [writer for writer in _writers if writer.is_alive()]
        with suppress(RuntimeError):  # no thread can be started: the next process will keep it
            thread.start()
            _writers.append(thread)


def wait_for_writers() -> None:
    """Return when everything that was to be kept until now is."""
    with _writers_lock:
        writers = list(_writers)
    for writer in writers:
        writer.join()


def _digest_now(path: str) -> str | None:
    """The digest of a file; `None` if it cannot be read."""
    try:
        return digest_of_file(path).hex()
    except (OSError, ValueError):
        return None


def _has_additions() -> bool:
    """Whether a package other than this one and xDSL adds something: condition 3."""
    from fuse_dialect.extensions import added

    return any(not point.value.startswith(_OWN) for group in _ADDED_BY for point in added(group).values())
