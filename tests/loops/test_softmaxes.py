"""Which exponentials are those of differences that cannot be above 0, and which of them may carry a factor."""

import pytest
from test_packed_dots import program_of

from fuse_dialect.loops.functions import Parameter, Variant
from fuse_dialect.loops.program import Apply
from fuse_dialect.loops.softmaxes import with_falling_exponents

PLAIN, FALLING, LIFTED = None, Variant.FALLING, Variant.LIFTED


def exponentials(result: str, *lines: str, shape: str = "8x24xf32", lifts: bool = True) -> list[Parameter | None]:
    """Which variants the exponentials are of a program of `%x` and `%m` that is one kernel."""
    body = "\n  ".join(lines)
    heading = f"func.func private @f(%x: tensor<{shape}>, %m: tensor<8x1xf32>) -> tensor<{result}>"
    text = f"""{heading} attributes {{primitive}} {{
  {body}
  return %y : tensor<{result}>
}}"""
    program = with_falling_exponents(program_of(text), lifts=lifts)
    bodies = [each for stage in program.stages for each in (*stage.body, *stage.finish)]
    return [each.parameter for each in bodies if isinstance(each, Apply) and each.function == "math.exp"]


def wide(line: str) -> str:
    """A line of an op on arrays of 8x24 and one of 8x1."""
    return f"{line} : (tensor<8x24xf32>, tensor<8x1xf32>) -> tensor<8x24xf32>"


MAXIMUM = "%top = fuse.max %x, axes = [1], keepdims = true : (tensor<8x24xf32>) -> tensor<8x1xf32>"
TOTAL = "%s = fuse.sum %e, axes = [1], keepdims = true : (tensor<8x24xf32>) -> tensor<8x1xf32>"
DIFFERENCE = wide("%d = fuse.subtract %x, %top")
EXP = "%e = fuse.exp %d : tensor<8x24xf32>"
QUOTIENT = wide("%y = fuse.divide %e, %s")


@pytest.mark.parametrize("axis", [0, 1])
def test_exponentials_of_a_softmax_are_lifted(axis: int) -> None:
    assert exponentials("8x24xf32", f"%y = fuse.softmax %x, axis = {axis} : tensor<8x24xf32>") == [LIFTED]


def test_they_fall_only_where_powers_of_two_cost_nothing() -> None:
    assert exponentials("8x24xf32", "%y = fuse.softmax %x : tensor<8x24xf32>", lifts=False) == [FALLING]


def test_a_softmax_that_is_written_out_is_one() -> None:
    assert exponentials("8x24xf32", MAXIMUM, DIFFERENCE, EXP, TOTAL, QUOTIENT) == [LIFTED]


def test_what_is_computed_twice_is_compared() -> None:
    scaled = "%a = fuse.tanh %x : tensor<8x24xf32>"
    lines = (MAXIMUM.replace("%x", "%a"), DIFFERENCE.replace("%x", "%a"), EXP, TOTAL, QUOTIENT)
    assert exponentials("8x24xf32", scaled, *lines) == [LIFTED]
    other = MAXIMUM.replace("%x", "%a"), DIFFERENCE, EXP, TOTAL, QUOTIENT
    assert exponentials("8x24xf32", scaled, *other) == [PLAIN]


def test_a_logarithm_of_a_softmax_needs_the_sums_themselves() -> None:
    assert exponentials("8x24xf32", "%y = fuse.log_softmax %x : tensor<8x24xf32>") == [FALLING]


@pytest.mark.parametrize(
    ("difference", "last", "function"),
    [
        (wide("%d = fuse.subtract %x, %m"), QUOTIENT, PLAIN),  # of what nothing is known
        (wide("%d = fuse.add %x, %top"), QUOTIENT, PLAIN),
        (DIFFERENCE, wide("%y = fuse.multiply %e, %s"), FALLING),
        (DIFFERENCE, wide("%y = fuse.divide %e, %m"), FALLING),
        (DIFFERENCE, wide("%y = fuse.divide %x, %s"), FALLING),
        (DIFFERENCE, wide("%y = fuse.add %e, %s"), FALLING),
    ],
)
def test_others_are_not(difference: str, last: str, function: str) -> None:
    assert exponentials("8x24xf32", MAXIMUM, difference, EXP, TOTAL, last) == [function]


def test_a_minimum_is_no_maximum() -> None:
    lines = (MAXIMUM.replace("fuse.max", "fuse.min"), DIFFERENCE, EXP, TOTAL, QUOTIENT)
    assert exponentials("8x24xf32", *lines) == [PLAIN]


def test_a_maximum_over_another_axis_of_as_many_elements_is_not_that_of_the_row() -> None:
    column = "%top = fuse.max %x, axes = [0], keepdims = true : (tensor<8x8xf32>) -> tensor<1x8xf32>"
    moved = "%t = fuse.transpose %top, permutation = [1, 0] : (tensor<1x8xf32>) -> tensor<8x1xf32>"
    difference = "%d = fuse.subtract %x, %t : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>"
    last = "%y = fuse.exp %d : tensor<8x8xf32>"
    assert exponentials("8x8xf32", column, moved, difference, last, shape="8x8xf32") == [PLAIN]


def test_a_softmax_of_f16_is_computed_in_f32() -> None:
    assert exponentials("8x24xf16", "%y = fuse.softmax %x : tensor<8x24xf16>", shape="8x24xf16") == [LIFTED]


def test_nobody_lifts_exponentials_of_f64() -> None:
    assert exponentials("8x24xf64", "%y = fuse.softmax %x : tensor<8x24xf64>", shape="8x24xf64") == [PLAIN]
