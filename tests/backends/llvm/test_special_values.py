"""Every elementwise op on numbers at the edges: zeros, infinities, nan, denormal, greatest and least numbers.

NumPy, plain native loops and native vectors agree to the bit, but for the payload of nan. Functions of real numbers
that are approximated agree to the bit on 0 and infinities, and where the value is one of these or nan; else within a
few units.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest
from native_run import Native
from op_examples import examples, operator, rebuilt
from xdsl.dialects import func
from xdsl.dialects.builtin import BFloat16Type, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute

import fuse_dialect as fd
from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.op import Array, FuseOp, MapOp
from fuse_dialect.dialect.types import element_dtype, integer_type, is_tensor, tensor
from fuse_dialect.interpreters.numpy import evaluate
from fuse_dialect.interpreters.scalar import run_scalar_body
from fuse_dialect.loops.program import LoopProgram
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.loops.special_functions import power
from fuse_dialect.lowering.loop_program import lower

FLOATS: list[Attribute] = [f32, f64, f16, BFloat16Type()]
UNSIGNED: list[Attribute] = [integer_type(width, unsigned=True) for width in (8, 16, 32, 64)]
ELEMENTS: list[Attribute] = [*FLOATS, i1, i8, i16, i32, i64, *UNSIGNED]
_NAMES = """acos acosh asin asinh atan atanh cos cosh elu erf exp gelu log log2 mish power rsqrt selu sigmoid silu
sin sinh softplus softsign tan tanh hard_sigmoid hard_swish"""
APPROXIMATE = frozenset(f"fuse.{name}" for name in _NAMES.split())
"""Functions that are approximated, or made of products and sums that may be fused."""
CANCELLING = {"fuse.gelu": 2.0**-20, "fuse.hard_sigmoid": 2.0**-23, "fuse.hard_swish": 2.0**-23}
"""Formulas that subtract nearly equal numbers, with what they may be off relative to the operand, or to 1 if less."""
UNITS_OF_APPROXIMATION = 16
"""Formulas of several functions add up what each is off."""
MIXED = ("fuse.power",)
"""Ops whose operands may differ in type."""
OTHERS = ("fuse.full", "fuse.requantize")
"""Ops of no operand, or of one with scales: nothing to combine."""
OPS = [op for op in ALL_OPS if issubclass(op, MapOp) and op.name not in OTHERS]


LONG = ("fuse.cast", "fuse.power", "fuse.where")
"""Ops with many combinations of types, or of numbers."""


def edges(element: Attribute) -> Array:
    """Numbers at the edges of a type."""
    dtype = element_dtype(element)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype.name)
        wanted = [0, 1, -1, 2, -2, 3, 7, -7, 10, 100, limits.bits - 1, limits.bits, limits.max, limits.max - 1]
        wanted += [limits.min, limits.min + 1, limits.max // 2, limits.max // 3]
        return np.array([number for number in wanted if limits.min <= number <= limits.max], dtype)
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[dtype.itemsize]
    one, infinity = (int(np.array(number, dtype).view(bits)) for number in (1, np.inf))
    least_normal = infinity & -infinity
    positive = [
        0,
        1,
        2,
        least_normal - 1,
        least_normal,
        least_normal + 1,
        infinity - 1,
        infinity,
        one - 1,
        one,
        one + 1,
    ]
    numbers = [0.5, 1.5, 2, 2.5, 3, 7, 8.5, 9.5, 100, 127, 128, 255, 256, 1000, 65519, 1e9, 2.0**31, 2.0**32]
    numbers += [2.0**62, 2.0**63, 2.0**64, 3e38, 1e-40, 1e-5, 89, 710, 1e-30]
    with np.errstate(all="ignore"):
        found = np.concatenate([np.array(positive, bits).view(dtype), np.array(numbers).astype(dtype)])
    return np.concatenate([found, -found, np.array([np.nan], dtype)])


def operand_types(op: FuseOp, elements: Sequence[Attribute], sizes: Sequence[int]) -> list[Sequence[Attribute]]:
    """Types for the operands: of one shape; or a row of channels, and a number for each."""
    same = [tensor(sizes[:1], element) for element in elements]
    return [same, [tensor((1, *sizes[:1]), elements[0]), *same[1:]]]


def functions_of(op_class: type[FuseOp]) -> Iterator[tuple[func.FuncOp, list[Array]]]:
    """The op on every element type that it takes, with operands: all pairs, or triples, of edges."""
    seen: set[str] = set()
    for op in examples()[op_class.name]:
        count = len(op.operands)
        for element in ELEMENTS:
            for others in product(ELEMENTS, repeat=1) if op.name in MIXED else [(element,)]:
                elements = [element, *others * (count - 1)]
                if op.name == "fuse.where":
                    elements = [i1, element, element]
                grid = np.meshgrid(*map(edges, elements), indexing="ij")
                arrays = [np.ascontiguousarray(each.reshape(-1)) for each in grid]
                results = ELEMENTS if op.name in ("fuse.cast", "fuse.bitcast") else [None]
                for types, result in product(operand_types(op, elements, arrays[0].shape), results):
                    given = None if result is None else [tensor(arrays[0].shape, result)]
                    function = rebuilt(op, types, given)
                    if function is not None and str(function) not in seen:
                        seen.add(str(function))
                        shapes = [type.get_shape() for type in types if is_tensor(type)]
                        yield function, [array.reshape(shape) for array, shape in zip(arrays, shapes, strict=True)]
                        break


def kind_of(number: Array) -> Array:
    """What must agree to the bit: 0, infinities, nan, with their signs; 5 for all others."""
    wide = number.astype(np.float64)
    kinds = np.where(np.isnan(wide), 0, np.where(np.isinf(wide), 1, np.where(wide == 0, 2, 5)))
    return np.where(np.isnan(wide), 0, np.where(np.signbit(wide), -kinds, kinds))


def compare(actual: Array, expected: Array, function: func.FuncOp, arrays: Sequence[Array], way: str) -> None:
    """Fail where two results differ by more than they may."""
    op = operator(function)
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.dtype == expected.dtype
    if expected.dtype.kind in "biu":
        differ = actual != expected
    else:
        bits = {2: np.int16, 4: np.int32, 8: np.int64}[expected.dtype.itemsize]
        apart = np.abs(actual.view(bits).astype(object) - expected.view(bits).astype(object))
        if op.name in APPROXIMATE:
            least = np.abs(expected.astype(np.float64)) <= 64 * float(np.finfo(np.float32).smallest_subnormal)
            differ = (apart > UNITS_OF_APPROXIMATION) & ~((kind_of(actual) == 0) & (kind_of(expected) == 0))
            differ |= (kind_of(actual) != kind_of(expected)) & ~least
            limit = np.ones(expected.shape, np.bool_)
            for array in arrays:
                limit = limit & ((array == 0) | np.isinf(array.astype(np.float64)))
            if op.name in CANCELLING:
                (x,) = (array.astype(np.float64) for array in arrays)
                with np.errstate(all="ignore"):
                    off = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
                    differ &= ~(off <= CANCELLING[op.name] * np.maximum(np.abs(x), 1))
            differ |= limit & (apart != 0) & (kind_of(expected) != 0)
        else:
            differ = (apart != 0) & ~(np.isnan(actual.astype(np.float64)) & np.isnan(expected.astype(np.float64)))
    if differ.any():
        where = np.flatnonzero(differ.reshape(-1))
        flat = [np.broadcast_to(array, expected.shape).reshape(-1) for array in arrays]
        lines = [
            f"{', '.join(str(array[place]) for array in flat)} -> {actual.reshape(-1)[place]!r}, not "
            f"{expected.reshape(-1)[place]!r}"
            for place in where[:12]
        ]
        pytest.fail(f"{way}: {len(where)} of {differ.size}\n{op}\n" + "\n".join(lines), pytrace=False)


@pytest.mark.parametrize(
    "op_class",
    [pytest.param(op, marks=[pytest.mark.slow] if op.name in LONG else [], id=op.name) for op in OPS],
)
def test_ops_agree_on_edges(op_class: type[FuseOp]) -> None:
    compared = 0
    for function, arrays in functions_of(op_class):
        op = operator(function)
        assert isinstance(op, MapOp)
        (expected,) = evaluate(op, arrays)
        assert isinstance(expected, np.ndarray)
        compare(run_scalar_body(op, *arrays), expected, function, arrays, "scalar body")
        program = lower(function)
        assert isinstance(program, LoopProgram)
        program = simplify(program)
        for families in ([], ["generic"]):
            (actual,) = Native(program, families=families)(*arrays)
            compare(actual, expected, function, arrays, "plain loops" if families else "vectors")
        compared += 1
    assert compared


def both_ways(op: str, types: Sequence[str], *arrays: Array, attributes: str = "") -> list[Array]:
    """What NumPy and native code make of arrays of one length."""
    shaped = [f"tensor<{arrays[0].size}x{element}>" for element in types]
    names = [f"%a{place}" for place in range(len(arrays))]
    arguments = ", ".join(f"{name}: {type}" for name, type in zip(names, shaped, strict=False))
    text = f"""func.func @main({arguments}) -> {shaped[-1]} {{
  %r = fuse.{op} {", ".join(names)}{attributes} : ({", ".join(shaped[:-1])}) -> {shaped[-1]}
  return %r : {shaped[-1]}
}}"""
    module = fd.parse(text)
    program = fd.compile(module)
    assert all(kernel.family == "map" for kernel in program.kernels)
    return [fd.run(module, *arrays)[0], program(*arrays)[0]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_remainders_of_floats_are_exact(dtype: type) -> None:
    element = {np.float32: "f32", np.float64: "f64"}[dtype]
    lhs = np.array([1e9, 3e38, 1, -1e9, 5, -5, 5.5, 2.0**60 + 2.0**20, -0.0, 7, 3], dtype)
    rhs = np.array([3, 2.5, 1e-40, 3, -5, 5, np.inf, 3, 3, 0, np.nan], dtype)
    expected = np.array([math_mod(*pair) for pair in zip(lhs, rhs, strict=True)], dtype)
    for actual in both_ways("mod", [element] * 3, lhs, rhs):
        np.testing.assert_array_equal(actual, expected)
    truncated = [np.nan if y == 0 else math.fmod(x, y) for x, y in zip(lhs, rhs, strict=True)]
    for actual in both_ways("mod", [element] * 3, lhs, rhs, attributes=", fmod = true"):
        np.testing.assert_array_equal(actual, np.array(truncated, dtype))
        np.testing.assert_array_equal(np.signbit(actual[:9]), np.signbit(lhs[:9]))


def math_mod(x: float, y: float) -> float:
    """Python's remainder, which is exact and has the sign of the divisor."""
    return np.nan if y == 0 else float(x) % float(y)


