"""Elements a few places apart: as the interpreter takes them, loaded between the first and the last of them."""

import sys

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from native_run import HOSTS
from test_contractions import primitives, run_kernel

import fuse_dialect as fd
from fuse_dialect.backends.assembler.host import AVX2
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.llvm import LLVMBackend
from fuse_dialect.backends.llvm.backend import EmittedKernel
from fuse_dialect.dialect.op import Array

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="guard pages are made with mprotect")

DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "ui8": np.uint8, "i64": np.int64, "i1": np.bool_}


def every(stride: int, count: int, element: str) -> str:
    """Of 3 rows every so many elements, the first and the last one among them, beside others."""
    size = abs(stride) * (count - 1) + 1
    begin, end = (0, size) if stride > 0 else (size - 1, -size - 1)
    x, y = f"tensor<3x{size}x{element}>", f"tensor<3x{count}x{element}>"
    larger = "logical_or" if element == "i1" else "maximum"
    return f"""func.func @main(%x: {x}, %y: {y}) -> {y} {{
  %s = fuse.strided_slice %x, begin = [{begin}], end = [{end}], strides = [{stride}], axes = [1] : ({x}) -> {y}
  %a = fuse.{larger} %s, %y : {y}
  return %a : {y}
}}"""


def _assert_same(text: str, element: str, target: str, parts: int = 1) -> None:
    """Assert that a kernel between guard pages gives what the interpreter gives."""
    random = np.random.default_rng(3)
    (program,) = primitives(text)
    shapes = [each.shape for each in program.buffers if each.role.value == "argument"]
    arrays: list[Array] = [random.integers(0, 200, shape).astype(DTYPES[element]) for shape in shapes]
    got, _ = run_kernel(program, arrays, frozenset(), parts, HOSTS[target])
    np.testing.assert_array_equal(got, fd.run(fd.parse(text), *arrays)[0])


@pytest.mark.parametrize("target", HOSTS)
@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("stride", [-5, -4, -3, -2, -1, 2, 3, 4, 5])
@pytest.mark.parametrize("count", [2, 16, 77])
def test_elements_apart_are_those_of_the_interpreter(target: str, element: str, stride: int, count: int) -> None:
    _assert_same(every(stride, count, element), element, target)


@pytest.mark.parametrize("target", HOSTS)
@pytest.mark.parametrize("element", ["f32", "ui8"])
@pytest.mark.parametrize("count", [5, 33, 64])
def test_what_is_turned_round_beside_guards_is_that_of_the_interpreter(target: str, element: str, count: int) -> None:
    x, y, z = (f"tensor<3x{size}x{element}>" for size in (count, count + 7, 2 * count + 7))
    text = f"""func.func @main(%x: {x}, %v: tensor<{element}>) -> {z} {{
  %a = fuse.maximum %x, %x : {x}
  %p = fuse.pad %a, %v, low = [0, 3], high = [0, 4] : ({x}, tensor<{element}>) -> {y}
  %r = fuse.reverse %p, axes = [1] : {y}
  %b = fuse.concatenate %r, %a, axis = 1 : ({y}, {x}) -> {z}
  return %b : {z}
}}"""
    _assert_same(text, element, target, parts=3)


@pytest.mark.parametrize(("stride", "gathers"), [(-1, False), (2, False), (-3, False), (4, False), (5, True)])
def test_neighbours_are_loaded_where_few_lie_between(stride: int, gathers: bool) -> None:
    (program,) = primitives(every(stride, 77, "f32"))
    emitted = LLVMBackend(target=AVX2).emit(KernelRequest(program))
    assert isinstance(emitted, EmittedKernel)
    assert ("gather" in emitted.ir_text) == gathers
