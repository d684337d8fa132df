"""Products by constant weights of few bits: kernels expand packed bytes to what the NumPy interpreter computes."""

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from checking.rounding import assert_product
from native_run import HOSTS
from test_contractions import primitives, run_kernel

import fuse_dialect as fd
from fuse_dialect.backends.assembler.engine import host
from fuse_dialect.loops.choosing import choose
from fuse_dialect.loops.kernel_schedule import Sums
from fuse_dialect.loops.matrix_schedule import Matrices

guarded = pytest.mark.skipif(sys.platform == "win32", reason="guard pages are made with mprotect")


def product(rows: int | str, n: int, k: int, blocks: int, bits: int, element: str, zeros: bool, *, finish: bool) -> str:
    """A product as text, with a bias and an activation behind it or without."""
    x, w, s = f"tensor<{rows}x{k}xf32>", f"tensor<{n}x{k}x{element}>", f"tensor<{n}x{blocks}xf32>"
    z, y = s if zeros else "tensor<f32>", f"tensor<{rows}x{n}xf32>"
    lines = [f"%y = fuse.blockwise_dense %x, %w, %s, %z, bits = {bits} : ({x}, {w}, {s}, {z}) -> {y}"]
    lines += [f"%a = fuse.relu %y : {y}", f"%r = fuse.add %a, %a : {y}"] if finish else []
    body = "\n  ".join([*lines, f"func.return {'%r' if finish else '%y'} : {y}"])
    return f"func.func @main(%x: {x}, %w: {w}, %s: {s}, %z: {z}) -> {y} {{\n  {body}\n}}"


def operands(rows: int, n: int, k: int, blocks: int, element: str, zeros: bool) -> list[np.ndarray]:
    """Arguments of such a product."""
    random = np.random.default_rng(rows + n + k)
    low, high = (-128, 128) if element == "i8" else (0, 256)
    return [
        random.standard_normal((rows, k)).astype(np.float32),
        random.integers(low, high, (n, k)).astype(np.int8 if element == "i8" else np.uint8),
        random.uniform(0.1, 2, (n, blocks)).astype(np.float32),
        np.float32(random.integers(0, 8, (n, blocks) if zeros else ())) + np.float32(0.5),
    ]


@guarded
@pytest.mark.sums
@pytest.mark.parametrize("target", HOSTS)
@pytest.mark.parametrize(
    ("rows", "n", "k", "blocks", "bits", "element", "zeros"),
    [
        (1, 64, 64, 2, 4, "i8", False),
        (1, 130, 96, 3, 4, "ui8", True),
        (3, 17, 64, 4, 8, "i8", True),
        (16, 33, 64, 1, 4, "i8", True),
        (29, 40, 48, 3, 8, "ui8", False),
        (1, 5, 34, 17, 4, "ui8", False),
        (2, 20, 30, 1, 8, "i8", False),
        (1, 16, 15, 3, 4, "i8", True),  # blocks of 5: no pairs of halves
    ],
)  # fmt: skip
def test_a_kernel_gives_what_the_interpreter_gives(
    target: str, rows: int, n: int, k: int, blocks: int, bits: int, element: str, zeros: bool
) -> None:
    arrays = operands(rows, n, k, blocks, element, zeros)
    text = product(rows, n, k, blocks, bits, element, zeros, finish=rows == 3)
    (program,) = primitives(text)
    got, family = run_kernel(program, arrays, frozenset({1, 2, 3}), 1 + rows % 2, HOSTS[target])
    x, w, scale, zero = (array.astype(np.float64) for array in arrays)
    if bits == 4:
        w = w % 16 - (16 if element == "i8" else 0) * (w % 16 > 7)
    real = (w.reshape(n, blocks, -1) - (zero[..., None] if zeros else zero)) * scale[..., None]
    want = x @ real.reshape(n, k).T
    # Differences and scales are rounded, too.
    bound = (k + 4) * 2.0**-23 * (np.abs(x) @ np.abs(real.reshape(n, k)).T + 1e-3)
    want, bound = (2 * np.maximum(want, 0), 2 * bound) if rows == 3 else (want, bound)
    assert (np.abs(got - want) <= bound).all()
    assert family == "contraction" or blocks * 5 == k
    reference = fd.run(fd.parse(text), *arrays)[0]
    assert (np.abs(reference - want) <= bound).all()