def test_remainders_of_many_floats_are_those_of_python() -> None:
    random = np.random.default_rng(0)
    lhs = (random.standard_normal(4000) * 10.0 ** random.integers(-38, 38, 4000)).astype(np.float32)
    rhs = (random.standard_normal(4000) * 10.0 ** random.integers(-38, 38, 4000)).astype(np.float32)
    near = random.standard_normal(4000).astype(np.float32) * 100
    for dividends, divisors in ((lhs, rhs), (near, near[::-1].copy())):
        expected = [math.fmod(x, y) for x, y in zip(dividends, divisors, strict=True)]
        for actual in both_ways("mod", ["f32"] * 3, dividends, divisors, attributes=", fmod = true"):
            np.testing.assert_array_equal(actual, np.array(expected, np.float32))


@pytest.mark.parametrize(
    ("base", "exponent"), [("ui8", "ui8"), ("ui8", "i64"), ("i8", "ui8"), ("i8", "i64"), ("i32", "ui64")]
)
def test_powers_of_integers_wrap_around_whatever_the_exponent(base: str, exponent: str) -> None:
    low, high = (0, 256) if base.startswith("u") else (-128, 128)
    bits = int(base.lstrip("ui"))
    bases = np.array([0, 1, 2, 3, 5, 7, 10, low, high - 1, high - 2] * 4)
    exponents = np.repeat([200, 0, 1, 255 if exponent == "ui8" else 2**40 + 1], 10)
    expected = [pow(int(x), int(y), 1 << bits) for x, y in zip(bases, exponents, strict=True)]
    unsigned = np.array(expected, f"u{bits // 8}")
    wanted = unsigned if base.startswith("u") else unsigned.view(f"i{bits // 8}")
    dtypes = {
        each: np.dtype(f"{'u' if each.startswith('u') else 'i'}{int(each.lstrip('ui')) // 8}")
        for each in (base, exponent)
    }
    for actual in both_ways(
        "power", [base, exponent, base], bases.astype(dtypes[base]), exponents.astype(dtypes[exponent])
    ):
        np.testing.assert_array_equal(actual, wanted)


