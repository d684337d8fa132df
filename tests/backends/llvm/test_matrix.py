"""One matrix: every family on every element type that it takes, for every kind of target, with and without fast math.

Code for processors of this architecture runs and gives what the NumPy interpreter gives. For the other architecture
LLVM must accept it and make assembly of it that calls nothing but the C library.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from fuzzing.comparing import assert_agrees

pytest.importorskip("llvmlite")

from native_run import HOSTS, Native, families
from test_any_processor import ALLOWED, ARM, X86

import fuse_dialect as fd
from fuse_dialect.backends.assembler.elf import undefined_symbols
from fuse_dialect.backends.assembler.engine import host, object_for
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.llvm import LLVMBackend
from fuse_dialect.backends.llvm.processors import named
from fuse_dialect.dialect.op import Array
from fuse_dialect.loops.elements import dtype_named
from fuse_dialect.loops.program import LoopProgram, Refusal, Role
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower

FLOATS, INTEGERS = ("f32", "f64", "f16", "bf16"), ("i8", "ui8", "i16", "i32", "i64")
FOREIGN = {"neoverse-n1": ARM} if "+sse2" in host().features else {"haswell": X86, "x86-64": X86}


@dataclass(frozen=True, slots=True)
class Row:
    """A program with `E` for its element type."""

    family: str
    """Which family writes it, unless another is asked for."""
    elements: tuple[str, ...]
    text: str


ROWS = {
    "map": Row(
        "map",
        (*FLOATS, *INTEGERS),
        """func.func @f(%x: tensor<5x37xE>, %s: tensor<37xE>) -> tensor<5x37xE> {
  %0 = fuse.multiply %x, %s : (tensor<5x37xE>, tensor<37xE>) -> tensor<5x37xE>
  %1 = fuse.minimum %0, %x : tensor<5x37xE>
  %2 = fuse.less %1, %s : (tensor<5x37xE>, tensor<37xE>) -> tensor<5x37xi1>
  %3 = fuse.where %2, %0, %1 : (tensor<5x37xi1>, tensor<5x37xE>, tensor<5x37xE>) -> tensor<5x37xE>
  return %3 : tensor<5x37xE>
}""",
    ),
    "functions": Row(
        "map",
        FLOATS,
        """func.func @f(%x: tensor<5x37xE>) -> tensor<5x37xE> {
  %0 = fuse.tanh %x : tensor<5x37xE>
  %1 = fuse.exp %0 : tensor<5x37xE>
  return %1 : tensor<5x37xE>
}""",
    ),
    "padding": Row(
        "map",
        (*FLOATS, *INTEGERS, "i1"),
        """func.func @f(%x: tensor<5x37xE>, %v: tensor<E>) -> tensor<8x41xE> {
  %0 = fuse.pad %x, %v, low = [1, 3], high = [3, 1] : (tensor<5x37xE>, tensor<E>) -> tensor<9x41xE>
  %1 = fuse.strided_slice %0, begin = [0, 0], end = [8, 41], strides = [1, 1] : (tensor<9x41xE>) -> tensor<8x41xE>
  return %1 : tensor<8x41xE>
}""",
    ),
    "transpose": Row(
        "map",
        (*FLOATS, *INTEGERS, "i1"),
        """func.func @f(%x: tensor<19x37xE>) -> tensor<37x19xE> {
  %0 = fuse.transpose %x, permutation = [1, 0] : (tensor<19x37xE>) -> tensor<37x19xE>
  return %0 : tensor<37x19xE>
}""",
    ),
    "rows": Row(
        "rows",
        FLOATS,
        """func.func @f(%x: tensor<5x37xE>) -> tensor<5x37xE> {
  %0 = fuse.softmax %x, axis = 1 : tensor<5x37xE>
  return %0 : tensor<5x37xE>
}""",
    ),
    "maximum": Row(
        "rows",
        (*FLOATS, *INTEGERS),
        """func.func @f(%x: tensor<5x37xE>) -> tensor<5xE> {
  %0 = fuse.max %x, axes = [1] : (tensor<5x37xE>) -> tensor<5xE>
  return %0 : tensor<5xE>
}""",
    ),
    "scan": Row(
        "rows",
        (*FLOATS, *INTEGERS),
        """func.func @f(%x: tensor<3x5x37xE>) -> (tensor<3x5x37xE>, tensor<3x5x37xE>) {
  %0 = fuse.cumsum %x, axis = 1, exclusive = true, reverse = true : tensor<3x5x37xE>
  %1 = fuse.cumprod %x, axis = 2 : tensor<3x5x37xE>
  return %0, %1 : tensor<3x5x37xE>, tensor<3x5x37xE>
}""",
    ),
    "order": Row(
        "rows",
        (*FLOATS, *INTEGERS),
        """func.func @f(%x: tensor<5x67xE>) -> (tensor<5x67xE>, tensor<9x67xE>, tensor<9x67xi64>) {
  %0 = fuse.sort %x, axis = 1, is_ascend = false : tensor<5x67xE>
  %1 = fuse.tile %x, reps = [5, 1] : (tensor<5x67xE>) -> tensor<25x67xE>
  %2, %3 = fuse.topk %1, k = 9, axis = 0 : (tensor<25x67xE>) -> (tensor<9x67xE>, tensor<9x67xi64>)
  return %0, %2, %3 : tensor<5x67xE>, tensor<9x67xE>, tensor<9x67xi64>
}""",
    ),
    "scatter": Row(
        "rows",
        (*FLOATS, *INTEGERS),
        """func.func @f(%x: tensor<5x37xE>, %u: tensor<9x37xE>) -> (tensor<5x37xE>, tensor<5x37xE>) {
  %i = arith.constant dense<3> : tensor<9x1xi8>
  %0 = fuse.scatter_nd %x, %i, %u, mode = "max" : (tensor<5x37xE>, tensor<9x1xi8>, tensor<9x37xE>)
  %1 = fuse.scatter_nd %x, %i, %u, mode = "add" : (tensor<5x37xE>, tensor<9x1xi8>, tensor<9x37xE>)
  return %0, %1 : tensor<5x37xE>, tensor<5x37xE>
}""",
    ),
    "product": Row(
        "contraction",
        (*FLOATS, "i8", "i32"),
        """func.func @f(%x: tensor<9x19xE>, %w: tensor<19x37xE>, %b: tensor<37xE>) -> tensor<9x37xE> {
  %0 = fuse.matmul %x, %w : (tensor<9x19xE>, tensor<19x37xE>) -> tensor<9x37xE>
  %1 = fuse.add %0, %b : (tensor<9x37xE>, tensor<37xE>) -> tensor<9x37xE>
  return %1 : tensor<9x37xE>
}""",
    ),
    "convolution": Row(
        "contraction",
        (*FLOATS, "i8", "i32"),
        """func.func @f(%x: tensor<1x9x7x16xE>, %w: tensor<3x3x16x24xE>) -> tensor<1x9x7x24xE> {
  %0 = fuse.conv2d %x, %w, padding = [1, 1, 1, 1], data_layout = "NHWC", kernel_layout = "HWIO"
    : (tensor<1x9x7x16xE>, tensor<3x3x16x24xE>) -> tensor<1x9x7x24xE>
  return %0 : tensor<1x9x7x24xE>
}""",
    ),
    "pool": Row(
        "contraction",
        FLOATS,
        """func.func @f(%x: tensor<1x9x9x21xE>) -> tensor<1x5x5x21xE> {
  %0 = fuse.max_pool2d %x, pool_size = [3, 3], strides = [2, 2], padding = [1, 1, 1, 1], layout = "NHWC"
    : (tensor<1x9x9x21xE>) -> tensor<1x5x5x21xE>
  return %0 : tensor<1x5x5x21xE>
}""",
    ),
}
"""The families, each in its forms."""
rows = pytest.mark.parametrize("row", ROWS)
fast_math = pytest.mark.parametrize("fast_math", [False, True], ids=["exact", "fast"])


@cache
def program_of(row: str, element: str) -> LoopProgram:
    program = lower(next(iter(fd.parse(ROWS[row].text.replace("E", element)).ops)))
    assert isinstance(program, LoopProgram), program
    return simplify(program)


@cache
def arrays_of(row: str, element: str) -> list[Array]:
    random = np.random.default_rng(len(row))
    shapes = [buffer.shape for buffer in program_of(row, element).buffers if buffer.role is Role.ARGUMENT]
    if element in FLOATS:
        return [random.standard_normal([int(s) for s in shape]).astype(dtype_named(element)) for shape in shapes]
    return [random.integers(0, 2 if element == "i1" else 5, shape).astype(dtype_named(element)) for shape in shapes]


def check(row: str, element: str, native: Native, *, fast: bool) -> None:
    """What a kernel gives is what the program means; with fast math the arithmetic is another."""
    text, inputs = ROWS[row].text.replace("E", element), arrays_of(row, element)
    assert_agrees(fd.parse(text), inputs, native(*inputs, parts=2), reassociates=fast)


@pytest.mark.slow
@rows
@fast_math
@pytest.mark.parametrize("target", HOSTS)
def test_what_runs_here_gives_what_numpy_gives(target: str, row: str, fast_math: bool) -> None:
    for element in ROWS[row].elements:
        native = Native(program_of(row, element), HOSTS[target], fast_math=fast_math)
        assert native.kernel.family in families(ROWS[row].family, HOSTS[target])
        check(row, element, native, fast=fast_math)


@rows
@fast_math
@pytest.mark.parametrize("target", HOSTS)
def test_plain_loops_give_what_numpy_gives(target: str, row: str, fast_math: bool) -> None:
    for element in ROWS[row].elements:
        native = Native(program_of(row, element), HOSTS[target], ("generic",), fast_math=fast_math)
        check(row, element, native, fast=fast_math)


@pytest.mark.slow
@rows
@fast_math
@pytest.mark.parametrize("target", FOREIGN)
@pytest.mark.parametrize("families", [(), ("generic",)], ids=["own", "generic"])
def test_llvm_accepts_code_for_the_other_architecture(
    target: str, row: str, fast_math: bool, families: tuple[str, ...]
) -> None:
    backend = LLVMBackend(fast_math=fast_math, target=named(target), families=families)
    for element in ROWS[row].elements:
        kernel = backend.emit(KernelRequest(program_of(row, element)))
        assert not isinstance(kernel, Refusal), kernel
        assert kernel.family == (families[0] if families else ROWS[row].family)
        code = object_for(kernel.ir_text, backend.target, FOREIGN[target])
        assert set(undefined_symbols(code)) <= ALLOWED


def test_contractions_heed_fast_math() -> None:
    request = KernelRequest(program_of("product", "f32"))
    exact, fast = (LLVMBackend(fast_math=each).emit(request) for each in (False, True))
    assert not isinstance(exact, Refusal)
    assert not isinstance(fast, Refusal)
    assert "fadd fast" in fast.ir_text
    assert "fadd fast" not in exact.ir_text
