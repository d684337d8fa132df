"""Scalar functions on edges mean what the interpreter says; nothing is undefined."""

import numpy as np
import pytest
from native_run import HOSTS, Native

from fuse_dialect.backends.llvm.scalars import FUNCTIONS
from fuse_dialect.dialect.op import Array
from fuse_dialect.loops.elements import dtype_named
from fuse_dialect.loops.indices import loop
from fuse_dialect.loops.meanings import evaluate_function
from fuse_dialect.loops.program import Apply, Axis, Buffer, LoopProgram, Read, Role, Stage

hosts = pytest.mark.parametrize("target", HOSTS)
INTEGER_FUNCTIONS = sorted(
    name
    for name in FUNCTIONS
    if name.startswith("arith.")
    and name.endswith("i")
    and name.removeprefix("arith.") not in ("cmpi", "trunci", "extsi")
    and not name.startswith("arith.fp")
    and name != "arith.extui"
)
PREDICATES = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]
ORDERED = ["oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno"]


def run(function: str, result: str, target: str, *operands: Array, element: str, predicate: str | None = None) -> Array:
    size = operands[0].size
    reads = tuple(Read(f"x{number}", (loop(0),), element) for number, _ in enumerate(operands))
    body = (*reads, Apply(function, tuple(range(len(operands))), result, predicate))
    buffers = [Buffer(f"x{number}", element, (size,), Role.ARGUMENT) for number, _ in enumerate(operands)]
    stage = Stage("f", "y", (Axis(size),), body)
    program = LoopProgram("f", (*buffers, Buffer("y", result, (size,), Role.RESULT)), (stage,))
    (actual,) = Native(program, HOSTS[target])(*operands)
    return actual


def pairs(element: str) -> tuple[Array, Array]:
    """Every pair of numbers at the edges of a type."""
    limits = np.iinfo(dtype_named(element))
    edges = np.array([0, 1, 2, 3, 7, -1, -2, -7, limits.max, limits.min, limits.max // 2, limits.bits, limits.bits - 1])
    return (
        np.repeat(edges, edges.size).astype(limits.dtype),
        np.tile(edges, edges.size).astype(limits.dtype),
    )


@hosts
@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
def test_integer_functions_are_defined_for_all_operands(target: str, element: str) -> None:
    lhs, rhs = pairs(element)
    for function in INTEGER_FUNCTIONS:
        left, right = lhs, rhs
        if function in ("arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.floordivsi"):
            actual = run(function, element, target, lhs, rhs, element=element)
            assert not actual[rhs == 0].any(), function
            left, right = lhs[rhs != 0], rhs[rhs != 0]
        with np.errstate(all="ignore"):
            expected = evaluate_function(function, [left, right], dtype_named(element))
        actual = run(function, element, target, left, right, element=element)
        np.testing.assert_array_equal(actual, expected, err_msg=function)


@hosts
@pytest.mark.parametrize("element", ["i8", "i64"])
def test_integer_powers_wrap_around(target: str, element: str) -> None:
    base, exponent = pairs(element)
    few = np.abs(exponent.astype(np.int64)) < 8
    with np.errstate(all="ignore"):
        expected = evaluate_function("math.ipowi", [base[few], exponent[few]], dtype_named(element))
    actual = run("math.ipowi", element, target, base[few], exponent[few], element=element)
    np.testing.assert_array_equal(actual, expected)


@hosts
def test_comparisons_are_those_of_numpy(target: str) -> None:
    lhs, rhs = pairs("i16")
    for predicate in PREDICATES:
        expected = evaluate_function("arith.cmpi", [lhs, rhs], np.dtype(bool), predicate)
        np.testing.assert_array_equal(
            run("arith.cmpi", "i1", target, lhs, rhs, element="i16", predicate=predicate), expected
        )
    edges = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan], np.float32)
    left, right = np.repeat(edges, edges.size), np.tile(edges, edges.size)
    for predicate in ORDERED:
        expected = evaluate_function("arith.cmpf", [left, right], np.dtype(bool), predicate)
        np.testing.assert_array_equal(
            run("arith.cmpf", "i1", target, left, right, element="f32", predicate=predicate), expected
        )


