"""Accuracy of mathematical functions on vectors, in units in the last place, and special values."""

import math
import os

import numpy as np
import pytest
from native_run import HOSTS, Native

import fuse_dialect as fd
from fuse_dialect.backends.llvm.scalars import FUNCTIONS
from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.ops.elementwise import FunctionOp
from fuse_dialect.loops.elements import dtype_named
from fuse_dialect.loops.functions import SCALAR_FUNCTIONS, Variant
from fuse_dialect.loops.indices import loop
from fuse_dialect.loops.program import Apply, Axis, Buffer, LoopProgram, Read, Role, Stage
from fuse_dialect.loops.special_functions import erf

hosts = pytest.mark.parametrize("target", HOSTS)
MEANINGS = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "erf": erf,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}
UNITS = {name.removeprefix("math."): row.units for name, row in SCALAR_FUNCTIONS.items() if row.units is not None}
EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 1e-45, -1e-45, 1e-38, 88.72, 88.73, -87.34, -103.9, -104.1, 89.41]
EDGES += [3.4e38, -3.4e38, 0.5, 2, 9e4, 1.1e5, 1e10, 1 - 2**-24, 1 + 2**-23, math.sqrt(0.5), 7.9, 9, -150, 128, -126]


def program(function: str, element: str, size: int, operands: int = 1, variant: Variant | None = None) -> LoopProgram:
    names = [f"x{number}" for number in range(operands)]
    reads = tuple(Read(name, (loop(0),), element) for name in names)
    body = (*reads, Apply(f"math.{function}", tuple(range(operands)), element, variant))
    buffers = [Buffer(name, element, (size,), Role.ARGUMENT) for name in names]
    return LoopProgram(
        "f", (*buffers, Buffer("y", element, (size,), Role.RESULT)), (Stage("f", "y", (Axis(size),), body),)
    )


def samples(count: int = 100_000) -> Array:
    """Random bits, intervals that matter, and edges."""
    random = np.random.default_rng(0)
    bits = random.integers(0, 2**32, count, dtype=np.uint64).astype(np.uint32).view(np.float32)
    parts = [random.uniform(low, high, count) for low, high in ((-1, 1), (-10, 10), (-104, 90), (0, 2))]
    with np.errstate(invalid="ignore"):
        return np.concatenate([np.array(EDGES), bits, *parts]).astype(np.float32)


def units(actual: Array, exact: Array) -> Array:
    """Errors in units in the last place of the nearest f32 (f64); denormals have the unit of the least normal."""
    with np.errstate(all="ignore"):
        nearest = exact.astype(actual.dtype)
        assert np.array_equal(np.isnan(actual), np.isnan(nearest))
        finite = np.isfinite(nearest) & np.isfinite(actual)
        assert np.array_equal(actual[~finite & ~np.isnan(nearest)], nearest[~finite & ~np.isnan(nearest)])
        zeros = (nearest == 0) & (actual == 0)
        assert np.array_equal(np.signbit(actual[zeros]), np.signbit(nearest[zeros]))
        unit = np.spacing(np.maximum(np.abs(nearest), np.finfo(actual.dtype).tiny))
        return np.abs(actual.astype(exact.dtype) - exact)[finite] / unit[finite]


DENSE = int(os.environ.get("FUSE_EVERY_FLOAT", "8191"))
"""Every which f32 is tried, of all there are; 1 takes hours."""


def every(element: str, step: int) -> Array:
    """Every so many-th number of a type, by its bits."""
    dtype = dtype_named(element)
    bits = np.arange(0, 1 << 8 * dtype.itemsize, step, dtype=np.uint64).astype(f"u{dtype.itemsize}")
    return bits.view(dtype)


@hosts
@pytest.mark.parametrize("name", MEANINGS)
def test_f32_functions_are_within_their_stated_error(target: str, name: str) -> None:
    x = np.concatenate([every("f32", DENSE), samples(100_000 if target == "host" else 10_000)])
    with np.errstate(all="ignore"):
        exact = MEANINGS[name](x.astype(np.float64))
    (actual,) = Native(program(name, "f32", x.size), HOSTS[target])(x)
    assert units(actual, exact).max() <= UNITS[name]


@pytest.mark.sums
@pytest.mark.parametrize("op_class", [op for op in ALL_OPS if issubclass(op, FunctionOp)], ids=lambda op: op.name)
def test_numpy_is_within_the_same_error(op_class: type[FunctionOp]) -> None:
    name = op_class.MATH.name.removeprefix("math.")
    x = np.concatenate([every("f32", DENSE), samples()])
    module = fd.parse(
        f"func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {{\n%y = {op_class.name} %x : tensor<?xf32>\n"
        "return %y : tensor<?xf32>\n}"
    )
    with np.errstate(all="ignore"):
        exact = op_class.FUNCTION(x.astype(np.float64))
    # Those that are no function of the table are exact.
    assert units(fd.run(module, x)[0], exact).max() <= UNITS.get(name, 0.5)


@hosts
@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("name", MEANINGS)
def test_every_narrow_number_has_the_nearest_result(target: str, element: str, name: str) -> None:
    x = every(element, 1)
    with np.errstate(all="ignore"):
        exact = MEANINGS[name](x.astype(np.float64))
        (actual,) = Native(program(name, element, x.size), HOSTS[target])(x)
        wide, nearest = actual.astype(np.float64), exact.astype(x.dtype).astype(np.float64)
    known = np.isfinite(nearest) & np.isfinite(wide)
    # Half a unit for the rounding of a type, and some units of f32, of which a unit of f16 has 2**13.
    least, step = {"f16": (2.0**-14, 2.0**-10), "bf16": (2.0**-126, 2.0**-7)}[element]
    unit = np.exp2(np.floor(np.log2(np.maximum(np.abs(exact[known]), least)))) * step
    assert (np.abs(wide[known] - exact[known]) / unit).max() <= 0.51
    np.testing.assert_array_equal(wide[~known], nearest[~known])


