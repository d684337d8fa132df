"""Blocks of columns that a mask hides are left out, and what is left is what the interpreter computes."""

from functools import cache

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.dialect.op import Array

HEADS, WIDTH = 2, 16
S = f"tensor<{HEADS}x?x?xf32>"
ROW = f"tensor<{HEADS}x?x1xf32>"
Q = f"tensor<{HEADS}x?x{WIDTH}xf32>"
BOTH = f"({S}, {S}) -> {S}"
BY_ROW = f"({S}, {ROW}) -> {S}"
NUMBER = "tensor<f32>"
MASKS = {
    "chosen": ("?x?xi1", f"%s = fuse.where %m, %scaled, %minus : (tensor<?x?xi1>, {S}, {NUMBER}) -> {S}"),
    "large": ("?x?xi1", f"%s = fuse.where %m, %scaled, %least : (tensor<?x?xi1>, {S}, {NUMBER}) -> {S}"),
    "added": ("?x?xf32", f"%s = fuse.add %scaled, %m : ({S}, tensor<?x?xf32>) -> {S}"),
    "capped": (
        "?x?xf32",
        f"%c = fuse.tanh %scaled : {S}\n  %s = fuse.add %c, %m : ({S}, tensor<?x?xf32>) -> {S}",
    ),
}
SOFTMAX = f"%p = fuse.softmax %s : {S}"


def attention(mask: str, rest: str = SOFTMAX) -> str:
    """Attention of open numbers of queries and keys, whose scores are masked by an argument."""
    type, line = MASKS[mask]
    return f"""func.func @main(%q: {Q}, %k: {Q}, %v: {Q}, %m: tensor<{type}>) -> {Q} {{
  %scale = arith.constant dense<0.25> : {NUMBER}
  %minus = arith.constant dense<0xFF800000> : {NUMBER}
  %least = arith.constant dense<-3.4028235e+38> : {NUMBER}
  %s0 = fuse.batch_matmul %q, %k, transpose_b = true : ({Q}, {Q}) -> {S}
  %scaled = fuse.multiply %s0, %scale : ({S}, {NUMBER}) -> {S}
  {line}
  {rest}
  %y = fuse.batch_matmul %p, %v : ({S}, {Q}) -> {Q}
  return %y : {Q}
}}"""


def arguments(mask: str, seen: Array) -> list[Array]:
    """Queries, keys, values and a mask that lets through what is seen."""
    random = np.random.default_rng(0)
    queries, keys = seen.shape
    rows = [random.standard_normal((HEADS, size, WIDTH)).astype(np.float32) for size in (queries, keys, keys)]
    hidden = np.float32(-np.inf if mask == "added" else -1e30)
    return [*rows, seen if mask in ("chosen", "large") else np.where(seen, np.float32(0), hidden)]


def band(queries: int, keys: int, window: int) -> Array:
    """What each query sees: keys up to its own, if the last of both are the same, but for older ones than a window."""
    behind = np.arange(queries)[:, None] + keys - queries - np.arange(keys)[None, :]
    return (behind >= 0) & (behind < window)


@cache
def compiled(mask: str, target: str | None = None, rest: str = SOFTMAX) -> fd.Program:
    program = fd.compile(fd.parse(attention(mask, rest)), strategy="cost", target_cpu=target, cache=False)
    assert [kernel.family for kernel in program.kernels] == ["strips"]
    return program


@pytest.mark.parametrize("target", [None, "haswell"], ids=["host", "haswell"])
@pytest.mark.parametrize("mask", MASKS)
def test_results_are_those_of_the_interpreter(mask: str, target: str | None) -> None:
    program, module = compiled(mask, target), fd.parse(attention(mask))
    for queries, keys, window in ((7, 7, 3), (1, 1000, 90), (500, 900, 1000), (40, 1200, 30), (390, 385, 5), (3, 0, 1)):
        values = arguments(mask, band(queries, keys, window))
        (found,), (right,) = program(*values), fd.run(module, *values)
        np.testing.assert_allclose(found, right, rtol=2e-4, atol=2e-5, err_msg=f"{queries} {keys} {window}")


@pytest.mark.parametrize("mask", MASKS)
def test_what_is_hidden_is_not_computed(mask: str) -> None:
    values = arguments(mask, band(20, 1200, 100))
    expected = compiled(mask)(*values)
    values[2][:, 400:700] = np.nan
    # Of the blocks of 384 columns the second one lies in front of the window, as the first one does. A row that has
    # seen nothing may not leave out what is hidden by a number.
    (found,) = compiled(mask)(*values)
    if mask in ("chosen", "added"):
        np.testing.assert_array_equal(found, expected[0])
    else:
        assert np.isnan(found).all()
    # A causal mask hides the last blocks from the first rows, which have seen something.
    values = arguments(mask, band(1200, 1200, 1200))
    (right,) = compiled(mask)(*values)
    values[2][:, 1100:] = np.nan
    (found,) = compiled(mask)(*values)
    np.testing.assert_array_equal(found[:, :100], right[:, :100])
    assert np.isnan(found[:, 1100:]).all()


@pytest.mark.parametrize("mask", MASKS)
def test_rows_that_see_nothing(mask: str) -> None:
    seen = band(30, 900, 900)
    seen[3], seen[12] = False, False
    values = arguments(mask, seen)
    (found,), (right,) = compiled(mask)(*values), fd.run(fd.parse(attention(mask)), *values)
    assert np.isnan(found[:, 3]).all() == (mask in ("chosen", "added"))
    np.testing.assert_allclose(found, right, rtol=2e-4, atol=2e-5)
    (found,), (right,) = (
        each(*arguments(mask, np.zeros_like(seen)))
        for each in (compiled(mask), lambda *given: fd.run(fd.parse(attention(mask)), *given))
    )
    np.testing.assert_allclose(found, right, rtol=2e-4, atol=2e-5)


ENTROPY = f"""%top = fuse.max %s, axes = [2], keepdims = true : ({S}) -> {ROW}
  %d = fuse.subtract %s, %top : {BY_ROW}
  %e = fuse.exp %d : {S}
  %p = fuse.multiply %e, %d : {BOTH}"""
SHIFTED = f"""%top = fuse.max %s, axes = [2], keepdims = true : ({S}) -> {ROW}
  %one = arith.constant dense<1.0> : {NUMBER}
  %d = fuse.subtract %s, %top : {BY_ROW}
  %e = fuse.exp %d : {S}
  %p = fuse.add %e, %one : ({S}, {NUMBER}) -> {S}"""


@pytest.mark.parametrize("rest", [ENTROPY, SHIFTED], ids=["times the score", "one more"])
def test_blocks_that_add_something_are_computed(rest: str) -> None:
    values = arguments("large", band(40, 1200, 1200))
    module = fd.parse(attention("large", rest))
    program = fd.compile(module, strategy="cost", cache=False)
    (found,), (right,) = program(*values), fd.run(module, *values)
    np.testing.assert_allclose(found, right, rtol=2e-3, atol=2e-4)
