"""The table of all rows; each module holds those of one family."""

from collections.abc import Mapping

from fuse_dialect.dialect.op import FuseOp
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
from fuse_dialect.targets.onnx.table import Row

ROWS: Mapping[type[FuseOp], Row] = {
    op_class: row
    for family in (elementwise, shapes, indexing, reductions, normalization, products, vision, dynamic)
    for op_class, row in family.ROWS.rows.items()
}
"""How each op class is written."""
