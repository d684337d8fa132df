"""Programs that run strip by strip: on every processor, by several parts, beside forbidden pages, and checked."""

import numpy as np
import pytest
from fuzzing.chains import random_chain, tensor
from guarded_memory import GuardedMemory
from native_run import HOSTS, Native
from test_checked_kernels import checks
from xdsl.dialects import func

import fuse_dialect as fd
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.llvm import LLVMBackend
from fuse_dialect.backends.llvm.backend import EmittedKernel
from fuse_dialect.checked import VARIABLE
from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.loops import run_loops
from fuse_dialect.loops.choosing import choose
from fuse_dialect.loops.kernel_schedule import KernelSchedule
from fuse_dialect.loops.program import LoopProgram
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.loops.strip_schedule import ProductStep, Strips
from fuse_dialect.lowering.loop_program import lower
from fuse_dialect.machines.machine import Machine
from fuse_dialect.machines.names import find_machine

MACHINE = find_machine("cpu-avx512")


def program_of(text: str) -> LoopProgram:
    (function,) = [op for op in fd.parse(text).body.block.ops if isinstance(op, func.FuncOp)]
    program = lower(function)
    assert isinstance(program, LoopProgram)
    return simplify(program)


def attention(heads: int, queries: int, keys: int, width: int) -> str:
    q, k, s = (heads, queries, width), (heads, keys, width), (heads, queries, keys)
    return f"""func.func @main(%q: {tensor(q)}, %k: {tensor(k)}, %v: {tensor(k)}) -> {tensor(q)} {{
  %s = fuse.batch_matmul %q, %k, transpose_b = true : ({tensor(q)}, {tensor(k)}) -> {tensor(s)}
  %p = fuse.softmax %s : {tensor(s)}
  %y = fuse.batch_matmul %p, %v : ({tensor(s)}, {tensor(k)}) -> {tensor(q)}
  return %y : {tensor(q)}
}}"""


def strips_of(program: LoopProgram, machine: Machine = MACHINE) -> Strips | None:
    """How a program runs in strips, if it does."""
    chosen = choose(program, machine)
    return chosen.form if isinstance(chosen, KernelSchedule) and isinstance(chosen.form, Strips) else None


def arguments_of(program: LoopProgram, seed: int = 0) -> list[Array]:
    random = np.random.default_rng(seed)
    shapes = [buffer.shape for buffer in program.buffers if buffer.role.value == "argument"]
    return [(random.standard_normal([int(size) for size in shape]) * 0.5).astype(np.float32) for shape in shapes]


