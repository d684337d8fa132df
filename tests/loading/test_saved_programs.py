"""Programs in files: what is loaded gives what was saved, to the bit; what is damaged or hostile is refused."""

import copy
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.backends.runtime.hashing import digest_of
from fuse_dialect.backends.stored import saved_file
from fuse_dialect.backends.stored.archive import ArchiveError, read_archive, write_archive
from fuse_dialect.backends.stored.machine_code import is_supported
from fuse_dialect.backends.stored.program import StoredProgram
from fuse_dialect.backends.stored.store import wait_for_writers

pytest.importorskip("llvmlite")
needs_code = pytest.mark.skipif(not is_supported(), reason="machine code is stored on Linux, x86-64")

WEIGHT = np.random.default_rng(0).standard_normal((16, 40)).astype(np.float32)
TEXT = f"""
func.func @main(%x: tensor<5x40xf32>, %y: tensor<5x16xf32>) -> (tensor<5x16xf32>, tensor<5xf32>) {{
  %w = arith.constant dense<"0x{WEIGHT.tobytes().hex().upper()}"> : tensor<16x40xf32>
  %p = fuse.dense %x, %w : (tensor<5x40xf32>, tensor<16x40xf32>)
  %r = fuse.relu %p : tensor<5x16xf32>
  %s = fuse.add %r, %y : tensor<5x16xf32>
  %t = fuse.sum %s, axes = [1] : (tensor<5x16xf32>) -> tensor<5xf32>
  return %s, %t : tensor<5x16xf32>, tensor<5xf32>
}}
"""
OPEN = TEXT.replace("5x40", "?x40").replace("5x16", "?x16").replace("tensor<5xf32>", "tensor<?xf32>")
ON_NUMPY = """
func.func @main(%x: tensor<4x4x4xf32>) -> tensor<4xf32> {
  %r = fuse.det %x : (tensor<4x4x4xf32>)
  %s = fuse.exp %r : tensor<4xf32>
  return %s : tensor<4xf32>
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for each test."""
    monkeypatch.setenv("FUSE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes or ((5, 40), (5, 16))]


def same(one: tuple[np.ndarray, ...], other: tuple[np.ndarray, ...]) -> bool:
    return all(a.tobytes() == b.tobytes() and a.dtype == b.dtype for a, b in zip(one, other, strict=True))


def saved(folder: Path, text: str = TEXT, **options: Any) -> tuple[fd.Program, Path]:
    program = fd.compile(fd.parse(text), **options)
    program.save(folder / "model.fuse")
    return program, folder / "model.fuse"


@pytest.mark.parametrize("text", [TEXT, OPEN], ids=["known", "open"])
@pytest.mark.parametrize(
    "options",
    [{}, {"backend": "numpy"}, {"threads": 2}, {"strategy": "cost"}, {"opt_level": 0}, {"fast_math": True}],
    ids=str,
)
def test_what_is_loaded_is_what_was_saved(folder: Path, text: str, options: dict[str, Any]) -> None:
    program, path = saved(folder, text, **options)
    again = fd.load(path)
    assert isinstance(again, StoredProgram) == (text is TEXT and options.get("backend") != "numpy" and is_supported())
    assert same(program(*arrays()), again(*arrays()))
    for name in ("name", "input_names", "output_names", "kernels", "threads", "backend", "constant_bytes"):
        assert getattr(again, name) == getattr(program, name), name
    assert (str(again.module), str(again.plan)) == (str(program.module), str(program.plan))
    assert [str(each) for each in again.remarks] == [str(each) for each in program.remarks]
    assert again.explain("%r") == program.explain("%r")
    assert again._repr_svg_() == program._repr_svg_()
    again.save(folder / "again.fuse")
    assert same(program(*arrays()), fd.load(folder / "again.fuse")(*arrays()))


def test_a_program_with_steps_on_numpy_is_saved(folder: Path) -> None:
    program, path = saved(folder, ON_NUMPY)
    assert same(program(*arrays((4, 4, 4))), fd.load(path)(*arrays((4, 4, 4))))


@pytest.mark.parametrize(
    "op",
    [
        "tosa.exp %x : (tensor<4xf32>) -> tensor<4xf32>",
        "linalg.reduce { arith.addf } ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) dimensions = []",
        "linalg.map ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) (%e: f32) { %r = arith.addf %e, %e : f32 "
        "%s = arith.mulf %r, %e : f32 linalg.yield %s : f32 }",
    ],
    ids=lambda op: op.partition(" ")[0],
)
def test_a_program_of_another_dialect_is_saved(folder: Path, op: str) -> None:
    text = f"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{ %y = {op} return %y : tensor<4xf32> }}"
    program, path = saved(folder, text)
    x = np.arange(4, dtype=np.float32)
    assert same(program(x), fd.load(path)(x))


def test_a_program_of_open_sizes_is_compiled_for_sizes_that_come_back(folder: Path) -> None:
    program, path = saved(folder, OPEN)
    again = fd.load(path)
    special = again.specialize(*arrays())
    assert same(program.specialize(*arrays())(*arrays()), special(*arrays()))
    special.save(folder / "special.fuse")
    assert same(special(*arrays()), fd.load(folder / "special.fuse")(*arrays()))


def test_weights_are_there_once(folder: Path) -> None:
    _, path = saved(folder)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        constants = archive.read("constants.safetensors")
        manifest = json.loads(archive.read("manifest.json"))
        text = archive.read("program.mlir").decode()
    assert set(manifest["members"]) == {*names} - {"manifest.json", "signature.json"}
    assert len(constants) < 1.2 * WEIGHT.nbytes
    assert "dense_resource<constant0>" in text
    safetensors = pytest.importorskip("safetensors.numpy")
    found = safetensors.load(constants)
    assert WEIGHT.nbytes in [array.nbytes for array in found.values()]


def test_equal_programs_are_equal_files(folder: Path) -> None:
    first, second = (fd.compile(fd.parse(TEXT)).to_bytes() for _ in range(2))
    assert first == second


SCRIPT = """
import sys
import numpy as np
import fuse_dialect as fd
program = fd.load(sys.argv[1])
outputs = program(np.ones((5, 40), np.float32), np.ones((5, 16), np.float32))
heavy = {"xdsl", "llvmlite", "onnx", "onnx_ir", "torch"} & {name.partition(".")[0] for name in sys.modules}
writers = [name for name in sys.modules if name.startswith(("fuse_dialect.backends.llvm", "fuse_dialect.dialect."))]
print(type(program).__name__, sorted(heavy), writers, outputs[0].tobytes().hex())
"""


@needs_code
def test_loading_imports_nothing_that_reads_or_compiles(folder: Path) -> None:
    program, path = saved(folder)
    # Code is for one copy of the package: that which saved it, and not the one in the folder where the tests run.
    command = [sys.executable, "-P", "-c", SCRIPT, str(path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    name, heavy, writers, data = said.split()
    assert (name, heavy, writers) == ("StoredProgram", "[]", "[]")
    expected = program(np.ones((5, 40), np.float32), np.ones((5, 16), np.float32))[0]
    assert data == expected.tobytes().hex()


@needs_code
def test_code_of_somebody_else_is_not_run_and_the_ir_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, path = saved(folder)
    monkeypatch.setenv("FUSE_CACHE_DIR", str(folder / "another user"))
    stranger = fd.load(path)
    assert not isinstance(stranger, StoredProgram)
    assert same(program(*arrays()), stranger(*arrays()))
    wait_for_writers()
    kept = fd.load(path)
    assert isinstance(kept, StoredProgram)  # compiled here, once
    assert same(program(*arrays()), kept(*arrays()))
    assert "fuse.dense" in str(kept.module)
    monkeypatch.setenv("FUSE_CACHE_DIR", str(folder / "a third"))
    assert isinstance(fd.load(path, trust=True), StoredProgram)
    assert not isinstance(fd.load(path, threads=2), StoredProgram)


@needs_code
def test_trusted_code_is_for_this_processor_and_version(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, path = saved(folder)
    monkeypatch.setenv("FUSE_CACHE_DIR", str(folder / "another user"))
    for change in ({"processor": ["flags\t\t: of_another_machine"]}, {"processor": 3}, {"made_by": "9.9"}):
        rewritten(path, manifest=lambda found, change=change: found["code"].update(change))
        assert not isinstance(fd.load(path, trust=True), StoredProgram)
        wait_for_writers()


def test_without_a_folder_for_the_key_there_is_no_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSE_CACHE_BYTES", "0")
    program, path = saved(folder)
    with zipfile.ZipFile(path) as archive:
        assert not [name for name in archive.namelist() if name.startswith(("code/", "signature"))]
    assert same(program(*arrays()), fd.load(path)(*arrays()))


def rewritten(
    path: Path, manifest: Callable[[dict[str, Any]], object] = lambda _: None, **members: bytes | None
) -> None:
    """The file with other contents and hashes that are right."""
    with zipfile.ZipFile(path) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    for name, data in members.items():
        full = next(each for each in found if each.replace(".", "_").replace("/", "_") == name)
        if data is None:
            del found[full]
        else:
            found[full] = data
    said = json.loads(found.pop("manifest.json"))
    signature = found.pop("signature.json", None)
    said["members"] = {
        name: {"bytes": len(data), "sha256": digest_of(memoryview(data)).hex()} for name, data in found.items()
    }
    manifest(said)
    stream = io.BytesIO()
    parts = [*found.items(), ("manifest.json", json.dumps(said).encode())]
    parts += [("signature.json", signature)] if signature is not None else []
    write_archive(stream, [(name, [data]) for name, data in parts])
    path.write_bytes(stream.getvalue())


@needs_code
def test_files_from_before_panels_of_halves_are_read(folder: Path) -> None:
    program, path = saved(folder)

    def older(manifest: dict[str, Any]) -> None:
        packed = [each["packing"] for each in manifest["weights"].values() if each["packing"] is not None]
        assert [each.pop("is_halves") for each in packed] == [False]

    rewritten(path, manifest=older)
    assert same(program(*arrays()), fd.load(path)(*arrays()))


@needs_code
def test_code_that_was_changed_is_not_run(folder: Path) -> None:
    program, path = saved(folder)
    with zipfile.ZipFile(path) as archive:
        code = bytearray(archive.read("code/image.bin"))
    code[:64] = b"\xcc" * 64  # a trap
    rewritten(path, code_image_bin=bytes(code))
    again = fd.load(path)
    assert not isinstance(again, StoredProgram)
    assert same(program(*arrays()), again(*arrays()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda found: found.update(version=2), "has version 2 of the format"),
        (lambda found: found.update(version=0), "has version 0 of the format"),
        (lambda found: found.update(version="1"), "has version unknown"),
        (lambda found: found.update(format="other"), "no manifest"),
        (lambda found: found["members"].clear(), "is damaged"),
        (lambda found: found["members"].update(other={"bytes": 1}), "'other' is missing"),
        (lambda found: found["options"].pop("entry"), "its options are not readable"),
        (lambda found: found["options"].update(threads=True), "how many threads"),
        (lambda found: found["options"].update(limits=[1]), "its options are not readable"),
        (lambda found: found["options"].update(target_cpu="/etc/machine.toml"), "its options are not readable"),
        (lambda found: found["options"].update(target_cpu="no_such"), "machine that is not known"),
        (lambda found: found["options"]["fuse_ops"].update(strategy=3), "its options are not readable"),
        (lambda found: found["options"]["fuse_ops"].update(other=3), "its options are not readable"),
        (lambda found: found["options"].update(backend="no_such"), "no_such"),
        (lambda found: found["options"].update(entry="other"), "other"),
        (lambda found: found["weights"].clear(), "its constants do not fit"),
        (lambda found: found["weights"]["constant0"].update(tensor="c9"), "its constants do not fit"),
        (lambda found: found["weights"]["constant0"]["packing"].update(width=0), "its constants do not fit"),
        (lambda found: found["weights"]["constant0"]["packing"].update(start=1), "its constants do not fit"),
        (
            lambda found: found["weights"]["constant0"]["packing"]["columns"].update(stride=1 << 40),
            "its constants do not fit",
        ),
        (lambda found: found["weights"]["constant0"]["packing"]["columns"].update(size=-1), "its constants do not fit"),
        (lambda found: found.pop("stage"), "its options are not readable"),
    ],
)
def test_a_manifest_that_lies_is_refused(
    folder: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    _, path = saved(folder)
    rewritten(path, manifest=change)
    with pytest.raises(fd.FuseError, match=message) as caught:
        fd.load(path)
    assert caught.value.location is not None
    assert str(path) in str(caught.value.location)


@pytest.mark.parametrize(
    ("member", "data"),
    [
        ("program_mlir", b"func.func @main("),
        ("program_mlir", b"\xff\xfe"),
        ("program_mlir", b'"of.nobody"() : () -> ()'),
        ("program_mlir", None),
        ("constants_safetensors", None),
        ("constants_safetensors", b"\xff" * 16),
        ("constants_safetensors", struct.pack("<Q", 2) + b"{}"),
        ("constants_safetensors", struct.pack("<Q", 57) + b'{"c0":{"dtype":"F32","shape":[1],"data_offsets":[0,9]}} '),
    ],
)  # fmt: skip
def test_contents_that_lie_are_refused(folder: Path, member: str, data: bytes | None) -> None:
    _, path = saved(folder)
    rewritten(path, **{member: data})
    with pytest.raises(fd.FuseError):
        fd.load(path)


def test_any_cut_and_flip_is_an_error_or_the_right_result(folder: Path) -> None:
    program, path = saved(folder)
    whole, expected = path.read_bytes(), program(*arrays())
    rng = np.random.default_rng(2)
    for number in range(200):
        data = bytearray(whole)
        if number % 2:
            del data[int(rng.integers(len(data))) :]
        else:
            data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        try:
            again = fd.load(path)
        except fd.FuseError:
            continue
        assert same(expected, again(*arrays()))
        wait_for_writers()


def test_files_that_are_none_are_refused(folder: Path) -> None:
    for data, message in ((b"", "is empty"), (b"PK", "cut short"), (b"x" * 100, "cut short")):
        (folder / "no.fuse").write_bytes(data)
        with pytest.raises(fd.FuseError, match=message):
            fd.load(folder / "no.fuse")
    with pytest.raises(fd.FuseError, match="no such file"):
        fd.load(folder / "nowhere.fuse")
    with pytest.raises(fd.FuseError, match="no regular file"):
        fd.load(folder)
    os.mkfifo(folder / "pipe.fuse")
    with pytest.raises(fd.FuseError, match="no regular file"):
        fd.load(folder / "pipe.fuse")
    with pytest.raises(fd.FuseError, match="expected a path or bytes"):
        fd.load(3)  # pyright: ignore[reportArgumentType]


def test_containers_are_checked() -> None:
    def archive(*members: tuple[str, bytes]) -> bytes:
        stream = io.BytesIO()
        write_archive(stream, [(name, [data]) for name, data in members])
        return stream.getvalue()

    data = archive(("a", b"one"), ("b", b"two" * 50))
    found = {name: bytes(part) for name, part in read_archive(memoryview(data)).items()}
    assert found == {"a": b"one", "b": b"two" * 50}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as other:
        other.writestr("a", b"0" * 100)
    with pytest.raises(ArchiveError, match="not stored as it is"):
        read_archive(memoryview(packed.getvalue()))
    with pytest.raises(ArchiveError, match="too large"):
        read_archive(memoryview(archive(*((f"{number}", b"") for number in range(65)))))
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = archive(("a", b"1"), ("a", b"2"))
    with pytest.raises(ArchiveError, match="twice"):
        read_archive(memoryview(twice))


def test_what_depends_on_objects_of_the_caller_is_not_saved(folder: Path) -> None:
    from fuse_dialect.fusion.core.strategy import find_strategy

    program = fd.compile(fd.parse(TEXT), strategy=find_strategy("tvm"))
    with pytest.raises(fd.FuseError, match="of a strategy or of rules of your own"):
        program.save(folder / "own.fuse")
    assert not (folder / "own.fuse").exists()
    machine = folder / "mine.toml"
    machine.write_text('name = "mine"\nprocessor = "native"\nregisters = 8\n')
    with pytest.raises(fd.FuseError, match=r"machine in '.*mine.toml' cannot be saved"):
        fd.compile(fd.parse(TEXT), target_cpu=str(machine)).save(folder / "own.fuse")
    with pytest.raises(fd.FuseError, match="cannot write the output"):
        fd.compile(fd.parse(TEXT)).save(folder / "no folder" / "own.fuse")


def test_programs_from_the_cache_are_saved_as_they_are(folder: Path) -> None:
    path = folder / "model.mlir"
    path.write_text(TEXT)
    first = fd.compile(path)
    wait_for_writers()
    second = fd.compile(path)
    assert isinstance(second, StoredProgram) == is_supported()
    second.save(folder / "model.fuse")
    path.unlink()
    again = fd.load(folder / "model.fuse")
    assert same(first(*arrays()), again(*arrays()))
    assert str(again.plan) == str(first.plan)


def test_pickles_name_the_file_or_hold_it(folder: Path) -> None:
    program, path = saved(folder)
    fresh, loaded = fd.compile(fd.parse(TEXT)), fd.load(path)
    for each in (program, loaded, fresh, fd.load(fresh.to_bytes())):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            data = pickle.dumps(each, protocol)
            assert (len(data) < 500) == (each is program or each is loaded)
            again = pickle.loads(data)
            assert same(program(*arrays()), again(*arrays()))
        assert copy.copy(each) is copy.deepcopy(each) is each
    assert pickle.loads(pickle.dumps(loaded)) is pickle.loads(pickle.dumps(loaded)), "one process has it once"


def test_a_pickle_of_a_file_that_is_another_by_now_is_refused(folder: Path) -> None:
    _, path = saved(folder)
    data = pickle.dumps(fd.load(path))
    fd.compile(fd.parse(TEXT.replace("relu", "tanh"))).save(path)
    command = f"import pickle; pickle.loads({data!r})"
    said = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=False)
    assert "is not the one that was pickled" in said.stderr
    path.unlink()
    said = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=False)
    assert "put it where both sides see it" in said.stderr


def test_a_file_that_was_looked_through_is_not_hashed_again_until_it_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, path = saved(folder)
    os.utime(path, (1, 1))
    hashed: list[int] = []

    def counted(data: memoryview) -> bytes:
        hashed.append(len(data))
        return digest_of(data)

    monkeypatch.setattr(saved_file, "digest_of", counted)
    monkeypatch.setattr("fuse_dialect.backends.stored.trust._CLOCK_STEP", 0)
    first = fd.load(path)
    size = len(first.saved.members["constants.safetensors"]) if isinstance(first, StoredProgram) else 0
    count = hashed.count(size)
    again = fd.load(path)
    if size:
        assert hashed.count(size) == count == 1
    assert same(program(*arrays()), again(*arrays()))
    data = bytearray(path.read_bytes())
    data[200] ^= 1  # in the constants, whose member is the first
    path.write_bytes(data)
    os.utime(path, (1, 1))  # the time of the last change of its state differs
    with pytest.raises(fd.FuseError, match="does not have the hash"):
        fd.load(path)


def test_the_digest_is_that_of_the_manifest(folder: Path) -> None:
    program, path = saved(folder)
    with zipfile.ZipFile(path) as archive:
        assert program.origin == (str(path), sha256(archive.read("manifest.json")).hexdigest())


@needs_code
def test_a_file_that_is_cut_short_while_mapped_is_an_error(folder: Path) -> None:
    weight = np.random.default_rng(0).standard_normal((512, 256)).astype(np.float32)
    text = f"""
    func.func @main(%x: tensor<2x256xf32>) -> tensor<2x512xf32> {{
      %w = arith.constant dense<"0x{weight.tobytes().hex().upper()}"> : tensor<512x256xf32>
      %p = fuse.dense %x, %w : (tensor<2x256xf32>, tensor<512x256xf32>)
      return %p : tensor<2x512xf32>
    }}"""
    program, path = saved(folder, text)
    (x,) = arrays((2, 256))
    again, other = fd.load(path), fd.load(path)
    assert isinstance(again, StoredProgram)
    fd.compile(fd.parse(text)).save(path)  # another file of the name: the mapped one stays
    assert same(program(x), again(x))
    assert same(program(x), again(x))
    _, path = saved(folder, text)
    cut = fd.load(path)
    os.truncate(path, 5000)
    for call in (lambda: cut(x), lambda: cut(x), lambda: cut.to_bytes()):
        with pytest.raises(fd.FuseError, match="has been cut short while it was in use"):
            call()
    fast = cut.by_addresses()
    assert fast is not None
    with pytest.raises(fd.FuseError, match="has been cut short while it was in use"):
        fast([x.ctypes.data])
    assert same(program(x), other(x))
    with pytest.raises(fd.FuseError, match="cut short"):
        fd.load(path)


def test_ranges_of_files_that_are_gone_are_used_again(folder: Path) -> None:
    from fuse_dialect.backends.stored import mapped_guard

    if not is_supported():
        pytest.skip("there is no handler for this system")
    _, path = saved(folder)
    for _ in range(3):
        fd.load(path)
    guard = mapped_guard._guard()
    before = guard.read(mapped_guard._COUNT)
    for _ in range(20):
        fd.load(path)
    assert guard.read(mapped_guard._COUNT) <= before + 2


FAULT = """
import mmap, os, sys
import fuse_dialect as fd
fd.load(sys.argv[1])
path = sys.argv[1] + ".other"
with open(path, "wb") as stream:
    stream.write(bytes(10000))
with open(path, "rb") as stream:
    mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
os.truncate(path, 0)
mapped[5000]
"""


@needs_code
def test_faults_of_others_end_the_process_as_before(folder: Path) -> None:
    _, path = saved(folder)
    assert subprocess.run([sys.executable, "-c", FAULT, str(path)], check=False).returncode == -7


FORKED = """
import multiprocessing, sys
import numpy as np
import fuse_dialect as fd

def run(program):
    return program(np.ones((5, 40), np.float32), np.ones((5, 16), np.float32))[0].tobytes()

if __name__ == "__main__":
    program = fd.load(sys.argv[1])
    for how in ("spawn", "fork"):
        with multiprocessing.get_context(how).Pool(2) as pool:
            assert set(pool.map(run, [program] * 4)) == {run(program)}, how
"""


def test_programs_go_to_processes(folder: Path) -> None:
    _, path = saved(folder)
    (folder / "script.py").write_text(FORKED)
    subprocess.run([sys.executable, str(folder / "script.py"), str(path)], check=True)


INHERITED = """
import os, sys
import numpy as np
import fuse_dialect as fd

def run(program):
    return program(np.ones((5, 40), np.float32), np.ones((5, 16), np.float32))[0].tobytes()

program = fd.load(sys.argv[1], threads=2)
expected = run(program)
for _ in range(3):
    child = os.fork()
    if not child:
        os._exit(run(program) != expected)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_workers_that_are_forked_use_the_program_of_their_parent(folder: Path) -> None:
    _, path = saved(folder)
    subprocess.run([sys.executable, "-W", "ignore", "-c", INHERITED, str(path)], check=True, timeout=120)


JOBLIB = """
import sys
import joblib, numpy as np
import fuse_dialect as fd

def run(program):
    return program(np.ones((5, 40), np.float32), np.ones((5, 16), np.float32))[0].tobytes()

if __name__ == "__main__":
    program = fd.load(sys.argv[1])
    calls = [joblib.delayed(run)(each) for each in (program, fd.load(program.to_bytes()))]
    assert set(joblib.Parallel(2)(calls)) == {run(program)}
"""


@pytest.mark.slow
def test_programs_go_through_joblib(folder: Path) -> None:
    pytest.importorskip("joblib")
    _, path = saved(folder)
    (folder / "script.py").write_text(JOBLIB)
    subprocess.run([sys.executable, str(folder / "script.py"), str(path)], check=True, timeout=120)


def test_programs_go_through_cloudpickle(folder: Path) -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    program, path = saved(folder)
    for each in (fd.load(path), fd.load(program.to_bytes())):
        call = cloudpickle.loads(cloudpickle.dumps(lambda *inputs, each=each: each(*inputs)))
        assert same(program(*arrays()), call(*arrays()))


def test_plans_remarks_and_errors_are_pickled(folder: Path) -> None:
    program, _ = saved(folder)
    for plan in (program.plan, fd.plan_fusion(fd.parse(TEXT))):
        again = pickle.loads(pickle.dumps(plan))
        assert (str(again), again.to_svg(), again.explain("%r")) == (str(plan), plan.to_svg(), plan.explain("%r"))
        assert str(copy.deepcopy(plan.decisions)) == str(plan.decisions)
    error = fd.FuseError(message="wrong", location=None, hint="right")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert pickle.loads(pickle.dumps(program.kernels)) == program.kernels