@hosts
@pytest.mark.parametrize("function", ["arith.maximumf", "arith.minimumf"])
def test_nan_wins_in_maxima_and_minima(target: str, function: str) -> None:
    edges = np.array([0.0, 1, -1, np.inf, -np.inf, np.nan], np.float32)
    left, right = np.repeat(edges, edges.size), np.tile(edges, edges.size)
    expected = evaluate_function(function, [left, right], np.dtype(np.float32))
    np.testing.assert_array_equal(run(function, "f32", target, left, right, element="f32"), expected)


@hosts
@pytest.mark.parametrize(("source", "result"), [("f32", "i8"), ("f64", "i32"), ("f32", "i64"), ("f64", "i64")])
def test_floats_become_integers_without_undefined_results(target: str, source: str, result: str) -> None:
    limits = np.iinfo(dtype_named(result))
    x = np.array([0.0, -0.0, 1.9, -1.9, 100.5, np.inf, -np.inf, np.nan, 1e30, -1e30], dtype_named(source))
    actual = run("arith.fptosi", result, target, x, element=source)
    expected = [0, 0, 1, -1, 100, limits.max, limits.min, 0, limits.max, limits.min]
    np.testing.assert_array_equal(actual, expected)


@hosts
def test_every_f16_and_the_f32_around_it_convert(target: str) -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    wide = run("arith.extf", "f32", target, halves, element="f16")
    np.testing.assert_array_equal(wide, halves.astype(np.float32))
    np.testing.assert_array_equal(np.signbit(wide), np.signbit(halves))
    known = wide[np.abs(wide) < 65504]
    between = known + np.spacing(known.astype(np.float16)).astype(np.float32) / 2  # where two are as near
    last = np.array([65504, 65519.996, 65520, 1e9, np.inf, np.nan], np.float32)
    beside = np.nextafter(between, np.float32(np.inf)), np.nextafter(between, np.float32(0))
    near = np.concatenate([last, -last, known, between, *beside])
    with np.errstate(over="ignore"):
        expected = near.astype(np.float16)
    actual = run("arith.truncf", "f16", target, near, element="f32")
    is_nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(actual), is_nan)
    np.testing.assert_array_equal(actual[~is_nan].view(np.uint16), expected[~is_nan].view(np.uint16))


@hosts
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_narrow_floats_are_rounded_once(target: str, source: str) -> None:
    random = np.random.default_rng(3)
    x = (random.standard_normal(4000) * 10.0 ** random.integers(-9, 6, 4000)).astype(dtype_named(source))
    x[:8] = 0.0, -0.0, np.inf, -np.inf, np.nan, 1 + 2**-11 + 2**-30, 65520, 65519.999
    for result in ("bf16", "f16"):
        with np.errstate(over="ignore"):
            expected = x.astype(dtype_named(result))
        actual = run("arith.truncf", result, target, x, element=source)
        both = np.isnan(x)
        assert np.isnan(actual[both].astype(np.float32)).all()
        np.testing.assert_array_equal(actual[~both].view(np.uint16), expected[~both].view(np.uint16), err_msg=result)


@hosts
@pytest.mark.parametrize("result", ["bf16", "f16"])
def test_no_nan_is_rounded_to_a_number(target: str, result: str) -> None:
    signless = np.array([0x7F800001, 0x7F80FFFF, 0x7FC00000, 0x7FFFFFFF, 0x7FFF8000, 0x7FBFFFFF], np.uint32)
    x = np.concatenate([signless, signless | np.uint32(1 << 31)]).view(np.float32)
    assert np.isnan(run("arith.truncf", result, target, x, element="f32").astype(np.float32)).all()
