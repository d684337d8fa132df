"""Products in registers for tiles: what they give with emulated instructions, and what is compiled for a processor.

No processor at hand need have tiles. The same text runs with functions in the place of instructions, which are compared
with NumPy, and is compiled with instructions, which are counted.
"""

import ctypes
import re
import sys
from collections.abc import Sequence

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from native_run import TILES
from test_contractions import primitives, run_kernel

import fuse_dialect as fd
from fuse_dialect.backends.assembler.builder import Module, Parameter
from fuse_dialect.backends.assembler.engine import assembly, compile_object, host, load
from fuse_dialect.backends.assembler.values import I64, PTR
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.llvm import LLVMBackend
from fuse_dialect.backends.llvm.backend import EmittedKernel
from fuse_dialect.backends.llvm.contractions.tile_registers import TileInstructions
from fuse_dialect.backends.llvm.processors import named
from fuse_dialect.dialect.op import Array
from fuse_dialect.machines import tiles
from fuse_dialect.machines.machine import TILES as UNITS_OF_TILES

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="guard pages are made with mprotect")
needs_wide_vectors = pytest.mark.skipif("+avx512f" not in host().features, reason="columns of a tile are a vector")

FINISH = """
  %c = fuse.bias_add %y, %b, axis = 1 : (SUMS, tensor<Nxi32>) -> SUMS
  %f = fuse.cast %c : (SUMS) -> FLOATS
  %m = fuse.multiply %f, %s : (FLOATS, tensor<Nxf32>) -> FLOATS
  %r = fuse.round %m : FLOATS
  %l = fuse.clip %r, min = 0.0, max = 255.0 : FLOATS
  %q = fuse.cast %l : (FLOATS) -> BYTES
  func.return %q : BYTES"""


def dense(m: int, n: int, k: int, signs: tuple[str, str] = ("ui8", "i8"), *, finishes: bool = False) -> str:
    """A product of bytes, and maybe what makes bytes of it."""
    more = f", %b: tensor<{n}xi32>, %s: tensor<{n}xf32>" if finishes else ""
    end = FINISH if finishes else "\n  func.return %y : SUMS"
    text = f"""func.func @main(%x: tensor<{m}x{k}x{signs[0]}>, %w: tensor<{n}x{k}x{signs[1]}>{more}) -> RESULT {{
  %y = fuse.dense %x, %w, out_dtype = "i32" : (tensor<{m}x{k}x{signs[0]}>, tensor<{n}x{k}x{signs[1]}>) -> SUMS{end}
}}"""
    text = text.replace("RESULT", "BYTES" if finishes else "SUMS").replace("tensor<N", f"tensor<{n}")
    for word, element in (("SUMS", "i32"), ("FLOATS", "f32"), ("BYTES", "ui8")):
        text = text.replace(word, f"tensor<{m}x{n}x{element}>")
    return text


def arguments(m: int, n: int, k: int, signs: tuple[str, str], *, finishes: bool, seed: int) -> list[Array]:
    random = np.random.default_rng(seed)
    types = [np.uint8 if sign == "ui8" else np.int8 for sign in signs]
    arrays: list[Array] = [
        random.integers(np.iinfo(type).min, np.iinfo(type).max, shape, type, endpoint=True)
        for type, shape in zip(types, ((m, k), (n, k)), strict=True)
    ]
    if finishes:
        arrays += [random.integers(-1000, 1000, n).astype(np.int32), random.uniform(1e-5, 1e-2, n).astype(np.float32)]
    return arrays


def assert_exact(text: str, arrays: list[Array], seed: int) -> None:
    """The kernel gives what NumPy gives, whether columns are packed before, and in as many parts as the seed says."""
    (program,) = primitives(text)
    got, _ = run_kernel(program, arrays, frozenset({1} if seed % 2 else ()), 1 + seed % 3, TILES)
    np.testing.assert_array_equal(got, fd.run(fd.parse(text), *arrays)[0])


