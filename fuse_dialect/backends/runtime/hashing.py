"""SHA-256 of files and memory, piece by piece, so that several threads may work on a large one.

The digest of some bytes is SHA-256 of the digests of their pieces of `PIECE` bytes, in order.
"""

import os
from collections.abc import Callable, Iterator
from hashlib import sha256

from fuse_dialect.backends.runtime.team import processors

PIECE = 1 << 24
_CHUNK = 1 << 20
"""Bytes of a file that are in memory at a time for each thread."""
_SAMPLE, _SAMPLES = 1 << 14, 64
"""Bytes of a sample of a file, and how many there are at most, less one."""
_MOST_THREADS = 4
"""Hashing takes what memory gives long before there are more."""


class PieceDigest:
    """The digest of bytes that come one after the other."""

    def __init__(self) -> None:
        self._done: list[bytes] = []
        self._piece = sha256()
        self._left = PIECE

    def update(self, data: "bytes | memoryview") -> None:
        """Add bytes."""
        view = memoryview(data).cast("B")
        while len(view):
            taken = view[: self._left]
            self._piece.update(taken)
            self._left -= len(taken)
            view = view[len(taken) :]
            if not self._left:
                self._done.append(self._piece.digest())
                self._piece, self._left = sha256(), PIECE

    def digest(self) -> bytes:
        """Of all that was added."""
        last = [self._piece.digest()] if self._left < PIECE else []
        return sha256(b"".join([*self._done, *last])).digest()


def digest_of(memory: memoryview) -> bytes:
    """The digest of bytes in memory."""
    return _joined(lambda first: sha256(memory[first : first + PIECE]).digest(), len(memory))


def read_digested(descriptor: int, start: int, memory: memoryview) -> bytes:
    """Read bytes of a file to memory, and give their digest.

    Args:
        descriptor: The open file.
        start: Where to begin.
        memory: Is filled.

    Raises:
        OSError: The file is too short.
    """

    def piece(first: int) -> bytes:
        part = memory[first : first + PIECE]
        for place in range(0, len(part), _CHUNK):
            _read_into(descriptor, start + first + place, part[place : place + _CHUNK])
        return sha256(part).digest()

    return _joined(piece, len(memory))


def digest_of_file(path: str) -> bytes:
    """The digest of all bytes of a file.

    Raises:
        OSError: The file cannot be read, or becomes shorter meanwhile.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        return digest_of_descriptor(descriptor)
    finally:
        os.close(descriptor)


def digest_of_descriptor(descriptor: int, *, alone: bool = False) -> bytes:
    """The digest of all bytes of an open file, wherever its position is.

    Args:
        descriptor: The open file.
        alone: Use no other thread: none can be started while Python ends.

    Raises:
        OSError: The file cannot be read, or becomes shorter meanwhile.
    """
    size = os.fstat(descriptor).st_size

    def piece(first: int) -> bytes:
        digest, end = sha256(), min(first + PIECE, size)
        buffer = memoryview(bytearray(min(_CHUNK, end - first)))
        for place in range(first, end, _CHUNK):
            chunk = buffer[: end - place]
            _read_into(descriptor, place, chunk)
            digest.update(chunk)
        return digest.digest()

    return _joined(piece, size, alone=alone)


def digest_of_samples(path: str) -> bytes:
    """A digest of the size of a file, its ends and some places between: files that differ may have the same.

    Raises:
        OSError: The file cannot be read, or becomes shorter meanwhile.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        size = os.fstat(descriptor).st_size
        digest, buffer = sha256(str(size).encode()), memoryview(bytearray(_SAMPLE))
        last = max(0, size - _SAMPLE)
        for place in sorted({last * number // _SAMPLES for number in range(_SAMPLES + 1)}):
            chunk = buffer[: size - place]
            _read_into(descriptor, place, chunk)
            digest.update(chunk)
        return digest.digest()
    finally:
        os.close(descriptor)


def _joined(piece: Callable[[int], bytes], size: int, *, alone: bool = False) -> bytes:
    firsts = range(0, size, PIECE)
    threads = 1 if alone else min(len(firsts), processors(), _MOST_THREADS)
    if threads < 2:
        return sha256(b"".join(map(piece, firsts))).digest()
    # Imported for large files alone: it takes as long as all else of this file.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads, "fuse-hash") as pool:
        return sha256(b"".join(pool.map(piece, firsts))).digest()


def _read_into(descriptor: int, place: int, memory: memoryview) -> None:
    """Fill memory with the bytes of a file.

    Raises:
        OSError: The file ends before.
    """
    for part in _parts(descriptor, place, memory):
        if not part:
            raise OSError("the file is shorter than it was")


def _parts(descriptor: int, place: int, memory: memoryview) -> Iterator[int]:
    """Numbers of bytes that were read, until the memory is full or nothing comes."""
    done = 0
    while done < len(memory):
        count = _read_at(descriptor, memory[done:], place + done)
        yield count
        done += count


def _read_at(descriptor: int, memory: memoryview, place: int) -> int:
    if hasattr(os, "preadv"):
        return os.preadv(descriptor, [memory], place)
    # Without calls that have a place of their own one thread reads, which `_joined` cannot know: so each has a file.
    with open(os.dup(descriptor), "rb", buffering=0) as stream:
        stream.seek(place)
        return stream.readinto(memory) or 0
