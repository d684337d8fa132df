"""Edges of code for scalars and loops that other programs do not come to, on every processor."""

import numpy as np
import pytest
from guarded_memory import GuardedMemory
from native_run import HOSTS, Native
from programs import COLUMN, ROW, buffer, read, result, row_sums, total
from test_scalars import run

import fuse_dialect as fd
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.llvm import LLVMBackend
from fuse_dialect.backends.llvm.processors import target_of
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.loops import run_loops
from fuse_dialect.loops.elements import dtype_named
from fuse_dialect.loops.indices import Guard, Index, loop
from fuse_dialect.loops.program import (
    Apply,
    Axis,
    Buffer,
    Combiner,
    Literal,
    LoopProgram,
    Read,
    Reduction,
    Refusal,
    Role,
    Stage,
    Value,
)

hosts = pytest.mark.parametrize("target", HOSTS)
FAMILIES = pytest.mark.parametrize("families", [(), ("generic",)], ids=["all", "generic"])


@hosts
def test_floats_become_unsigned_numbers_in_their_range(target: str) -> None:
    x = np.array([0.0, -3, 200.7, 255.9, 256, 1e9, np.nan, -np.inf, np.inf], np.float32)
    actual = run("arith.fptoui", "ui8", target, x, element="f32")
    np.testing.assert_array_equal(actual, np.array([0, 0, 200, 255, 255, 255, 0, 0, 255], np.uint8))


@hosts
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_remainders_are_exact_though_quotients_are_rounded(target: str, element: str) -> None:
    random = np.random.default_rng(0)
    rhs: Array = random.uniform(0.1, 9, 4000).astype(dtype_named(element))
    near: Array = (rhs * random.integers(1, 5000, 4000)).astype(rhs.dtype)
    below: Array = np.nextafter(near, np.zeros_like(near))
    lhs: Array = np.where(random.random(4000) < 0.5, below, near) * np.sign(random.random(4000) - 0.5)
    lhs = lhs.astype(rhs.dtype)
    np.testing.assert_array_equal(run("arith.remf", element, target, lhs, rhs, element=element), np.fmod(lhs, rhs))


@hosts
@pytest.mark.parametrize("function", ["arith.maximumf", "arith.minimumf"])
def test_signs_of_zeros_decide(target: str, function: str) -> None:
    lhs, rhs = np.array([0.0, -0.0, 0.0, -0.0], np.float32), np.array([-0.0, 0.0, 0.0, -0.0], np.float32)
    signs = np.signbit(run(function, "f32", target, lhs, rhs, element="f32"))
    expected = [False, False, False, True] if function == "arith.maximumf" else [True, True, False, True]
    np.testing.assert_array_equal(signs, expected)


@hosts
def test_large_floats_are_whole(target: str) -> None:
    x = np.array([2.0**23 + 1, 2.0**24 - 1, -(2.0**23) - 3, 3e38, 2.5, -0.5, np.inf, np.nan, 2.0**22 + 0.5], np.float32)
    np.testing.assert_array_equal(run("math.roundeven", "f32", target, x, element="f32"), np.rint(x))


@hosts
def test_any_byte_but_zero_is_true(target: str) -> None:
    bytes = np.array([0, 1, 2, 3, 128, 255, 0, 254] * 9, np.uint8)
    size = bytes.size
    condition = Buffer("c", "i1", (size,), Role.ARGUMENT)
    body = (Read("c", (ROW,), "i1"), read("x", ROW), Apply("arith.negf", (1,), "f32"))
    stage = Stage("f", "y", (Axis(size),), (*body, Apply("arith.select", (0, 1, 2), "f32")))
    program = LoopProgram("f", (condition, buffer("x", size), result(size)), (stage,))
    ones = np.ones(size, np.float32)
    (actual,) = Native(program, HOSTS[target])(bytes.view(np.bool_), ones)
    np.testing.assert_array_equal(actual, np.where(bytes, ones, -ones))


@hosts
@FAMILIES
@pytest.mark.parametrize("columns", [1, 3, 16, 37, 200])
def test_a_sum_begins_with_its_start(target: str, families: tuple[str, ...], columns: int) -> None:
    program = row_sums(5, columns)
    stage = program.stages[0]
    program = LoopProgram("s", program.buffers, (Stage("s", "y", stage.axes, stage.body, total(2.5)),))
    x = np.arange(5 * columns, dtype=np.float32).reshape(5, columns)
    np.testing.assert_array_equal(Native(program, HOSTS[target], families)(x)[0], x.sum(1) + np.float32(2.5))


