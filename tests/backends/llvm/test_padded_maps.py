"""Maps that are read with padding around: as the interpreter gives them, in vectors without masks where guards hold."""

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

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="guard pages are made with mprotect")


def padded(element: str, size: int, low: int, high: int, *, twice: bool = False) -> str:
    """The squares of 3 rows with a row around them, and some elements of each; `twice`, if that is asked for."""
    x, y, z = (f"{3 + 2 * n}x{size + n * (low + high)}x{element}" for n in range(3))
    result = z if twice else y
    pad = f"low = [1, {low}], high = [1, {high}]"
    return f"""func.func @main(%x: tensor<{x}>, %v: tensor<{element}>) -> tensor<{result}> {{
  %s = fuse.multiply %x, %x : tensor<{x}>
  %a = fuse.pad %s, %v, {pad} : (tensor<{x}>, tensor<{element}>) -> tensor<{y}>
  {f"%b = fuse.pad %a, %v, {pad} : (tensor<{y}>, tensor<{element}>) -> tensor<{z}>" if twice else ""}
  return {"%b" if twice else "%a"} : tensor<{result}>
}}"""


@pytest.mark.parametrize("target", HOSTS)
@pytest.mark.parametrize("element", ["f32", "ui8"])
@pytest.mark.parametrize("size", [1, 7, 32, 75])
@pytest.mark.parametrize(("low", "high"), [(1, 1), (0, 3), (40, 0), (-1, 2), (3, -2)])
@pytest.mark.parametrize("parts", [1, 3])
def test_padding_is_that_of_the_interpreter(
    target: str, element: str, size: int, low: int, high: int, parts: int
) -> None:
    if size + min(low, 0) + min(high, 0) <= 0:
        size += 2
    text = padded(element, size, low, high, twice=low > 0)
    dtype = {"f32": np.float32, "ui8": np.uint8}[element]
    random = np.random.default_rng(size)
    arrays = [random.integers(0, 200, (3, size)).astype(dtype), np.array(7, dtype)]
    (program,) = primitives(text)
    got, _ = run_kernel(program, arrays, frozenset(), parts, HOSTS[target])
    np.testing.assert_array_equal(got, fd.run(fd.parse(text), *arrays)[0])


def _text(size: int) -> str:
    (program,) = primitives(padded("f32", size, 1, 1))
    emitted = LLVMBackend(target=AVX2).emit(KernelRequest(program))
    assert isinstance(emitted, EmittedKernel)
    return emitted.ir_text


def test_guards_along_vectors_are_known_in_parts_of_them() -> None:
    assert "masked.load" not in _text(75)
