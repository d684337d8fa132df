"""From the ops of one block to the `HardwareGraph` of a template.

1. Ops are numbered as `build_graph` numbers them, so the order of pure ops in the block has no influence.
2. Each op, each constant, and each value from outside is a node.
3. Ops that nothing is known about keep their order: each follows the one before it in the block.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.types import DYNAMIC, byte_count, is_tensor
from fuse_dialect.fusion.core.value_graph import NodeRole
from fuse_dialect.fusion.ir.block_graph import BlockGraph, Node, RegionFacts, build_graph
from fuse_dialect.fusion.ir.constants import is_constant
from fuse_dialect.fusion.ir.ssa import OuterOps, read_values
from fuse_dialect.fusion.kinds.foreign import foreign_op
from fuse_dialect.fusion.kinds.kind_of import kind_of, op_name
from fuse_dialect.hardware.placement import HOST, placement_of
from fuse_dialect.hardware.predicates import is_broadcast
from fuse_dialect.hardware.row_windows import row_window, rows_of
from fuse_dialect.hardware.support import supported_by
from fuse_dialect.templates.constraint import padded_operations
from fuse_dialect.templates.engines import kinds_on
from fuse_dialect.templates.graph import HardwareGraph, HardwareNode, HardwareRole
from fuse_dialect.templates.template import HardwareTemplate, OperatorMapping
from fuse_dialect.templates.tiles import RowWindow


@dataclass(frozen=True, slots=True)
class BlockHardwareGraph:
    """The graph of a block, and what its nodes and values are."""

    block: Block
    graph: HardwareGraph
    ops: Sequence[Operation | None]
    """The op of each node; `None` for a value from outside."""
    values: Sequence[SSAValue]
    source: BlockGraph
    """The graph that it was made of."""
    node_of: Sequence[int]
    """For each node its number there."""
    paddings: Mapping[int, str]
    """For nodes whose mapping pads what must be padded."""

    @property
    def dead(self) -> Sequence[Operation]:
        """Pure ops whose results nothing needs, in block order."""
        return self.source.dead


def build_hardware_graph(
    block: Block,
    template: HardwareTemplate,
    facts: RegionFacts | None = None,
    placement: Mapping[str, str] | None = None,
    *,
    row_axis: int | None = None,
) -> BlockHardwareGraph:
    """The graph of a block for a template.

    Args:
        block: Any block.
        template: The hardware.
        facts: What is known about regions, for a caller that asks for blocks at several depths.
        placement: Engines, or the host, for operators by the names of their results.
        row_axis: The axis of rows, if trips may be cut into tiles of them.

    Raises:
        OpError: The block is not in SSA order, the attribute `fuse.pattern_kind` is wrong on an op, or the engine that
            an op is placed on cannot run it.

    Complexity: O(ops + operands), those in regions included where `facts` do not know them yet.
    """
    facts = facts or RegionFacts()
    block_graph = build_graph(block, facts=facts)
    builder = _Builder(block, template, facts, placement or {}, row_axis)
    node_of = [number for number, node in enumerate(block_graph.nodes) if not node.role.is_view]
    for number in node_of:
        builder.add(block_graph.nodes[number])
    outer = OuterOps(block)
    graph = HardwareGraph(
        builder.with_order_of_unknown_ops(),
        builder.producers,
        [byte_count(value.type) for value in builder.values],
        # What comes in from outside is also seen there; to ask all its users, at every depth, takes quadratic time.
        [_block_of(value) is not block or is_read_outside(value, outer) for value in builder.values],
        () if row_axis is None else [rows_of(value.type, row_axis) for value in builder.values],
    )
    return BlockHardwareGraph(block, graph, builder.ops, builder.values, block_graph, node_of, builder.paddings)


class _Builder:
    """Numbers nodes and values."""

    def __init__(
        self,
        block: Block,
        template: HardwareTemplate,
        facts: RegionFacts,
        placement: Mapping[str, str],
        axis: int | None,
    ):
        self.block = block
        self.axis = axis
        """The axis of rows, if trips may be cut into tiles."""
        self.facts = facts
        self.template = template
        self.placement = placement
        self.rows: dict[str, list[OperatorMapping]] = {}
        for row in template.mappings:
            self.rows.setdefault(row.operator, []).append(row)
        self.virtual = {each.operator for each in template.virtual}
        self.nodes: list[HardwareNode] = []
        self.ops: list[Operation | None] = []
        self.producers: list[int] = []
        self.values: list[SSAValue] = []
        self.number_of_value: dict[SSAValue, int] = {}
        self.paddings: dict[int, str] = {}
        """What must be padded for the operator of a node."""
        self.known: set[SSAValue] = set()
        """Constants, and what pure ops of one operand make of them, as a reshape does."""

    def add(self, node: Node) -> None:
        """Add the node that stands for the op or value."""
        number = len(self.nodes)
        op = node.op
        if op is None:
            assert node.value is not None, "a node without an op is a value from outside"
            self.nodes.append(HardwareNode(HardwareRole.INPUT, value_label(node.value, "an argument")))
        else:
            self.nodes.append(self.node_of(node.role, op))
        self.ops.append(op)
        for value in (node.value,) if op is None else op.results:
            assert value is not None, "a node without an op is a value from outside"
            self.number_of_value[value] = len(self.values)
            self.values.append(value)
            self.producers.append(number)

    def node_of(self, role: NodeRole, op: Operation) -> HardwareNode:
        """What the op is to the hardware."""
        if is_constant(op) or (len(op.operands) == 1 and op.operands[0] in self.known and _is_plain(op)):
            self.known.update(op.results)
        name = op_name(op)
        label = value_label(op.results[0], f"'{name}'") if op.results else f"'{name}'"
        if role is NodeRole.CONSTANT:
            return HardwareNode(HardwareRole.CONSTANT, label)
        reads = tuple(self.number_of_value[value] for value in read_values(op, self.facts.captured))
        word = name.split(".", 1)[-1]
        rows = self.rows.get(name, [])
        if role is NodeRole.IN_PLACE:
            return HardwareNode(HardwareRole.BARRIER, label, named_kinds=_kinds(rows), reads=reads, word=word)
        if role is NodeRole.TUPLE_OP:
            return HardwareNode(HardwareRole.TUPLE, label, reads=reads, word=word)
        window, uncut = self.window_of(op)
        if name in self.virtual:
            return HardwareNode(HardwareRole.VIRTUAL, label, reads=reads, word=word, window=window, uncut=uncut)
        support = supported_by(self.template, rows, op, self.known)
        if support.padding:
            self.paddings[len(self.nodes)] = support.padding
        kinds, refusal = self.placed(op, _kinds(support.rows), support.refusal)
        return HardwareNode(
            HardwareRole.OPERATOR,
            label,
            kinds,
            _kinds(rows),
            reads,
            frozenset(self.number_of_value[value] for value in op.operands if is_broadcast(op, value))
            if rows
            else frozenset(),
            channels=_channels(op) if rows else 0,
            operations=padded_operations(_operations(op), support.padding) if rows else 0,
            unsupported=refusal,
            streams=_streams(support.rows, op, self.number_of_value),
            word=word,
            window=window,
            uncut=uncut,
        )

    def window_of(self, op: Operation) -> tuple[RowWindow | None, str]:
        """The rows that an op reads, where trips may be cut into tiles, and why it cannot be cut."""
        if self.axis is None:
            return None, ""
        window = row_window(op, self.axis)
        return (None, window) if isinstance(window, str) else (window, "")

    def placed(self, op: Operation, kinds: tuple[str, ...], refusal: str) -> tuple[tuple[str, ...], str]:
        """The kinds of units that a placement leaves, and why none is left.

        Raises:
            OpError: The engine that the op is placed on cannot run it.
        """
        engine = placement_of(op, self.placement)
        if engine is None:
            return kinds, refusal
        if engine == HOST:
            return (), "the placement keeps it on the host"
        left = kinds_on(kinds, engine, self.template)
        if not left:
            why = refusal or f"no unit of '{engine}' runs this operator"
            hint = f"leave it out of the placement, or put it on '{HOST}'"
            raise OpError(op, f"'{op_name(op)}' op is placed on '{engine}', which cannot run it: {why}", hint)
        return left, refusal

    def with_order_of_unknown_ops(self) -> list[HardwareNode]:
        """The nodes, with rule 3 of the module."""
        nodes = list(self.nodes)
        number = {op: index for index, op in enumerate(self.ops) if op is not None}
        previous: int | None = None
        for op in self.block.ops:
            index = number.get(op)
            if index is not None and nodes[index].role is HardwareRole.BARRIER and self.is_unknown(op):
                if previous is not None:
                    nodes[index] = replace(nodes[index], after=(previous,))
                previous = index
        return nodes

    def is_unknown(self, op: Operation) -> bool:
        """Whether nothing is known about the op, so that it keeps its place."""
        return kind_of(op, self.facts.effects) is None


def _is_plain(op: Operation) -> bool:
    """Whether the op's results depend on its operands alone."""
    return not op.regions and kind_of(op) is not None


