"""Trips in the words of a team's own dialect, by one table: the steps become its ops.

    lower_trips(module, {"fuse.conv2d": "npu.conv", "fuse.bias_add": "npu.bias", ("act", "fuse.relu"): "npu.act"})

A step keeps its operands, types, properties and attributes. A row may name a unit and an op, or an op alone; the
narrower one is taken. A step without a row is an error before anything is changed. Ops of a dialect that is registered
are made of its classes, others stand as unregistered ones; both print and parse.

Trips stay functions with calls, unless there is a row for `fuse.fused`: then each call becomes an op with a region in
its place, as `inline-fused` makes `fuse.fused`, and its end is what the row for `fuse.yield` says. Without a table of
one's own `inline-fused` is enough: `fuse.fused` is registered, and carries `fuse.hardware`.
"""

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from fuse_dialect.budget import Limits
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE
from fuse_dialect.dialect.ops.regions import FusedOp, YieldOp
from fuse_dialect.fusion.inlining import Inlining, inline_calls
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.hardware.trips import trips_of

NAME_ATTRIBUTE = "fuse.trip"
"""Name of the attribute that says what the function of a trip was called, on the op in the place of its call."""
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
        OpError: The table has no row for a step, or one for `fuse.fused` and none for `fuse.yield`.
    """
    regions = [table.get(each.name) for each in (FusedOp, YieldOp)]
    if None in regions and regions != [None, None]:
        named, missing = (FusedOp, YieldOp) if regions[1] is None else (YieldOp, FusedOp)
        raise OpError(module, f"the table has a row for '{named.name}' and none for '{missing.name}'")
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
        _replace(op, row)
    held, end = regions
    if held is not None and end is not None:
        _in_place(module, held, end)
    return len(found)


def _replace(op: Operation, row: str | type[Operation]) -> None:
    """Put the op of a row in the place of a step."""
    attributes, properties = dict(op.attributes), dict(op.properties)
    if isinstance(row, str):
        attributes, properties = {**properties, **attributes}, {}
    new = _class_of(row).create(
        operands=list(op.operands),
        result_types=list(op.result_types),
        properties=properties,
        attributes=attributes,
        location=op.location,
    )
    Rewriter.replace_op(op, new)


def _class_of(row: str | type[Operation]) -> type[Operation]:
    return UnregisteredOp.with_name(row) if isinstance(row, str) else row


def _in_place(module: ModuleOp, held: str | type[Operation], end: str | type[Operation]) -> None:
    """Put an op with a region in the place of each call of a trip."""
    inlining = Inlining(
        "lower_trips", lambda function: HARDWARE_ATTRIBUTE in function.attributes, False, as_regions=True
    )
    inline_calls(module, inlining, Limits().ops)
    for op in [op for op in module.walk() if isinstance(op, FusedOp)]:
        marks = op.function_attributes
        if marks is None or HARDWARE_ATTRIBUTE not in marks.data:
            continue
        last = op.body.block.last_op
        assert last is not None, "a kernel in its place ends"
        Rewriter.replace_op(last, _class_of(end).create(operands=list(last.operands), location=last.location))
        new = _class_of(held).create(
            operands=list(op.operands),
            result_types=list(op.result_types),
            attributes={**op.attributes, **marks.data, NAME_ATTRIBUTE: op.kernel},
            regions=[op.detach_region(op.body)],
            location=op.location,
        )
        Rewriter.replace_op(op, new)
