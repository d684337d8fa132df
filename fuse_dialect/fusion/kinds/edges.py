"""How an op reads each of its operands: the kinds of the edges into it.

TVM has one kind for an op and gives it to all edges into it, apart from broadcasts (1). Dialects that TVM never had say
more, and so do the rows of `foreign`:

1. an operand of a broadcast op whose shape is that of the result is read elementwise;
2. what an op of linalg writes on, its *init*, is read element by element where the result is written: elementwise, also
   into a product;
3. an operand that says how large the result is must be known before the kernel starts: opaque;
4. a table that elements look up is read anyhow: injective;
5. what a reduction starts with is one element, which all that compute it may repeat: elementwise, also into windows;
6. a padded operand that a product or window alone reads, is read where it lies, with a test of bounds, as Relay's
   convolutions pad: injective. Nothing else is repeated for each window: the edge into that padding is opaque.

Source: TVM `IndexedForwardGraph::Creator`, src/relay/transforms/fuse_ops.cc (v0.18), for (1); MLIR's destination style,
mlir/include/mlir/Interfaces/DestinationStyleOpInterface.td, for (2).
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from fuse_dialect.pattern_kind import PatternKind

EdgeRule: TypeAlias = Callable[[Operation, PatternKind], Sequence[PatternKind]]
"""From an op and its kind to the kind of the edge from each operand."""


def edge_kind(kind: PatternKind, operand: SSAValue, result_type: Attribute) -> PatternKind:
    """Kind of the edge into an op of kind `kind`: (1) a broadcast between equal shapes is elementwise."""
    if kind is not PatternKind.BROADCAST:
        return kind
    type = operand.type
    if type is result_type:
        return PatternKind.ELEMWISE
    if isinstance(type, TensorType) and isinstance(result_type, TensorType):
        return PatternKind.ELEMWISE if type.shape == result_type.shape else kind
    # Tensors of other dialects: all that is known is whether the types are equal.
    return PatternKind.ELEMWISE if type == result_type else kind


def plain_edges(op: Operation, kind: PatternKind) -> Sequence[PatternKind]:
    """Edges of an op that TVM knows."""
    if kind is PatternKind.BROADCAST and len(op.results) == 1:
        type = op.results[0].type
        return [edge_kind(kind, operand, type) for operand in op.operands]
    return [kind] * len(op.operands)


def edges_with_inits(op: Operation, kind: PatternKind) -> Sequence[PatternKind]:
    """The last operands, as many as there are results, are elementwise; others as TVM has them."""
    inputs = max(0, len(op.operands) - len(op.results))
    return [*plain_edges(op, kind)[:inputs], *[PatternKind.ELEMWISE] * (len(op.operands) - inputs)]


def lone_reader(op: Operation) -> Operation | None:
    """The only op that reads the only result of an op, and once; `None` if there is none."""
    return op.results[0].get_user_of_unique_use()


def product_edges(edges: EdgeRule) -> EdgeRule:
    """Those of a product or window, which reads what is padded for it alone injectively."""

    def rule(op: Operation, kind: PatternKind) -> Sequence[PatternKind]:
        # (6)
        return [
            PatternKind.INJECTIVE
            if edge is PatternKind.OUT_EWISE_FUSABLE
            and isinstance(operand, OpResult)
            and operand.op.name == "tensor.pad"
            and lone_reader(operand.op) is op
            else edge
            for operand, edge in zip(op.operands, edges(op, kind), strict=True)
        ]

    return rule


def pad_edges(op: Operation, kind: PatternKind) -> Sequence[PatternKind]:
    """All injective; where a product or window reads it, as the kind says, what is padded is another kernel."""
    # (6)
    rest = [PatternKind.INJECTIVE] * (len(op.operands) - 1)
    return [PatternKind.OPAQUE if kind is PatternKind.BROADCAST else PatternKind.INJECTIVE, *rest]


def edges_with_starts(op: Operation, kind: PatternKind) -> Sequence[PatternKind]:
    """The second half of the operands is elementwise; others as TVM has them."""
    # (5)
    inputs = len(op.operands) // 2
    return [*plain_edges(op, kind)[:inputs], *[PatternKind.ELEMWISE] * (len(op.operands) - inputs)]


def first_operand_alone(op: Operation, kind: PatternKind) -> Sequence[PatternKind]:
    """Operands after the first say sizes: opaque."""
    # (3)
    return [*plain_edges(op, kind)[:1], *[PatternKind.OPAQUE] * (len(op.operands) - 1)]


def sizes_alone(op: Operation, kind: PatternKind) -> Sequence[PatternKind]:
    """All operands say sizes: opaque."""
    # (3)
    return [PatternKind.OPAQUE] * len(op.operands)


def table_behind(op: Operation, kind: PatternKind) -> Sequence[PatternKind]:
    """Operands after the first are tables: injective."""
    # (4)
    return [*plain_edges(op, kind)[:1], *[PatternKind.INJECTIVE] * (len(op.operands) - 1)]


def into_second(op: Operation, kind: PatternKind) -> Sequence[PatternKind]:
    """The first operand replaces elements of the second, which is read in order; places and sizes are opaque."""
    rest = len(op.operands) - 2
    return [PatternKind.INJECTIVE, PatternKind.ELEMWISE, *[PatternKind.OPAQUE] * rest]
