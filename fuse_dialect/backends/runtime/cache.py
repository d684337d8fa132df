"""Compiled code on disk, by a key that names everything it depends on.

1. An entry is a header of data (JSON) and a payload of object code, behind a magic number, their sizes, and a SHA-256
   of the key and both. An entry that does not match in all of that is removed and made again. The payload begins at a
   multiple of 64 bytes, in the file and in memory, as what is in it may want. A large one need not be copied: who asks
   for that gets a view of the file, which nobody here ever changes or shortens, see (3).
2. Object code is executed. The directory and its files must therefore belong to the user, and nobody else may write to
   them; otherwise they are not used. A hash alone would not help: who can write a file can write its hash.
3. An entry is written to a file of its own and moved to its name, so that readers see a whole entry or none.
4. Together the entries take at most `max_bytes`; those that were not used for the longest time go first. The folder is
   looked through by the first store of a process, and then when it has written a share of the room that there was:
   others may write meanwhile. `FUSE_CACHE_BYTES` says how many bytes that are.
5. A file may be removed while another process reads it, which then has the file to its end, or while another process
   writes it aside, which then has written nothing. What somebody has begun to write, and not ended for
   `ABANDONED_SECONDS`, goes with the entries.
"""

import json
import mmap
import os
import re
import stat
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path
from threading import Lock
from time import time
from typing import Any, BinaryIO, cast

from fuse_dialect.backends.runtime.arrays import aligned_bytes
from fuse_dialect.backends.runtime.hashing import PieceDigest, digest_of, read_digested
from fuse_dialect.checked import checks_accesses
from fuse_dialect.diagnostics import FuseError

DIRECTORY_VARIABLE = "FUSE_CACHE_DIR"
"""Environment variable that names the directory."""
BYTES_VARIABLE = "FUSE_CACHE_BYTES"
"""Environment variable that says how many bytes all entries may take."""
MAX_BYTES = 1 << 30
"""Bytes of all entries where the variable says nothing."""
ABANDONED_SECONDS = 3600.0
"""After so long a file that was not written to its end is nobody's."""
_USED_SECONDS = 3600.0
"""The time of the last use of a whole program is as exact as this."""
NOTE_SECONDS = 30 * 86400.0
"""After so long a note of a file that was looked through goes: see `stored.trust`."""
_MAGIC = b"FUSEOBJ\x02"
_SAVED = b"PK\x03\x04"
SAVED_HEADER: Mapping[str, Any] = {"format": "fuse"}
"""What `entries` says of an entry that is a saved program."""
_HEAD = struct.Struct("<8sQQ32s")
"""Magic number and format, bytes of the header, bytes of the payload, SHA-256."""
_ALIGNMENT = 64
_SHARE = 4
"""After a fourth of the room has been written, somebody looks how much there is."""
_SUFFIX = ".fuse"
_ENTRY = re.compile(r"[0-9a-f]{64}\.fuse")
_UNFINISHED = re.compile(r"\.[0-9a-f]{64}\.\d+\.\d+\.tmp")
_NOTE = re.compile(r"\.?[0-9a-f]{64}\.seen(\.\d+)?")
"""Names of files that are ours: the folder may be one that others use, too."""
_BYTES = re.compile(r"(\d{1,18}) *(?:([KMGT])i?B?)?", re.IGNORECASE)
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_numbers = count()


@dataclass(frozen=True, slots=True)
class Entry:
    """What is kept under a key."""

    header: Mapping[str, Any]
    """What JSON can say."""
    payload: "bytes | memoryview"


def key_of(*parts: str) -> str:
    """A key for texts; it differs where any of them does."""
    digest = sha256()
    for part in parts:
        data = part.encode()
        # With its length in front no two lists of texts are one text.
        digest.update(struct.pack("<Q", len(data)))
        digest.update(data)
    return digest.hexdigest()


def default_directory() -> Path:
    """`$FUSE_CACHE_DIR`, or the place where the platform keeps a user's caches."""
    chosen = os.environ.get(DIRECTORY_VARIABLE)
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "fuse_dialect" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "fuse_dialect"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fuse_dialect"


def bytes_allowed() -> int:
    """How many bytes all entries may take: `$FUSE_CACHE_BYTES`, a number or one with a unit, or else `MAX_BYTES`.

    Raises:
        FuseError: The variable is no such number.
    """
    text = os.environ.get(BYTES_VARIABLE, "").strip()
    if not text:
        return MAX_BYTES
    found = _BYTES.fullmatch(text)
    if found is None:
        hint = "write a number of bytes, or one with a unit as in '512MiB' or '2GiB'; 0 keeps nothing"
        raise FuseError(f"{BYTES_VARIABLE} expects a number of bytes, got '{text}'", hint=hint)
    return int(found[1]) << _UNITS[(found[2] or "").upper()]


