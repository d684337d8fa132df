"""Whole programs in the cache: found by the bytes of their model, and kept behind the back of who compiled them.

1. The key of a program is made of samples of its files, the options it was compiled with, and `key.environment`. The
   entry has digests of these files and of all others that the model has read, and is good while they hold the same
   bytes. So a file is read as a whole when there is an entry, and not before it is compiled.
2. A model that has changed while it was compiled is not kept.
3. Nor is a program to which another package may have added something: the versions of packages are known, but not
   whether somebody is working on one.
4. A thread writes the entry, while the program runs already. Python waits for it at its end.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, cast

from fuse_dialect.backends.runtime.cache import ObjectCache, key_of, open_cache
from fuse_dialect.backends.runtime.hashing import digest_of_file, digest_of_samples
from fuse_dialect.backends.stored.key import TARGET_VARIABLE, environment
from fuse_dialect.backends.stored.machine_code import CannotRunError, is_supported

if TYPE_CHECKING:
    from fuse_dialect.backends.runtime.program import Program
    from fuse_dialect.backends.stored.program import StoredProgram

_FORMAT = "2"
_OWN_FILES, _OTHER_FILES = "own_files", "other_files"
_LARGEST_SHARE = 0.75
"""Part of the room that one program may take, so that it does not drive out all others."""
_ADDED_BY = ("xdsl.universe", "fuse_dialect.backends", "fuse_dialect.strategies", "fuse_dialect.machines")
"""Groups of the entry points by which packages add to what a model means."""
_OWN = ("fuse_dialect.", "xdsl.")
_writers: list[Thread] = []
_writers_lock = Lock()


@dataclass(frozen=True, slots=True)
class ProgramStore:
    """The place of one program in the cache."""

    cache: ObjectCache
    key: str
    paths: tuple[str, ...]
    """The files that the key was made of, the model first; the entry has their digests by place."""
    states: tuple[tuple[int, ...], ...]
    """What the system said of them then."""

    def load(self, backend: str, make_whole: "Callable[[], Program]") -> "StoredProgram | None":
        """The program, if it is there and can be trusted.

        Args:
            backend: Name of the backend, for reports.
            make_whole: Compiles the same program from its file.
        """
        entry = self.cache.load(self.key, mapped=True)
        if entry is None:
            return None
        # Imported for a hit alone, as nothing else is.
        from fuse_dialect.backends.stored.image import decoded
        from fuse_dialect.backends.stored.program import StoredProgram

        image = decoded(entry.header, entry.payload)
        if image is None:
            self.cache.drop(self.key)
            return None
        if not self._is_current(entry.header):
            return None
        try:
            return StoredProgram(image, backend, make_whole)
        except CannotRunError:
            return None

    def keep(self, program: "Program", read: Sequence[str]) -> None:
        """Write the program to the cache, in a thread of its own; what cannot be stored is not.

        Args:
            program: What was compiled from the files.
            read: Paths of all files that were mapped meanwhile.
        """
        from fuse_dialect.backends.stored.image import encoded
        from fuse_dialect.backends.stored.making import image_of

        def write() -> None:
            image = None if _has_additions() else image_of(program)
            if image is None:
                return
            header, payload = encoded(image)
            if sum(memoryview(part).nbytes for part in payload) > self.cache.max_bytes * _LARGEST_SHARE:
                return
            try:
                # Python may be ending, and this thread is what it waits for.
                files = {_OWN_FILES: _digests(self.paths, alone=True), _OTHER_FILES: self._others(read)}
            except OSError:
                return
            # Condition 2: what has the digests is what was compiled.
            if files[_OTHER_FILES] is not None and self.is_unchanged():
                self.cache.store_parts(self.key, {**header, **files}, payload)

        thread = Thread(target=write, name="fuse-store")
        with _writers_lock:
            _writers[:] = [writer for writer in _writers if writer.is_alive()]
            with suppress(RuntimeError):  # no thread can be started: the next process will keep it
                thread.start()
                _writers.append(thread)

    def is_unchanged(self) -> bool:
        """Whether the files are those that the key was made of."""
        try:
            return tuple(map(_state, self.paths)) == self.states
        except OSError:
            return False

    def _others(self, read: Sequence[str]) -> list[tuple[str, str]] | None:
        """Files of the model besides those of the key, relative to its folder, with their digests."""
        folder = os.path.realpath(os.path.dirname(self.paths[0]))
        known = set(map(os.path.realpath, self.paths))
        found: list[tuple[str, str]] = []
        for path in dict.fromkeys(map(os.path.realpath, read)):
            if path in known:
                continue
            if os.path.commonpath([folder, path]) != folder:
                return None
            found.append((os.path.relpath(path, folder), digest_of_file(path, alone=True).hex()))
        return found

    def _is_current(self, header: Mapping[str, Any]) -> bool:
        """Whether all files of the model are those that an entry was made from: condition 1."""
        folder = os.path.realpath(os.path.dirname(self.paths[0]))
        try:
            return header[_OWN_FILES] == _digests(self.paths) and all(
                digest_of_file(os.path.join(folder, path)).hex() == digest
                for path, digest in cast("Sequence[tuple[str, str]]", header[_OTHER_FILES])
            )
        except (KeyError, OSError, TypeError, ValueError):
            return False


def open_store(path: str, weights: str | None, options: Mapping[str, Any]) -> ProgramStore | None:
    """The place of a program in the cache; `None` where programs are not stored, or this one cannot be.

    Args:
        path: Of the model.
        weights: Of a file with its weights.
        options: All that the program depends on besides, as JSON can say it.
    """
    if not is_supported():
        return None
    cache = open_cache()
    if isinstance(cache, str):
        return None
    paths = tuple(os.path.abspath(each) for each in (path, weights) if each is not None)
    try:
        states = tuple(map(_state, paths))
        asked = json.dumps([options, path.rpartition(".")[2].lower(), os.environ.get(TARGET_VARIABLE)], sort_keys=True)
        samples = [digest_of_samples(each).hex() for each in paths]
        key = key_of("program", _FORMAT, environment(), asked, *samples)
    except (OSError, TypeError, ValueError):
        return None
    return ProgramStore(cache, key, paths, states)


def wait_for_writers() -> None:
    """Return when everything that was to be kept until now is."""
    with _writers_lock:
        writers = list(_writers)
    for writer in writers:
        writer.join()


def _digests(paths: Sequence[str], *, alone: bool = False) -> list[str]:
    return [digest_of_file(path, alone=alone).hex() for path in paths]


def _state(path: str) -> tuple[int, ...]:
    """What changes when somebody writes to a file.

    Raises:
        OSError: There is no regular file.
    """
    status = os.stat(path)
    if not os.path.isfile(path):
        raise OSError(f"'{path}' is no regular file")
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _has_additions() -> bool:
    """Whether a package other than this one and xDSL adds something: condition 3."""
    from fuse_dialect.extensions import added

    return any(not point.value.startswith(_OWN) for group in _ADDED_BY for point in added(group).values())
