"""Kernels from the cache: the same results without a word of LLVM IR, and nothing damaged is ever executed."""

import json
import shutil
from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzzing.comparing import assert_agrees
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd
from fuse_dialect.backends.assembler.engine import host
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.compile import compile_program
from fuse_dialect.backends.llvm import cached
from fuse_dialect.backends.llvm.backend import EmittedKernel, LLVMBackend
from fuse_dialect.backends.llvm.cached import CachedLLVMBackend, generator_digest
from fuse_dialect.backends.llvm.processors import target_of
from fuse_dialect.backends.options import CompileOptions
from fuse_dialect.backends.runtime.cache import Entry, ObjectCache, open_cache
from fuse_dialect.backends.runtime.own_files import PACKAGE, own_files
from fuse_dialect.backends.runtime.program import Program
from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.loops.program import Refusal
from fuse_dialect.machines.machine import Cache, Machine

pytest.importorskip("llvmlite")

TEXT = """
func.func @main(%x: tensor<5x8xf32>) -> (tensor<5x16xf32>, tensor<5xf32>) {
  %w = arith.constant dense<0.25> : tensor<16x8xf32>
  %p = fuse.dense %x, %w : (tensor<5x8xf32>, tensor<16x8xf32>)
  %r = fuse.relu %p : tensor<5x16xf32>
  %m = fuse.reshape %r : (tensor<5x16xf32>) -> tensor<5x4x4xf32>
  %s = fuse.det %m : (tensor<5x4x4xf32>)
  return %r, %s : tensor<5x16xf32>, tensor<5xf32>
}
"""
BYTES = """
func.func @main(%x: tensor<5x64xui8>) -> tensor<5x40xi32> {
  %w = arith.constant dense<-3> : tensor<40x64xi8>
  %y = fuse.dense %x, %w, out_dtype = "i32" : (tensor<5x64xui8>, tensor<40x64xi8>) -> tensor<5x40xi32>
  return %y : tensor<5x40xi32>
}
"""
X = np.random.default_rng(0).standard_normal((5, 8)).astype(np.float32)


class CountingBackend(LLVMBackend):
    """Counts the kernels that it writes."""

    def __init__(self, **options: bool):
        super().__init__(**options)
        self.emitted = 0

    def emit(self, request: KernelRequest, *arguments: object) -> EmittedKernel | Refusal:
        self.emitted += 1
        return super().emit(request)


@pytest.fixture
def cache(tmp_path: Path) -> ObjectCache:
    cache = open_cache(tmp_path)
    assert isinstance(cache, ObjectCache)
    return cache


def compiled(cache: ObjectCache, module: ModuleOp, **options: bool) -> tuple[Program, int]:
    """A program, and how many kernels were written for it."""
    backend = CountingBackend(**options)
    return compile_program(module, CompileOptions(backend=CachedLLVMBackend(backend, cache))), backend.emitted


def check(program: Program, module: ModuleOp) -> None:
    assert_agrees(module, [X], program(X))


def test_the_second_program_writes_no_kernel(cache: ObjectCache) -> None:
    module = parse_mlir(TEXT)
    first, written = compiled(cache, module)
    assert written == 1
    check(first, module)
    second, written = compiled(cache, module)
    assert written == 0
    check(second, module)
    assert second.kernels == first.kernels
    assert second.constant_bytes == first.constant_bytes


def entries(cache: ObjectCache) -> Sequence[Path]:
    return sorted(cache.directory.iterdir())


def test_a_damaged_entry_is_made_again(cache: ObjectCache) -> None:
    module = parse_mlir(TEXT)
    compiled(cache, module)
    (path,) = entries(cache)
    whole = path.read_bytes()
    for data in (whole[:-100], whole[:200] + bytes(len(whole) - 200), b""):
        path.write_bytes(data)
        program, written = compiled(cache, module)
        assert written == 1
        check(program, module)
        assert path.read_bytes()[:100] == whole[:100]


def test_other_options_and_other_programs_have_entries_of_their_own(cache: ObjectCache) -> None:
    compiled(cache, parse_mlir(TEXT))
    assert compiled(cache, parse_mlir(TEXT), fast_math=True)[1] == 1
    assert compiled(cache, parse_mlir(TEXT.replace("relu", "tanh")))[1] == 1
    assert len(entries(cache)) == 3


def test_values_of_constants_are_not_part_of_the_key(cache: ObjectCache) -> None:
    compiled(cache, parse_mlir(TEXT))
    module = parse_mlir(TEXT.replace("0.25", "-1.5"))
    program, written = compiled(cache, module)
    assert written == 0
    check(program, module)


def test_refusals_are_kept_too(cache: ObjectCache) -> None:
    request = KernelRequest(next(iter(_programs())))
    refusing = CachedLLVMBackend(LLVMBackend(families=["contraction"]), cache)
    (first,) = refusing.compile([request])
    (second,) = refusing.compile([request])
    assert isinstance(first, Refusal)
    assert first == second
    assert len(entries(cache)) == 1


def _programs():
    from fuse_dialect.interpreters.entry import function_named
    from fuse_dialect.lowering.loop_program import lower

    text = """func.func @exp(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = fuse.exp %x : tensor<4xf32>
      return %y : tensor<4xf32>
    }"""
    yield lower(function_named(parse_mlir(text), "exp"))


