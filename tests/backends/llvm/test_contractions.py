"""Kernels for sums of products and for windows give what the NumPy interpreter gives, between guard pages."""

import re
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from fuzzing.comparing import assert_agrees

pytest.importorskip("llvmlite")

from guarded_memory import GuardedMemory
from random_contractions import Case, random_convolution, random_depthwise, random_pool, random_product
from xdsl.dialects import func

import fuse_dialect as fd
from fuse_dialect.backends.assembler.engine import callable_of, host
from fuse_dialect.backends.assembler.host import AVX2, SSE2, Host
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.llvm.backend import EmittedKernel, LLVMBackend
from fuse_dialect.dialect.op import Array
from fuse_dialect.loops.elements import dtype_named
from fuse_dialect.loops.program import LoopProgram, Refusal
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower
from fuse_dialect.machines.machine import Cache, Machine, Unit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="guard pages are made with mprotect")

TYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "i32": np.int32,
    "i8": np.int8,
    "ui8": np.uint8,
    "f16": np.float16,
}


def primitives(text: str) -> list[LoopProgram]:
    """The loop programs of the primitives of a module."""
    module = fd.fuse_ops(fd.parse(text))
    programs = [lower(op) for op in module.walk() if isinstance(op, func.FuncOp) and "primitive" in op.attributes]
    assert not any(isinstance(program, Refusal) for program in programs)
    return [simplify(program) for program in programs if isinstance(program, LoopProgram)]


def values(case: Case, random: np.random.Generator) -> list[Array]:
    """Random arguments, small if they are integers."""
    dtype = TYPES[case.element]
    if case.element.startswith("i"):
        return [random.integers(-4, 5, shape).astype(dtype) for shape in case.shapes]
    return [random.standard_normal(shape).astype(dtype) for shape in case.shapes]


