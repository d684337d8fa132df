"""What becomes of sums in 8 bits: four vectors are rounded and looked up as one, to the bit as it is interpreted."""

import sys

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from native_run import HOSTS, families
from test_contractions import primitives, run_kernel

import fuse_dialect as fd
from fuse_dialect.backends.assembler.host import AVX2, Host
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.llvm import LLVMBackend
from fuse_dialect.backends.llvm.backend import EmittedKernel
from fuse_dialect.backends.llvm.processors import named
from fuse_dialect.dialect.op import Array
from fuse_dialect.loops.program import Role

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="guard pages are made with mprotect")

DENSE = 'fuse.dense %x, %w, out_dtype = "i32"'
WINDOWS = (
    "fuse.conv2d %x, %w, padding = [1, 1, 1, 1], groups = {channels}, "
    'data_layout = "NHWC", kernel_layout = "OHWI", out_dtype = "i32"'
)


def quantized(op: str, x: tuple[int, ...], w: tuple[int, ...], result: tuple[int, ...], end: str) -> str:
    """Sums that are rounded to bytes `%q` with the zero point 100, and what `end` makes of these, which is `%e`."""
    args = [f"tensor<{'x'.join(map(str, shape))}x{element}>" for shape, element in ((x, "ui8"), (w, "i8"))]
    i32, f32, ui8 = (f"tensor<{'x'.join(map(str, result))}x{element}>" for element in ("i32", "f32", "ui8"))
    lines = f"""
%y = {op} : ({args[0]}, {args[1]}) -> {i32}
%f = fuse.cast %y : ({i32}) -> {f32}
%s = arith.constant dense<0.002> : tensor<f32>
%m = fuse.multiply %f, %s : ({f32}, tensor<f32>) -> {f32}
%r = fuse.round %m : {f32}
%z = arith.constant dense<100.0> : tensor<f32>
%a = fuse.add %r, %z : ({f32}, tensor<f32>) -> {f32}
%l = fuse.clip %a, min = 0.0, max = 255.0 : {f32}
%q = fuse.cast %l : ({f32}) -> {ui8}
{end.format(i32=i32, f32=f32, ui8=ui8)}"""
    body = "\n  ".join(lines.strip().splitlines())
    if not end:
        body = body.replace("%q", "%e")
    return (
        f"func.func @main(%x: {args[0]}, %w: {args[1]}, %o: {ui8}) -> {ui8} {{\n  {body}\n  func.return %e : {ui8}\n}}"
    )


_REAL = """
%zero = arith.constant dense<100> : tensor<i32>
%scale = arith.constant dense<0.05> : tensor<f32>
%step = arith.constant dense<0.013> : tensor<f32>
%h0 = fuse.cast %q : ({ui8}) -> {i32}
%h1 = fuse.subtract %h0, %zero : ({i32}, tensor<i32>) -> {i32}
%h2 = fuse.cast %h1 : ({i32}) -> {f32}
%h3 = fuse.multiply %h2, %scale : ({f32}, tensor<f32>) -> {f32}"""
_BYTES = """
%d = fuse.divide %v, %step : ({f32}, tensor<f32>) -> {f32}
%d0 = fuse.round %d : {f32}
%d1 = fuse.clip %d0, min = 0.0, max = 255.0 : {f32}
%e = fuse.cast %d1 : ({f32}) -> {ui8}"""
_OTHER = """
%zero1 = arith.constant dense<110> : tensor<i32>
%scale1 = arith.constant dense<0.03> : tensor<f32>
%g0 = fuse.cast %o : ({ui8}) -> {i32}
%g1 = fuse.subtract %g0, %zero1 : ({i32}, tensor<i32>) -> {i32}
%g2 = fuse.cast %g1 : ({i32}) -> {f32}
%g3 = fuse.multiply %g2, %scale1 : ({f32}, tensor<f32>) -> {f32}"""
_ROUNDED = """
%step1 = arith.constant dense<0.02> : tensor<f32>
%t0 = fuse.divide %t, %step1 : ({f32}, tensor<f32>) -> {f32}
%t1 = fuse.round %t0 : {f32}
%t2 = fuse.clip %t1, min = 0.0, max = 255.0 : {f32}
%t3 = fuse.cast %t2 : ({f32}) -> {ui8}
%t4 = fuse.cast %t3 : ({ui8}) -> {f32}
%v = fuse.add %h3, %t4 : {f32}"""
ENDS = {
    "bytes": "",
    "looked up": f"{_REAL}\n%v = fuse.hard_swish %h3 : {{f32}}{_BYTES}",
    "added to other bytes": f"{_REAL}{_OTHER}\n%v = fuse.add %h3, %g3 : {{f32}}{_BYTES}",
    "looked up and computed with": f"""{_REAL}
%t = fuse.exp %h3 : {{f32}}{_ROUNDED}{_BYTES}""",
    "other bytes looked up": f"""{_REAL}{_OTHER}
%t = fuse.exp %g3 : {{f32}}{_ROUNDED}{_BYTES}""",
}