def _streams(rows: Sequence[OperatorMapping], op: Operation, numbers: Mapping[SSAValue, int]) -> frozenset[int] | None:
    """Values that the rows let stream; `None` if one of them lets any."""
    places = [row.stream for row in rows]
    if not places or None in places:
        return None
    return frozenset(numbers[op.operands[place]] for place in places if place is not None and place < len(op.operands))


def _kinds(rows: Sequence[OperatorMapping]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kind for row in rows for kind in row.kinds))


@cache
def _class_is_product(op_class: type[Operation]) -> bool:
    """What the class says, found once a class: `issubclass` on xDSL's classes is slow."""
    return issubclass(op_class, FuseOp) and op_class.IS_PRODUCT


def _channels(op: Operation) -> int | None:
    """Channels of the result of a product; 0 for other ops."""
    type_ = op.results[0].type
    if not (_class_is_product(type(op)) or foreign_op(op_name(op)).is_product) or not is_tensor(type_):
        return 0
    layout = op.get_attr_or_prop("data_layout")
    axis = layout.data.index("C") if isinstance(layout, StringAttr) else -1
    size = type_.get_shape()[axis]
    return None if size == DYNAMIC else size


def _operations(op: Operation) -> int:
    """Arithmetic operations of an op of ours of static shape."""
    if not isinstance(op, FuseOp):
        return 0
    return op.flops() or 0


def value_label(value: SSAValue, otherwise: str) -> str:
    """The value's name in the IR, if it has one."""
    return otherwise if value.name_hint is None else f"%{value.name_hint}"


def _block_of(value: SSAValue) -> Block | None:
    return value.owner if isinstance(value.owner, Block) else value.owner.parent


def is_read_outside(value: SSAValue, outer: OuterOps, inside: Mapping[Operation, object] | None = None) -> bool:
    """Whether the terminator, another block, or an op of the block that is not in `inside`, if given, reads it."""
    for use in value.uses:
        reader = outer.of(use.operation)
        if reader is None or (inside is not None and reader not in inside):
            return True
        if reader is outer.block.last_op and reader.has_trait(IsTerminator):
            return True
    return False
