"""The strategy `cost` knows what tiles do, and what is lost where products go strip by strip."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from xdsl.dialects import func

import fuse_dialect as fd
from fuse_dialect.loops.forms import Access, Form, Loops, Order
from fuse_dialect.loops.joins import Join, joined
from fuse_dialect.machines.description import description_of, with_rates
from fuse_dialect.machines.machine import TILES, Machine, Unit
from fuse_dialect.machines.names import find_machine

ATTENTION = """func.func @main(%q: Q, %k: Q, %v: Q) -> Q {
  %s = fuse.batch_matmul %q, %k, transpose_b = true : (Q, Q) -> P
  %p = fuse.softmax %s : P
  %y = fuse.batch_matmul %p, %v : (P, Q) -> Q
  return %y : Q
}"""


def wide(units: Unit = Unit.NONE) -> Machine:
    machine = with_rates(find_machine("cpu-avx512"))
    return replace(machine, units=machine.units | units)


def kernels(machine: Machine, element: str, path: Path) -> Sequence[str]:
    """Names of the kernels of an attention."""
    path.write_text(description_of(machine))
    text = ATTENTION.replace("Q", f"tensor<12x384x64x{element}>").replace("P", f"tensor<12x384x384x{element}>")
    module = fd.fuse_ops(fd.parse(text), strategy="cost", machine=str(path))
    return [op.sym_name.data for op in module.walk() if isinstance(op, func.FuncOp)][1:]


@pytest.mark.parametrize(("unit", "speed"), [(Unit.NONE, 1), (Unit.BYTE_TILES, 12.8), (Unit.PAIR_TILES, 6.4)])
def test_tiles_do_so_many_times_as_much_as_vectors(unit: Unit, speed: float) -> None:
    # 2048 operations on bytes in a cycle, 1024 on bf16, 64 on f32; kernels with tiles reach 0.4 of it.
    assert wide(unit).speed_of(unit) == speed


def test_scores_that_tiles_multiply_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "machine.toml"
    in_strips = ["fused_batch_matmul_softmax_batch_matmul"]
    assert kernels(wide(), "bf16", path) == in_strips
    assert kernels(wide(TILES), "bf16", path) == ["fused_batch_matmul", "fused_softmax", "fused_batch_matmul_0"]
    assert kernels(wide(TILES), "f32", path) == in_strips
    assert kernels(wide(Unit.BYTE_TILES), "bf16", path) == in_strips


def test_strips_lose_what_tiles_gain() -> None:
    product, rows = Form(Loops.PRODUCT, (8, 8), 1, {}, speed=16.0), Form(Loops.ROWS, (8, 8), 1, {})
    for loops, speed in ((Loops.STRIPS, 1.0), (Loops.PRODUCT, 16.0)):
        join = Join(frozenset(), loops, Access(Order.SAME, 2, 1.0), (8, 8), 1)
        assert joined(product, rows, join).speed == speed