def arrays_of(x: tuple[int, ...], w: tuple[int, ...], result: tuple[int, ...]) -> list[Array]:
    random = np.random.default_rng(sum(result))
    return [
        random.integers(0, 256, x).astype(np.uint8),
        random.integers(-128, 128, w).astype(np.int8),
        random.integers(0, 256, result).astype(np.uint8),
    ]


def assert_as_interpreted(text: str, arrays: list[Array], target: Host) -> None:
    (program,) = primitives(text)
    read = [buffer.name for buffer in program.buffers if buffer.role is Role.ARGUMENT]
    assert read == ["x", "w", "o"][: len(read)]
    got, family = run_kernel(program, arrays[: len(read)], frozenset({1}), 1, target)
    assert family in families("contraction", target)
    np.testing.assert_array_equal(got, fd.run(fd.parse(text), *arrays)[0])


@pytest.mark.parametrize("target", HOSTS)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("rows", [1, 5, 14])
@pytest.mark.parametrize("columns", [8, 16, 24, 43])
def test_products_are_finished_as_the_interpreter_does(target: str, end: str, rows: int, columns: int) -> None:
    x, w, result = (rows, 16), (columns, 16), (rows, columns)
    assert_as_interpreted(quantized(DENSE, x, w, result, ENDS[end]), arrays_of(x, w, result), HOSTS[target])


@pytest.mark.parametrize("target", HOSTS)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(("width", "channels"), [(1, 8), (9, 16), (7, 20)])
def test_windows_are_finished_as_the_interpreter_does(target: str, end: str, width: int, channels: int) -> None:
    x, w, result = (1, 3, width, channels), (channels, 3, 3, 1), (1, 3, width, channels)
    text = quantized(WINDOWS.format(channels=channels), x, w, result, ENDS[end])
    assert_as_interpreted(text, arrays_of(x, w, result), HOSTS[target])


def _text_for(target: Host, columns: int) -> str:
    x, w, result = (14, 16), (columns, 16), (14, columns)
    (program,) = primitives(quantized(DENSE, x, w, result, ENDS["looked up"]))
    emitted = LLVMBackend(target=target).emit(KernelRequest(program, frozenset({1})))
    assert isinstance(emitted, EmittedKernel)
    return emitted.ir_text


@pytest.mark.parametrize("columns", [8, 16, 24])
@pytest.mark.parametrize("target", [AVX2, named("alderlake")])
def test_vectors_of_eight_are_looked_up_together(target: Host, columns: int) -> None:
    text = _text_for(target, columns)
    assert "@llvm.x86.avx2.pshuf.b" in text
    assert "@llvm.x86.avx2.packuswb" in text
    assert "gather" not in text


def test_vectors_with_a_mask_are_looked_up_alone() -> None:
    assert "@llvm.x86.avx2.gather.d.d.256" in _text_for(AVX2, 5)


def test_processors_that_look_up_any_vector_join_none() -> None:
    assert "pshuf" not in _text_for(named("znver4"), 16)
