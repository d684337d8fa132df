"""The cache of object code: what was stored comes back, and nothing else does."""

import os
from pathlib import Path

import numpy as np
import pytest

from fuse_dialect.backends.runtime.cache import (
    _HEAD,
    _MAGIC,
    Entry,
    ObjectCache,
    _digest,
    default_directory,
    key_of,
    open_cache,
)
from fuse_dialect.backends.runtime.hashing import (
    PIECE,
    PieceDigest,
    digest_of,
    digest_of_file,
    digest_of_samples,
    read_digested,
)

ENTRY = Entry({"symbol": "k", "workspace": 64}, bytes(range(256)) * 10)
KEY = key_of("text", "host")


@pytest.fixture
def cache(tmp_path: Path) -> ObjectCache:
    cache = open_cache(tmp_path / "deep" / "cache")
    assert isinstance(cache, ObjectCache)
    return cache


def only_file(cache: ObjectCache) -> Path:
    (path,) = cache.directory.iterdir()
    return path


def test_an_entry_comes_back(cache: ObjectCache) -> None:
    assert cache.load(KEY) is None
    cache.store(KEY, ENTRY)
    assert cache.load(KEY) == ENTRY
    assert cache.load(KEY, mapped=True) == ENTRY
    assert only_file(cache).stat().st_mode & 0o777 == 0o600
    assert cache.directory.stat().st_mode & 0o777 == 0o700


def test_keys_of_parts_that_join_to_the_same_text_differ() -> None:
    assert key_of("ab", "c") != key_of("a", "bc") != key_of("abc")


@pytest.mark.parametrize("mapped", [False, True])
def test_every_damaged_byte_is_noticed_and_the_entry_is_removed(cache: ObjectCache, mapped: bool) -> None:
    cache.store(KEY, Entry({"a": 1}, b"code"))
    path = only_file(cache)
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert cache.load(KEY, mapped=mapped) is None
        assert not path.exists()
        cache.store(KEY, Entry({"a": 1}, b"code"))
    assert cache.load(KEY) is not None


@pytest.mark.parametrize(
    "change", [lambda data: data[:-1], lambda data: data + b"x", lambda data: b"", lambda data: bytes(500)]
)
def test_entries_of_another_length_are_noticed(cache: ObjectCache, change) -> None:
    cache.store(KEY, ENTRY)
    path = only_file(cache)
    whole = path.read_bytes()
    for mapped in (False, True):
        path.write_bytes(change(whole))
        assert cache.load(KEY, mapped=mapped) is None
        assert not path.exists()


def test_an_entry_under_another_key_is_foreign(cache: ObjectCache) -> None:
    cache.store(KEY, ENTRY)
    other = key_of("another")
    only_file(cache).rename(cache.directory / f"{other}.fuse")
    assert cache.load(other) is None


def test_a_file_that_others_may_write_is_not_trusted(cache: ObjectCache) -> None:
    cache.store(KEY, ENTRY)
    only_file(cache).chmod(0o620)
    assert cache.load(KEY) is None


def test_a_link_is_not_followed(cache: ObjectCache, tmp_path: Path) -> None:
    cache.store(KEY, ENTRY)
    path = only_file(cache)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert cache.load(KEY) is None


def test_a_directory_that_others_may_write_is_not_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    assert "may be written by other users" in str(open_cache(tmp_path))


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a directory away")
def test_a_directory_of_another_user_is_not_used(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, 12345)
    assert "belongs to another user" in str(open_cache(tmp_path))


def test_a_file_in_place_of_the_directory_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "there is no cache directory" in str(open_cache(tmp_path / "file"))


def test_what_was_unused_for_the_longest_time_goes_first(cache: ObjectCache) -> None:
    cache.max_bytes = 3 * 1500
    keys = [key_of(str(number)) for number in range(4)]
    for age, key in enumerate(keys[:3]):
        cache.store(key, Entry({}, bytes(1400)))
        os.utime(cache.directory / f"{key}.fuse", (100 + age, 100 + age))
    assert cache.load(keys[0]) is not None
    cache.store(keys[3], Entry({}, bytes(1400)))
    assert [cache.load(key) is not None for key in keys] == [True, False, True, True]


def test_no_temporary_file_is_left(cache: ObjectCache) -> None:
    for number in range(5):
        cache.store(key_of(str(number)), ENTRY)
    assert all(path.name.endswith(".fuse") for path in cache.directory.iterdir())


