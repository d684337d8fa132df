"""Compiled code on disk, by a key that names everything it depends on.

1. An entry is a header of data (JSON) and a payload of object code, behind a magic number, their sizes, and a SHA-256
   of the key and both. An entry that does not match in all of that is removed and made again.
2. Object code is executed. The directory and its files must therefore belong to the user, and nobody else may write to
   them; otherwise they are not used. A hash alone would not help: who can write a file can write its hash.
3. An entry is written to a file of its own and moved to its name, so that readers see a whole entry or none.
4. Together the entries take at most `max_bytes`; those that were not used for the longest time go first.
"""

import json
import os
import stat
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, cast

DIRECTORY_VARIABLE = "FUSE_CACHE_DIR"
"""Environment variable that names the directory."""
MAX_BYTES = 1 << 30
_MAGIC = b"FUSEOBJ\x01"
_HEAD = struct.Struct("<8sQQ32s")
"""Magic number and format, bytes of the header, bytes of the payload, SHA-256."""
_SUFFIX = ".fuse"
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_numbers = count()


@dataclass(frozen=True, slots=True)
class Entry:
    """What is kept under a key."""

    header: Mapping[str, Any]
    """What JSON can say."""
    payload: bytes


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


def open_cache(directory: Path | None = None, max_bytes: int = MAX_BYTES) -> "ObjectCache | str":
    """The cache in a directory, which is made if there is none; or why it is not used, as a sentence.

    Args:
        directory: By default that of `default_directory`.
        max_bytes: Most bytes of all entries together.
    """
    try:
        place = default_directory() if directory is None else directory
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        problem = _distrust(os.stat(place))
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home directory
        return f"there is no cache directory: {error}"
    if problem is not None:
        return f"the cache directory '{place}' {problem}"
    return ObjectCache(place, max_bytes)


def _distrust(status: os.stat_result) -> str | None:
    """Why nothing in a file or directory of this status is executed; `None` if it may be."""
    if not hasattr(os, "getuid"):
        return None
    # What is here is executed, so it must come from nobody else.
    if status.st_uid != os.getuid():
        return "belongs to another user"
    return "may be written by other users" if status.st_mode & _OTHERS_MAY_WRITE else None


class ObjectCache:
    """Entries in a directory. Several processes may use it at once; what fails is as if it were not there."""

    def __init__(self, directory: Path, max_bytes: int = MAX_BYTES):
        self.directory = directory
        self.max_bytes = max_bytes

    def load(self, key: str) -> Entry | None:
        """The entry of a key, or `None` if there is none that can be trusted."""
        path = self._path(key)
        try:
            data = _read_own_file(path)
        except OSError:
            return None
        entry = None if data is None else _decoded(key, data)
        with suppress(OSError):
            if entry is None:
                # Condition 1: bytes that do not match now never will.
                os.unlink(path)
            else:
                # The time of the last use says which entries go first.
                os.utime(path)
        return entry

    def drop(self, key: str) -> None:
        """Remove an entry, whose header does not say what its reader expects."""
        with suppress(OSError):
            os.unlink(self._path(key))

    def store(self, key: str, entry: Entry) -> None:
        """Keep an entry; without room or permission nothing happens."""
        path = self._path(key)
        # Written aside and renamed: a reader sees all of an entry or none.
        temporary = self.directory / f".{key}.{os.getpid()}.{next(_numbers)}.tmp"
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(_encoded(key, entry))
            os.replace(temporary, path)
            self._shrink()
        except OSError:
            with suppress(OSError):
                os.unlink(temporary)

    def _path(self, key: str) -> Path:
        return self.directory / f"{key}{_SUFFIX}"

    def _shrink(self) -> None:
        """Remove entries, the longest unused first, until all fit."""
        with os.scandir(self.directory) as listing:
            files = [
                (status.st_mtime_ns, item.path, status.st_size)
                for item in listing
                if item.name.endswith(_SUFFIX) and (status := item.stat(follow_symlinks=False))
            ]
        excess = sum(size for _, _, size in files) - self.max_bytes
        for _, path, size in sorted(files):
            if excess <= 0:
                return
            with suppress(OSError):
                os.unlink(path)
            # Condition 4: what another process has removed meanwhile takes no bytes either.
            excess -= size


def _read_own_file(path: Path) -> bytes | None:
    """The bytes of a regular file that only this user may write, or `None` for any other."""
    # Without blocking: a pipe without a writer would be waited for.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    with os.fdopen(descriptor, "rb") as stream:
        # Of the open file, not of the path: nobody can put another file there in between.
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or _distrust(status) is not None:
            return None
        return stream.read()


def _encoded(key: str, entry: Entry) -> bytes:
    header = json.dumps(entry.header, sort_keys=True).encode()
    return b"".join((_HEAD.pack(_MAGIC, *_sizes_and_digest(key, header, entry.payload)), header, entry.payload))


def _sizes_and_digest(key: str, header: bytes, payload: bytes) -> tuple[int, int, bytes]:
    # Condition 1: the key counts, so that an entry under the name of another does not match.
    digest = sha256(key.encode())
    digest.update(struct.pack("<QQ", len(header), len(payload)))
    digest.update(header)
    digest.update(payload)
    return len(header), len(payload), digest.digest()


def _decoded(key: str, data: bytes) -> Entry | None:
    """The entry in a file's bytes, or `None` if they are not exactly what was written under this key."""
    if len(data) < _HEAD.size:
        return None
    magic, header_bytes, payload_bytes, digest = _HEAD.unpack_from(data)
    # Sizes are compared before anything is cut out, so a shortened file is noticed at once.
    if magic != _MAGIC or len(data) != _HEAD.size + header_bytes + payload_bytes:
        return None
    header = data[_HEAD.size : _HEAD.size + header_bytes]
    payload = data[_HEAD.size + header_bytes :]
    if _sizes_and_digest(key, header, payload) != (header_bytes, payload_bytes, digest):
        return None
    try:
        found = json.loads(header)
    except (ValueError, RecursionError):  # a hash is right for whatever it was made of
        return None
    return Entry(cast("dict[str, Any]", found), payload) if isinstance(found, dict) else None