REDUCTIONS = [
    ("ui8", Combiner.MAXIMUM, 0),
    ("ui8", Combiner.MINIMUM, 255),
    ("i8", Combiner.MAXIMUM, -128),
    ("i8", Combiner.MINIMUM, 127),
    ("i32", Combiner.MULTIPLY, 1),
    ("f32", Combiner.MULTIPLY, 1.0),
    ("i32", Combiner.ADD, 0),
    ("i1", Combiner.AND, True),
    ("i1", Combiner.OR, False),
]


@hosts
@pytest.mark.parametrize(("element", "combiner", "start"), REDUCTIONS, ids=str)
def test_reductions_of_every_kind(target: str, element: str, combiner: Combiner, start: float) -> None:
    for rows, columns in ((3, 5), (4, 67), (70, 3)):
        for is_last in (True, False):
            axes = (Axis(rows if is_last else columns), Axis(columns if is_last else rows, True))
            indices = (ROW, COLUMN) if is_last else (COLUMN, ROW)
            body = (Read("x", indices, element),)
            stage = Stage("r", "y", axes, body, Reduction(combiner, Literal(start, element)))
            buffers = (
                Buffer("x", element, (rows, columns), Role.ARGUMENT),
                Buffer("y", element, (axes[0].size,), Role.RESULT),
            )
            program = LoopProgram("r", buffers, (stage,))
            random = np.random.default_rng(1)
            x = random.integers(0, 2 if element == "i1" else 250, (rows, columns)).astype(dtype_named(element))
            if combiner is Combiner.MULTIPLY:
                x = random.choice([1, 2, -1], (rows, columns), p=[0.8, 0.1, 0.1]).astype(x.dtype)
            if combiner in (Combiner.AND, Combiner.OR):
                x = random.random((rows, columns)) < (0.95 if combiner is Combiner.AND else 0.05)
            (actual,) = Native(program, HOSTS[target])(x)
            np.testing.assert_array_equal(actual, run_loops(program, [x])[0])


def _shifted(index: Index, size: int, *, guards: tuple[Guard, ...] = (), fill: float = 0.0) -> LoopProgram:
    inner = Read("x", (index,), "f32", guards, Literal(fill, "f32") if guards else None)
    stage = Stage("s", "y", (Axis(size),), (inner, Apply("arith.negf", (0,), "f32")))
    return LoopProgram("s", (buffer("x", 90), result(size)), (stage,))