def test_a_directory_that_vanished_is_no_error(cache: ObjectCache) -> None:
    cache.directory.rmdir()
    cache.store(KEY, ENTRY)
    assert cache.load(KEY) is None


def test_the_environment_names_the_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FUSE_CACHE_DIR", str(tmp_path / "mine"))
    assert default_directory() == tmp_path / "mine"
    monkeypatch.delenv("FUSE_CACHE_DIR")
    assert default_directory().name in {"fuse_dialect", "cache"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
@pytest.mark.parametrize("mapped", [False, True])
def test_a_pipe_is_no_entry_and_nobody_waits_for_it(cache: ObjectCache, mapped: bool) -> None:
    cache.store(KEY, ENTRY)
    path = only_file(cache)
    path.unlink()
    os.mkfifo(path)
    assert cache.load(KEY, mapped=mapped) is None
    assert not path.exists()
    cache.store(KEY, ENTRY)
    assert cache.load(KEY) == ENTRY


@pytest.mark.parametrize("header", [b"{", b"[1]", b"\xff", b'"text"', b"[" * 100_000])
def test_a_right_hash_makes_no_header_right(cache: ObjectCache, header: bytes) -> None:
    cache.store(KEY, ENTRY)
    path = only_file(cache)
    code = PieceDigest()
    code.update(b"code")
    head = _HEAD.pack(_MAGIC, len(header), 4, _digest(KEY, header, 4, code.digest()))
    path.write_bytes(head + header + b"code")
    assert cache.load(KEY) is None
    assert not path.exists()


def test_an_entry_is_dropped_when_its_reader_says_so(cache: ObjectCache) -> None:
    cache.drop(KEY)
    cache.store(KEY, ENTRY)
    cache.drop(KEY)
    assert cache.load(KEY) is None


def test_an_entry_of_parts_is_their_bytes_one_after_the_other_and_aligned(cache: ObjectCache) -> None:
    large = np.arange(PIECE // 4 + 7, dtype=np.int32)
    cache.store_parts(KEY, {"a": 1}, [b"code", memoryview(large).cast("B"), b"end"])
    entry = cache.load(KEY)
    assert entry is not None
    assert bytes(entry.payload) == b"code" + large.tobytes() + b"end"
    assert np.frombuffer(entry.payload, np.uint8).ctypes.data % 64 == 0


def test_a_damaged_byte_in_a_later_piece_is_noticed(cache: ObjectCache) -> None:
    cache.store(KEY, Entry({}, bytes(PIECE + 100)))
    path = only_file(cache)
    with path.open("r+b") as stream:
        stream.seek(-10, os.SEEK_END)
        stream.write(b"x")
    assert cache.load(KEY) is None


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE])
def test_a_digest_is_the_same_of_a_file_of_memory_and_of_parts(tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    data = np.random.default_rng(0).integers(0, 256, size, np.uint8).tobytes()
    path.write_bytes(data)
    parts, memory = PieceDigest(), bytearray(size)
    for first in range(0, size, 1 << 22):
        parts.update(data[first : first + (1 << 22)])
    with path.open("rb") as stream:
        assert read_digested(stream.fileno(), 0, memoryview(memory)) == parts.digest()
    assert digest_of_file(str(path)) == parts.digest()
    assert digest_of(memoryview(data)) == parts.digest()
    assert bytes(memory) == data


@pytest.mark.parametrize("size", [0, 1, 100, (1 << 14) + 1, 1 << 22])
def test_samples_tell_sizes_and_both_ends_apart(tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(size))
    digests = {digest_of_samples(str(path))}
    path.write_bytes(bytes(size + 1))
    digests.add(digest_of_samples(str(path)))
    for place in {0, size}:
        data = bytearray(size + 1)
        data[place] = 1
        path.write_bytes(data)
        digests.add(digest_of_samples(str(path)))
    assert len(digests) == (3 if size == 0 else 4)


def test_a_file_that_is_too_short_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"short")
    with path.open("rb") as stream, pytest.raises(OSError, match="shorter"):
        read_digested(stream.fileno(), 0, memoryview(bytearray(6)))


def test_a_store_does_not_look_through_the_folder_each_time(
    cache: ObjectCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    shrink = ObjectCache._shrink
    monkeypatch.setattr(ObjectCache, "_shrink", lambda self: looks.append(1) or shrink(self))
    for number in range(20):
        cache.store(key_of(str(number)), ENTRY)
    assert len(looks) == 1
