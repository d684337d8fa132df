"""Who has made a file, and whether it still is what it was: a key of this user on this machine, and notes of files.

1. The key is a file in the cache folder, which belongs to the user and to which nobody else may write (`cache`). What
   is signed with it was made by somebody who could run code here anyway.
2. A file whose bytes were compared with their hashes is noted by device, number, size and the times of its last
   changes, with the digest of its manifest. Times move in steps, so one that has changed just now is not noted. A file
   that is written to through a mapping may keep its times for a while: its constants may differ then, never its code.
"""

import os
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from hmac import new as hmac
from pathlib import Path
from typing import Any, Self

from fuse_dialect.backends.runtime.cache import ObjectCache, distrust, open_cache

_KEY = "machine.key"
_KEY_BYTES = 32
_CLOCK_STEP = 2_000_000_000
"""Nanoseconds: the longest step of a file system's clock."""
SEEN_SUFFIX = ".seen"


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs what this user has made in an environment."""

    key: bytes
    environment: str

    @classmethod
    def existing(cls, environment: str) -> "Self | None":
        """The signer, if there is a key."""
        key = _key(make=False)
        return None if key is None else cls(key, environment)

    @classmethod
    def made(cls, environment: str) -> "Self | None":
        """The signer; `None` where there is no folder that only the user may write."""
        key = _key(make=True)
        return None if key is None else cls(key, environment)

    def sign(self, manifest: bytes) -> dict[str, Any]:
        """The signature of a manifest, as JSON can say it."""
        return {"environment": self.environment, "hmac_sha256": self._tag(manifest)}

    def has_signed(self, manifest: bytes, said: "dict[str, Any]") -> bool:
        """Whether something is the signature of a manifest."""
        return compare_digest(self._tag(manifest).encode(), str(said.get("hmac_sha256")).encode())

    def _tag(self, manifest: bytes) -> str:
        return hmac(self.key, self.environment.encode() + b"\0" + manifest, "sha256").hexdigest()


def _key(*, make: bool) -> bytes | None:
    cache = open_cache()
    if isinstance(cache, str):
        return None
    path = cache.directory / _KEY
    try:
        return _read(path)
    except FileNotFoundError:
        if not make:
            return None
    except OSError:
        return None
    # Written aside and linked: of two processes that make one, both read the same.
    temporary = path.with_name(f".{_KEY}.{os.getpid()}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(os.urandom(_KEY_BYTES))
        with suppress(FileExistsError):
            os.link(temporary, path)
        return _read(path)
    except OSError:
        return None
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def _read(path: Path) -> bytes | None:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or distrust(status) is not None or status.st_mode & 0o077:
            return None
        key = os.read(descriptor, _KEY_BYTES + 1)
    finally:
        os.close(descriptor)
    return key if len(key) == _KEY_BYTES else None


def is_seen(status: os.stat_result, digest: str) -> bool:
    """Whether a file of this status has been compared as a whole, with a manifest of this digest: condition 2."""
    path = _note(status)
    try:
        return path is not None and path.read_text(encoding="ascii") == digest
    except (OSError, ValueError):
        return False


def note_seen(status: os.stat_result, digest: str) -> None:
    """Note that a file of this status has been compared."""
    path = _note(status)
    if path is None or time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < _CLOCK_STEP:
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with suppress(OSError):
        temporary.write_text(digest, encoding="ascii")
        os.replace(temporary, path)


def _note(status: os.stat_result) -> Path | None:
    cache: ObjectCache | str = open_cache()
    if isinstance(cache, str):
        return None
    what = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return cache.directory / f"{sha256(repr(what).encode()).hexdigest()}{SEEN_SUFFIX}"
