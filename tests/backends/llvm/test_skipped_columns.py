"""Strips that leave out what a mask hides give what computing everything gives."""

import random

import numpy as np
import pytest
from fuzzing.chains import tensor
from native_run import HOSTS, Native
from test_strips import agrees, arguments_of, program_of, strips_of

from fuse_dialect.checked import VARIABLE
from fuse_dialect.interpreters.loops import run_loops
from fuse_dialect.loops.matrix_schedule import Interval
from fuse_dialect.loops.strip_schedule import LoopStep, ProductStep


def masked(
    sizes: tuple[int, int, int, int], lower: int, upper: int, how: str = "chosen", *, is_causal_too: bool = False
) -> str:
    """Attention of heads, queries, keys and width, whose scores are hidden outside of a band."""
    heads, queries, keys, width = sizes
    q, k, s, m = (heads, queries, width), (heads, keys, width), (heads, queries, keys), (queries, keys)
    mask = f"tensor<{queries}x{keys}xi1>"
    number = "tensor<f32>"
    choose = f"({mask}, {tensor(s)}, {number}) -> {tensor(s)}"
    lines = {
        "chosen": f"%s = fuse.where %seen, %scaled, %minus : {choose}",
        "added": f"""%a = fuse.where %seen, %zero, %minus : ({mask}, {number}, {number}) -> {tensor(m)}
  %s = fuse.add %scaled, %a : ({tensor(s)}, {tensor(m)}) -> {tensor(s)}""",
        "large": f"%s = fuse.where %seen, %scaled, %least : {choose}",
        "by hand": f"""%s = fuse.where %seen, %scaled, %minus : {choose}""",
    }
    top, sum = (heads, queries, 1), f"({tensor(s)}, {tensor((heads, queries, 1))}) -> {tensor(s)}"
    softmax = (
        f"""%top = fuse.max %s, axes = [2], keepdims = true : ({tensor(s)}) -> {tensor(top)}
  %less = fuse.subtract %s, %top : {sum}
  %e = fuse.exp %less : {tensor(s)}
  %sum = fuse.sum %e, axes = [2], keepdims = true : ({tensor(s)}) -> {tensor(top)}
  %p = fuse.divide %e, %sum : {sum}"""
        if how == "by hand"
        else f"%p = fuse.softmax %s : {tensor(s)}"
    )
    both = f"%causal = fuse.band lower = {-queries}, upper = 0 -> {mask}" if is_causal_too else ""
    joined = f"%seen = fuse.logical_and %band, %causal : {mask}" if is_causal_too else ""
    return f"""func.func @main(%q: {tensor(q)}, %k: {tensor(k)}, %v: {tensor(k)}) -> {tensor(q)} {{
  %scale = arith.constant dense<0.25> : {number}
  %minus = arith.constant dense<0xFF800000> : {number}
  %zero = arith.constant dense<0.0> : {number}
  %least = arith.constant dense<-3.4028235e+38> : {number}
  {both}
  %{"band" if is_causal_too else "seen"} = fuse.band lower = {lower}, upper = {upper} -> {mask}
  {joined}
  %s0 = fuse.batch_matmul %q, %k, transpose_b = true : ({tensor(q)}, {tensor(k)}) -> {tensor(s)}
  %scaled = fuse.multiply %s0, %scale : ({tensor(s)}, {number}) -> {tensor(s)}
  {lines[how]}
  {softmax}
  %y = fuse.batch_matmul %p, %v : ({tensor(s)}, {tensor(k)}) -> {tensor(q)}
  return %y : {tensor(q)}
}}"""


HOWS = ("chosen", "added", "by hand", "large")
CASES = [
    ((2, 64, 64, 16), -64, 0),
    ((3, 77, 101, 20), -77, 0),
    ((1, 130, 130, 32), -10, 3),
    ((2, 50, 200, 16), 100, 150),
    ((2, 50, 200, 16), -3, 160),
    ((1, 90, 33, 16), -20, -1),
    ((1, 40, 40, 24), 60, 70),
    ((1, 100, 100, 17), 1, 2),
]
"""Sizes, and bands: some rows see nothing where a band leaves the columns."""


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(("sizes", "lower", "upper"), CASES)
def test_results_are_those_of_all_columns(
    sizes: tuple[int, int, int, int], lower: int, upper: int, how: str, host: str
) -> None:
    program = program_of(masked(sizes, lower, upper, how))
    native = Native(program, HOSTS[host])
    assert native.kernel.family == "strips"
    for parts in (1, 3):
        agrees(program, native, parts=parts)


@pytest.mark.parametrize("how", HOWS)
def test_every_step_has_the_interval(how: str) -> None:
    strips = strips_of(program_of(masked((2, 128, 128, 16), -128, 0, how)))
    assert strips is not None
    assert strips.skipped is not None
    intervals = [step.matrices.interval if isinstance(step, ProductStep) else step.column_axis for step in strips.steps]
    assert intervals == [Interval.COLUMNS, 2, Interval.DEPTH]
    assert strips.skipped.unit % strips.steps[0].matrices.width == 0 if isinstance(strips.steps[0], ProductStep) else 0


def test_programs_without_a_band_leave_nothing_out() -> None:
    strips = strips_of(program_of(masked((2, 128, 128, 16), -128, 128)))
    assert strips is not None
    assert strips.skipped is None
    assert all(step.column_axis is None for step in strips.steps if isinstance(step, LoopStep))


@pytest.mark.parametrize("host", HOSTS)
def test_random_bands_agree(host: str) -> None:
    draw, skipping = random.Random(5), 0
    for seed in range(24):
        sizes = draw.randint(1, 3), draw.randint(2, 140), draw.randint(2, 220), draw.randint(9, 40)
        lower = draw.randint(-sizes[1], sizes[2])
        text = masked(sizes, lower, lower + draw.randint(0, 90), draw.choice(HOWS),
                      is_causal_too=draw.random() < 0.4)  # fmt: skip
        program = program_of(text)
        strips = strips_of(program, HOSTS[host].machine)
        skipping += strips is not None and strips.skipped is not None
        agrees(program, Native(program, HOSTS[host]), parts=1 + seed % 3, seed=seed)
    assert skipping > 8


def test_every_access_of_an_interval_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    for sizes, lower, upper in CASES:
        program = program_of(masked(sizes, lower, upper))
        agrees(program, Native(program), parts=2)


def test_what_is_left_out_does_not_reach_the_result() -> None:
    """The stated difference: an infinity in a hidden value, or a nan in a hidden key, makes no row nan from afar."""
    program = program_of(masked((1, 600, 600, 16), -600, 0))
    q, k, v = arguments_of(program)
    expected = run_loops(program, [q, k, v])[0]
    k[0, 590:], v[0, 590:] = np.nan, np.inf
    (found,) = Native(program)(q, k, v)
    assert np.isnan(run_loops(program, [q, k, v])[0][0, :300]).any()
    np.testing.assert_allclose(found[0, :300], expected[0, :300], rtol=2e-4, atol=2e-5)
