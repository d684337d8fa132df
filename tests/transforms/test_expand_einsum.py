"""An einsum, and the products that take its place, give the same."""

from random import Random

import numpy as np
import pytest
from checking.rounding import assert_sums_of
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


def check_result(text: str, shapes: list[tuple[int, ...]], seed: int) -> None:
    """The expanded program gives the same for random inputs."""
    rng = np.random.default_rng(seed)
    inputs = [rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]
    assert_sums_of(fd.parse(text), inputs, fd.run(expanded(text), *inputs))


@pytest.mark.parametrize("seed", range(150))
def test_the_result_is_the_same(seed: int) -> None:
    check_result(*random_program(Random(seed)), seed)


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
    program = fd.compile(fd.parse(text), cache=False, strategy="tvm")
    assert [kernel.family for kernel in program.kernels] == ["contraction", "contraction"]


def several(rng: Random, element: str = "f32") -> tuple[str, list[tuple[int, ...]]]:
    """A function of one einsum of three to six operands, and the shapes of its arguments."""
    sizes = {label: rng.choice([1, 2, 3]) for label in "abcdefg"}
    terms = [rng.sample(sorted(sizes), rng.randint(0, 4)) for _ in range(rng.randint(3, 6))]
    if rng.random() < 0.3:
        terms[0] += terms[0][:1]  # a diagonal
    labels = sorted({label for term in terms for label in term})
    result = rng.sample(labels, rng.randint(0, len(labels)))
    types = [f"tensor<{''.join(f'{sizes[label]}x' for label in term)}{element}>" for term in (*terms, result)]
    names = [f"%x{place}" for place in range(len(terms))]
    given = ", ".join(f"{name}: {type}" for name, type in zip(names, types, strict=False))
    equation = f"{','.join(''.join(term) for term in terms)}->{''.join(result)}"
    text = f"""func.func @main({given}) -> {types[-1]} {{
  %y = fuse.einsum {", ".join(names)}, equation = "{equation}" : ({", ".join(types[:-1])}) -> {types[-1]}
  return %y : {types[-1]}
}}"""
    return text, [tuple(sizes[label] for label in term) for term in terms]


@pytest.mark.parametrize("seed", range(120))
def test_einsums_of_several_operands_are_the_same_two_at_a_time(seed: int) -> None:
    check_result(*several(Random(seed)), seed)


def test_a_chain_of_three_is_two_products() -> None:
    types = "tensor<4x32x32xf32>, tensor<6x32xf32>, tensor<6x32xf32>"
    text = f"""func.func @main(%x: tensor<4x32x32xf32>, %u: tensor<6x32xf32>) -> tensor<4x6x6xf32> {{
  %y = fuse.einsum %x, %u, %u, equation = "cxy,kx,ly->ckl" : ({types}) -> tensor<4x6x6xf32>
  return %y : tensor<4x6x6xf32>
}}"""
    assert str(expanded(text)).count("matmul") == 2
    assert "einsum" not in str(expanded(text))
    program = fd.compile(fd.parse(text), cache=False)
    assert [kernel.family for kernel in program.kernels].count("contraction") == 2


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_what_would_be_rounded_between_is_left_alone(element: str) -> None:
    text, _ = several(Random(0), element)
    assert str(expanded(text)) == str(fd.parse(text))


def test_a_scalar_times_two_vectors_makes_nothing_large() -> None:
    # The outer product of %a and %b would be larger than all operands and the result.
    types = "tensor<64xf32>, tensor<64xf32>, tensor<64xf32>"
    text = f"""func.func @main(%a: tensor<64xf32>, %b: tensor<64xf32>, %c: tensor<64xf32>) -> tensor<f32> {{
  %y = fuse.einsum %a, %b, %c, equation = "i,j,j->" : ({types}) -> tensor<f32>
  return %y : tensor<f32>
}}"""
    assert "64x64" not in str(expanded(text))
