"""Tensors of more than 4 GiB, where 32-bit offsets would wrap around; only on request, and with the memory for it."""

import os

import numpy as np
import pytest

from fuse_dialect.backends.backend import Backend
from fuse_dialect.backends.compile import compile_program
from fuse_dialect.backends.options import CompileOptions
from fuse_dialect.frontends.mlir.reader import parse_mlir

ROWS, COLUMNS = 70_000, 70_000
NEEDED = 5 * ROWS * COLUMNS // 2
"""Bytes: an operand and a result of one byte an element, and room."""

pytestmark = pytest.mark.skipif(
    "FUSE_LARGE_TENSORS" not in os.environ or os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < NEEDED,
    reason="set FUSE_LARGE_TENSORS, and have 13 GB of memory free",
)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_a_map_and_a_reduction_reach_the_last_element(backend: Backend, threads: int) -> None:
    if backend.name == "loops":
        pytest.skip("too slow")
    type = f"tensor<{ROWS}x{COLUMNS}xi8>"
    program = compile_program(
        parse_mlir(f"""
        func.func @main(%x: {type}) -> ({type}, tensor<{ROWS}xi8>) {{
          %y = fuse.add %x, %x : {type}
          %m = fuse.max %x, axes = [1] : ({type})
          return %y, %m : {type}, tensor<{ROWS}xi8>
        }}"""),
        CompileOptions(backend=backend, threads=threads),
    )
    x = np.zeros((ROWS, COLUMNS), np.int8)
    x[::1000, 7] = 3
    x[-1, -1] = 5
    doubled, largest = program(x)
    assert doubled[-1, -1] == 10
    assert np.count_nonzero(doubled) == ROWS // 1000 + 1
    assert np.count_nonzero(largest) == ROWS // 1000 + 1
    assert largest[-1] == 5