@pytest.mark.parametrize("target", ["native", "haswell"])
def test_weights_of_8_bits_are_packed_as_before_when_the_kernel_is_kept(cache: ObjectCache, target: str) -> None:
    """AVX2 multiplies pairs of 16 bits, as which weights are packed."""
    if "+avx2" not in host().features:
        pytest.skip("code for AVX2 does not run here")
    module = parse_mlir(BYTES)
    x = np.random.default_rng(1).integers(0, 255, (5, 64)).astype(np.uint8)
    (expected,) = run_module(module, [x])
    for _ in range(2):
        program = compile_program(
            module, CompileOptions(backend=CachedLLVMBackend(LLVMBackend(target=target_of(target)), cache))
        )
        np.testing.assert_array_equal(program(x)[0], expected)


def test_without_a_cache_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSE_CACHE_DIR", str(tmp_path / "unused"))
    check(compile_program(parse_mlir(TEXT), CompileOptions(cache=False)), parse_mlir(TEXT))
    assert not (tmp_path / "unused").exists()
    compile_program(parse_mlir(TEXT), CompileOptions(cache=True))
    assert list((tmp_path / "unused").iterdir())


def test_a_cache_that_cannot_be_used_is_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setenv("FUSE_CACHE_DIR", str(tmp_path))
    check(compile_program(parse_mlir(TEXT)), parse_mlir(TEXT))
    assert not list(tmp_path.iterdir())


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """A copy of the package's source, which the digest is taken of."""
    copy = tmp_path / "package"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(cached, "own_files", partial(own_files, copy))
    generator_digest.cache_clear()
    yield copy
    generator_digest.cache_clear()


@pytest.mark.parametrize("module", ["interpreters/scalar.py", "loops/special_functions.py", "loops/choosing.py"])
def test_a_module_from_which_code_comes_is_part_of_the_key(package: Path, module: str) -> None:
    before = generator_digest()
    path = package / module
    path.write_text(path.read_text() + "\n")
    generator_digest.cache_clear()
    assert generator_digest() != before


def test_the_data_of_the_package_is_part_of_the_key(package: Path) -> None:
    before = generator_digest()
    path = package / "machines" / "shipped" / "cpu-avx2.toml"
    path.write_text(path.read_text().replace("kib = 1024", "kib = 512"))
    generator_digest.cache_clear()
    assert generator_digest() != before


def test_another_machine_of_the_same_name_has_another_key(cache: ObjectCache, tmp_path: Path) -> None:
    module, own = parse_mlir(TEXT), target_of()
    seen: set[str] = set()
    for registers, kib in ((8, 32), (16, 32), (16, 64)):
        machine = Machine("mine", own.machine.vector_bytes, registers, caches=(Cache(kib << 10), Cache(1 << 20)))
        backend = CachedLLVMBackend(LLVMBackend(target=replace(own, described=machine)), cache)
        check(compile_program(module, CompileOptions(backend=backend)), module)
        kept = {path.name for path in tmp_path.iterdir()}
        assert kept > seen
        seen = kept


def test_a_package_without_source_has_no_key(package: Path) -> None:
    shutil.rmtree(package)
    with pytest.raises(fd.FuseError, match="cannot read the source of the package"):
        generator_digest()
    package.mkdir()
    with pytest.raises(fd.FuseError, match="cannot read the source of the package"):
        generator_digest()


def _changed(header: dict[str, Any], path: Sequence[str], value: object) -> dict[str, Any]:
    copy = json.loads(json.dumps(header))
    place = copy
    for key in path[:-1]:
        place = place[key]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return copy


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["symbol"], None),
        (["symbol"], 3),
        (["family"], ["map"]),
        (["workspace_bytes"], -1),
        (["workspace_bytes"], True),
        (["workspace_bytes"], "64"),
        (["parallel"], 1),
        (["packings"], []),
        (["packings", "x"], {}),
        (["packings", "1"], 7),
        (["packings", "1", "width"], None),
        (["packings", "1", "width"], 1.5),
        (["packings", "1", "columns"], [1]),
        (["packings", "1", "columns", "size"], "1"),
        (["packings", "1", "outer"], {}),
        (["packings", "1", "reduced"], [3]),
        (["packings", "1", "has_points"], 0),
        (["refusal"], 3),
    ],
)
def test_a_header_of_another_form_is_dropped_and_made_again(
    cache: ObjectCache, path: Sequence[str], value: object
) -> None:
    module = parse_mlir(TEXT)
    stored: dict[str, Entry] = {}
    keep = cache.store
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ObjectCache, "store", lambda self, key, entry: (stored.update({key: entry}), keep(key, entry)))
        compiled(cache, module)
    key, entry = next((key, entry) for key, entry in stored.items() if entry.header.get("packings"))
    keep(key, Entry(_changed(dict(entry.header), path, value), entry.payload))
    program, emitted = compiled(cache, module)
    assert emitted == 1
    check(program, module)
    again = cache.load(key)
    assert again is not None
    assert (again.header, again.payload) == (json.loads(json.dumps(entry.header)), entry.payload)
