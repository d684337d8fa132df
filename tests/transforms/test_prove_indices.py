"""Ranges that are proven hold for what NumPy computes, and what is marked gives the same natively."""

from random import Random

import numpy as np
import pytest
from xdsl.context import Context

import fuse_dialect as fd
from fuse_dialect.dialect.ops.indexing import GatherNdOp, GatherOp
from fuse_dialect.transforms.prove_indices import ProveIndicesPass


def random_program(rng: Random) -> str:
    """A gather by integers that are computed; some may be out of range."""
    lines = [
        "%n0 = fuse.arange start = START, stop = STOP, step = STEP -> tensor<COUNTxi64>",
        f"%n1 = arith.constant dense<{[rng.randint(-6, 6) for _ in range(4)]}> : tensor<4xi64>",
    ]
    start, step, count = rng.randint(-3, 3), rng.choice([1, 2, -1]), 4
    numbers = {"START": f"{start}.0", "STOP": f"{start + step * count}.0", "STEP": f"{step}.0", "COUNT": str(count)}
    for word, number in numbers.items():
        lines[0] = lines[0].replace(word, number)
    names = ["%n0", "%n1", "%i"]
    for number in range(rng.randint(1, 5)):
        one, other = rng.choice(names), rng.choice(names)
        op = rng.choice(["add", "subtract", "multiply", "minimum", "maximum", "reverse", "where"])
        name = f"%v{number}"
        if op == "reverse":
            lines.append(f"{name} = fuse.reverse {one}, axes = [0] : tensor<4xi64>")
        elif op == "where":
            lines.append(f"{name} = fuse.where %c, {one}, {other} : (tensor<4xi1>, tensor<4xi64>, tensor<4xi64>)")
        else:
            lines.append(f"{name} = fuse.{op} {one}, {other} : tensor<4xi64>")
        names.append(name)
    body = "\n  ".join(lines)
    results = "(tensor<4xf32>, tensor<4xf32>)"
    return f"""func.func @main(%x: tensor<7xf32>, %i: tensor<4xi64>, %c: tensor<4xi1>) -> {results} {{
  {body}
  %y = fuse.gather %x, {names[-1]} : (tensor<7xf32>, tensor<4xi64>)
  %p = fuse.stack {names[-1]}, axis = 1 : (tensor<4xi64>) -> tensor<4x1xi64>
  %z = fuse.gather_nd %x, %p : (tensor<7xf32>, tensor<4x1xi64>)
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}}"""


@pytest.mark.parametrize("seed", range(60))
def test_what_is_proven_never_raises(seed: int) -> None:
    rng = np.random.default_rng(seed)
    module = fd.parse(random_program(Random(seed)))
    ProveIndicesPass().apply(Context(), module)
    marks = [op.mode.data for op in module.walk() if isinstance(op, GatherOp | GatherNdOp)]
    assert len(set(marks)) == 1
    for _ in range(5):
        x = rng.uniform(-1, 1, 7).astype(np.float32)
        i, c = rng.integers(-(2**40), 2**40, 4), rng.integers(0, 2, 4).astype(bool)
        if marks[0] == "fast":
            y, z = fd.run(module, x, i, c)
            np.testing.assert_array_equal(y, z)


def test_some_are_proven_and_some_are_not() -> None:
    marks: list[str] = []
    for seed in range(60):
        module = fd.parse(random_program(Random(seed)))
        ProveIndicesPass().apply(Context(), module)
        marks += [op.mode.data for op in module.walk() if isinstance(op, GatherOp)]
    assert 10 < marks.count("fast") < 50


@pytest.mark.parametrize(
    ("op", "shapes"),
    [
        ("fuse.gather %x, %i, axis = 1, mode = MODE", ((3, 5, 2), (3, 4, 2), (3, 4, 2))),
        ("fuse.gather_nd %x, %i, mode = MODE", ((3, 5, 2), (4, 2), (4, 2))),
        ("fuse.gather_nd %x, %i, batch_dims = 1, mode = MODE", ((3, 5, 2), (3, 6, 1), (3, 6, 2))),
    ],
)
def test_native_code_picks_what_numpy_picks(op: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    x, i, y = (f"tensor<{'x'.join(map(str, shape))}x" for shape in shapes)
    text = f"""func.func @main(%x: {x}f32>, %i: {i}i32>) -> {y}f32> {{
  %y = {op.replace("MODE", '"fast"')} : ({x}f32>, {i}i32>)
  %z = fuse.tanh %y : {y}f32>
  return %z : {y}f32>
}}"""
    rng = np.random.default_rng(0)
    values = rng.uniform(-1, 1, shapes[0]).astype(np.float32)
    low = 2 if "nd" in op and "batch" not in op else 5
    places = rng.integers(-low, low, shapes[1]).astype(np.int32)
    if low == 2:
        places[:, 0] = rng.integers(-3, 3, len(places))
    module = fd.parse(text)
    program = fd.compile(module, cache=False)
    assert [kernel.family for kernel in program.kernels] == ["map"]
    np.testing.assert_allclose(program(values, places)[0], fd.run(module, values, places)[0], rtol=1e-6)
    wrong = program(values, np.full_like(places, 10**9))[0]  # a broken promise reads inside all the same
    assert np.isclose(wrong[..., None], np.tanh(values).reshape(-1), rtol=1e-5).any(axis=-1).all()
    raising = fd.compile(fd.parse(text.replace('"fast"', '"raise"')), cache=False)
    with pytest.raises(fd.FuseError, match="out of bounds"):
        raising(values, np.full_like(places, 10**9))


@pytest.mark.parametrize(("last", "mark"), [(4, "fast"), (5, "raise"), (-6, "raise")])
def test_constant_positions_have_a_range_for_each_number(last: int, mark: str) -> None:
    module = fd.parse(f"""func.func @main(%x: tensor<1x5xf32>) -> tensor<3xf32> {{
  %i = arith.constant dense<[[0, 0], [0, 2], [-1, {last}]]> : tensor<3x2xi64>
  %y = fuse.gather_nd %x, %i : (tensor<1x5xf32>, tensor<3x2xi64>)
  return %y : tensor<3xf32>
}}""")
    ProveIndicesPass().apply(Context(), module)
    assert [op.mode.data for op in module.walk() if isinstance(op, GatherNdOp)] == [mark]
