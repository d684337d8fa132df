"""Programs from the cache: what comes from there is what would be compiled, to the bit, or is compiled again."""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.backends.runtime.cache import Entry, ObjectCache
from fuse_dialect.backends.runtime.own_files import own_files
from fuse_dialect.backends.stored import files, key, store
from fuse_dialect.backends.stored.machine_code import CannotRunError, MachineCode, is_supported
from fuse_dialect.backends.stored.program import StoredProgram
from fuse_dialect.backends.stored.store import wait_for_writers

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.skipif(not is_supported(), reason="programs are stored on Linux, x86-64")

TEXT = """
func.func @main(%x: tensor<5x8xf32>, %y: tensor<5x16xf32>) -> (tensor<5x16xf32>, tensor<5xf32>) {
  %w = arith.constant dense<0.25> : tensor<16x8xf32>
  %p = fuse.dense %x, %w : (tensor<5x8xf32>, tensor<16x8xf32>)
  %r = fuse.relu %p : tensor<5x16xf32>
  %s = fuse.add %r, %y : tensor<5x16xf32>
  %t = fuse.sum %s, axes = [1] : (tensor<5x16xf32>) -> tensor<5xf32>
  return %s, %t : tensor<5x16xf32>, tensor<5xf32>
}
"""
LOOP = """
func.func @main(%x: tensor<6x4xf32>) -> (tensor<4xf32>, tensor<6x4xf32>) {
  %zero = arith.constant dense<[0.0, 1.0, 2.0, 3.0]> : tensor<4xf32>
  %state, %rows = fuse.loop states(%zero : tensor<4xf32>) rows(%x : tensor<6x4xf32>) -> (tensor<4xf32>, tensor<6x4xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>, %row: tensor<4xf32>):
    %a = fuse.add %s, %row : tensor<4xf32>
    %b = fuse.tanh %a : tensor<4xf32>
    fuse.yield %b, %a : tensor<4xf32>, tensor<4xf32>
  }
  return %state, %rows : tensor<4xf32>, tensor<6x4xf32>
}
"""  # noqa: E501
GATHER = """
func.func @main(%i: tensor<3x2xi64>) -> tensor<3x2xf32> {
  %table = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
  %r = fuse.gather %table, %i, axis = 0 : (tensor<4x2xf32>, tensor<3x2xi64>)
  return %r : tensor<3x2xf32>
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for each test."""
    monkeypatch.setenv("FUSE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def path(folder: Path) -> Path:
    """A model."""
    path = folder / "model.mlir"
    path.write_text(TEXT)
    return path


def compiled(path: Path, **options) -> fd.Program:
    """A program; what is to be kept of it has been written."""
    program = fd.compile(path, **options)
    wait_for_writers()
    return program


def is_hit(path: Path, **options) -> bool:
    """Whether a program comes from the cache; it is there afterwards."""
    return isinstance(compiled(path, **options), StoredProgram)


def arrays(seed: int = 0) -> list[np.ndarray]:
    """Inputs of `TEXT`."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(np.float32) for shape in ((5, 8), (5, 16))]


def entry_file(folder: Path) -> Path:
    """The only entry that holds a whole program: kernels have no interface."""
    (found,) = [path for path in (folder / "cache").iterdir() if b'"interface"' in path.read_bytes()]
    return found


@pytest.mark.parametrize("threads", [1, 2])
def test_a_hit_gives_what_a_miss_gives_to_the_bit(path: Path, threads: int) -> None:
    first, second = compiled(path, threads=threads), compiled(path, threads=threads)
    assert not isinstance(first, StoredProgram)
    assert isinstance(second, StoredProgram)
    for seed in range(3):  # frames are used again
        for one, other in zip(first(*arrays(seed)), second(*arrays(seed)), strict=True):
            assert one.tobytes() == other.tobytes()
            assert (one.dtype, one.shape) == (other.dtype, other.shape)


def test_a_hit_looks_like_a_miss(path: Path) -> None:
    first, second = compiled(path), compiled(path)
    assert isinstance(second, StoredProgram)
    names = ("input_names", "output_names", "kernels", "peak_bytes", "constant_bytes", "threads", "backend")
    for name in names:
        assert getattr(first, name) == getattr(second, name), name
    assert repr(first) == repr(second)


def test_inputs_of_a_hit_are_checked_and_may_have_names(path: Path) -> None:
    first, second = compiled(path), compiled(path)
    x, y = arrays()
    assert (second({"x": x, "y": y})[0] == first(x, y)[0]).all()
    for program in (first, second):
        with pytest.raises(fd.FuseError, match=r"input 'x' expects a value of type tensor<5x8xf32>, got .* 8x5"):
            program(x.T, y)
        with pytest.raises(fd.FuseError, match="'main' expects 2 inputs"):
            program(x)


def test_a_hit_writes_into_given_outputs(path: Path) -> None:
    first, second = compiled(path), compiled(path)
    outputs = [np.empty((5, 16), np.float32), np.empty(5, np.float32)]
    second.run_into(arrays(), outputs)
    for one, other in zip(first(*arrays()), outputs, strict=True):
        assert (one == other).all()
    with pytest.raises(fd.FuseError, match="output 1"):
        second.run_into(arrays(), [outputs[0], np.empty(4, np.float32)])


def test_ir_plan_and_times_of_a_hit_are_those_of_the_whole_program(path: Path) -> None:
    first, second = compiled(path), compiled(path)
    assert isinstance(second, StoredProgram)
    assert not second._made
    assert str(second.module) == str(first.module)
    assert str(second.plan) == str(first.plan)
    assert [row.kernel for row in second.profile(*arrays(), repeat=1).kernels] == [
        row.kernel for row in first.profile(*arrays(), repeat=1).kernels
    ]
    assert second.trace(*arrays(), repeat=1).as_json()["traceEvents"]
    assert second._repr_svg_() == first._repr_svg_()
    assert second.specialize(*arrays()) is second


def test_a_model_that_changed_has_no_ir_to_show(path: Path) -> None:
    compiled(path)
    second = compiled(path)
    path.write_text(TEXT.replace("0.25", "0.5"))
    second(*arrays())
    with pytest.raises(fd.FuseError, match=r"model.mlir' has changed since it was compiled"):
        _ = second.module
    path.unlink()
    with pytest.raises(fd.FuseError, match=r"has changed"):
        second.profile(*arrays())


def test_ir_is_found_from_another_folder(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    compiled(Path("model.mlir"))
    second = compiled(Path("model.mlir"))
    assert isinstance(second, StoredProgram)
    monkeypatch.chdir("/")
    assert "fuse.dense" in str(second.module)


@pytest.mark.parametrize(
    "options",
    [
        {"entry": "other"},
        {"threads": 2},
        {"max_ops": 7},
        {"max_value_bytes": 1 << 20},
        {"target_cpu": "x86-64"},
        {"opt_level": 0},
        {"strategy": "cost"},
        {"sizes": {"n": 3}},
    ],
    ids=str,
)
def test_another_option_is_another_program(path: Path, options: dict) -> None:
    text = TEXT.replace("tensor<5x8xf32>, %y", 'tensor<5x8xf32> {fuse.sizes = ["", "n"]}, %y')
    path.write_text(text + text.replace("@main", "@other"))
    plain = {} if "sizes" not in options else {"sizes": {"n": 8}}
    compiled(path, **plain)
    assert is_hit(path, **plain)
    if "sizes" in options:
        with pytest.raises(fd.FuseError):
            compiled(path, **options)
    else:
        assert not is_hit(path, **options)
        assert is_hit(path, **options)


@pytest.mark.parametrize("option", ["target_cpu", "machine", "FUSE_TARGET_CPU"])
def test_another_machine_under_the_same_name_is_another_program(
    path: Path, folder: Path, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = folder / "mine.toml"
    options: dict[str, Any] = {"strategy": "cost"}
    if option == "FUSE_TARGET_CPU":
        monkeypatch.setenv(option, str(machine))
    else:
        options[option] = str(machine)
    for registers in (8, 16):
        machine.write_text(f'name = "mine"\nprocessor = "native"\nregisters = {registers}\n')
        assert not is_hit(path, **options)
        assert is_hit(path, **options)


def test_a_program_is_not_shown_as_one_for_a_machine_that_has_changed(path: Path, folder: Path) -> None:
    machine = folder / "mine.toml"
    machine.write_text('name = "mine"\nprocessor = "native"\nregisters = 8\n')
    compiled(path, machine=str(machine), strategy="cost")
    program = compiled(path, machine=str(machine), strategy="cost")
    assert isinstance(program, StoredProgram)
    machine.write_text(machine.read_text().replace("8", "16"))
    with pytest.raises(fd.FuseError, match="the machine has changed since the program was compiled for it"):
        _ = program.plan
    assert len(program(*arrays())) == 2


def test_another_model_processor_or_version_is_another_program(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(path)
    copy = path.with_name("copy.mlir")
    copy.write_text(TEXT)
    assert is_hit(copy)  # the same bytes
    copy.write_text(TEXT.replace("0.25", "0.125"))
    assert not is_hit(copy)
    with monkeypatch.context() as patch:
        patch.setenv("FUSE_TARGET_CPU", "x86-64")
        assert not is_hit(path)
    assert is_hit(path)
    monkeypatch.setattr(store, "environment", lambda: "another version")
    assert not is_hit(path)


def test_models_that_differ_beside_their_samples_are_told_apart(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "digest_of_samples", lambda _: b"same")
    first = compiled(path)
    other = path.with_name("other.mlir")
    other.write_text(TEXT.replace("0.25", "0.75"))
    second = compiled(other)
    assert not isinstance(second, StoredProgram)
    assert (first(*arrays())[0] != second(*arrays())[0]).any()
    assert is_hit(other)
    assert not is_hit(path)  # one entry: the last one


def test_a_program_that_runs_from_its_file_outlives_the_entry(path: Path, folder: Path) -> None:
    first, second = compiled(path), compiled(path)
    assert isinstance(second, StoredProgram)
    entry_file(folder).unlink()
    assert second(*arrays())[0].tobytes() == first(*arrays())[0].tobytes()
    assert not is_hit(path)


def test_the_environment_names_processor_sources_and_packages(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    def digest() -> str:
        key.environment.cache_clear()
        return key.environment()

    before = digest()
    assert digest() == before
    (folder / "package").mkdir()
    source = folder / "package" / "code.py"
    source.write_text("a = 1")
    monkeypatch.setattr(key, "own_files", partial(own_files, folder / "package"))
    other = digest()
    assert other != before
    os.utime(source, (1, 1))
    assert digest() not in (before, other)
    with monkeypatch.context() as patch:
        (folder / "site").mkdir()
        patch.syspath_prepend(folder / "site")
        known = digest()
        (folder / "site" / "xdsl-0.1.dist-info").mkdir()
        assert digest() != known
    known = digest()
    described = folder / "cpuinfo"
    described.write_text("processor\t: 0\nmodel\t\t: 1\nflags\t\t: avx2\n\nprocessor\t: 1\n")
    monkeypatch.setattr(key, "PROCESSOR_FILE", str(described))
    weaker = digest()
    described.write_text("processor\t: 0\nmodel\t\t: 1\nflags\t\t: avx2 avx512f\n\nprocessor\t: 1\n")
    assert len({known, weaker, digest()}) == 3
    monkeypatch.undo()
    key.environment.cache_clear()


def test_what_is_not_the_same_for_all_is_not_stored(path: Path, folder: Path) -> None:
    from fuse_dialect.fusion.core.tvm_rules import TVM_RULES

    machine = folder / "machine.toml"
    machine.write_text("")
    for options in ({"cache": False}, {"rules": TVM_RULES}, {"backend": "numpy"}):
        compiled(path, **options)
        assert not is_hit(path, **options)
    with pytest.raises(fd.FuseError):
        compiled(path, machine=str(machine), strategy="cost")
    path.write_text(TEXT.replace("5x", "?x").replace("tensor<5xf32>", "tensor<?xf32>"))
    compiled(path)
    assert not is_hit(path)


def test_a_program_to_which_a_package_may_have_added_is_not_stored(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_has_additions", lambda: True)
    compiled(path)
    assert not is_hit(path)


def test_a_model_that_changes_while_it_is_compiled_is_not_stored(path: Path, folder: Path) -> None:
    fd.compile(path, progress=lambda *_: path.write_text(TEXT + "// changed\n"))
    wait_for_writers()
    assert not any(b'"interface"' in each.read_bytes() for each in (folder / "cache").iterdir())


def test_a_model_that_changes_while_it_is_written_is_not_stored(
    path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = files.FilesRead.digests

    def changed(read: files.FilesRead) -> dict[str, str]:
        path.write_text(TEXT.replace("0.25", "0.5"))
        return digests(read)

    monkeypatch.setattr(files.FilesRead, "digests", changed)
    compiled(path)
    assert not any(b'"interface"' in each.read_bytes() for each in (folder / "cache").iterdir())


@pytest.mark.parametrize("seconds", [1, 2])
def test_a_change_within_one_step_of_the_clock_is_noticed(
    path: Path, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    """On file systems whose clock moves once in a second, or in two: what they say of a file does not change."""
    monkeypatch.setattr(store, "digest_of_samples", lambda _: b"same")
    identity = files._identity

    def coarse(descriptor: int) -> tuple[int, ...] | None:
        found = identity(descriptor)
        step = seconds * 1_000_000_000
        return None if found is None else (*found[:3], *(time // step * step for time in found[3:]))

    monkeypatch.setattr(files, "_identity", coarse)
    fd.compile(path, progress=lambda *_: path.write_text(TEXT.replace("0.25", "0.75")))
    wait_for_writers()
    program = compiled(path)
    assert not isinstance(program, StoredProgram)
    assert program(*arrays())[0].tobytes() == fd.compile(path, cache=False)(*arrays())[0].tobytes()


def test_a_path_leads_where_the_system_says(folder: Path) -> None:
    """`link/..` is the folder above the one that the link leads to, not the one in which the link is."""
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "link").symlink_to(folder / "a" / "b")
    (folder / "a" / "model.mlir").write_text(TEXT)
    (folder / "model.mlir").write_text(TEXT.replace("0.25", "0.75"))
    first = compiled(Path(f"{folder}/link/../model.mlir"))
    second = compiled(folder / "model.mlir")
    assert (first(*arrays())[0] != second(*arrays())[0]).any()
    again = compiled(Path(f"{folder}/link/../model.mlir"))
    assert isinstance(again, StoredProgram)
    assert (first(*arrays())[0] == again(*arrays())[0]).all()


def test_a_program_that_would_take_most_of_the_room_is_not_stored(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "open_cache", lambda: ObjectCache(Path(os.environ["FUSE_CACHE_DIR"]), 4000))
    Path(os.environ["FUSE_CACHE_DIR"]).mkdir(mode=0o700)
    compiled(path)
    assert not is_hit(path)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    "harm",
    [
        flip,
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(b""),
        lambda path: path.chmod(0o620),
        lambda path: (path.unlink(), path.mkdir()),
    ],
    ids=["a bit", "cut", "empty", "others may write", "a folder"],
)
def test_a_damaged_or_foreign_entry_is_not_used(path: Path, folder: Path, harm: Callable[[Path], object]) -> None:
    compiled(path)
    harm(entry_file(folder))
    program = compiled(path)
    assert not isinstance(program, StoredProgram)
    assert (program(*arrays())[0] == fd.compile(path, cache=False)(*arrays())[0]).all()


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a file away")
def test_an_entry_of_another_user_is_not_used(path: Path, folder: Path) -> None:
    compiled(path)
    os.chown(entry_file(folder), 12345, 12345)
    assert not isinstance(compiled(path), StoredProgram)


def test_an_entry_of_another_form_is_dropped_and_made_again(path: Path, folder: Path) -> None:
    compiled(path)
    cache, name = ObjectCache(folder / "cache"), entry_file(folder).stem
    cache.store(name, Entry({"symbol": "k"}, b"code"))
    assert not is_hit(path)
    assert is_hit(path)


def test_code_that_cannot_be_loaded_is_made_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(path)

    def refuse(*_: object) -> None:
        raise CannotRunError("no memory may be executed here")

    monkeypatch.setattr(MachineCode, "__init__", refuse)
    assert not is_hit(path)


def test_a_function_that_is_missing_is_found_out_before_anything_runs() -> None:
    with pytest.raises(CannotRunError, match="no_such_function"):
        MachineCode(bytes(64), {"no_such_function": 0}, {})


def test_weights_are_part_of_the_key(folder: Path) -> None:
    pytest.importorskip("safetensors")
    weights, path = folder / "w.safetensors", folder / "model.mlir"
    module = fd.parse(TEXT.replace("dense<0.25>", f"dense<{np.arange(128.0).reshape(16, 8).tolist()}>"))
    fd.write(module, path, weights)
    first = compiled(path, weights=weights)
    second = compiled(path, weights=weights)
    assert isinstance(second, StoredProgram)
    assert (first(*arrays())[0] == second(*arrays())[0]).all()
    assert "fuse.dense" in str(second.module)
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert not is_hit(path, weights=weights)


def test_external_data_of_a_model_is_looked_at(folder: Path) -> None:
    pytest.importorskip("onnx")
    weights, path = folder / "model.data", folder / "model.onnx"
    fd.write(fd.parse(TEXT.replace("dense<0.25>", f"dense<{np.arange(128.0).reshape(16, 8).tolist()}>")), path, weights)
    first, second = compiled(path), compiled(path)
    assert isinstance(second, StoredProgram)
    assert (first(*arrays())[0] == second(*arrays())[0]).all()
    data = bytearray(weights.read_bytes())
    data[-2] ^= 1
    weights.write_bytes(data)
    changed = compiled(path)
    assert not isinstance(changed, StoredProgram)
    assert is_hit(path)
    weights.unlink()
    with pytest.raises(fd.FuseError):
        compiled(path)


def test_loops_run_from_the_cache(path: Path) -> None:
    path.write_text(LOOP)
    first, second = compiled(path), compiled(path)
    assert isinstance(second, StoredProgram)
    x = np.random.default_rng(1).standard_normal((6, 4)).astype(np.float32)
    for _ in range(2):  # a frame has counted down what its loops may run
        for one, other in zip(first(x), second(x), strict=True):
            assert one.tobytes() == other.tobytes()


def test_a_loop_that_runs_too_long_says_so(path: Path) -> None:
    path.write_text(LOOP)
    first, second = compiled(path, max_ops=2), compiled(path, max_ops=2)
    assert isinstance(second, StoredProgram)
    texts: list[str] = []
    for program in (first, second):
        with pytest.raises(fd.FuseError) as caught:
            program(np.ones((6, 4), np.float32))
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def test_a_fault_of_a_hit_says_what_a_fault_of_a_miss_says(path: Path) -> None:
    path.write_text(GATHER)
    first, second = compiled(path), compiled(path)
    assert isinstance(second, StoredProgram)
    assert (second(np.array([[0, 1], [3, 2], [1, 0]]))[0] == first(np.array([[0, 1], [3, 2], [1, 0]]))[0]).all()
    texts: list[str] = []
    for program in (first, second):
        with pytest.raises(fd.FuseError) as caught:
            program(np.array([[0, 1], [4, 2], [1, 0]]))
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
    assert "4" in texts[0]
    assert (second(np.array([[0, 1], [3, 2], [1, 0]]))[0] == first(np.array([[0, 1], [3, 2], [1, 0]]))[0]).all()


def test_progress_is_done_at_once(path: Path) -> None:
    compiled(path)
    said: list[tuple[int, int, str]] = []
    program = compiled(path, progress=lambda *each: said.append(each))
    assert said == [(len(program.kernels), len(program.kernels), "")]


SCRIPT = """
import sys
import numpy as np
import fuse_dialect as fd
program = fd.compile(sys.argv[1], threads=int(sys.argv[2]))
outputs = program({"x": np.ones((5, 8), np.float32), "y": np.ones((5, 16), np.float32)})
heavy = {"xdsl", "llvmlite", "onnx", "onnx_ir"} & {name.partition(".")[0] for name in sys.modules}
writers = [name for name in sys.modules if name.startswith(("fuse_dialect.backends.llvm", "fuse_dialect.dialect."))]
print(type(program).__name__, sorted(heavy), writers, float(outputs[0].sum()))
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_a_hit_imports_no_writer_of_code(path: Path, threads: int) -> None:
    command = [sys.executable, "-c", SCRIPT, str(path), str(threads)]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2))
    assert first.split()[0] == "Program"
    assert second.split()[:3] == ["StoredProgram", "[]", "[]"]
    assert first.split()[-1] == second.split()[-1]


AT_THE_END = """
import time, threading
from fuse_dialect.backends.runtime import hashing
from fuse_dialect.backends.stored.files import FilesRead
hashing.PIECE = 64
digests = FilesRead.digests
def late(read):
    while threading.main_thread().is_alive():
        time.sleep(0.01)
    time.sleep(0.05)
    return digests(read)
FilesRead.digests = late
"""


def test_a_program_is_kept_while_python_ends(path: Path) -> None:
    command = [sys.executable, "-c", AT_THE_END + SCRIPT, str(path), "1"]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2))
    assert first.stderr == ""
    assert second.stdout.startswith("StoredProgram")


def test_two_processes_may_keep_the_same_program_at_once(path: Path, folder: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(path), "1"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    sums = {each.communicate()[0].split()[-1] for each in running}
    assert [each.returncode for each in running] == [0, 0, 0]
    assert len(sums) == 1
    # Another process of the same kind: this one may have imported the package from another folder.
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith("StoredProgram")
    assert not list((folder / "cache").glob(".*"))
