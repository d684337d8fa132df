"""The dialects `stablehlo`, `chlo` and what they lean on, made from the rows."""

from collections.abc import Callable, Mapping

from xdsl.ir import Dialect

from fuse_dialect.frontends.stablehlo.attributes import CHLO_WORDS, STABLEHLO_ATTRIBUTES, raw
from fuse_dialect.frontends.stablehlo.op import StableHLOOp, op_class
from fuse_dialect.frontends.stablehlo.rows import (
    BARRIER_ROW,
    CHLO_ROWS,
    CONSTANT_ROW,
    REDUCE_ROW,
    SCAN_ROW,
    STABLEHLO_ROWS,
    TOP_K_ROW,
    WHILE_ROW,
)
from fuse_dialect.frontends.stablehlo.scan_op import ScanBase
from fuse_dialect.frontends.stablehlo.sharding_ops import SDY_ATTRIBUTES, SDY_OPS
from fuse_dialect.frontends.stablehlo.special_ops import BarrierBase, ConstantBase, ReduceBase, TopKBase, WhileBase

STABLEHLO_OPS: tuple[type[StableHLOOp], ...] = (
    op_class("stablehlo", CONSTANT_ROW, ConstantBase),
    op_class("stablehlo", REDUCE_ROW, ReduceBase),
    op_class("stablehlo", WHILE_ROW, WhileBase),
    op_class("stablehlo", BARRIER_ROW, BarrierBase),
    *(op_class("stablehlo", row) for row in STABLEHLO_ROWS),
)
CHLO_OPS: tuple[type[StableHLOOp], ...] = (
    op_class("chlo", CONSTANT_ROW, ConstantBase),
    op_class("chlo", SCAN_ROW, ScanBase),
    op_class("chlo", TOP_K_ROW, TopKBase),
    *(op_class("chlo", row) for row in CHLO_ROWS),
)

BY_NAME = {op.name: op for op in (*STABLEHLO_OPS, *CHLO_OPS)}
"""The classes by the name of the op."""
ReturnOp = BY_NAME["stablehlo.return"]
ConstantOp = BY_NAME["stablehlo.constant"]
WhileOp = BY_NAME["stablehlo.while"]
IfOp = BY_NAME["stablehlo.if"]
CaseOp = BY_NAME["stablehlo.case"]
ReduceOp = BY_NAME["stablehlo.reduce"]

StableHLO = Dialect("stablehlo", list(STABLEHLO_OPS), list(STABLEHLO_ATTRIBUTES))
CHLO = Dialect("chlo", list(CHLO_OPS), [*CHLO_WORDS, raw("chlo.ragged_dot")])
Quant = Dialect("quant", [], [raw(f"quant.{name}", is_type=True) for name in ("uniform", "any", "calibrated")])

SDY = Dialect(
    "sdy",
    list(SDY_OPS),
    [
        *SDY_ATTRIBUTES,
        *(
            raw(f"sdy.{name}")
            for name in (
                "dim_mapping",
                "dimension_sharding",
                "list_of_axis_ref_lists",
                "mesh_axis",
                "op_sharding_rule",
                "sub_axis_info",
                "tensor_mapping",
            )
        ),
    ],
)
"""Shardings, of which JAX prints some even for one device."""

DIALECTS: Mapping[str, Callable[[], Dialect]] = {
    dialect.name: lambda dialect=dialect: dialect for dialect in (StableHLO, CHLO, Quant, SDY)
}
"""Dialects by name."""