def _panels(text: str) -> dict[int, int]:
    """Bytes of the arguments that a kernel wants packed."""
    (program,) = primitives(text)
    schedule = choose(program, host().machine, frozenset({1, 2, 3}))
    assert not hasattr(schedule, "reason")
    assert isinstance(schedule.form, Sums)  # pyright: ignore[reportAttributeAccessIssue]  # no refusal
    (stage,) = schedule.form.stages  # pyright: ignore[reportAttributeAccessIssue]
    assert isinstance(stage.plan, Matrices)
    assert stage.workspace_bytes < 1 << 20
    return {place: packing.size * (1 if place == 1 else 4) for place, packing in stage.packings.items()}


@pytest.mark.parametrize("rows", [1, 16, 200, "?"])
def test_weights_are_kept_in_their_bits(rows: int | str) -> None:
    halves = _panels(product(rows, 512, 1024, 32, 4, "i8", zeros=False, finish=False))
    whole = _panels(product(rows, 512, 1024, 32, 8, "i8", zeros=False, finish=False))
    # A panel may have columns beyond the last.
    assert halves[1] <= 1.1 * 512 * 1024 / 2
    assert whole[1] <= 1.1 * 512 * 1024
    assert halves[2] == whole[2] <= 1.1 * 512 * 32 * 4


@guarded
def test_scales_that_are_zero_points_too_are_packed_once() -> None:
    b, x = "tensor<32x2xf32>", "tensor<4x32xf32>"
    (program,) = primitives(f"""func.func @main(%x: {x}, %w: tensor<32x32xi8>, %s: {b}) -> {x} {{
  %y = fuse.blockwise_dense %x, %w, %s, %s : ({x}, tensor<32x32xi8>, {b}, {b}) -> {x}
  return %y : {x}
}}""")
    a, w, scale, _ = operands(4, 32, 32, 2, "i8", zeros=True)
    got, family = run_kernel(program, [a, w, scale], frozenset({1, 2}), 1)
    real = ((w.reshape(32, 2, 16) - scale[..., None]) * scale[..., None]).reshape(32, 32)
    assert family == "contraction"
    assert_product(got, a, real.T)


def test_a_saved_program_has_its_weight(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    q = random.integers(-8, 8, (96, 64)).astype(np.int8)
    scale = random.uniform(0.1, 1, (96, 2)).astype(np.float32)
    text = f"""func.func @main(%x: tensor<2x64xf32>) -> tensor<2x96xf32> {{
  %w = arith.constant dense<"0x{q.tobytes().hex().upper()}"> : tensor<96x64xi8>
  %s = arith.constant dense<"0x{scale.tobytes().hex().upper()}"> : tensor<96x2xf32>
  %z = arith.constant dense<2.0> : tensor<f32>
  %y = fuse.blockwise_dense %x, %w, %s, %z, bits = 4
       : (tensor<2x64xf32>, tensor<96x64xi8>, tensor<96x2xf32>, tensor<f32>) -> tensor<2x96xf32>
  return %y : tensor<2x96xf32>
}}"""
    x = random.standard_normal((2, 64)).astype(np.float32)
    program = fd.compile(fd.parse(text))
    program.save(tmp_path / "p.fdp")
    again = fd.load(tmp_path / "p.fdp")
    assert again(x)[0].tobytes() == program(x)[0].tobytes()
    real = ((q.reshape(96, 2, 32) - np.float32(2)) * scale[..., None]).reshape(96, 64)
    assert_product(program(x)[0], x, real.T)
