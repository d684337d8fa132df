"""Exponentials that would be written past the caches are computed again, and only those."""

from dataclasses import replace

import numpy as np
import pytest
from test_packed_dots import program_of

from fuse_dialect.interpreters.loops import run_loops
from fuse_dialect.loops.for_machine import for_machine
from fuse_dialect.loops.program import LoopProgram, Role
from fuse_dialect.machines.machine import Cache, Machine, Unit

SMALL = Machine("small", units=Unit.STREAMS | Unit.SCALING, caches=(Cache(256, 4), Cache(1024, 4)))
LARGE = replace(SMALL, name="large", caches=(Cache(256, 4), Cache(4096, 4)))
X = np.random.default_rng(0).standard_normal((8, 32)).astype(np.float32)


def _program(*lines: str) -> LoopProgram:
    body = "\n  ".join(lines)
    return program_of(f"""func.func private @f(%x: tensor<8x32xf32>) -> tensor<8x32xf32> attributes {{primitive}} {{
  {body}
  return %y : tensor<8x32xf32>
}}""")


def _rows_kept(program: LoopProgram) -> int:
    """Local buffers that have an element for each of the program's results."""
    return sum(buffer.role is Role.LOCAL and buffer.shape == (8, 32) for buffer in program.buffers)


@pytest.mark.parametrize("axis", [0, 1])
def test_exponentials_of_a_large_softmax_are_computed_again(axis: int) -> None:
    program = _program(f"%y = fuse.softmax %x, axis = {axis} : tensor<8x32xf32>")
    assert _rows_kept(program) == 1
    changed = for_machine(program, SMALL)
    assert _rows_kept(changed) == 0
    assert _rows_kept(for_machine(program, LARGE)) == 1
    assert _rows_kept(for_machine(program, replace(SMALL, units=Unit.SCALING))) == 1
    (want,), (got,) = run_loops(program, [X]), run_loops(changed, [X])
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_what_is_long_or_read_more_often_is_kept() -> None:
    top = "%m = fuse.max %x, axes = [1], keepdims = true : (tensor<8x32xf32>) -> tensor<8x1xf32>"
    wide = ": (tensor<8x32xf32>, tensor<8x1xf32>) -> tensor<8x32xf32>"
    total = "%s = fuse.sum %e, axes = [1], keepdims = true : (tensor<8x32xf32>) -> tensor<8x1xf32>"
    ends = (total, f"%y = fuse.divide %e, %s {wide}")
    short = (top, f"%d = fuse.subtract %x, %m {wide}", "%e = fuse.exp %d : tensor<8x32xf32>")
    assert _rows_kept(for_machine(_program(*short, *ends), SMALL)) == 0
    long = [f"%e{n + 1} = fuse.exp %e{n} : tensor<8x32xf32>" for n in range(4)]
    many = (top, f"%e0 = fuse.subtract %x, %m {wide}", *long[:-1], long[-1].replace("%e4", "%e"))
    assert _rows_kept(for_machine(_program(*many, *ends), SMALL)) == 1
