"""Products in registers for tiles: what they give with emulated instructions and with those of the processor.

No processor at hand need have tiles. The same text runs with functions in the place of instructions, which are compared
with NumPy, and is compiled with instructions, which are counted. Where the processor has tiles, it runs with them, too.
"""

import ctypes
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("llvmlite")

from checking.rounding import assert_sums
from fuzzing.comparing import assert_agrees
from native_run import TILES
from test_contractions import primitives, run_kernel

import fuse_dialect as fd
from fuse_dialect.backends.assembler.builder import Module, Parameter
from fuse_dialect.backends.assembler.engine import assembly, compile_object, host, load
from fuse_dialect.backends.assembler.host import Host
from fuse_dialect.backends.assembler.values import I64, PTR
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.llvm import LLVMBackend
from fuse_dialect.backends.llvm.backend import EmittedKernel
from fuse_dialect.backends.llvm.contractions.tile_registers import (
    TileInstructions,
    TileShape,
    configure,
    release,
)
from fuse_dialect.backends.llvm.processors import named
from fuse_dialect.dialect.op import Array
from fuse_dialect.loops.elements import dtype_named
from fuse_dialect.machines import tiles
from fuse_dialect.machines.machine import TILES as UNITS_OF_TILES

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="guard pages are made with mprotect")
HAS_TILES = "+amx-int8" in host().features and "+amx-bf16" in host().features
needs_wide_vectors = pytest.mark.skipif("+avx512f" not in host().features, reason="columns of a tile are a vector")


@pytest.fixture(
    params=["emulated", pytest.param("own", marks=pytest.mark.skipif(not HAS_TILES, reason="no tiles here"))]
)
def processor(request: pytest.FixtureRequest) -> Host:
    """A processor with tiles: one whose instructions are emulated, and that at hand."""
    return TILES if request.param == "emulated" else host()


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


def family_of_exact(text: str, arrays: list[Array], seed: int, processor: Host) -> str:
    """The family of the kernel, which gives what NumPy gives; the seed says in how many parts, and what is constant."""
    (program,) = primitives(text)
    got, family = run_kernel(program, arrays, frozenset({1} if seed % 2 else ()), 1 + seed % 3, processor)
    np.testing.assert_array_equal(got, fd.run(fd.parse(text), *arrays)[0])
    return family


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


CONVOLUTION = (
    "fuse.conv2d %x, %w, padding = [{pad}, {pad}, {pad}, {pad}], strides = [{step}, {step}], groups = {groups}, "
    'data_layout = "NHWC", kernel_layout = "OHWI"'
)


@needs_wide_vectors
@pytest.mark.parametrize("signs", [("i8", "i8"), ("ui8", "ui8")])
@pytest.mark.parametrize(("m", "n", "k"), [(16, 16, 64), (33, 40, 68), (40, 7, 8), (100, 33, 256)])
def test_bytes_of_equal_signs_are_multiplied_by_tiles(
    signs: tuple[str, str], m: int, n: int, k: int, processor: Host
) -> None:
    assert {"i8": "tdpbssd", "ui8": "tdpbuud"}[signs[0]] in instructions(emitted(dense(m, n, k, signs)).ir_text)
    for seed in range(2):
        arrays = arguments(m, n, k, signs, finishes=False, seed=seed)
        assert family_of_exact(dense(m, n, k, signs), arrays, seed, processor) == "tiles"


@needs_wide_vectors
@pytest.mark.parametrize("pad", [0, 1])
@pytest.mark.parametrize(
    ("size", "channels", "out", "taps", "step", "groups"),
    [
        ((14, 14), 64, 40, 3, 1, 1),
        ((7, 7), 48, 33, 3, 1, 1),
        ((9, 40), 20, 16, 3, 2, 1),
        ((6, 33), 64, 70, 2, 1, 2),
        ((20, 18), 8, 8, 5, 1, 1),
    ],
)
def test_convolutions_of_bytes_are_exact(
    size: tuple[int, int], channels: int, out: int, taps: int, step: int, groups: int, pad: int, processor: Host
) -> None:
    text, arrays = _convolution(size, (channels, out), taps, step, groups, pad)
    assert "tdpbusd" in instructions(emitted(text).ir_text)
    for seed in range(2):
        assert family_of_exact(text, arrays, seed, processor) == "tiles"