@hosts
@pytest.mark.parametrize(
    ("variant", "least", "most"), [(Variant.FALLING, -np.inf, 2), (Variant.LIFTED, -20, 2), (Variant.LIFTED, -103, 6)]
)
def test_exponentials_of_differences_are_within_their_stated_error(
    target: str, variant: Variant, least: float, most: int
) -> None:
    x = -np.abs(samples(100_000 if target == "host" else 10_000))
    x = x[~(x < least)] if variant is Variant.FALLING else x[x >= least]
    with np.errstate(all="ignore"):
        exact = np.exp(x.astype(np.float64))
    (actual,) = Native(program("exp", "f32", x.size, variant=variant), HOSTS[target])(x)
    if variant is Variant.LIFTED:
        exact *= 2.0**64
    assert units(actual, exact).max() <= most


@hosts
def test_lifted_exponentials_are_nothing_where_they_would_be_0(target: str) -> None:
    x = np.array([-104, -105, -1e5, -3e38, -np.inf], np.float32)
    (actual,) = Native(program("exp", "f32", x.size, variant=Variant.LIFTED), HOSTS[target])(x)
    np.testing.assert_array_equal(actual * np.float32(2.0**-64), 0)


@hosts
@pytest.mark.parametrize(("name", "limit"), [("tanh", 9.6), ("erf", 4.0)])
def test_functions_with_a_limit_reach_it_and_stay_there(target: str, name: str, limit: float) -> None:
    x = np.concatenate([np.linspace(limit, 30, 20_000), np.logspace(1, 38, 1000), [np.inf]]).astype(np.float32)
    native = Native(program(name, "f32", x.size), HOSTS[target])
    for sign in (1, -1):
        np.testing.assert_array_equal(native(x * np.float32(sign))[0], np.full(x.shape, sign, np.float32))
    below = np.linspace(0, limit, x.size).astype(np.float32)
    assert np.abs(native(below)[0]).max() <= 1


@hosts
@pytest.mark.parametrize("name", ["exp", "log"])
def test_f64_functions_are_within_one_unit(target: str, name: str) -> None:
    random = np.random.default_rng(1)
    x = np.concatenate([np.array(EDGES), random.uniform(-745, 710, 50_000), random.uniform(0, 3, 50_000)])
    with np.errstate(all="ignore"):
        exact = MEANINGS[name](x.astype(np.longdouble))
    (actual,) = Native(program(name, "f64", x.size), HOSTS[target])(x)
    assert units(actual, exact).max() <= 1.1


@pytest.mark.parametrize("name", MEANINGS)
def test_f64_functions_are_those_of_numpy(name: str) -> None:
    x = samples(2000).astype(np.float64)
    with np.errstate(all="ignore"):
        expected = MEANINGS[name](x)
    (actual,) = Native(program(name, "f64", x.size))(x)
    np.testing.assert_allclose(actual, expected, rtol=1e-14, atol=1e-300)


@hosts
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_powers_are_those_of_numpy_at_all_edges(target: str, element: str) -> None:
    dtype = np.float32 if element == "f32" else np.float64
    edges = np.array([*EDGES, 3, -3, 2.5, -2, 1e-3, -0.5], dtype)
    random = np.random.default_rng(2)
    x = np.concatenate([np.repeat(edges, edges.size), random.uniform(0, 9, 5000).astype(dtype)])
    y = np.concatenate([np.tile(edges, edges.size), random.uniform(-30, 30, 5000).astype(dtype)])
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
    (actual,) = Native(program("powf", element, x.size, 2), HOSTS[target])(x, y)
    assert units(actual, exact).max() <= UNITS["powf"]


def test_every_function_of_one_float_is_measured() -> None:
    exact = {"absf", "ceil", "floor", "trunc", "roundeven", "copysign", "fma", "sqrt", "powf", "absi", "ipowi"}
    assert {name.removeprefix("math.") for name in FUNCTIONS if name.startswith("math.")} == exact | set(MEANINGS)
    assert set(UNITS) == {*MEANINGS, "powf"}


COMPOSED = {
    "exponential_minus_one": np.expm1,
    "log_plus_one": np.log1p,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "cbrt": np.cbrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}


@pytest.mark.sums
@pytest.mark.parametrize("name", COMPOSED)
def test_functions_that_stablehlo_composes_are_within_three_units(name: str) -> None:
    """What StableHLO's own tests allow."""
    x = samples(50_000)
    x = x[(np.abs(x) > 1e-30) & (np.abs(x) < 80)]
    type = f"tensor<{x.size}xf32>"
    module = fd.parse(
        f"func.func @main(%x: {type}) -> {type} {{\n%y = stablehlo.{name} %x : {type}\nreturn %y : {type}\n}}"
    )
    with np.errstate(all="ignore"):
        exact = COMPOSED[name](x.astype(np.float64))
    for actual in (fd.run(module, x)[0], fd.compile(module, cache=False)(x)[0]):
        known = np.isfinite(exact)
        assert units(actual[known], exact[known]).max() <= 3
