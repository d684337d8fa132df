"""`fuse-run --cache-info` and `--clear-cache`, and `FUSE_CACHE_BYTES`."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import fuse_dialect as fd
from fuse_dialect.backends.runtime.cache import Entry, ObjectCache, bytes_allowed, key_of, open_cache
from fuse_dialect.backends.stored.store import wait_for_writers
from fuse_dialect.tools.fuse_run import main

SOFTMAX = "docs/examples/softmax.mlir"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the cache."""
    monkeypatch.setenv("FUSE_CACHE_DIR", str(tmp_path / "code"))
    return tmp_path / "code"


def test_the_tool_says_what_there_is_and_removes_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("llvmlite")
    program = fd.compile(SOFTMAX, strategy="tvm")
    wait_for_writers()
    assert main(["--cache-info"]) == 0
    said = dict(line.split(": ") for line in capsys.readouterr().out.splitlines())
    files = [path for path in folder.iterdir() if path.name != "machine.key"]
    size = sum(path.stat().st_size for path in files)
    assert said["folder"] == str(folder)
    assert int(said["programs"]) + int(said["kernels"]) == len(files)
    assert said["kernels"] == "4"
    assert (int(said["bytes"]), said["bytes at most"]) == (size, str(1 << 30))
    assert main(["--clear-cache"]) == 0
    assert capsys.readouterr().out == f"removed {len(files)} files of {size} bytes from {folder}\n"
    # What signs saved programs stays: without it they would be compiled from their IR.
    assert {path.name for path in folder.iterdir()} <= {"machine.key"}
    assert fd.compile(SOFTMAX, strategy="tvm").kernels == program.kernels, "what is gone is made again"


def test_both_flags_clear_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--cache-info", "--clear-cache"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("removed 0 files of 0 bytes")
    assert "bytes: 0" in lines


@pytest.mark.parametrize("arguments", [["--cache-info", SOFTMAX], []])
def test_a_module_belongs_to_a_run_alone(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "MODULE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "size"), [("", 1 << 30), ("1000", 1000), ("512MiB", 512 << 20), ("2g", 2 << 30), ("3 KB", 3 << 10)]
)
def test_the_variable_says_how_much_there_may_be(text: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSE_CACHE_BYTES", text)
    assert bytes_allowed() == size


@pytest.mark.parametrize("text", ["-1", "many", "1.5GiB", "GiB", "1" * 30])
def test_another_value_is_an_error_with_a_hint(
    text: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FUSE_CACHE_BYTES", text)
    assert main(["--cache-info"]) == 1
    error, hint = capsys.readouterr().err.splitlines()
    assert error == f"error: FUSE_CACHE_BYTES expects a number of bytes, got '{text}'"
    assert "2GiB" in hint
    pytest.importorskip("llvmlite")
    with pytest.raises(fd.FuseError, match="FUSE_CACHE_BYTES expects"):
        fd.compile(SOFTMAX)
    assert main([SOFTMAX, "--backend", "llvm", "--random-inputs", "0"]) == 1
    fd.compile(SOFTMAX, cache=False)


def test_no_bytes_keep_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FUSE_CACHE_BYTES", "0")
    assert isinstance(open_cache(), str)
    assert main(["--cache-info"]) == 1
    assert "no machine code is kept on disk: FUSE_CACHE_BYTES is 0" in capsys.readouterr().err
    assert not folder.exists()


def test_the_bound_of_the_variable_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSE_CACHE_BYTES", "5000")
    for number in range(20):
        cache = open_cache()
        assert isinstance(cache, ObjectCache)
        cache.store(key_of(str(number)), Entry({}, bytes(1000)))
        assert sum(path.stat().st_size for path in folder.iterdir()) <= 5000
    assert cache.load(key_of("19")) is not None


def test_what_nobody_has_written_to_its_end_goes(folder: Path) -> None:
    cache = open_cache()
    assert isinstance(cache, ObjectCache)
    old, new, others = folder / f".{'a' * 64}.1.0.tmp", folder / f".{'b' * 64}.1.0.tmp", folder / "mine.tmp"
    for path in (old, new, others):
        path.write_bytes(bytes(10))
    for path in (old, others):
        os.utime(path, (100, 100))
    cache.store(key_of("a"), Entry({}, b"x"))
    assert (old.exists(), new.exists()) == (False, True)
    assert cache.clear()[0] == 2
    assert list(folder.iterdir()) == [others]


def test_a_header_that_cannot_be_read_is_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(open_cache(), ObjectCache)
    for name, data in (("a", b""), ("b", b"FUSEOBJ\x02" + bytes(80)), ("c", os.urandom(100))):
        (folder / f"{name * 64}.fuse").write_bytes(data)
    assert main(["--cache-info"]) == 0
    assert "kernels: 3\nbytes: 188\n" in capsys.readouterr().out


def test_clearing_beside_writers_and_readers_breaks_nobody(folder: Path) -> None:
    cache = open_cache()
    assert isinstance(cache, ObjectCache)
    keys = [key_of(str(number)) for number in range(8)]

    def use(key: str) -> bool:
        for _ in range(50):
            cache.store(key, Entry({"of": key}, key.encode()))
            found = cache.load(key, mapped=True)
            if found is not None and (found.header != {"of": key} or bytes(found.payload) != key.encode()):
                return False
        return True

    with ThreadPoolExecutor(9) as pool:
        used = [pool.submit(use, key) for key in keys]
        cleared = pool.submit(lambda: [cache.clear() for _ in range(50)])
        assert all(each.result() for each in used)
        cleared.result()
    cache.clear()
    assert not list(folder.iterdir())