def emitted(text: str, constants: frozenset[int] = frozenset({1})) -> EmittedKernel:
    """The kernel of a program for a processor with tiles."""
    (program,) = primitives(text)
    kernel = LLVMBackend(target=named("sapphirerapids")).emit(KernelRequest(program, constants))
    assert isinstance(kernel, EmittedKernel)
    return kernel


def instructions(text: str) -> dict[str, int]:
    """How often each instruction of tiles is in the machine code of a module for a processor that has them."""
    found = re.findall(r"^\s+(tdp\w+|tile\w+|ldtilecfg)", assembly(text, named("sapphirerapids")), re.MULTILINE)
    return {name: found.count(name) for name in sorted(set(found))}


@needs_wide_vectors
@pytest.mark.parametrize("finishes", [False, True])
@pytest.mark.parametrize(
    ("m", "n", "k"),
    [
        *((m, 40, 128) for m in (16, 17, 31, 32, 33, 41, 97)),
        *((35, n, 128) for n in (1, 15, 16, 17, 32, 33)),
        *((35, 40, k) for k in (4, 60, 64, 68, 100, 260)),
        (64, 33, 13000),  # sums wait in the result
    ],
)
def test_products_of_all_edges_are_exact(m: int, n: int, k: int, *, finishes: bool) -> None:
    for signs, seed in ((("ui8", "i8"), m + n), (("i8", "ui8"), k // 4 + 1)):
        arrays = arguments(m, n, k, signs, finishes=finishes, seed=seed)
        assert_exact(dense(m, n, k, signs, finishes=finishes), arrays, seed)


def test_four_sums_stay_in_registers() -> None:
    # Two tiles of rows, two of columns, four products, four stores at the end: nothing is spilled.
    counted = instructions(emitted(dense(384, 1024, 1024)).ir_text)
    once = {"ldtilecfg": 1, "tilerelease": 1}
    assert counted == {**once, "tdpbusd": 4, "tileloadd": 4, "tilestored": 4, "tilezero": 4}


def test_a_rest_of_the_sum_spills_nothing() -> None:
    counted = instructions(emitted(dense(64, 64, 68)).ir_text)
    once = {"ldtilecfg": 1, "tilerelease": 1}
    assert counted == {**once, "tdpbusd": 8, "tileloadd": 8, "tilestored": 4, "tilezero": 4}


def test_few_rows_are_multiplied_by_vectors() -> None:
    assert not instructions(emitted(dense(15, 64, 256)).ir_text)
    assert "vpdpbusd" in assembly(emitted(dense(15, 64, 256)).ir_text, named("sapphirerapids"))


def test_rows_without_signs_on_either_side_have_their_instruction() -> None:
    assert "tdpbusd" in instructions(emitted(dense(32, 32, 64)).ir_text)
    assert "tdpbsud" in instructions(emitted(dense(32, 32, 64, ("i8", "ui8"))).ir_text)


def _tile_function(name: str, rows: int, points: int) -> str:
    """A module whose function adds the products of two arrays to a third one."""
    module = Module()
    parameters = [Parameter(each, PTR) for each in "abc"] + [Parameter("distance", I64)]
    f = module.function("multiplied", parameters)
    a, b, c, distance = f.parameters
    do = TileInstructions(f, TILES.machine)
    left, right = do.load(rows, points, a, distance), do.load(points, 16, b, f.i64(64))
    do.store(rows, c, f.i64(64), do.add_products(name, (rows, points), do.load(rows, 16, c, f.i64(64)), left, right))
    f.ret()
    return module.text()


def multiplied(name: str, arrays: Sequence[Array]) -> Array:
    """What an emulated instruction makes of two factors and sums."""
    a, b, c = (np.ascontiguousarray(array).copy() for array in arrays)
    rows, points = a.shape[0], b.shape[0]
    code = load(compile_object(_tile_function(name, rows, points)), ["multiplied"])
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(code.addresses["multiplied"])
    call(a.ctypes.data, b.ctypes.data, c.ctypes.data, a.strides[0])
    return c


@pytest.mark.parametrize("name", ["tdpbssd", "tdpbsud", "tdpbusd", "tdpbuud"])
@pytest.mark.parametrize(("rows", "points"), [(16, 16), (13, 16), (16, 5), (1, 1)])
def test_emulated_products_of_bytes_are_those_of_numpy(name: str, rows: int, points: int) -> None:
    random = np.random.default_rng(rows + points)
    types = [np.dtype({"s": np.int8, "u": np.uint8}[sign]) for sign in name[4:6]]
    a, b = (
        random.integers(np.iinfo(type).min, np.iinfo(type).max, shape, type, endpoint=True)
        for type, shape in zip(types, ((rows, 4 * points), (points, 64)), strict=True)
    )
    c = random.integers(-(2**31), 2**31 - 1, (rows, 16)).astype(np.int32)
    columns = b.reshape(points, 16, 4).transpose(0, 2, 1).reshape(4 * points, 16)
    expected = c + a.astype(np.int32) @ columns.astype(np.int32)
    np.testing.assert_array_equal(multiplied(name, (a, b, c)), expected)


def _pairs(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Numbers that are bf16, as f32."""
    numbers = random.standard_normal(shape).astype(np.float32)
    return (numbers.view(np.uint32) & 0xFFFF0000).view(np.float32)


def _normal(array: Array) -> Array:
    return np.where(np.abs(array) < 2.0**-126, np.float32(0), array).astype(np.float32)


@pytest.mark.parametrize(("rows", "points", "scale"), [(16, 16, 0), (7, 3, 0), (16, 16, -63), (4, 16, -125)])
def test_emulated_products_of_bf16_round_as_the_manual_says(rows: int, points: int, scale: int) -> None:
    random = np.random.default_rng(rows)
    a, b = (np.ldexp(_pairs(random, shape), scale) for shape in ((rows, 2 * points), (2 * points, 16)))
    a, b = ((each.view(np.uint32) & 0xFFFF0000).view(np.float32) for each in (a, b))
    c = random.standard_normal((rows, 16)).astype(np.float32) * np.float32(2.0**scale)
    # A product of two bf16 is exact in f64, and so is its sum with an f32, but for numbers that are far apart.
    halves = [np.zeros((rows, 16), np.float32), np.zeros((rows, 16), np.float32)]
    left, right = _normal(a).astype(np.float64), _normal(b).astype(np.float64)
    for k in range(2 * points):
        added = halves[k % 2].astype(np.float64) + left[:, k : k + 1] * right[k]
        halves[k % 2] = _normal(added.astype(np.float32))
    expected = _normal(_normal(c) + _normal(halves[0] + halves[1]))
    bits = [(each.view(np.uint32) >> 16).astype(np.uint16) for each in (a, b)]
    columns = bits[1].reshape(points, 2, 16).transpose(0, 2, 1).reshape(points, 32)
    np.testing.assert_array_equal(multiplied("tdpbf16ps", (bits[0], columns, c)), expected)


@pytest.mark.parametrize("granted", [False, True])
def test_tiles_that_the_system_refuses_are_not_there(monkeypatch: pytest.MonkeyPatch, *, granted: bool) -> None:
    monkeypatch.setattr(tiles, "are_granted", lambda: granted)
    names = ["amx-int8", "amx_tile", "avx2"]
    assert tiles.usable(names) == (names if granted else ["avx2"])


def test_a_processor_without_tiles_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> bool:
        raise AssertionError("nobody needs an answer")

    monkeypatch.setattr(tiles, "are_granted", refuse)
    assert tiles.usable(["avx2"]) == ["avx2"]


def test_only_tiles_are_emulated() -> None:
    assert TILES.machine.units & UNITS_OF_TILES == UNITS_OF_TILES
    assert TILES.machine.units & ~UNITS_OF_TILES == host().machine.units & ~UNITS_OF_TILES