def test_a_power_does_not_depend_on_the_shape_of_its_operands() -> None:
    x = np.array([-np.inf, -0.0, 4, -1], np.float32)
    for shape in ((4,), (1, 4), (4, 1), (2, 2)):
        for exponent in (np.full(shape, 0.5, np.float32), np.full((1,) * len(shape), 0.5, np.float32)):
            with np.errstate(all="ignore"):
                result = power(x.reshape(shape), exponent).reshape(-1)
            np.testing.assert_array_equal(result, [np.inf, 0, 2, np.nan])
            assert not np.signbit(result[1])
    assert power(np.float32(-np.inf).reshape(()), np.float32(0.5).reshape(())) == np.inf


def test_a_large_odd_power_keeps_the_sign() -> None:
    x, y = np.array([-1, -1, -np.inf], np.float32), np.array([2**24 + 1, 2**24 + 2, 2**40 + 1])
    for actual in both_ways("power", ["f32", "i64", "f32"], x, y):
        np.testing.assert_array_equal(actual, [-1, 1, -np.inf])


def test_signs_of_zeros_reach_the_next_op() -> None:
    text = """func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %a = fuse.relu %x : tensor<2xf32>
  %b = fuse.reciprocal %a : tensor<2xf32>
  %c = fuse.sign %x : tensor<2xf32>
  %d = fuse.reciprocal %c : tensor<2xf32>
  %e = fuse.tanh %b : tensor<2xf32>
  %f = fuse.floor %e : tensor<2xf32>
  return %b, %d, %f : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}"""
    x = np.array([-0.0, 0.0], np.float32)
    for results in (fd.run(fd.parse(text), x), fd.compile(fd.parse(text))(x)):
        np.testing.assert_array_equal(results[0], [np.inf, np.inf])
        np.testing.assert_array_equal(results[1], [-np.inf, np.inf])
        np.testing.assert_array_equal(results[2], [1, 1])


