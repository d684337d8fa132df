"""Hardware templates as IR: `fuse.hardware` with one op for each unit, link, mapping and virtual operator.

    fuse.hardware @tiny source @mac {
      fuse.hardware_unit @mac kind "mac"
      fuse.hardware_unit @act kind "activation" capacity 2
      fuse.hardware_link @mac -> @act
      fuse.hardware_map "fuse.conv2d" to ["mac"]
      fuse.hardware_map "fuse.clip" to ["activation"] if "min-zero"
      fuse.hardware_map "fuse.dense" to ["mac"] where ["weights.source is constant"] stream 0
      fuse.hardware_require "tensors.rank <= 4" except ["fuse.dense"]
      fuse.hardware_virtual "fuse.reshape"
    }

What a template must satisfy is checked by `HardwareTemplate.problems`; a problem is reported at the op it is about.
These ops describe; they compute nothing, and are no `FuseOp`s.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.traits import HasParent, IsolatedFromAbove, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.fields import INTEGER, Integer
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

HARDWARE_ATTRIBUTE = "fuse.hardware"
"""Name of the attribute that a function for hardware carries: the name of its template."""
UNIT_ATTRIBUTE = "fuse.unit"
"""Name of the attribute that says which unit runs an op."""
PADDING_ATTRIBUTE = "fuse.hardware_padding"
"""Name of the attribute that says how far the unit of an op wants a tensor padded: `result.channels 20 -> 32`."""
TILE_ATTRIBUTE = "fuse.tile"
"""Name of the attribute that the ops around tiles carry: the trip that has been cut into them, and which call of it."""
REASON_ATTRIBUTE = "fuse.hardware_reason"
"""Name of the attribute that says why an op, or the first op of a called function, joined no earlier group."""


@irdl_op_definition
class HardwareOp(IRDLOperation):
    """An accelerator; its parts stand in the region. It is no symbol table: links and problems know units by name."""

    name = "fuse.hardware"

    sym_name = prop_def(SymbolNameConstraint())
    source = prop_def(FlatSymbolRefAttrConstr)
    """The unit where data enters."""
    max_operands: Integer | None = opt_prop_def(INTEGER)
    buffer_bytes: Integer | None = opt_prop_def(INTEGER)
    channel_alignment: Integer | None = opt_prop_def(INTEGER)
    max_results: Integer | None = opt_prop_def(INTEGER)
    max_products: Integer | None = opt_prop_def(INTEGER)
    trip_bytes: Integer | None = opt_prop_def(INTEGER)
    feature_bytes: Integer | None = opt_prop_def(INTEGER)
    constant_bytes: Integer | None = opt_prop_def(INTEGER)
    bandwidth: Integer | None = opt_prop_def(INTEGER)
    """Bytes from and to memory in a cycle."""
    body = region_def("single_block")

    traits = traits_def(NoTerminator(), IsolatedFromAbove(), SymbolOpInterface())

    assembly_format = (
        "$sym_name `source` $source (`operands` $max_operands^)? (`buffer_bytes` $buffer_bytes^)? "
        "(`channel_alignment` $channel_alignment^)? (`results` $max_results^)? (`products` $max_products^)? "
        "(`trip_bytes` $trip_bytes^)? (`feature_bytes` $feature_bytes^)? (`constant_bytes` $constant_bytes^)? "
        "(`bandwidth` $bandwidth^)? attr-dict-with-keyword $body"
    )

    def verify_(self) -> None:
        """Report the first problem of the template, at the part that it is about.

        Raises:
            VerifyException: There is one.
        """
        problem = template_problem(self)
        if problem is not None:
            part, message = problem
            error = VerifyException(message)
            if part is self:
                raise error
            part.emit_error(f"Operation does not verify: {error}", error)


@irdl_op_definition
class HardwareUnitOp(IRDLOperation):
    """A unit: its name, its kind, and how many operators it runs in one trip of data."""

    name = "fuse.hardware_unit"

    sym_name = prop_def(SymbolNameConstraint())
    kind: StringAttr = prop_def(StringAttr)
    capacity: Integer | None = opt_prop_def(INTEGER)
    """1, if left out."""
    operations: Integer | None = opt_prop_def(INTEGER)
    """Arithmetic operations in a cycle."""
    rate: Integer | None = opt_prop_def(INTEGER)
    """Bytes of results in a cycle."""
    required: UnitAttr | None = opt_prop_def(UnitAttr)
    """Every trip must use it."""
    stores: UnitAttr | None = opt_prop_def(UnitAttr)
    """What it gives can be written to memory."""
    cascades: UnitAttr | None = opt_prop_def(UnitAttr)
    """Trips that use it may run together with others, stripe by stripe."""

    traits = lazy_traits_def(lambda: (HasParent(HardwareOp),))
    assembly_format = (
        "$sym_name `kind` $kind (`capacity` $capacity^)? (`operations` $operations^)? (`bytes` $rate^)? "
        "(`required` $required^)? (`stores` $stores^)? (`cascades` $cascades^)? attr-dict"
    )


@irdl_op_definition
class HardwareLinkOp(IRDLOperation):
    """A link from one unit to another. The order of links decides between units that are equally near."""

    name = "fuse.hardware_link"

    source = prop_def(FlatSymbolRefAttrConstr)
    sink = prop_def(FlatSymbolRefAttrConstr)

    traits = lazy_traits_def(lambda: (HasParent(HardwareOp),))
    assembly_format = "$source `->` $sink attr-dict"


@irdl_op_definition
class HardwareMapOp(IRDLOperation):
    """An operator, the kinds of units that run it, and a condition."""

    name = "fuse.hardware_map"

    operator: StringAttr = prop_def(StringAttr)
    kinds: ArrayAttr[StringAttr] = prop_def(ArrayAttr[StringAttr])
    predicate: StringAttr | None = opt_prop_def(StringAttr)
    constraints: ArrayAttr[StringAttr] | None = opt_prop_def(ArrayAttr[StringAttr])
    """Lines of `templates.constraint`, each with a sentence of its own behind a colon, if it has one."""
    stream: Integer | None = opt_prop_def(INTEGER)
    """The operand that streams by."""
    check: StringAttr | None = opt_prop_def(StringAttr)
    """A function of the entry point group `fuse_dialect.hardware_checks`."""

    traits = lazy_traits_def(lambda: (HasParent(HardwareOp),))
    assembly_format = (
        "$operator `to` $kinds (`if` $predicate^)? (`where` $constraints^)? (`stream` $stream^)? (`check` $check^)? "
        "attr-dict"
    )


@irdl_op_definition
class HardwareVirtualOp(IRDLOperation):
    """An operator that costs nothing."""

    name = "fuse.hardware_virtual"

    operator: StringAttr = prop_def(StringAttr)

    traits = lazy_traits_def(lambda: (HasParent(HardwareOp),))
    assembly_format = "$operator attr-dict"


@irdl_op_definition
class HardwareRequireOp(IRDLOperation):
    """A constraint of all mapped operators but some."""

    name = "fuse.hardware_require"

    constraint: StringAttr = prop_def(StringAttr)
    excepted: ArrayAttr[StringAttr] | None = opt_prop_def(ArrayAttr[StringAttr])

    traits = lazy_traits_def(lambda: (HasParent(HardwareOp),))
    assembly_format = "$constraint (`except` $excepted^)? attr-dict"


@irdl_op_definition
class HardwareRegionOp(IRDLOperation):
    """A memory: which of `inputs`, `weights`, `outputs` and `between` of a trip may live in it, and its size."""

    name = "fuse.hardware_region"

    sym_name = prop_def(SymbolNameConstraint())
    holds: ArrayAttr[StringAttr] = prop_def(ArrayAttr[StringAttr])
    size: Integer | None = opt_prop_def(INTEGER)
    """Bytes, 0 if left out: as many as there are."""
    streams: UnitAttr | None = opt_prop_def(UnitAttr)
    """What is larger passes in parts, so that the size is no limit."""
    sentence: StringAttr | None = opt_prop_def(StringAttr)
    """What a refusal says first."""

    traits = lazy_traits_def(lambda: (HasParent(HardwareOp),))
    assembly_format = (
        "$sym_name `holds` $holds (`bytes` $size^)? (`streams` $streams^)? (`because` $sentence^)? attr-dict"
    )


HARDWARE_OPS: Sequence[type[Operation]] = (
    HardwareOp,
    HardwareUnitOp,
    HardwareLinkOp,
    HardwareMapOp,
    HardwareVirtualOp,
    HardwareRequireOp,
    HardwareRegionOp,
)
"""The ops of this file."""

PartOp: TypeAlias = (
    HardwareUnitOp | HardwareLinkOp | HardwareMapOp | HardwareVirtualOp | HardwareRequireOp | HardwareRegionOp
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