def agrees(program: LoopProgram, native: Native, *, parts: int = 1, seed: int = 0) -> None:
    """Check results beside forbidden pages, and of several parts, against the loops as they stand."""
    arguments = arguments_of(program, seed)
    expected = run_loops(program, arguments)
    with GuardedMemory() as memory:
        results = native(*arguments, parts=parts, memory=memory)
        for found, right in zip(results, expected, strict=True):
            np.testing.assert_allclose(found, right, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("sizes", [(1, 64, 64, 16), (3, 77, 101, 20), (2, 5, 33, 8), (4, 1, 40, 16), (2, 30, 7, 3)])
def test_attention_is_one_kernel(sizes: tuple[int, int, int, int], host: str) -> None:
    program = program_of(attention(*sizes))
    native = Native(program, HOSTS[host])
    # With one query a row shares its keys with no other, and products of few rows are summed.
    assert native.kernel.family == ("strips" if sizes[1] > 1 else "rows")
    for parts in (1, 2, 3):
        agrees(program, native, parts=parts)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(("queries", "keys", "heights"), [(26, 33, (6, 12)), (13, 20, (5, 10))])
def test_tiles_of_many_rows_in_common_get_fewer(queries: int, keys: int, heights: tuple[int, int], host: str) -> None:
    """Sixteen columns have tiles of at most 6 rows on AVX2, and eight of 14: of 13, for these queries."""
    program = program_of(attention(3, queries, keys, 8))
    strips = strips_of(program, find_machine("haswell"))
    assert strips is not None
    assert tuple(step.matrices.tile.rows for step in strips.steps if isinstance(step, ProductStep)) == heights
    native = Native(program, HOSTS[host])
    assert native.kernel.family == "strips"
    for parts in (1, 2):
        agrees(program, native, parts=parts)


ONE_ELEMENT_LAST = """
func.func @main(%a: tensor<24x16xf32>, %b: tensor<16x40xf32>, %w: tensor<24x1x5xf32>) -> tensor<24x40x5xf32> {
  %s = fuse.matmul %a, %b : (tensor<24x16xf32>, tensor<16x40xf32>) -> tensor<24x40xf32>
  %e = fuse.expand_dims %s, axis = 2 : (tensor<24x40xf32>) -> tensor<24x40x1xf32>
  %t = fuse.tanh %e : tensor<24x40x1xf32>
  %y = fuse.multiply %t, %w : (tensor<24x40x1xf32>, tensor<24x1x5xf32>) -> tensor<24x40x5xf32>
  return %y : tensor<24x40x5xf32>
}"""


@pytest.mark.parametrize("host", HOSTS)
def test_columns_in_front_of_an_axis_of_one_element_lie_side_by_side(host: str) -> None:
    """Rows of what passes between steps are apart, so the product still writes whole vectors."""
    native = Native(program_of(ONE_ELEMENT_LAST), HOSTS[host])
    assert native.kernel.family == "strips"
    for parts in (1, 3):
        agrees(program_of(ONE_ELEMENT_LAST), native, parts=parts)


SHARED_COLUMNS = """
func.func @main(%x: tensor<37x9xf32>, %w: tensor<9x33xf32>, %v: tensor<4xf32>) -> tensor<37x33x4xf32> {
  %p = fuse.matmul %x, %w : (tensor<37x9xf32>, tensor<9x33xf32>) -> tensor<37x33xf32>
  %r = fuse.reshape %p : (tensor<37x33xf32>) -> tensor<37x33x1xf32>
  %y = fuse.multiply %r, %v : (tensor<37x33x1xf32>, tensor<4xf32>) -> tensor<37x33x4xf32>
  %s = fuse.softmax %y : tensor<37x33x4xf32>
  return %s : tensor<37x33x4xf32>
}"""


@pytest.mark.parametrize("host", HOSTS)
def test_loops_behind_a_product_may_share_its_columns(host: str) -> None:
    program = program_of(SHARED_COLUMNS)
    strips = strips_of(program, HOSTS[host].machine)
    assert strips is not None
    assert strips.rows == 37
    for parts in (1, 2, 3):
        agrees(program, Native(program, HOSTS[host]), parts=parts)


JOINED = """
func.func @main(%x: tensor<35x9xf32>, %w: tensor<9x6xf32>, %z: tensor<35x6xf32>) -> (tensor<35x6xf32>, tensor<35x6xf32>)
{
  %p = fuse.matmul %x, %w : (tensor<35x9xf32>, tensor<9x6xf32>) -> tensor<35x6xf32>
  %r = fuse.relu %p : tensor<35x6xf32>
  %j = fuse.concatenate %r, %z, axis = 1 : (tensor<35x6xf32>, tensor<35x6xf32>) -> tensor<35x12xf32>
  %a = fuse.reshape %j : (tensor<35x12xf32>) -> tensor<35x2x6xf32>
  %b = fuse.transpose %a, permutation = [0, 2, 1] : (tensor<35x2x6xf32>) -> tensor<35x6x2xf32>
  %c = fuse.reshape %b : (tensor<35x6x2xf32>) -> tensor<35x12xf32>
  %y, %u = fuse.split %c, axis = 1, sizes = [6, 6] : (tensor<35x12xf32>) -> (tensor<35x6xf32>, tensor<35x6xf32>)
  return %y, %u : tensor<35x6xf32>, tensor<35x6xf32>
}"""


@pytest.mark.parametrize("host", HOSTS)
def test_what_is_joined_is_written_by_several_steps(host: str) -> None:
    program = program_of(JOINED)
    strips = strips_of(program, HOSTS[host].machine)
    assert strips is not None
    # A product and loops write the parts, and loops of their own read all of it.
    assert [type(step).__name__ for step in strips.steps] == ["ProductStep", "LoopStep", "LoopStep"]
    assert [each.buffer for each in strips.passed] == ["j"]
    for parts in (1, 2, 3):
        agrees(program, Native(program, HOSTS[host]), parts=parts)


LARGE_GATE = """
func.func @main(%x: tensor<19x9xf32>, %a: tensor<9x33xf32>, %b: tensor<9x33xf32>) -> tensor<19x33xf32> {
  %p = fuse.matmul %x, %a : (tensor<19x9xf32>, tensor<9x33xf32>) -> tensor<19x33xf32>
  %t = fuse.tanh %p : tensor<19x33xf32>
  %q = fuse.matmul %x, %b : (tensor<19x9xf32>, tensor<9x33xf32>) -> tensor<19x33xf32>
  %y = fuse.multiply %t, %q : tensor<19x33xf32>
  return %y : tensor<19x33xf32>
}"""


def of_images(batch: int, windows: int, size: int, *, in_windows: bool) -> str:
    """A softmax between products of the pixels of images, line by line or window by window."""
    side = windows * size
    pixels, wide, image = (batch * side * side, 12), (batch * side * side, 20), (batch, side, side, 12)
    cut = (batch, windows, size, windows, size, 12)
    moved = (batch, windows, windows, size, size, 12)
    partition = f"""%c = fuse.reshape %x : ({tensor(image)}) -> {tensor(cut)}
  %t = fuse.transpose %c, permutation = [0, 1, 3, 2, 4, 5] : ({tensor(cut)}) -> {tensor(moved)}
  %r = fuse.reshape %t : ({tensor(moved)}) -> {tensor(pixels)}"""
    lines = f"%r = fuse.reshape %x : ({tensor(image)}) -> {tensor(pixels)}"
    return f"""func.func @main(%x: {tensor(image)}, %w: tensor<12x20xf32>, %v: tensor<20x12xf32>) -> {tensor(pixels)} {{
  {partition if in_windows else lines}
  %s = fuse.matmul %r, %w : ({tensor(pixels)}, tensor<12x20xf32>) -> {tensor(wide)}
  %p = fuse.softmax %s : {tensor(wide)}
  %y = fuse.matmul %p, %v : ({tensor(wide)}, tensor<20x12xf32>) -> {tensor(pixels)}
  return %y : {tensor(pixels)}
}}"""


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("in_windows", [False, True])
@pytest.mark.parametrize("sizes", [(1, 2, 7), (3, 1, 5), (2, 3, 4)])
def test_pixels_are_rows_of_a_product(sizes: tuple[int, int, int], in_windows: bool, host: str) -> None:
    """The axis that counts them is split for the first product, and is whole again for its rows."""
    program = program_of(of_images(*sizes, in_windows=in_windows))
    strips = strips_of(program, HOSTS[host].machine)
    assert strips is not None
    assert [isinstance(step, ProductStep) for step in strips.steps] == [True, False, True]
    native = Native(program, HOSTS[host])
    for parts in (1, 3):
        agrees(program, native, parts=parts)


@pytest.mark.parametrize("host", HOSTS)
def test_a_gate_that_no_thread_has_memory_for_runs_in_strips(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuse_dialect.loops.bounds.MOST_GATED", 16)
    program = program_of(LARGE_GATE)
    assert strips_of(program, HOSTS[host].machine) is not None
    for parts in (1, 2):
        agrees(program, Native(program, HOSTS[host]), parts=parts)


def test_what_lies_between_does_not_grow_with_the_rows() -> None:
    few, many = (strips_of(program_of(attention(12, queries, 512, 64))) for queries in (512, 4096))
    assert few is not None
    assert many is not None
    assert (few.height, few.workspace_bytes) == (many.height, many.workspace_bytes)
    scores = 512 * 512 * 4
    assert few.workspace_bytes < 4 * scores < 12 * scores


def test_long_rows_make_low_strips() -> None:
    heights = [
        strips.height for keys in (128, 1024, 8192) if (strips := strips_of(program_of(attention(1, 512, keys, 64))))
    ]
    assert len(heights) == 3
    assert heights == sorted(heights, reverse=True)
    tiles = {
        step.matrices.tile.rows
        for keys in (128, 1024, 8192)
        if (strips := strips_of(program_of(attention(1, 512, keys, 64))))
        for step in strips.steps
        if isinstance(step, ProductStep)
    }
    assert all(height % tile == 0 for height in heights for tile in tiles)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_chains_agree(first: int, host: str) -> None:
    found = 0
    for seed in range(first, first + 20):
        program = program_of(random_chain(seed).text)
        if strips_of(program, HOSTS[host].machine) is not None:
            found += 1
            agrees(program, Native(program, HOSTS[host]), parts=1 + seed % 3, seed=seed)
    assert found > 3


def test_every_access_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    program = program_of(attention(2, 30, 33, 8))
    emitted = LLVMBackend().emit(KernelRequest(program))
    assert isinstance(emitted, EmittedKernel)
    kernel = emitted.ir_text.partition("define internal void @fuse.check")[0]
    # Loads of bounds belong to the checks.
    own = [line for line in kernel.splitlines() if "= load i64, ptr %checked." not in line]
    count, checked = checks("\n".join(own))
    assert count == checked > 0
    for seed in range(8):
        chain = program_of(random_chain(seed).text)
        agrees(chain, Native(chain), parts=2, seed=seed)


def test_checks_know_where_a_strip_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """What passes has the bounds of one strip, though its address is that of row 0 of all rows."""
    monkeypatch.setenv(VARIABLE, "1")
    emitted = LLVMBackend().emit(KernelRequest(program_of(attention(2, 30, 33, 8))))
    assert isinstance(emitted, EmittedKernel)
    body = emitted.ir_text.partition("define internal void @main_1.body")[0]
    assert "load i64, ptr %checked." in body.rpartition("define internal void @main_1(")[2]
