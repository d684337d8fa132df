"""Products of integers of 8 bits give what the NumPy interpreter gives, to the bit, between guard pages."""

import sys

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from native_run import HOSTS, TILES
from test_contractions import primitives, run_kernel

import fuse_dialect as fd
from fuse_dialect.backends.assembler.engine import host
from fuse_dialect.backends.assembler.host import AVX2, Host
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.llvm import LLVMBackend
from fuse_dialect.backends.llvm.backend import EmittedKernel
from fuse_dialect.backends.llvm.processors import named
from fuse_dialect.dialect.op import Array
from fuse_dialect.machines.machine import Unit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="guard pages are made with mprotect")

TARGETS: dict[str, Host] = {**HOSTS, "tiles": TILES}
if {"+avx512bw", "+avx512vl", "+avx512dq"} <= set(host().features.split(",")):
    TARGETS["without_dots"] = named("skylake-avx512")
"""Processors whose code runs here, with and without an instruction for the products."""
ELEMENTS = {"ui8": np.uint8, "i8": np.int8}


def byte_program(random: np.random.Generator) -> tuple[str, list[Array]]:
    """A product, and maybe what makes bytes of it; the text and arguments."""

    def pick(*choices: int) -> int:
        return int(random.choice(choices))

    signs = ("ui8", "i8") if pick(0, 1, 1) else ("i8", "ui8") if pick(0, 1) else ("i8", "i8")
    if pick(0, 1):
        m, n, k = pick(1, 3, 14, 33), pick(1, 7, 16, 70), pick(1, 3, 4, 8, 32, 100, 260)
        x, w, shape = (m, k), (n, k), (m, n)
        op = 'fuse.dense %x, %w, out_dtype = "i32"'
    else:
        groups, k, o = pick(1, 1, 2), pick(1, 4, 12), pick(1, 5, 16, 40)
        if pick(0, 0, 1):
            groups, k, o = pick(4, 16, 21), 1, 1
        size, taps = (pick(3, 7, 12), pick(3, 9, 14)), (pick(1, 3), pick(1, 3))
        stride, pad = pick(1, 2), pick(0, 1)
        counts = [(a + 2 * pad - t) // stride + 1 for a, t in zip(size, taps, strict=True)]
        x, w = (pick(1, 2), *size, groups * k), (groups * o, *taps, k)
        shape = (x[0], *counts, groups * o)
        value = pick(0, 3, 127)
        op = (
            f"fuse.conv2d %x, %w, strides = [{stride}, {stride}], padding = [{pad}, {pad}, {pad}, {pad}], "
            f'groups = {groups}, data_layout = "NHWC", kernel_layout = "OHWI", pad_value = {value}, out_dtype = "i32"'
        )
    types = [f"tensor<{'x'.join(map(str, s))}x{e}>" for s, e in zip((x, w), signs, strict=True)]
    arrays = [
        random.integers(np.iinfo(ELEMENTS[e]).min, np.iinfo(ELEMENTS[e]).max, s, ELEMENTS[e], endpoint=True)
        for s, e in zip((x, w), signs, strict=True)
    ]
    sums, bytes = (f"tensor<{'x'.join(map(str, shape))}x{e}>" for e in ("i32", "ui8"))
    floats, channels = sums.replace("i32", "f32"), f"tensor<{shape[-1]}xE>"
    lines = [f"%y = {op} : ({types[0]}, {types[1]}) -> {sums}"]
    result, last = sums, "%y"
    parameters = [f"%x: {types[0]}", f"%w: {types[1]}"]
    if pick(0, 1):
        parameters += [f"%b: {channels.replace('E', 'i32')}", f"%s: {channels.replace('E', 'f32')}"]
        arrays += [random.integers(-1000, 1000, shape[-1:]).astype(np.int32)]
        arrays += [random.uniform(1e-5, 1e-2, shape[-1:]).astype(np.float32)]
        lines += [
            f"%c = fuse.bias_add %y, %b, axis = {len(shape) - 1} : ({sums}, {channels.replace('E', 'i32')}) -> {sums}",
            f"%f = fuse.cast %c : ({sums}) -> {floats}",
            f"%m = fuse.multiply %f, %s : ({floats}, {channels.replace('E', 'f32')}) -> {floats}",
            f"%r = fuse.round %m : {floats}",
            "%z = arith.constant dense<100.0> : tensor<f32>",
            f"%a = fuse.add %r, %z : ({floats}, tensor<f32>) -> {floats}",
            f"%l = fuse.clip %a, min = 0.0, max = 255.0 : {floats}",
            f"%q = fuse.cast %l : ({floats}) -> {bytes}",
        ]
        result, last = bytes, "%q"
        if pick(0, 1):
            lines += _hard_swish(sums, bytes)
            last = "%h"
    body = "\n  ".join([*lines, f"func.return {last} : {result}"])
    return f"func.func @main({', '.join(parameters)}) -> {result} {{\n  {body}\n}}", arrays


def _hard_swish(sums: str, bytes: str) -> list[str]:
    """What makes other bytes of `%q`, as a model does that is quantized after each step: a function of 256 bytes."""
    floats = sums.replace("i32", "f32")
    return [
        "%zero = arith.constant dense<100> : tensor<i32>",
        "%scale = arith.constant dense<0.05> : tensor<f32>",
        "%step = arith.constant dense<0.013> : tensor<f32>",
        f"%h0 = fuse.cast %q : ({bytes}) -> {sums}",
        f"%h1 = fuse.subtract %h0, %zero : ({sums}, tensor<i32>) -> {sums}",
        f"%h2 = fuse.cast %h1 : ({sums}) -> {floats}",
        f"%h3 = fuse.multiply %h2, %scale : ({floats}, tensor<f32>) -> {floats}",
        f"%h4 = fuse.hard_swish %h3 : {floats}",
        f"%h5 = fuse.divide %h4, %step : ({floats}, tensor<f32>) -> {floats}",
        f"%h6 = fuse.round %h5 : {floats}",
        f"%h7 = fuse.clip %h6, min = 0.0, max = 255.0 : {floats}",
        f"%h = fuse.cast %h7 : ({floats}) -> {bytes}",
    ]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", range(40))
def test_products_are_exact(target: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    text, arrays = byte_program(random)
    expected = fd.run(fd.parse(text), *arrays)[0]
    (program,) = primitives(text)
    constants = frozenset({1} if seed % 2 else ())
    got, _ = run_kernel(program, arrays, constants, 1 + seed % 3, TARGETS[target])
    np.testing.assert_array_equal(got, expected)


def _product(rows: int, columns: int, depth: int) -> str:
    x, w, y = f"{rows}x{depth}xui8", f"{columns}x{depth}xi8", f"{rows}x{columns}xi32"
    return f"""func.func @main(%x: tensor<{x}>, %w: tensor<{w}>) -> tensor<{y}> {{
  %y = fuse.dense %x, %w, out_dtype = "i32" : (tensor<{x}>, tensor<{w}>) -> tensor<{y}>
  return %y : tensor<{y}>
}}"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("depth", [*range(2, 36, 2), 112])
def test_rows_of_any_length_are_copied_whole(target: str, depth: int) -> None:
    text, random = _product(15, 24, depth), np.random.default_rng(depth)
    arrays = [random.integers(0, 256, (15, depth)).astype(np.uint8)]
    arrays += [random.integers(-128, 128, (24, depth)).astype(np.int8)]
    (program,) = primitives(text)
    got, _ = run_kernel(program, arrays, frozenset({1}), 1, TARGETS[target])
    np.testing.assert_array_equal(got, fd.run(fd.parse(text), *arrays)[0])


@pytest.mark.parametrize("depth", [8, 14, 30])
def test_rows_are_copied_without_masks_where_lanes_are_tested_one_by_one(depth: int) -> None:
    (program,) = primitives(_product(15, 16, depth))
    emitted = LLVMBackend(target=AVX2).emit(KernelRequest(program, frozenset({1})))
    assert isinstance(emitted, EmittedKernel)
    assert "masked" not in emitted.ir_text


@pytest.mark.parametrize("target", TARGETS)
def test_the_greatest_products_do_not_saturate(target: str) -> None:
    text = """func.func @main(%x: tensor<4x64xui8>, %w: tensor<16x64xi8>) -> tensor<4x16xi32> {
  %y = fuse.dense %x, %w, out_dtype = "i32" : (tensor<4x64xui8>, tensor<16x64xi8>) -> tensor<4x16xi32>
  return %y : tensor<4x16xi32>
}"""
    (program,) = primitives(text)
    arrays = [np.full((4, 64), 255, np.uint8), np.full((16, 64), -128, np.int8)]
    got, family = run_kernel(program, arrays, frozenset({1}), 1, TARGETS[target])
    assert family == "contraction"
    np.testing.assert_array_equal(got, np.full((4, 16), -255 * 128 * 64, np.int32))


def _assembly(target: Host) -> str:
    text = """func.func @main(%x: tensor<8x64xui8>, %w: tensor<64x64xi8>) -> tensor<8x64xi32> {
  %y = fuse.dense %x, %w, out_dtype = "i32" : (tensor<8x64xui8>, tensor<64x64xi8>) -> tensor<8x64xi32>
  return %y : tensor<8x64xi32>
}"""
    (program,) = primitives(text)
    emitted = LLVMBackend(target=target).emit(KernelRequest(program, frozenset({1})))
    assert isinstance(emitted, EmittedKernel)
    return emitted.ir_text


@pytest.mark.parametrize(
    ("target", "instruction"),
    [
        (named("znver4"), "avx512.vpdpbusd.512"),
        (named("alderlake"), "avx512.vpdpbusd.256"),
        (named("skylake-avx512"), "avx512.pmaddw.d.512"),
        (AVX2, "avx2.pmadd.wd"),
        (named("x86-64"), "sse2.pmadd.wd"),
    ],
)
def test_processors_use_the_instruction_that_they_have(target: Host, instruction: str) -> None:
    assert f"@llvm.x86.{instruction}" in _assembly(target)


def test_processors_of_another_kind_use_none_of_these() -> None:
    machine = named("sandybridge").machine
    assert not machine.units & (Unit.PAIR_DOTS | Unit.BYTE_DOTS)
    assert "llvm.x86" not in _assembly(named("sandybridge"))
