"""The table of all rows; each module holds those of one family.

An op that the reader makes of one operator with the same operands is written as that operator, and needs no row.
"""

from collections.abc import Mapping

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.frontends.onnx.operators import SIMPLE_OPERATORS
from fuse_dialect.targets.onnx.operators import (
    dynamic,
    elementwise,
    indexing,
    normalization,
    products,
    reductions,
    shapes,
    vision,
)
from fuse_dialect.targets.onnx.table import OpRows, Row

_SIMPLE = OpRows()
_SIMPLE.same(SIMPLE_OPERATORS)
_FAMILIES = (elementwise, shapes, indexing, reductions, normalization, products, vision, dynamic)

ROWS: Mapping[type[FuseOp], Row] = {
    **_SIMPLE.rows,
    **{op_class: row for family in _FAMILIES for op_class, row in family.ROWS.rows.items()},
}
"""How each op class is written."""