def run_kernel(
    program: LoopProgram,
    arrays: list[Array],
    constants: frozenset[int],
    parts: int,
    target: Host | None = None,
    start: int | None = None,
) -> tuple[Array, str]:
    """The result of the kernel of a program with one result, and the family that wrote the kernel.

    Inputs end where memory ends, or begin so many bytes behind a cache line.
    """
    backend = LLVMBackend(target=target)
    (kernel,) = backend.compile([KernelRequest(program, constants)])
    assert not isinstance(kernel, Refusal), kernel
    emitted = kernel.emitted
    assert isinstance(emitted, EmittedKernel)
    result = next(buffer for buffer in program.buffers if buffer.role.value == "result")
    with GuardedMemory() as memory:
        passed = [
            np.ascontiguousarray(kernel.packings[place].apply(array)) if place in kernel.packings else array
            for place, array in enumerate(arrays)
        ]
        inputs = [
            memory.copy(array, at_end=True) if start is None else memory.copy_behind_line(array, start)
            for array in passed
        ]
        shape = tuple(size for size in result.shape if isinstance(size, int))
        output = memory.empty(shape, dtype_named(result.element), at_end=True)
        room = np.dtype(np.uint8)
        bytes_of_part = -(-kernel.workspace_bytes // 64) * 64
        for part in range(parts):
            workspace = memory.empty((bytes_of_part,), room, at_end=True)
            slots = np.array([array.ctypes.data for array in (*inputs, output, workspace)], np.int64)
            callable_of(kernel.address)(slots.ctypes.data, part, parts)
            del workspace
        copy = output.copy()
        del inputs, output
    return copy, kernel.family


def check(case: Case, seed: int, target: Host | None = None) -> None:
    random = np.random.default_rng(seed)
    arrays = values(case, random)
    programs = primitives(case.text)
    if len(programs) != 1:
        return
    constants = frozenset([1]) if case.has_weight and seed % 2 else frozenset[int]()
    actual, _ = run_kernel(programs[0], arrays, constants, 1 + seed % 3, target)
    assert_agrees(fd.parse(case.text), arrays, [actual])


MAKERS: dict[str, Callable[[np.random.Generator, str], Case]] = {
    "product": random_product,
    "convolution": random_convolution,
    "depthwise": random_depthwise,
    "pool": random_pool,
}


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("kind", MAKERS)
def test_random_programs_in_f32(kind: str, seed: int) -> None:
    check(MAKERS[kind](np.random.default_rng(seed), "f32"), seed)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("element", ["f64", "i32", "i8", "f16"])
@pytest.mark.parametrize("kind", MAKERS)
def test_random_programs_in_other_types(kind: str, element: str, seed: int) -> None:
    check(MAKERS[kind](np.random.default_rng(100 + seed), element), seed)


@pytest.mark.skipif(not {"+avx2", "+fma"} <= set(host().features.split(",")), reason="the processor has no AVX2")
@pytest.mark.parametrize("target", [AVX2, SSE2], ids=["avx2", "sse2"])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", MAKERS)
def test_random_programs_with_short_vectors(kind: str, seed: int, target: Host) -> None:
    check(MAKERS[kind](np.random.default_rng(200 + seed), "f32"), seed, target)


TOY = Machine(
    "toy", 16, 8, Unit.NONE, (Cache(1 << 10, 2), Cache(4 << 10, 4), Cache(128 << 10, 4)), line_bytes=32, cores=1
)
TINY = Machine("tiny", 64, 32, Unit.FMA | Unit.MASKS, (Cache(512, 1), Cache(2 << 10, 1), Cache(64 << 10, 1)), cores=64)


@pytest.mark.parametrize("machine", [TOY, TINY], ids=["toy", "tiny"])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", MAKERS)
def test_random_programs_on_machines_with_hardly_any_cache(kind: str, seed: int, machine: Machine) -> None:
    """Small programs then take the paths of large ones: blocks of rows and of sums, strips, many tasks."""
    target = replace(host(), described=machine)
    check(MAKERS[kind](np.random.default_rng(300 + seed), "f32"), seed, target)


@pytest.mark.parametrize("seed", range(12))
def test_zeros_beyond_an_image_meet_infinite_taps(seed: int) -> None:
    """A tap that lies outside is a product with zero, which is nan if the tap is infinite."""
    random = np.random.default_rng(400 + seed)
    case = random_depthwise(random, "f32")
    arrays = values(case, random)
    arrays[seed % 2].flat[random.integers(0, arrays[seed % 2].size)] = np.inf
    programs = primitives(case.text)
    if len(programs) == 1:
        with np.errstate(all="ignore"):
            (expected,) = fd.run(fd.parse(case.text), *arrays)
        actual, _ = run_kernel(programs[0], arrays, frozenset[int](), 1)
        np.testing.assert_allclose(actual, expected, 1e-4, 1e-4, err_msg=case.text)


@pytest.mark.parametrize(("op", "shape"), [("matmul", "40x40"), ("batch_matmul", "2x3x40x40"), ("dense", "40x40")])
def test_a_constant_that_is_read_once_more_keeps_its_layout(op: str, shape: str) -> None:
    type = f"tensor<{shape}xf32>"
    text = f"""func.func @main(%x: {type}, %w: {type}) -> {type} {{
      %y = fuse.{op} %x, %w : ({type}, {type}) -> {type}
      %z = fuse.add %y, %w : {type}
      return %z : {type}
    }}"""
    (program,) = primitives(text)
    random = np.random.default_rng(5)
    arrays = [random.standard_normal([int(size) for size in shape.split("x")]).astype(np.float32) for _ in range(2)]
    (expected,) = fd.run(fd.parse(text), *arrays)
    actual, _ = run_kernel(program, arrays, frozenset([1]), 2)
    np.testing.assert_allclose(actual, expected, 1e-5, 1e-4)


@pytest.mark.parametrize("size", [9, 40])
def test_borders_of_windows_branch_around_what_no_lane_reads(size: int) -> None:
    x = f"tensor<1x{size}x{size}x32xf32>"
    layouts = 'data_layout = "NHWC", kernel_layout = "HWIO"'
    (program,) = primitives(f"""func.func @main(%x: {x}, %w: tensor<5x5x1x32xf32>) -> {x} {{
      %y = fuse.conv2d %x, %w, padding = [2, 2, 2, 2], groups = 32, {layouts} : ({x}, tensor<5x5x1x32xf32>) -> {x}
      return %y : {x}
    }}""")
    emitted = LLVMBackend(target=AVX2).emit(KernelRequest(program, frozenset({1})))
    assert isinstance(emitted, EmittedKernel)
    # Masks say which lanes there are, and no guard of a row or column is spread over all of them.
    assert not re.search(r"insertelement <\d+ x i1>", emitted.ir_text)


@pytest.mark.parametrize("channels", [5, 8, 13, 24, 69])
def test_the_last_vector_of_windows_ends_at_the_last_lane(channels: int) -> None:
    x = f"tensor<2x9x9x{channels}xf32>"
    text = f"""func.func @main(%x: {x}) -> {x} {{
      %y = fuse.max_pool2d %x, pool_size = [3, 3], padding = [1, 1, 1, 1], layout = "NHWC" : {x}
      return %y : {x}
    }}"""
    (program,) = primitives(text)
    emitted = LLVMBackend(target=AVX2).emit(KernelRequest(program))
    assert isinstance(emitted, EmittedKernel)
    # A vector has 8 lanes, or 4 of the 5.
    assert "llvm.masked.store" not in emitted.ir_text
    array = np.random.default_rng(channels).standard_normal((2, 9, 9, channels)).astype(np.float32)
    (expected,) = fd.run(fd.parse(text), array)
    for parts in (1, 3):
        actual, _ = run_kernel(program, [array], frozenset(), parts, AVX2)
        np.testing.assert_array_equal(actual, expected)