@needs_wide_vectors
def test_numbers_of_a_row_that_lie_apart_are_copied_side_by_side(processor: Host) -> None:
    # Of two groups of four channels, a window of one column: its quads are every other one.
    text, arrays = _convolution((60, 3), (8, 32), 3, 3, 2, 0)
    for seed in range(2):
        assert family_of_exact(text, arrays, seed, processor) == "tiles"


def _convolution(
    size: tuple[int, int], sizes: tuple[int, int], taps: int, step: int, groups: int, pad: int
) -> tuple[str, list[Array]]:
    """A convolution of bytes, and what it is run on."""
    counts, (channels, out) = [(each + 2 * pad - taps) // step + 1 for each in size], sizes
    x, w = f"tensor<2x{size[0]}x{size[1]}x{channels}xui8>", f"tensor<{out}x{taps}x{taps}x{channels // groups}xi8>"
    y = f"tensor<2x{counts[0]}x{counts[1]}x{out}xi32>"
    op = CONVOLUTION.format(pad=pad, step=step, groups=groups) + f', pad_value = {77 * pad}, out_dtype = "i32"'
    text = f"func.func @main(%x: {x}, %w: {w}) -> {y} {{\n  %y = {op} : ({x}, {w}) -> {y}\n  return %y : {y}\n}}"
    random = np.random.default_rng(out)
    return text, [
        random.integers(0, 255, (2, *size, channels), np.uint8, endpoint=True),
        random.integers(-128, 127, (out, taps, taps, channels // groups), np.int8, endpoint=True),
    ]


@dataclass(frozen=True)
class FloatProduct:
    """A product of bf16, with the shapes of its operands and of its result."""

    op: str
    x: tuple[int, ...]
    w: tuple[int, ...]
    y: tuple[int, ...]
    subscripts: str
    """Of `numpy.einsum`, for the exact result."""
    constants: frozenset[int] = frozenset({1})

    @property
    def text(self) -> str:
        """The program; what is behind the product rounds once more."""
        x, w, y = (f"tensor<{'x'.join(map(str, shape))}xbf16>" for shape in (self.x, self.w, self.y))
        op = f"{self.op} : ({x}, {w}) -> {y}"
        return f"func.func @main(%x: {x}, %w: {w}) -> {y} {{\n  %y = {op}\n  return %y : {y}\n}}"


def _float_products() -> Iterator[FloatProduct]:
    sizes = [(m, 40, 128) for m in (1, 2, 9, 16, 17, 33, 50)]
    sizes += [(35, n, 128) for n in (2, 16, 17, 33)] + [(35, 40, k) for k in (4, 30, 34, 64, 100)]
    for number, (m, n, k) in enumerate(sizes):
        # Columns that a few rows meet are not packed: rows are multiplied one by one.
        constants = frozenset({1} if number % 3 or m < 9 else ())
        yield FloatProduct("fuse.dense %x, %w", (m, k), (n, k), (m, n), "mk,nk->mn", constants)
        yield FloatProduct("fuse.matmul %x, %w", (m, k), (k, n), (m, n), "mk,kn->mn")
    yield FloatProduct(
        "fuse.batch_matmul %x, %w, transpose_b = true", (3, 33, 64), (3, 20, 64), (3, 33, 20), "bmk,bnk->bmn",
        frozenset(),
    )  # fmt: skip
    for constants in (frozenset({1}), frozenset[int]()):
        yield FloatProduct("fuse.batch_matmul %x, %w", (3, 33, 64), (3, 64, 20), (3, 33, 20), "bmk,bkn->bmn", constants)
    yield FloatProduct("fuse.matmul %x, %w", (40, 70), (70, 33), (40, 33), "mk,kn->mn", frozenset())
    yield FloatProduct(
        "fuse.matmul %x, %w, transpose_a = true, transpose_b = true", (70, 40), (33, 70), (40, 33), "km,nk->mn"
    )


@needs_wide_vectors
@pytest.mark.sums
@pytest.mark.parametrize("product", list(_float_products()), ids=lambda each: f"{each.subscripts}-{each.x}-{each.w}")
def test_products_of_bf16_are_as_near_as_rounding_allows(product: FloatProduct, processor: Host) -> None:
    assert "tdpbf16ps" in instructions(emitted(product.text, product.constants).ir_text)
    random = np.random.default_rng(product.x[-1])
    bfloat = dtype_named("bf16")
    x, w = (random.standard_normal(shape).astype(bfloat) for shape in (product.x, product.w))
    (program,) = primitives(product.text)
    got, _ = run_kernel(program, [x, w], product.constants, 2, processor)
    exact = np.einsum(product.subscripts, x.astype(np.float64), w.astype(np.float64))
    magnitude = np.einsum(product.subscripts, np.abs(x.astype(np.float64)), np.abs(w.astype(np.float64)))
    # Two sums of half as many, their sum, and what there was before: no more roundings than terms and two.
    assert_sums(got, exact, max(product.x) + 2, magnitude)


@needs_wide_vectors
@pytest.mark.sums
@pytest.mark.parametrize("pad", [0, 1])
def test_convolutions_of_bf16_are_as_near_as_rounding_allows(pad: int, processor: Host) -> None:
    op = CONVOLUTION.format(pad=pad, step=1, groups=1)
    shape = (1, 12 + 2 * pad, 12 + 2 * pad, 40)
    product = FloatProduct(op, (1, 14, 14, 36), (40, 3, 3, 36), shape, "")
    assert "tdpbf16ps" in instructions(emitted(product.text).ir_text)
    random = np.random.default_rng(pad)
    x, w = (random.standard_normal(each).astype(dtype_named("bf16")) for each in (product.x, product.w))
    (program,) = primitives(product.text)
    got, _ = run_kernel(program, [x, w], product.constants, 2, processor)
    assert_agrees(fd.parse(product.text), [x, w], [got])


@needs_wide_vectors
def test_numbers_below_the_normal_ones_count_as_zero_in_tiles_of_bf16(processor: Host) -> None:
    # What a user gives up: NumPy says 64 here.
    product = FloatProduct("fuse.dense %x, %w", (16, 64), (16, 64), (16, 16), "")
    x, w = (np.full((16, 64), number, dtype_named("bf16")) for number in (2.0**-127, 2.0**127))
    (program,) = primitives(product.text)
    got, _ = run_kernel(program, [x, w], product.constants, 1, processor)
    assert not got.any()
    assert (fd.run(fd.parse(product.text), x, w)[0] == 64).all()


@needs_wide_vectors
@pytest.mark.parametrize("finishes", [False, True])
@pytest.mark.parametrize(
    ("m", "n", "k"),
    [
        *((m, 40, 128) for m in (5, 9, 16, 17, 31, 32, 33, 41, 97)),
        *((35, n, 128) for n in (1, 15, 16, 17, 32, 33)),
        *((35, 40, k) for k in (4, 60, 64, 68, 100, 260)),
        (64, 33, 13000),  # sums wait in the result
    ],
)
def test_products_of_all_edges_are_exact(m: int, n: int, k: int, processor: Host, *, finishes: bool) -> None:
    for signs, seed in ((("ui8", "i8"), m + n), (("i8", "ui8"), k // 4 + 1)):
        arrays = arguments(m, n, k, signs, finishes=finishes, seed=seed)
        family = family_of_exact(dense(m, n, k, signs, finishes=finishes), arrays, seed, processor)
        assert family == "tiles" or 1 in (n, k // 4)  # products with a vector, or of two, have other loops


PROGRAM = """func.func @main(%x: tensor<2x50x64xbf16>, %q: tensor<64x64xbf16>, %k: tensor<64x64xbf16>,
                 %v: tensor<64x64xbf16>, %w: tensor<128x64xbf16>) -> tensor<2x50x128xbf16> {
  %0 = fuse.dense %x, %q : (tensor<2x50x64xbf16>, tensor<64x64xbf16>) -> tensor<2x50x64xbf16>
  %1 = fuse.dense %x, %k : (tensor<2x50x64xbf16>, tensor<64x64xbf16>) -> tensor<2x50x64xbf16>
  %2 = fuse.dense %x, %v : (tensor<2x50x64xbf16>, tensor<64x64xbf16>) -> tensor<2x50x64xbf16>
  %3 = fuse.batch_matmul %0, %1, transpose_b = true
    : (tensor<2x50x64xbf16>, tensor<2x50x64xbf16>) -> tensor<2x50x50xbf16>
  %4 = fuse.softmax %3 : tensor<2x50x50xbf16>
  %5 = fuse.batch_matmul %4, %2 : (tensor<2x50x50xbf16>, tensor<2x50x64xbf16>) -> tensor<2x50x64xbf16>
  %6 = fuse.add %5, %x : tensor<2x50x64xbf16>
  %7 = fuse.dense %6, %w : (tensor<2x50x64xbf16>, tensor<128x64xbf16>) -> tensor<2x50x128xbf16>
  %8 = fuse.gelu %7 : tensor<2x50x128xbf16>
  return %8 : tensor<2x50x128xbf16>
}"""


@pytest.fixture
def machine(processor: Host, tmp_path: Path) -> str:
    """A machine whose tiles are emulated, and the one at hand."""
    if processor is not TILES:
        return "native"
    path = tmp_path / "machine.toml"
    path.write_text('name = "emulated"\nprocessor = "native"\nemulated = ["byte-tiles", "pair-tiles"]\n')
    return str(path)


@needs_wide_vectors
@pytest.mark.sums
@pytest.mark.parametrize("strategy", ["cost", "tvm"])
@pytest.mark.parametrize("threads", [1, 2])
def test_whole_programs_use_tiles(strategy: Literal["cost", "tvm"], threads: int, machine: str) -> None:
    random, module = np.random.default_rng(0), fd.parse(PROGRAM)
    shapes = [(2, 50, 64), (64, 64), (64, 64), (64, 64), (128, 64)]
    arrays: list[Array] = [(random.standard_normal(shape) / 8).astype(dtype_named("bf16")) for shape in shapes]
    program = fd.compile(module, threads=threads, strategy=strategy, target_cpu=machine, cache=False)
    assert [kernel.family for kernel in program.kernels].count("tiles") >= 4
    assert_agrees(module, arrays, list(program(*arrays)))


@needs_wide_vectors
@pytest.mark.parametrize("signs", [("ui8", "i8"), ("i8", "i8")])
def test_rows_of_open_number_use_tiles(signs: tuple[str, str], machine: str) -> None:
    module = fd.parse(dense(16, 70, 64, signs).replace("<16x", "<?x"))
    program = fd.compile(module, threads=2, target_cpu=machine, cache=False)
    assert [kernel.family for kernel in program.kernels] == ["tiles"]
    for rows in (1, 5, 9, 16, 31, 33, 100):
        arrays = arguments(rows, 70, 64, signs, finishes=False, seed=rows)
        np.testing.assert_array_equal(program(*arrays)[0], fd.run(module, *arrays)[0])


@needs_wide_vectors
@pytest.mark.parametrize("start", [0, 4, 16, 63])
def test_rows_of_an_array_that_begins_inside_of_a_line_are_copied(start: int, machine: str) -> None:
    module = fd.parse(dense(70, 300, 128))
    x, w = arguments(70, 300, 128, ("ui8", "i8"), finishes=False, seed=start)
    program = fd.compile(module, threads=1, target_cpu=machine, cache=False)
    assert [kernel.family for kernel in program.kernels] == ["tiles"]
    memory = np.empty(x.nbytes + 128, np.uint8)
    begin = -memory.ctypes.data % 64 + start
    moved = memory[begin : begin + x.nbytes].reshape(x.shape)
    moved[:] = x
    assert moved.ctypes.data % 64 == start
    np.testing.assert_array_equal(program(moved, w)[0], fd.run(module, x, w)[0])


@needs_wide_vectors
@pytest.mark.parametrize("rows", [1, 2, 33])
@pytest.mark.parametrize("start", [0, 16])
def test_rows_of_bf16_are_copied_where_there_is_room(rows: int, start: int, machine: str) -> None:
    # A single row was copied, too, to a workspace that had no room for it.
    text = FloatProduct("fuse.dense %x, %w", (rows, 256), (300, 256), (rows, 300), "").text
    (program,) = primitives(text)
    random = np.random.default_rng(rows)
    x, w = (random.standard_normal(shape).astype(dtype_named("bf16")) for shape in ((rows, 256), (300, 256)))
    processor = TILES if machine != "native" else host()
    got, family = run_kernel(program, [x, w], frozenset({1}), 1, processor, start)
    assert family == "tiles"
    left, right = x.astype(np.float64), w.astype(np.float64)
    assert_sums(got, left @ right.T, 258, abs(left) @ abs(right).T)


@needs_wide_vectors
@pytest.mark.sums
@pytest.mark.parametrize("kind", ["bytes", "bf16"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    st.sampled_from([1, 2, 5, 9, 16, 17, 31, 33, 50, 70]),
    st.sampled_from([1, 7, 16, 17, 33, 40, 100, 257, 300]),
    st.sampled_from([2, 4, 8, 12, 30, 60, 64, 68, 128, 256, 260]),
    st.booleans(),
    st.sampled_from([None, 0, 16, 32]),
)
def test_random_products_stay_inside_of_what_is_theirs(
    kind: str, processor: Host, rows: int, columns: int, depth: int, is_constant: bool, start: int | None
) -> None:
    constants = frozenset({1} if is_constant else ())
    if kind == "bytes":
        x, w = arguments(rows, columns, depth, ("ui8", "i8"), finishes=False, seed=rows)
        (program,) = primitives(dense(rows, columns, depth))
        got, _ = run_kernel(program, [x, w], constants, 1, processor, start)
        np.testing.assert_array_equal(got, x.astype(np.int32) @ w.astype(np.int32).T)
        return
    (program,) = primitives(
        FloatProduct("fuse.dense %x, %w", (rows, depth), (columns, depth), (rows, columns), "").text
    )
    random = np.random.default_rng(rows)
    x, w = (random.standard_normal(shape).astype(dtype_named("bf16")) for shape in ((rows, depth), (columns, depth)))
    got, _ = run_kernel(program, [x, w], constants, 1, processor, start)
    left, right = x.astype(np.float64), w.astype(np.float64)
    assert_sums(got, left @ right.T, depth + 2, abs(left) @ abs(right).T)


GATE = """func.func @main(%x: X, %w: W, %v: W) -> Y {
  %a = fuse.dense %x, %w : (X, W) -> Y
  %s = fuse.silu %a : Y
  %b = fuse.dense %x, %v : (X, W) -> Y
  %y = fuse.multiply %s, %b : Y
  return %y : Y
}"""


@needs_wide_vectors
@pytest.mark.sums
def test_a_product_that_ends_with_another_uses_tiles(machine: str) -> None:
    random, text = np.random.default_rng(0), GATE
    for name, shape in (("X", "40x64"), ("W", "48x64"), ("Y", "40x48")):
        text = re.sub(rf"\b{name}\b", f"tensor<{shape}xbf16>", text)
    arrays: list[Array] = [
        random.standard_normal(s).astype(dtype_named("bf16")) for s in ((40, 64), (48, 64), (48, 64))
    ]
    program = fd.compile(fd.parse(text), threads=2, target_cpu=machine, cache=False)
    assert [kernel.family for kernel in program.kernels] == ["tiles"]
    assert_agrees(fd.parse(text), arrays, list(program(*arrays)))


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
    assert not instructions(emitted(dense(4, 64, 256)).ir_text)
    assert "vpdpbusd" in assembly(emitted(dense(4, 64, 256)).ir_text, named("sapphirerapids"))


def test_any_number_of_rows_of_bf16_is_multiplied_by_tiles() -> None:
    for rows in (1, 2, 15):
        product = FloatProduct("fuse.dense %x, %w", (rows, 64), (40, 64), (rows, 40), "")
        assert "tdpbf16ps" in instructions(emitted(product.text).ir_text)


def test_rows_without_signs_on_either_side_have_their_instruction() -> None:
    assert "tdpbusd" in instructions(emitted(dense(32, 32, 64)).ir_text)
    assert "tdpbsud" in instructions(emitted(dense(32, 32, 64, ("i8", "ui8"))).ir_text)


def _tile_function(name: str, rows: int, points: int, processor: Host) -> str:
    """A module whose function adds the products of two arrays to a third one, 16 columns of it."""
    module = Module(processor.attributes)
    parameters = [Parameter(each, PTR) for each in "abc"] + [Parameter("distance", I64)]
    f = module.function("multiplied", parameters)
    a, b, c, distance = f.parameters
    shape = TileShape((rows,), points)
    do = TileInstructions.begun(f, processor.machine, shape)
    configure(f, processor.machine, shape)
    for number, place, apart in ((4, a, distance), (6, b, f.i64(64)), (0, c, f.i64(64))):
        do.load(number, place, apart)
    do.add_products(name, 0, 4, 6)
    do.store(0, c, f.i64(64))
    release(f, processor.machine)
    f.ret()
    return module.text()


def multiplied(name: str, arrays: Sequence[Array], processor: Host) -> Array:
    """What an instruction makes of two factors and sums."""
    a, b, c = (np.ascontiguousarray(array).copy() for array in arrays)
    rows, points = a.shape[0], b.shape[0]
    code = load(compile_object(_tile_function(name, rows, points, processor)), ["multiplied"])
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(code.addresses["multiplied"])
    call(a.ctypes.data, b.ctypes.data, c.ctypes.data, a.strides[0])
    return c


def test_a_processor_is_told_rows_and_bytes_of_each_register() -> None:
    bytes = TileShape((16, 9), 5).configuration()
    assert len(bytes) == 64
    assert bytes[:16] == [1] + 15 * [0]
    # Two registers of sums for each tile of rows, then the tiles of rows, then those of columns.
    assert bytes[16:32:2] == [64, 64, 64, 64, 20, 20, 64, 64]
    assert bytes[48:56] == [16, 16, 9, 9, 16, 9, 5, 5]
    assert not any(bytes[17:32:2] + bytes[32:48] + bytes[56:])


def test_other_rows_are_told_and_what_was_told_before() -> None:
    # 57 rows are tiles of 29, and of 28 at the end.
    counted = instructions(emitted(dense(57, 64, 64)).ir_text)
    assert (counted["ldtilecfg"], counted["tilerelease"]) == (3, 1)


@pytest.mark.parametrize("name", ["tdpbssd", "tdpbsud", "tdpbusd", "tdpbuud"])
@pytest.mark.parametrize(("rows", "points"), [(16, 16), (13, 16), (16, 5), (1, 1)])
def test_products_of_tiles_of_bytes_are_those_of_numpy(name: str, rows: int, points: int, processor: Host) -> None:
    random = np.random.default_rng(rows + points)
    types = [np.dtype({"s": np.int8, "u": np.uint8}[sign]) for sign in name[4:6]]
    a, b = (
        random.integers(np.iinfo(type).min, np.iinfo(type).max, shape, type, endpoint=True)
        for type, shape in zip(types, ((rows, 4 * points), (points, 64)), strict=True)
    )
    c = random.integers(-(2**31), 2**31 - 1, (rows, 16)).astype(np.int32)
    columns = b.reshape(points, 16, 4).transpose(0, 2, 1).reshape(4 * points, 16)
    expected = c + a.astype(np.int32) @ columns.astype(np.int32)
    np.testing.assert_array_equal(multiplied(name, (a, b, c), processor), expected)


def _pairs(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Numbers that are bf16, as f32."""
    numbers = random.standard_normal(shape).astype(np.float32)
    return (numbers.view(np.uint32) & 0xFFFF0000).view(np.float32)


def _normal(array: Array) -> Array:
    return np.where(np.abs(array) < 2.0**-126, np.float32(0), array).astype(np.float32)


@pytest.mark.parametrize(("rows", "points", "scale"), [(16, 16, 0), (7, 3, 0), (16, 16, -63), (4, 16, -125)])
def test_products_of_tiles_of_bf16_round_as_the_manual_says(
    rows: int, points: int, scale: int, processor: Host
) -> None:
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
    np.testing.assert_array_equal(multiplied("tdpbf16ps", (bits[0], columns, c), processor), expected)


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
