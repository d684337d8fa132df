"""Chains of reductions: which are one pass, and that one pass gives what they give."""

import numpy as np
import pytest
from fuzzing.reduction_chains import (
    ALONG,
    COLUMNS,
    KEPT,
    RESULT,
    ROW,
    VALUES,
    X,
    agrees,
    arguments_of,
    arrays_of,
    checked_chain,
    found,
    program_of,
)

from fuse_dialect.interpreters.cascades import CascadeRunner
from fuse_dialect.loops.cascades import Cascade, Rule, cascade_text
from fuse_dialect.loops.program import Refusal

SOFTMAX = [
    f"%m = fuse.max %x, {KEPT} : {ALONG}",
    f"%d = fuse.subtract %x, %m : ({X}, {ROW}) -> {X}",
    f"%e = fuse.exp %d : {X}",
    f"%s = fuse.sum %e, {KEPT} : {ALONG}",
    f"%p = fuse.divide %e, %s : ({X}, {ROW}) -> {X}",
]
PRODUCT = f"%y = fuse.matmul %p, %v : ({X}, {VALUES}) -> {RESULT}"
MEAN = [
    f"%mean = fuse.mean %x, {KEPT} : {ALONG}",
    f"%d = fuse.subtract %x, %mean : ({X}, {ROW}) -> {X}",
]
DEVIATION = [*MEAN, f"%q = fuse.multiply %d, %d : {X}", f"%var = fuse.mean %q, {KEPT} : {ALONG}"]
SCALE = [
    f"%shifted = fuse.add %var, %eps : ({ROW}, tensor<f64>) -> {ROW}",
    f"%r = fuse.rsqrt %shifted : {ROW}",
    f"%p = fuse.multiply %d, %r : ({X}, {ROW}) -> {X}",
]
SAME, SCALED, MOVED, SHIFTED, SQUARED = Rule
CHAINS: dict[str, tuple[list[str], tuple[str, str], list[Rule]]] = {
    "softmax": (SOFTMAX, ("%p", X), [SAME, SCALED]),
    "log-sum-exp": ([*SOFTMAX[:4], f"%l = fuse.log %s : {ROW}"], ("%l", ROW), [SAME, SCALED]),
    "attention": ([*SOFTMAX, PRODUCT], ("%y", RESULT), [SAME, SCALED, SCALED]),
    "mean and deviation": (DEVIATION, ("%var", ROW), [SAME, SQUARED]),
    "layer norm": ([*DEVIATION, *SCALE], ("%p", X), [SAME, SQUARED]),
    "norm, then product": ([*DEVIATION, *SCALE, PRODUCT], ("%y", RESULT), [SAME, SQUARED, SHIFTED]),
    "sum of deviations": ([*MEAN, f"%a = fuse.multiply %d, %u : {X}", f"%t = fuse.sum %a, {KEPT} : {ALONG}"],
                          ("%t", ROW), [SAME, SHIFTED]),
    "entropy": ([*SOFTMAX[:3], f"%a = fuse.multiply %e, %d : {X}", f"%t = fuse.sum %a, {KEPT} : {ALONG}"],
                ("%t", ROW), [SAME, SHIFTED]),
    "moved maximum": ([*MEAN, f"%t = fuse.max %d, {KEPT} : {ALONG}"], ("%t", ROW), [SAME, MOVED]),
    "quantised product": (
        [f"%m = fuse.max %x, {KEPT} : {ALONG}", f"%p = fuse.divide %u, %m : ({X}, {ROW}) -> {X}", PRODUCT],
        ("%y", RESULT), [SAME, SAME]),
    "rms norm, then product": (
        [f"%q = fuse.multiply %x, %x : {X}", f"%var = fuse.mean %q, {KEPT} : {ALONG}",
         f"%shifted = fuse.add %var, %eps : ({ROW}, tensor<f64>) -> {ROW}", f"%r = fuse.rsqrt %shifted : {ROW}",
         f"%p = fuse.multiply %x, %r : ({X}, {ROW}) -> {X}", PRODUCT],
        ("%y", RESULT), [SAME, SAME]),
}  # fmt: skip
"""Chains, the value that counts, and why each reduction splits."""


