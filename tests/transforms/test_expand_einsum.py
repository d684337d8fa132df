"""An einsum of two operands, and the product that takes its place, give the same."""

from random import Random

import numpy as np
import pytest
from xdsl.context import Context

import fuse_dialect as fd
from fuse_dialect.transforms.expand_einsum import ExpandEinsumPass


def random_program(rng: Random) -> tuple[str, list[tuple[int, ...]]]:
    """A function of one einsum, and the shapes of its arguments."""
    kinds = {label: rng.choice("bskrc") for label in "abcdef"[: rng.randint(1, 6)]}
    sizes = {label: rng.choice([1, 2, 3, 5]) for label in kinds}
    left = [label for label, kind in kinds.items() if kind in "bskr"]
    right = [label for label, kind in kinds.items() if kind in "bskc"]
    result = [label for label, kind in kinds.items() if kind in "brc"]
    for labels in (left, right, result):
        rng.shuffle(labels)
    types = [f"tensor<{''.join(f'{sizes[label]}x' for label in labels)}f32>" for labels in (left, right, result)]
    equation = f"{''.join(left)},{''.join(right)}->{''.join(result)}"
    text = f"""func.func @main(%x: {types[0]}, %w: {types[1]}) -> {types[2]} {{
  %y = fuse.einsum %x, %w, equation = "{equation}" : ({types[0]}, {types[1]}) -> {types[2]}
  return %y : {types[2]}
}}"""
    return text, [tuple(sizes[label] for label in labels) for labels in (left, right)]


def expanded(text: str):
    module = fd.parse(text)
    ExpandEinsumPass().apply(Context(), module)
    module.verify()
    return module


@pytest.mark.parametrize("seed", range(150))
def test_the_result_is_the_same(seed: int) -> None:
    text, shapes = random_program(Random(seed))
    rng = np.random.default_rng(seed)
    inputs = [rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]
    expected = fd.run(fd.parse(text), *inputs)[0]
    np.testing.assert_allclose(fd.run(expanded(text), *inputs)[0], expected, rtol=1e-4, atol=1e-5)


def test_all_with_a_sum_are_replaced() -> None:
    for seed in range(150):
        text, _ = random_program(Random(seed))
        equation = text.split('"')[1]
        left, right, result = equation.replace("->", ",").split(",")
        sums = set(left) & set(right) - set(result)
        assert ("einsum" in str(expanded(text))) == (not sums)


def test_two_in_a_row_are_two_products_natively() -> None:
    text = """func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x12xf32>, %v: tensor<12x4xf32>) -> tensor<8x4xf32> {
  %a = fuse.einsum %x, %w, equation = "ik,kj->ij" : (tensor<8x16xf32>, tensor<16x12xf32>) -> tensor<8x12xf32>
  %b = fuse.gelu %a : tensor<8x12xf32>
  %y = fuse.einsum %b, %v, equation = "ik,kj->ij" : (tensor<8x12xf32>, tensor<12x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}"""
    program = fd.compile(fd.parse(text), cache=False)
    assert [kernel.family for kernel in program.kernels] == ["contraction", "contraction"]