def open_cache(directory: Path | None = None, max_bytes: int | None = None) -> "ObjectCache | str":
    """The cache in a directory, which is made if there is none; or why it is not used, as a sentence.

    Args:
        directory: By default that of `default_directory`.
        max_bytes: Most bytes of all entries together, by default those of `bytes_allowed`.

    Raises:
        FuseError: `FUSE_CACHE_BYTES` is no number of bytes.
    """
    most = bytes_allowed() if max_bytes is None else max_bytes
    if not most:
        return f"{BYTES_VARIABLE} is 0"
    if checks_accesses():  # they report to this process
        return "kernels that check their accesses are not kept"
    try:
        place = default_directory() if directory is None else directory
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        problem = distrust(os.stat(place))
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home directory
        return f"there is no cache directory: {error}"
    if problem is not None:
        return f"the cache directory '{place}' {problem}"
    return ObjectCache(place, most)


def distrust(status: os.stat_result) -> str | None:
    """Why nothing in a file or directory of this status is executed; `None` if it may be."""
    if not hasattr(os, "getuid"):
        return None
    # What is here is executed, so it must come from nobody else.
    if status.st_uid != os.getuid():
        return "belongs to another user"
    return "may be written by other users" if status.st_mode & _OTHERS_MAY_WRITE else None


class ObjectCache:
    """Entries in a directory, for several threads and processes at once; what fails is as if it were not there."""

    def __init__(self, directory: Path, max_bytes: int = MAX_BYTES):
        self.directory = directory
        self.max_bytes = max_bytes
        self._room = 0
        """Bytes that may be written before the folder is looked through."""
        self._lock = Lock()

    def load(self, key: str, *, mapped: bool = False) -> Entry | None:
        """The entry of a key, or `None` if there is none that can be trusted.

        Args:
            key: Its name.
            mapped: Leave the payload in its file. Its bytes are compared now; the pages of memory are those in which
                the system holds the file.
        """
        path = self._path(key)
        try:
            entry = _read_own_file(path, key, mapped=mapped)
        except (OSError, MemoryError, ValueError):  # ValueError: it has become shorter since it was opened
            return None
        with suppress(OSError):
            if entry is not None:
                # The time of the last use says which entries go first.
                os.utime(path)
            else:
                # Condition 1: bytes that do not match now never will.
                os.unlink(path)
        return entry

    def drop(self, key: str) -> None:
        """Remove an entry, whose header does not say what its reader expects."""
        with suppress(OSError):
            os.unlink(self._path(key))

    def store(self, key: str, entry: Entry) -> None:
        """Keep an entry; without room or permission nothing happens."""
        self.store_parts(key, entry.header, [entry.payload])

    def store_parts(
        self,
        key: str,
        header: Mapping[str, Any],
        parts: "Sequence[bytes | memoryview]",
        is_still_true: Callable[[], bool] = lambda: True,
    ) -> None:
        """Keep an entry whose payload is these parts, one after the other, without copying them.

        Args:
            key: Its name.
            header: What JSON can say.
            parts: Are read once.
            is_still_true: Is asked when they have been read; without it there is no entry.
        """

        def write(stream: BinaryIO) -> bool:
            text = _encoded_header(header)
            stream.write(bytes(_HEAD.size) + text)
            digest, size = PieceDigest(), 0
            for part in parts:
                stream.write(part)
                digest.update(part)
                size += memoryview(part).nbytes
            stream.seek(0)
            stream.write(_HEAD.pack(_MAGIC, len(text), size, _digest(key, text, size, digest.digest())))
            return is_still_true()

        self.store_file(key, write)

    def store_file(self, key: str, write: Callable[[BinaryIO], bool]) -> None:
        """Keep an entry that a function writes; without room or permission nothing happens.

        Args:
            key: Its name.
            write: Fills the file, and says whether it shall be kept.
        """
        # Written aside and renamed: a reader sees all of an entry or none.
        temporary = self.directory / f".{key}.{os.getpid()}.{next(_numbers)}.tmp"
        try:
            descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                is_kept = write(stream)
                size = stream.seek(0, os.SEEK_END)
            if not is_kept:
                os.unlink(temporary)
                return
            os.replace(temporary, self._path(key))
            self._make_room(size)
        except OSError:
            with suppress(OSError):
                os.unlink(temporary)

    def file_of(self, key: str) -> str | None:
        """The path of an entry that only this user may write; `None` if there is none. It counts as used now."""
        path = self._path(key)
        try:
            status = os.stat(path, follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode) or distrust(status) is not None:
                return None
            # Seldom, because a file whose times change is looked through again (`stored.trust`).
            if time() - status.st_mtime > _USED_SECONDS:
                os.utime(path)
        except OSError:
            return None
        return str(path)

    def _path(self, key: str) -> Path:
        return self.directory / f"{key}{_SUFFIX}"

    def _make_room(self, written: int) -> None:
        """Condition 4: count what was written, and look through the folder when that is much."""
        with self._lock:
            self._room -= written
            if self._room < 0:
                self._room = max(0, self.max_bytes - self._shrink()) // _SHARE

    def _shrink(self) -> int:
        """Remove entries, the longest unused first, until all fit; bytes of those that stay."""
        files = [(status.st_mtime_ns, path, status.st_size) for path, status in self._files(_ENTRY)]
        total = sum(size for _, _, size in files)
        for name, most in ((_UNFINISHED, ABANDONED_SECONDS), (_NOTE, NOTE_SECONDS)):
            for path, status in self._files(name):
                if time() - status.st_mtime > most:
                    with suppress(OSError):
                        os.unlink(path)
        for _, path, size in sorted(files):
            if total <= self.max_bytes:
                break
            with suppress(OSError):
                os.unlink(path)
            # What another process has removed meanwhile takes no bytes either.
            total -= size
        return total

    def _files(self, name: "re.Pattern[str]") -> "Iterator[tuple[str, os.stat_result]]":
        """Paths and statuses of files in the folder of such a name.

        Raises:
            OSError: The folder cannot be read.
        """
        with os.scandir(self.directory) as listing:
            for item in listing:
                if name.fullmatch(item.name) and (status := _status(item)):
                    yield item.path, status

    def entries(self) -> "list[tuple[int, Mapping[str, Any]]]":
        """Bytes of each entry and its header, which is empty where it cannot be read; payloads are not looked at.

        Raises:
            OSError: The folder cannot be read.
        """
        return [(status.st_size, _header(path)) for path, status in self._files(_ENTRY)]

    def clear(self) -> tuple[int, int]:
        """Remove all entries (5), and what was begun to be written.

        Returns:
            How many files were removed, and their bytes.

        Raises:
            OSError: The folder cannot be read, or a file of it cannot be removed.
        """
        count, size = 0, 0
        for path, status in [*self._files(_ENTRY), *self._files(_UNFINISHED), *self._files(_NOTE)]:
            try:
                os.unlink(path)
            except FileNotFoundError:
                continue  # another process was faster
            count, size = count + 1, size + status.st_size
        return count, size