@hosts
@FAMILIES
@pytest.mark.parametrize("by", [2, 3, 5, 8])
def test_quotients_and_remainders_of_negative_numbers_round_down(
    target: str, families: tuple[str, ...], by: int
) -> None:
    x = np.arange(90, dtype=np.float32)
    for index in ((loop(0) * -1) // by + 50, (loop(0) * -1) % by, (loop(0) * -1 + 5) // by + 50):
        program = _shifted(index, 60)
        (actual,) = Native(program, HOSTS[target], families)(x)
        np.testing.assert_array_equal(actual, run_loops(program, [x])[0])


@hosts
@FAMILIES
def test_elements_outside_of_guards_are_what_the_program_says(target: str, families: tuple[str, ...]) -> None:
    x = np.arange(90, dtype=np.float32) + 1
    for index, size in ((loop(0) - 5, 100), (loop(0) * -1 + 40, 60), (loop(0) * 3 - 20, 70), (loop(0) * 2 - 1, 46)):
        program = _shifted(index, size, guards=(Guard(index, 90),), fill=7.5)
        (actual,) = Native(program, HOSTS[target], families)(x)
        np.testing.assert_array_equal(actual, run_loops(program, [x])[0])


@hosts
@FAMILIES
@pytest.mark.parametrize("columns", [5, 21])
def test_nothing_behind_an_array_is_read_under_a_guard(target: str, families: tuple[str, ...], columns: int) -> None:
    inner = Read("x", (ROW - 2, COLUMN), "f32", (Guard(ROW - 2, 3),), Literal(7.5, "f32"))
    stage = Stage("s", "y", (Axis(5), Axis(columns)), (inner, Apply("arith.negf", (0,), "f32")))
    program = LoopProgram("s", (buffer("x", 3, columns), result(5, columns)), (stage,))
    x = np.arange(3.0 * columns, dtype=np.float32).reshape(3, columns)
    with GuardedMemory() as memory:
        (actual,) = Native(program, HOSTS[target], families)(x, memory=memory)
        np.testing.assert_array_equal(actual, run_loops(program, [x])[0])


@hosts
def test_products_that_divide_negative_numbers(target: str) -> None:
    divided = Read("a", (ROW, (loop(2) * -1) // 2 + 6), "f32")
    body = (divided, read("b", loop(2), COLUMN), Apply("arith.mulf", (0, 1), "f32"))
    stage = Stage("m", "y", (Axis(9), Axis(21), Axis(12, True)), body, total())
    program = LoopProgram("m", (buffer("a", 9, 8), buffer("b", 12, 21), result(9, 21)), (stage,))
    random = np.random.default_rng(0)
    a, b = (random.integers(-4, 5, shape).astype(np.float32) for shape in ((9, 8), (12, 21)))
    native = Native(program, HOSTS[target])
    assert native.kernel.family == "contraction"
    np.testing.assert_array_equal(native(a, b, parts=2)[0], run_loops(program, [a, b])[0])


def test_computed_indices_stay_inside() -> None:
    body = (
        Read("i", (ROW,), "i64"),
        Apply("arith.addi", (0, 0), "i64"),
        Read("x", (Value(1),), "f32"),
    )
    stage = Stage("t", "y", (Axis(20),), body)
    buffers = (Buffer("i", "i64", (20,), Role.ARGUMENT), buffer("x", 10), result(20))
    native = Native(LoopProgram("t", buffers, (stage,)))
    x = np.arange(10, dtype=np.float32)
    indices = np.arange(20) - 9
    np.testing.assert_array_equal(native(indices, x)[0], x[np.clip(indices * 2, 0, 9)])


def test_what_a_family_declines_leaves_no_text() -> None:
    backend = LLVMBackend(families=("contraction", "map", "rows", "generic"))
    for write in (row_sums(5, 70), _shifted(loop(0), 30)):
        for module in (None, backend.module()):  # a text of its own, and one for several kernels
            emitted = backend.emit(KernelRequest(write), module)
            assert not isinstance(emitted, Refusal)
            assert emitted.ir_text.count(f"@{emitted.symbol}(") == 1
        native = Native(write)
        assert native.kernel.family == emitted.family


def test_a_target_is_never_more_than_the_processor_at_hand() -> None:
    own = HOSTS["host"]
    foreign, native = ("neoverse-n1", "haswell") if "+sse2" in own.features else ("haswell", "neoverse-n1")
    with pytest.raises(FuseError, match="does not run on this one"):
        target_of(foreign)
    missing = {feature for feature in own.features.split(",") if feature.startswith("-")}
    assert missing <= set(target_of(native).features.split(","))


@hosts
@pytest.mark.parametrize("depth", [5, 700, 14000])
def test_long_products_are_taken_in_blocks(target: str, depth: int) -> None:
    """The longest has panels of 400 KB and more, which the second cache does not hold beside anything else."""
    body = (read("a", ROW, loop(2)), read("b", loop(2), COLUMN), Apply("arith.mulf", (0, 1), "f32"))
    stage = Stage("m", "y", (Axis(33), Axis(37), Axis(depth, True)), body, total())
    program = LoopProgram("m", (buffer("a", 33, depth), buffer("b", depth, 37), result(33, 37)), (stage,))
    random = np.random.default_rng(0)
    a, b = (random.integers(-4, 5, shape).astype(np.float32) for shape in ((33, depth), (depth, 37)))
    np.testing.assert_array_equal(Native(program, HOSTS[target])(a, b)[0], a @ b)


def test_programs_of_windows_with_fill() -> None:
    text = """func.func @main(%x: tensor<1x7x7x19xf32>) -> tensor<1x7x7x19xf32> {
  %0 = fuse.max_pool2d %x, pool_size = [3, 3], padding = [1, 1, 1, 1], layout = "NHWC"
    : (tensor<1x7x7x19xf32>) -> tensor<1x7x7x19xf32>
  return %0 : tensor<1x7x7x19xf32>
}"""
    module = fd.parse(text)
    x = -1 - np.random.default_rng(0).random((1, 7, 7, 19), np.float32)
    program = fd.compile(module)
    assert [kernel.family for kernel in program.kernels] == ["contraction"]
    np.testing.assert_array_equal(program(x)[0], fd.run(module, x)[0])


@hosts
@pytest.mark.parametrize("combiner", [Combiner.MAXIMUM, Combiner.MINIMUM], ids=str)
def test_nan_wins_wherever_it_stands(target: str, combiner: Combiner) -> None:
    columns = 37
    program = row_sums(columns, columns)
    start = float("-inf") if combiner is Combiner.MAXIMUM else float("inf")
    stage = program.stages[0]
    program = LoopProgram("r", program.buffers, (Stage("r", "y", stage.axes, stage.body, total(start, combiner)),))
    x = np.random.default_rng(0).random((columns, columns), np.float32)
    np.fill_diagonal(x, np.nan)
    assert np.isnan(Native(program, HOSTS[target])(x)[0]).all()
