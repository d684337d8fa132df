"""How far rounding may take sums and products: the one place where tests and fuzzers get their bounds from.

1. A sum of n products, in any order and with or without fused multiply-adds, is within `gamma(n) * sum(|a * b|)` of
   the exact one, with `gamma(n) = n u / (1 - n u)` and u half the distance from 1 to the next number (`ROUNDOFF`). So a
   bound follows from the number of terms, their magnitude and the type in which they are added up.
2. f16 and bf16 are added up in f32, and the sum is rounded once more, to the type of the result.
3. Below the least normal number a rounding is off by half of the least one (`LEAST`), whatever the size.
4. NumPy's sums are no truth: its BLAS and its vector code add in an order that depends on the processor. So sums are
   judged against f64. NumPy's own in f64 have the bound, too: of sums in f64 twice the bound is allowed.
5. Of many roundings as many go up as down: n of them come to the root of n, and to `DEVIATIONS` times that in the worst
   of millions of elements. Then what counts is how large the partial sums are: no larger than the greatest element of a
   result has had them. That bound is near for deep networks, where (1) says nothing; `assert_near` keeps it.
6. Where sums follow each other, or functions of real numbers, `fuzzing.comparing` moves what a program computes by as
   much as rounding may, and looks how far its results go; `assert_agrees` asks it, and needs no number at all.

Sources: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1, (3.4) and (3.5);
N. J. Higham, T. Mary, A new approach to probabilistic rounding error analysis, SIAM J. Sci. Comput. 41, 2019.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp, f64
from xdsl.rewriter import Rewriter

from fuse_dialect.dialect.constants import constant, constant_array
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.types import element_count, is_float, is_tensor, with_element, with_shape
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.transforms.refine_shapes import RefineShapesPass
from fuse_dialect.transforms.runnable import make_runnable

UNITS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""Distance from 1 to the next number."""
ROUNDOFF = {name: unit / 2 for name, unit in UNITS.items()}
"""Greatest relative error of one rounding to the nearest."""
LEAST = {"float64": 2.0**-1074, "float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}
"""The smallest numbers."""
DEVIATIONS = 6.0
"""Standard deviations that no sum of random errors in a test is expected to be beyond: one of 5e8."""

Doubles = npt.NDArray[np.float64]


def gamma(roundings: float, dtype: str) -> float:
    """The greatest relative error after so many roundings to a type.

    Raises:
        ValueError: There are so many that nothing is left of the number.
    """
    lost = roundings * ROUNDOFF[dtype]
    if lost >= 1:
        raise ValueError(f"{roundings:.0f} roundings to {dtype} leave nothing")
    return lost / (1 - lost)


def sum_bound(terms: float, magnitude: npt.ArrayLike, dtype: str) -> Doubles:
    """The greatest distance of a sum from the exact one, whatever the order: (1) to (3).

    Args:
        terms: How many products are added up for one element.
        magnitude: The sums of the absolute values of the terms, an element each, or a number that none exceeds.
        dtype: NumPy's name of the element type of the result.
    """
    size = np.asarray(magnitude, np.float64)
    if dtype in ("float64", "float32"):
        return gamma(terms, dtype) * size + terms * LEAST[dtype]
    wide = gamma(terms, "float32") * size + terms * LEAST["float32"]
    return wide + ROUNDOFF[dtype] * (size + wide) + LEAST[dtype]


def assert_sums(actual: Array, exact: Array, terms: float, magnitude: npt.ArrayLike, context: str = "") -> None:
    """Each element of `actual` is as near to the exact sum as rounding allows.

    Args:
        actual: Sums of any float type, in any order.
        exact: The same in f64. If `actual` is f64, too, both have rounded, and may differ by twice the bound: (4).
        terms: How many products are added up for one element.
        magnitude: As for `sum_bound`. Where it is not finite, both must be the same infinity or nan.
        context: What the message says besides.

    Raises:
        AssertionError: They differ by more, or in shape.
    """
    name = actual.dtype.name
    assert name in UNITS, f"sums of floats, not of {name}"
    assert actual.shape == exact.shape, (actual.shape, exact.shape, context)
    bound = sum_bound(terms, magnitude, name) * (2 if name == "float64" else 1)
    _assert_within(actual.astype(np.float64), exact.astype(np.float64), bound, context)


def assert_product(actual: Array, lhs: Array, rhs: Array, context: str = "") -> None:
    """`actual` is the matrix product of two arrays, up to the rounding of its sums.

    Raises:
        AssertionError: It is not.
    """
    a, b = lhs.astype(np.float64), rhs.astype(np.float64)
    with np.errstate(all="ignore"):
        assert_sums(actual, a @ b, a.shape[-1], np.abs(a) @ np.abs(b), context)


def assert_near(actual: Array, expected: Array, roundings: float, context: str = "") -> None:
    """Two results of sums behind sums are as near as rounding allows, seen from the greatest element: (5).

    Args:
        actual: One result.
        expected: The other, of the same type or of f64.
        roundings: How many follow each other on the longest way to a result, as `roundings_of` counts them.
        context: What the message says besides.

    Raises:
        AssertionError: They are farther apart, or one alone is an infinity or nan.
    """
    assert actual.shape == expected.shape, (actual.shape, expected.shape, context)
    if actual.dtype.name not in UNITS:
        np.testing.assert_array_equal(actual, expected, err_msg=context)
        return
    got, want = actual.astype(np.float64), expected.astype(np.float64)
    greatest = np.abs(want[np.isfinite(want)]).max(initial=0)
    bound = sum(likely_bound(roundings, greatest, each.dtype.name) for each in (actual, expected))
    _assert_within(got, want, np.asarray(bound), context)


def likely_bound(roundings: float, greatest: float, dtype: str) -> float:
    """How far a result is from the exact one after so many roundings of numbers that are no greater: (5)."""
    wide = "float32" if dtype in ("float16", "bfloat16") else dtype
    lost = DEVIATIONS * roundings**0.5 * ROUNDOFF[wide] + (ROUNDOFF[dtype] if wide != dtype else 0)
    return lost * greatest + roundings * LEAST[dtype]


def roundings_of(module: ModuleOp, inputs: Sequence[Array] = ()) -> int:
    """How many roundings lie behind an element of the last result, if each op reads the one before it.

    Each op has as many for an element as it has floating point operations for it; one more for what was folded.

    Args:
        module: Functions before or after fusion.
        inputs: Those of the first function, for the sizes that its type leaves open.
    """
    program = module.clone()
    (function, *_) = (op for op in program.ops if isinstance(op, func.FuncOp))
    for argument, array in zip(list(function.body.block.args), inputs, strict=False):
        if is_tensor(argument.type):
            Rewriter.replace_value_with_new_type(argument, with_shape(argument.type, array.shape))
    function.update_function_type()
    RefineShapesPass().apply(Context(), program)
    ops = (op for op in program.walk() if isinstance(op, FuseOp))
    return 1 + sum(-(-(op.flops() or 0) // max(1, element_count(op.results[0].type) or 1)) for op in ops)


def assert_sums_of(module: ModuleOp, inputs: Sequence[Array], results: Sequence[Array]) -> None:
    """`results` are those of a program that moves elements and adds up products of one operand each, once at most.

    The exact sums are those of the program in f64; for absolute values it gives the magnitude, and for ones the number
    of terms. So products, convolutions, transposed ones and einsums need no numbers of their own. Constants count as
    what they are; a program of several sums in a row, or of any function of real numbers, is none for this function.

    Raises:
        AssertionError: A result differs by more than rounding.
    """
    make_runnable(program := module.clone())
    arrays = [_doubled(array) for array in inputs]
    exact = run_module(in_doubles(program), arrays)
    magnitude = run_module(in_doubles(program, _sizes), [_sizes(array) for array in arrays])
    terms = run_module(in_doubles(program, _ones), [_ones(array) for array in arrays])
    assert len(results) == len(exact), (len(results), len(exact))
    for got, want, size, count in zip(results, exact, magnitude, terms, strict=True):
        # A product of k factors has k - 1 roundings; (1) has one of them.
        assert_sums(got, want, float(count.max(initial=0)) + max(0, len(arrays) - 2), size)


def in_doubles(module: ModuleOp, constants: Callable[[Array], Array] = np.asarray) -> ModuleOp:
    """A copy of a module that computes in f64 what it computes in another float type, with its constants changed so."""
    copy = module.clone()
    for op in list(copy.walk()):
        if isinstance(op, arith.ConstantOp) and is_tensor(op.result.type) and is_float(op.result.type):
            Rewriter.replace_op(op, constant(constants(_doubled(constant_array(op.value)))))
            continue
        for value in (
            *op.results,
            *(value for region in op.regions for block in region.blocks for value in block.args),
        ):
            if is_tensor(value.type) and is_float(value.type):
                Rewriter.replace_value_with_new_type(value, with_element(value.type, f64))
    for op in copy.walk():
        if isinstance(op, func.FuncOp):
            op.update_function_type()
    return copy


def _doubled(array: Array) -> Array:
    return array if array.dtype.kind in "biu" else array.astype(np.float64)


def _sizes(array: Array) -> Array:
    """Absolute values of finite numbers, 0 for others; integers are indices, and stay."""
    return array if array.dtype.kind in "biu" else np.asarray(np.nan_to_num(np.abs(array), nan=0, posinf=0))


def _ones(array: Array) -> Array:
    return array if array.dtype.kind in "biu" else np.ones_like(array)


def _assert_within(actual: Doubles, exact: Doubles, bound: Doubles, context: str) -> None:
    with np.errstate(all="ignore"):
        distance = np.abs(actual - exact)
        wrong = ~((distance <= bound) | (actual == exact) | (np.isnan(actual) & np.isnan(exact)))
    if not wrong.any():
        return
    at = tuple(int(index) for index in np.argwhere(wrong)[0])
    allowed = np.broadcast_to(bound, actual.shape)[at]
    raise AssertionError(
        f"{int(wrong.sum())} of {wrong.size} sums are wrong, first at {list(at)}: {actual[at]!r} instead of "
        f"{exact[at]!r}, {distance[at]:.3g} apart where rounding explains {allowed:.3g} {context}"
    )
