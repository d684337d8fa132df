"""Trips in the words of a team's own dialect, by one table: the steps become its ops.

    lower_trips(module, {"fuse.conv2d": "npu.conv", "fuse.bias_add": "npu.bias", ("act", "fuse.relu"): "npu.act"})

A step keeps its operands, types, properties and attributes. A row may name a unit and an op, or an op alone; the
narrower one is taken. A step without a row is an error before anything is changed. Ops of a dialect that is registered
are made of its classes, others stand as unregistered ones; both print and parse.
"""

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from fuse_dialect.dialect.errors import OpError
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.hardware.trips import trips_of

Row = str | tuple[str, str]
"""An op, or a unit and an op."""


def lower_trips(module: ModuleOp, table: Mapping[Row, str | type[Operation]]) -> int:
    """Replace the steps of all trips by ops of another dialect.

    Args:
        module: One that `fuse-ops-hw` has fused; it is changed.
        table: For an op, or a unit and an op, the name of the op in its place, or its class.

    Returns:
        How many steps were replaced.

    Raises:
        OpError: The table has no row for a step.
    """
    found: list[tuple[Operation, str | type[Operation]]] = []
    for trip in trips_of(module):
        for step in trip.steps:
            row = table.get((step.unit, step.op), table.get(step.op))
            if row is None:
                known = ", ".join(sorted(key if isinstance(key, str) else " ".join(key) for key in table))
                what = f"'{op_name(step.source)}' op on unit '{step.unit}' has no row in the table"
                raise OpError(step.source, what, f"it has rows for {known}")
            found.append((step.source, row))
    for op, row in found:
        op_class = UnregisteredOp.with_name(row) if isinstance(row, str) else row
        attributes = dict(op.attributes)
        properties = dict(op.properties)
        if isinstance(row, str):
            attributes, properties = {**properties, **attributes}, {}
        new = op_class.create(
            operands=list(op.operands),
            result_types=list(op.result_types),
            properties=properties,
            attributes=attributes,
            location=op.location,
        )
        Rewriter.replace_op(op, new)
    return len(found)
