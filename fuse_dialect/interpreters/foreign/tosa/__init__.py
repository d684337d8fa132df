"""Meanings of TOSA, from the definitions of its specification, a family of ops a file.

Attributes may be operands, as newer versions of MLIR have them, or properties, as older ones had.

Source: https://www.mlplatform.org/tosa/tosa_spec.html (1.0).
"""

from fuse_dialect.interpreters.foreign.meaning import Rows
from fuse_dialect.interpreters.foreign.tosa import (
    control_flow,
    elementwise,
    layout,
    pools,
    products,
    reductions,
    resizing,
    scaling,
    shapes,
)

MEANINGS: Rows = {
    f"tosa.{name}": meaning
    for family in (control_flow, elementwise, layout, pools, products, reductions, resizing, scaling, shapes)
    for name, meaning in family.ROWS.items()
}