@pytest.mark.parametrize(
    ("operands", "op", "result"),
    [
        ((("1x1x1x4", -0.0), ("1x1x1x1", 1.0)), "conv2d", "1x1x1x4"),
        ((("1x1x4", -0.0), ("2x1x1", 1.0)), "conv1d", "1x2x4"),
        ((("3x1", -0.0), ("1x5", 2.0)), "matmul", "3x5"),
        ((("3x1", -0.0),), "sum, axes = [1]", "3"),
        ((("3x2", -0.0),), "sum, axes = [1]", "3"),
        ((("3x1", -0.0),), "mean, axes = [1]", "3"),
        ((("3x1", -0.0),), "prod, axes = [1]", "3"),
        ((("3x1", -0.0),), "max, axes = [1]", "3"),
    ],
)
def test_sums_of_one_negative_zero_have_the_sign_of_numpy(
    operands: Sequence[tuple[str, float]], op: str, result: str
) -> None:
    name, _, properties = op.partition(",")
    types = [f"tensor<{shape}xf32>" for shape, _ in operands]
    arguments = ", ".join(f"%{place}: {type}" for place, type in enumerate(types))
    values = ", ".join(f"%{place}" for place in range(len(types)))
    text = f"""func.func @main({arguments}) -> tensor<{result}xf32> {{
  %y = fuse.{name} {values}{"," * bool(properties)}{properties} : ({", ".join(types)}) -> tensor<{result}xf32>
  %z = fuse.reciprocal %y : tensor<{result}xf32>
  return %z : tensor<{result}xf32>
}}"""
    arrays = [np.full([int(size) for size in shape.split("x")], value, np.float32) for shape, value in operands]
    (expected,), (actual,) = fd.run(fd.parse(text), *arrays), fd.compile(fd.parse(text))(*arrays)
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("shapes", [("0x1x?x1", "0x1x?x1"), ("0x?x4", "0x?x2x2"), ("?x0", "0x?"), ("0x3x?", "0x?")])
@pytest.mark.parametrize("size", [0, 1, 3])
def test_a_size_that_elements_do_not_tell_is_the_same_natively(shapes: tuple[str, str], size: int) -> None:
    before, after = (f"tensor<{shape}xf32>" for shape in shapes)
    text = f"""func.func @main(%x: {before}) -> {after} {{
  %y = fuse.reshape %x : ({before}) -> {after}
  %z = fuse.relu %y : {after}
  return %z : {after}
}}"""
    x = np.zeros([size if dim == "?" else int(dim) for dim in shapes[0].split("x")], np.float32)
    (expected,), (actual,) = fd.run(fd.parse(text), x), fd.compile(fd.parse(text))(x)
    assert actual.shape == expected.shape
    assert expected.shape[0] == 0


def test_floats_out_of_range_become_the_nearest_integer() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 127.5, 128, -128.9, -129, -0.9], np.float32)
    for actual in both_ways("cast", ["f32", "i8"], x):
        np.testing.assert_array_equal(actual, [0, 127, -128, 127, -128, 127, 127, -128, -128, 0])
    for actual in both_ways("cast", ["f32", "ui64"], x):
        most = 2**64 - 1
        np.testing.assert_array_equal(actual, np.array([0, most, 0, most, 0, 127, 128, 0, 0, 0], np.uint64))
