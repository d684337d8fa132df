"""How many positions a slice has, by arithmetic alone: as Python's own slices."""

from itertools import product

import pytest
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block

from fuse_dialect.dialect.ops.indexing import StridedSliceOp

BOUNDS = (*range(-7, 8), 2**63 - 1, -(2**63))


@pytest.mark.parametrize("size", range(6))
def test_as_slices_of_python(size: int) -> None:
    source = Block(arg_types=[TensorType(f32, [size])]).args[0]
    for begin, end, step in product(BOUNDS, BOUNDS, (1, 2, 3, -1, -2, -3)):
        op = StridedSliceOp(source, begin=[begin], end=[end], strides=[step])
        (result,) = op.infer_types()
        assert isinstance(result, TensorType)
        assert result.get_shape() == (len(range(*slice(begin, end, step).indices(size))),), (begin, end, step)