def _header(path: str) -> Mapping[str, Any]:
    """What a file in the cache says of itself; for people, so that nothing is compared."""
    try:
        with open(path, "rb") as stream:
            head = stream.read(_HEAD.size)
            if head.startswith(_SAVED):
                return SAVED_HEADER
            _, size, _, _ = _HEAD.unpack(head)
            found = json.loads(stream.read(min(size, os.fstat(stream.fileno()).st_size)))
    except (OSError, ValueError, RecursionError, struct.error):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _status(item: "os.DirEntry[str]") -> os.stat_result | None:
    """The status of a file, unless somebody has removed it meanwhile."""
    try:
        return item.stat(follow_symlinks=False)
    except OSError:
        return None


def _read_own_file(path: Path, key: str, *, mapped: bool) -> Entry | None:
    """The entry in a regular file that only this user may write, or `None` for any other.

    Raises:
        OSError: The file cannot be read.
    """
    # Without blocking: a pipe without a writer would be waited for.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    try:
        # Of the open file, not of the path: nobody can put another file there in between.
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or distrust(status) is not None:
            return None
        return _decoded(key, descriptor, status.st_size, mapped=mapped)
    finally:
        os.close(descriptor)


def _encoded_header(header: Mapping[str, Any]) -> bytes:
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    return text + b" " * (-(_HEAD.size + len(text)) % _ALIGNMENT)


def _digest(key: str, header: bytes, size: int, payload: bytes) -> bytes:
    # Condition 1: the key counts, so that an entry under the name of another does not match.
    digest = sha256(key.encode())
    digest.update(struct.pack("<QQ", len(header), size))
    digest.update(header)
    digest.update(payload)
    return digest.digest()


def _decoded(key: str, descriptor: int, size: int, *, mapped: bool) -> Entry | None:
    """The entry in an open file, or `None` if it is not exactly what was written under this key.

    Raises:
        OSError: The file cannot be read.
    """
    head = os.read(descriptor, _HEAD.size)
    if len(head) < _HEAD.size:
        return None
    magic, header_bytes, payload_bytes, digest = _HEAD.unpack(head)
    # Sizes are compared before anything is read, so a shortened file is noticed at once.
    if magic != _MAGIC or size != _HEAD.size + header_bytes + payload_bytes:
        return None
    header, start = os.read(descriptor, header_bytes), _HEAD.size + header_bytes
    if mapped:
        payload = memoryview(mmap.mmap(descriptor, size, access=mmap.ACCESS_READ))[start:]
        of_payload = digest_of(payload)
    else:
        payload = memoryview(cast(Any, aligned_bytes(payload_bytes, _ALIGNMENT)))
        of_payload = read_digested(descriptor, start, payload)
    if len(header) != header_bytes or _digest(key, header, payload_bytes, of_payload) != digest:
        return None
    try:
        found = json.loads(header)
    except (ValueError, RecursionError):  # a hash is right for whatever it was made of
        return None
    return Entry(cast("dict[str, Any]", found), payload.toreadonly()) if isinstance(found, dict) else None
