"""Templates as ops, and back: what `ops/hardware.py` declares is read and written here."""

from collections.abc import Mapping
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, SymbolRefAttr, UnitAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region

from fuse_dialect.dialect.fields import Integer
from fuse_dialect.dialect.ops.hardware import (
    HardwareLinkOp,
    HardwareMapOp,
    HardwareOp,
    HardwareRegionOp,
    HardwareRequireOp,
    HardwareUnitOp,
    HardwareVirtualOp,
    PartOp,
)
from fuse_dialect.templates.constraint import ConstraintError, parse_constraint
from fuse_dialect.templates.template import (
    HardwareLimits,
    HardwareLink,
    HardwareRegion,
    HardwareRequirement,
    HardwareTemplate,
    HardwareUnit,
    OperatorMapping,
    Predicate,
    TemplatePart,
    VirtualOperator,
)


def read_template(op: HardwareOp) -> tuple[HardwareTemplate, dict[int, Operation]]:
    """The template that the op describes, unchecked, and for the `id` of each of its parts the op that says it."""
    pairs = [(_part(inner), inner) for inner in op.body.block.ops if isinstance(inner, PartOp)]
    parts = [part for part, _ in pairs]
    template = HardwareTemplate(
        op.sym_name.data,
        op.source.string_value(),
        tuple(part for part in parts if isinstance(part, HardwareUnit)),
        tuple(part for part in parts if isinstance(part, HardwareLink)),
        tuple(part for part in parts if isinstance(part, OperatorMapping)),
        tuple(part for part in parts if isinstance(part, VirtualOperator)),
        HardwareLimits(**{name: _integer(_limit_of(op, name), 0) for name in _LIMITS}),
        tuple(part for part in parts if isinstance(part, HardwareRequirement)),
        _integer(op.bandwidth, 0),
        tuple(part for part in parts if isinstance(part, HardwareRegion)),
    )
    return template, {id(part): inner for part, inner in pairs}


def template_problem(op: HardwareOp) -> tuple[Operation, str] | None:
    """The first thing that is wrong with the template, after the op to blame; `None` if it is valid."""
    for inner in op.body.block.ops:
        if not isinstance(inner, PartOp):
            return inner, "is no part of a hardware template"
        try:
            _part(inner)
        except ConstraintError as error:
            return inner, str(error)
    template, parts = read_template(op)
    problem = next(template.problems(), None)
    return None if problem is None else (parts.get(id(problem.part), op), problem.message)


def _part(op: PartOp) -> TemplatePart:
    match op:
        case HardwareUnitOp():
            rates = (_integer(op.operations, 0), _integer(op.rate, 0))
            flags = (op.required is not None, op.stores is not None, op.cascades is not None)
            return HardwareUnit(op.sym_name.data, op.kind.data, _integer(op.capacity, 1), *rates, *flags)
        case HardwareLinkOp():
            return HardwareLink(op.source.string_value(), op.sink.string_value())
        case HardwareMapOp():
            kinds = tuple(kind.data for kind in op.kinds)
            return OperatorMapping(
                op.operator.data,
                kinds,
                Predicate.ALWAYS if op.predicate is None else op.predicate.data,
                tuple(parse_constraint(line.data) for line in op.constraints or ()),
                None if op.stream is None else op.stream.value.data,
                "" if op.check is None else op.check.data,
            )
        case HardwareRequireOp():
            excepted = tuple(each.data for each in op.excepted or ())
            return HardwareRequirement(parse_constraint(op.constraint.data), excepted)
        case HardwareVirtualOp():
            return VirtualOperator(op.operator.data)
        case HardwareRegionOp():
            return HardwareRegion(
                op.sym_name.data,
                tuple(role.data for role in op.holds),
                _integer(op.size, 0),
                op.streams is not None,
                "" if op.sentence is None else op.sentence.data,
            )


_LIMITS: Mapping[str, str] = {
    "operands": "max_operands",
    "buffer_bytes": "buffer_bytes",
    "channel_alignment": "channel_alignment",
    "results": "max_results",
    "products": "max_products",
    "trip_bytes": "trip_bytes",
    "feature_bytes": "feature_bytes",
    "constant_bytes": "constant_bytes",
}
"""The property that says each limit."""


def _limit_of(op: HardwareOp, name: str) -> Integer | None:
    return cast("Integer | None", op.properties.get(_LIMITS[name]))


def _integer(attribute: Integer | None, default: int) -> int:
    return default if attribute is None else attribute.value.data


def hardware_op(template: HardwareTemplate) -> HardwareOp:
    """The template as IR."""
    sizes = {spelled: getattr(template.limits, name) for name, spelled in _LIMITS.items()}
    sizes["bandwidth"] = template.bandwidth
    return HardwareOp.create(
        properties={
            "sym_name": StringAttr(template.name),
            "source": SymbolRefAttr(template.source),
            **{name: IntegerAttr(size, i64) for name, size in sizes.items() if size},
        },
        regions=[Region(Block(_part_ops(template)))],
    )


def _part_ops(template: HardwareTemplate) -> list[Operation]:
    ops: list[Operation] = []
    for unit in template.units:
        properties: dict[str, Attribute] = {"sym_name": StringAttr(unit.name), "kind": StringAttr(unit.kind)}
        if unit.capacity != 1:
            properties["capacity"] = IntegerAttr(unit.capacity, i64)
        if unit.operations:
            properties["operations"] = IntegerAttr(unit.operations, i64)
        if unit.bytes:
            properties["rate"] = IntegerAttr(unit.bytes, i64)
        if unit.required:
            properties["required"] = UnitAttr()
        if unit.stores:
            properties["stores"] = UnitAttr()
        if unit.cascades:
            properties["cascades"] = UnitAttr()
        ops.append(HardwareUnitOp.create(properties=properties))
    for link in template.links:
        ends = {"source": SymbolRefAttr(link.source), "sink": SymbolRefAttr(link.sink)}
        ops.append(HardwareLinkOp.create(properties=ends))
    for row in template.mappings:
        properties = {
            "operator": StringAttr(row.operator),
            "kinds": ArrayAttr([StringAttr(kind) for kind in row.kinds]),
        }
        if row.predicate != Predicate.ALWAYS:
            properties["predicate"] = StringAttr(row.predicate)
        if row.constraints:
            properties["constraints"] = ArrayAttr([StringAttr(str(each)) for each in row.constraints])
        if row.stream is not None:
            properties["stream"] = IntegerAttr(row.stream, i64)
        if row.check:
            properties["check"] = StringAttr(row.check)
        ops.append(HardwareMapOp.create(properties=properties))
    for each in template.virtual:
        ops.append(HardwareVirtualOp.create(properties={"operator": StringAttr(each.operator)}))
    for requirement in template.requirements:
        properties = {"constraint": StringAttr(str(requirement.constraint))}
        if requirement.excepted:
            properties["excepted"] = ArrayAttr([StringAttr(each) for each in requirement.excepted])
        ops.append(HardwareRequireOp.create(properties=properties))
    for region in template.regions:
        properties = {
            "sym_name": StringAttr(region.name),
            "holds": ArrayAttr([StringAttr(role) for role in region.holds]),
            **({"size": IntegerAttr(region.bytes, i64)} if region.bytes else {}),
            **({"streams": UnitAttr()} if region.streams else {}),
            **({"sentence": StringAttr(region.sentence)} if region.sentence else {}),
        }
        ops.append(HardwareRegionOp.create(properties=properties))
    return ops
