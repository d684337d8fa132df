"""`fold-transposes` keeps what products compute, at any size, and decoders do not copy their keys."""

import numpy as np
import pytest
from fuzzing.comparing import assert_agrees
from xdsl.context import Context

import fuse_dialect as fd
from fuse_dialect.transforms.fold_transposes import FoldTransposesPass

PROGRAM = """func.func @main(%q: tensor<?x3x?x8xf32>, %k: tensor<?x3x?x8xf32>) -> tensor<?x3x?x?xf32> {
  %t = fuse.transpose %k, permutation = [0, 1, 3, 2] : (tensor<?x3x?x8xf32>) -> tensor<?x3x8x?xf32>
  %y = fuse.batch_matmul %q, %t : (tensor<?x3x?x8xf32>, tensor<?x3x8x?xf32>) -> tensor<?x3x?x?xf32>
  return %y : tensor<?x3x?x?xf32>
}"""


@pytest.mark.sums
@pytest.mark.parametrize("sizes", [(1, 1, 0), (2, 1, 1), (1, 5, 17), (2, 1, 129), (0, 3, 4)])
def test_results_are_the_same(sizes: tuple[int, int, int]) -> None:
    batch, rows, columns = sizes
    rng = np.random.default_rng(0)
    q = rng.standard_normal((batch, 3, rows, 8)).astype(np.float32)
    k = rng.standard_normal((batch, 3, columns, 8)).astype(np.float32)
    module = fd.parse(PROGRAM)
    folded = module.clone()
    FoldTransposesPass().apply(Context(), folded)
    assert "fuse.transpose" not in str(folded)
    assert_agrees(module, [q, k], fd.run(folded, q, k))
    assert_agrees(module, [q, k], fd.compile(module, cache=False)(q, k))


def test_a_product_of_a_cache_is_one_kernel() -> None:
    (kernel,) = fd.compile(fd.parse(PROGRAM), cache=False).kernels
    assert kernel.name == "fused_batch_matmul"
