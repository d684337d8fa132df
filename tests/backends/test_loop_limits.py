"""What loops count against `max_ops`: alike for the interpreter, for NumPy's kernels, and for machine code."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import fuse_dialect as fd

pytest.importorskip("llvmlite")

ONE_OP = """
func.func @main(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r = fuse.loop limit(%n : tensor<i64>) states(%x : tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>):
    %t = fuse.tanh %s : tensor<4xf32>
    fuse.yield %t : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
"""
FOLDED = ONE_OP.replace(
    "%t = fuse.tanh %s",
    """%c = arith.constant dense<2.0> : tensor<4xf32>
    %d = fuse.exp %c : tensor<4xf32>
    %e = fuse.add %d, %c : tensor<4xf32>
    %u = fuse.relu %s : tensor<4xf32>
    %v = fuse.relu %u : tensor<4xf32>
    %t = fuse.multiply %v, %e""",
)
CALLED = (
    ONE_OP.replace("%t = fuse.tanh %s : tensor<4xf32>", "%t = func.call @f(%s) : (tensor<4xf32>) -> tensor<4xf32>")
    + """
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = fuse.tanh %x : tensor<4xf32>
  %z = fuse.negative %y : tensor<4xf32>
  return %z : tensor<4xf32>
}
"""
)
NESTED = """
func.func @main(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %three = arith.constant dense<3> : tensor<i64>
  %r = fuse.loop limit(%n : tensor<i64>) states(%x : tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>):
    %t = fuse.loop limit(%three : tensor<i64>) states(%s : tensor<4xf32>) -> (tensor<4xf32>) {
    ^bb1(%j: tensor<i64>, %u: tensor<4xf32>):
      %v = fuse.tanh %u : tensor<4xf32>
      fuse.yield %v : tensor<4xf32>
    }
    fuse.yield %t : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
"""
BRANCH = """
func.func @main(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %three = arith.constant dense<3> : tensor<i64>
  %r = fuse.loop limit(%n : tensor<i64>) states(%x : tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>):
    %b = fuse.less %i, %three : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %t = fuse.if(%b : tensor<i1>) -> (tensor<4xf32>) {
      %v = fuse.tanh %s : tensor<4xf32>
      fuse.yield %v : tensor<4xf32>
    } else {
      %v = fuse.negative %s : tensor<4xf32>
      %w = fuse.exp %v : tensor<4xf32>
      fuse.yield %w : tensor<4xf32>
    }
    fuse.yield %t : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
"""
ON_NUMPY = ONE_OP.replace(
    "%t = fuse.tanh %s",
    """%m = fuse.reshape %s : (tensor<4xf32>) -> tensor<4x1x1xf32>
    %a = fuse.det %m : (tensor<4x1x1xf32>)
    %t = fuse.tanh %a""",
)
"""`det` has no machine code: Python runs the loop around kernels."""
STABLEHLO = """
func.func @main(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i64>, tensor<4xf32>
  cond {
    %b = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %b : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i64>
    %t = stablehlo.tanh %s : tensor<4xf32>
    stablehlo.return %j, %t : tensor<i64>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}
"""
PROGRAMS = {
    # Nine iterations beyond the first, of so many ops.
    "one op": (ONE_OP, 9 * 2),
    "folded": (FOLDED, 9 * 7),
    "called": (CALLED, 9 * (2 + 3)),
    # Inner loops count two iterations more than what is free, and once for each iteration of the outer one.
    "nested": (NESTED, 9 * 4 + 10 * 2 * 2),
    "branch": (BRANCH, 9 * 8),
    "on NumPy": (ON_NUMPY, 9 * 4),
    "stablehlo": (STABLEHLO, None),
}
Run = Callable[..., Sequence[np.ndarray]]
WAYS: dict[str, Run] = {
    "interpreter": fd.run,
    "numpy": lambda module, *inputs, max_ops: fd.compile(module, "numpy", max_ops=max_ops)(*inputs),
    "llvm": lambda module, *inputs, max_ops: fd.compile(module, max_ops=max_ops)(*inputs),
    "cost": lambda module, *inputs, max_ops: fd.compile(module, max_ops=max_ops, strategy="cost")(*inputs),
    "threads": lambda module, *inputs, max_ops: fd.compile(module, max_ops=max_ops, threads=2)(*inputs),
}


def least_limit(run: Run, module: object) -> int:
    """The least `max_ops` with which ten iterations may run."""
    inputs = np.array(10), np.ones(4, np.float32)
    low, high = -1, 1000
    while high - low > 1:
        middle = (low + high) // 2
        reason = ""
        try:
            run(module, *inputs, max_ops=middle)
            high = middle
        except fd.FuseError as error:
            low, reason = middle, str(error)
        assert not reason or "no more ops may be run" in reason
    return high


@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_end_at_the_same_limit_wherever_they_run(name: str) -> None:
    text, expected = PROGRAMS[name]
    module = fd.parse(text)
    limits = {way: least_limit(run, module) for way, run in WAYS.items()}
    assert len(set(limits.values())) == 1, limits
    assert expected is None or set(limits.values()) == {expected}
    assert min(limits.values()) >= 9


@pytest.mark.parametrize("number", [-1, -(2**63), 2**63, 2**64, True, 2.5, "9"])
@pytest.mark.parametrize("option", ["max_ops", "max_value_bytes"])
def test_limits_that_have_no_meaning_are_refused(option: str, number: object) -> None:
    module = fd.parse(ONE_OP)
    for run in (
        lambda: fd.run(module, np.array(1), np.ones(4, np.float32), **{option: number}),
        lambda: fd.compile(module, **{option: number}),
        lambda: fd.compile("no such file.onnx", **{option: number}),
    ):
        with pytest.raises(fd.FuseError, match=f"option '{option}' expects an integer from 0 to 9223372036854775807"):
            run()


@pytest.mark.parametrize("way", WAYS)
def test_the_greatest_limit_ends_no_loop(way: str) -> None:
    results = WAYS[way](fd.parse(ONE_OP), np.array(10), np.ones(4, np.float32), max_ops=2**63 - 1)
    assert results[0].shape == (4,)