@pytest.mark.parametrize("name", CHAINS)
def test_chains_that_people_write_split(name: str) -> None:
    lines, result, rules = CHAINS[name]
    program = program_of(lines, result)
    cascade = found(program)
    assert isinstance(cascade, Cascade), cascade
    assert [split.rule for split in cascade.splits] == rules
    numbers = np.random.default_rng(0)
    for blocks in ([COLUMNS], [1] * COLUMNS, [5, 1, 10, 8], [20, 4]):
        assert agrees(program, cascade, arguments_of(numbers, 3.0), blocks)


@pytest.mark.parametrize("name", ["softmax", "attention"])
def test_rows_of_infinities_end_as_they_stand(name: str) -> None:
    lines, result, _ = CHAINS[name]
    program = program_of(lines, result)
    cascade = found(program)
    assert isinstance(cascade, Cascade)
    arguments = arguments_of(np.random.default_rng(1))
    x = arguments[0]
    x[0], x[1, :20], x[2, 3], x[3, 7], x[4, 2:] = -np.inf, -np.inf, np.inf, np.nan, -np.inf
    for blocks in ([6, 6, 6, 6], [1] * COLUMNS):
        assert agrees(program, cascade, arguments, blocks)


def test_deviations_keep_their_digits() -> None:
    """A mean of 1e6 and deviations of 1: squares added up as they are would have no digit left in f32."""
    program = program_of(DEVIATION, ("%var", ROW))
    cascade = found(program)
    assert isinstance(cascade, Cascade)
    arguments = arguments_of(np.random.default_rng(2))
    arguments[0] += 1e6
    result = CascadeRunner(cascade, arrays_of(program, arguments)).run([4] * 6)
    name = cascade.splits[1].stage.buffer
    np.testing.assert_allclose(result[name][:, 0], arguments[0].var(axis=1), rtol=1e-8)


@pytest.mark.parametrize(
    ("lines", "result", "reason"),
    [
        ([*MEAN, f"%t0 = fuse.tanh %d : {X}", f"%t = fuse.sum %t0, {KEPT} : {ALONG}"], ("%t", ROW), "math.tanh"),
        ([*MEAN, f"%t0 = fuse.abs %d : {X}", f"%t = fuse.sum %t0, {KEPT} : {ALONG}"], ("%t", ROW), "math.absf"),
        ([*SOFTMAX[:3], f"%t = fuse.prod %e, {KEPT} : {ALONG}"], ("%t", ROW), "multiply does not distribute"),
        ([*MEAN, f"%q = fuse.multiply %d, %u : {X}", f"%t = fuse.max %q, {KEPT} : {ALONG}"], ("%t", ROW), "arith.mulf"),
    ],
    ids=["tanh", "absolute", "product", "scaled-maximum"],
)
def test_what_does_not_split_says_why(lines: list[str], result: tuple[str, str], reason: str) -> None:
    refusal = found(program_of(lines, result))
    assert isinstance(refusal, Refusal)
    assert reason in refusal.reason


def test_the_form_is_told() -> None:
    cascade = found(program_of([*SOFTMAX, PRODUCT], ("%y", RESULT)))
    assert isinstance(cascade, Cascade)
    m, s, y = (split.stage.buffer for split in cascade.splits)
    assert cascade_text(cascade) == [
        f"in one pass over {COLUMNS} columns:",
        f"  {m} is combined",
        f"  {s} becomes {s} * exp({m}.old - {m}.new), and combined",
        f"  {y} becomes {y} * exp({m}.old - {m}.new), and combined",
    ]


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_random_chains_never_split_where_results_differ(first: int) -> None:
    checked = [(seed, each) for seed in range(first, first + 100) if (each := checked_chain(seed)) is not None]
    assert not [(seed, wrong) for seed, (_, wrong) in checked if wrong]
    assert len(checked) > 20
    assert sum(is_linked for _, (is_linked, _) in checked) > 2
