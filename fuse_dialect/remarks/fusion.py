"""Why was this not fused? One remark for each operator that did not grow into its consumers, as data.

An op of unknown kind counts as an operator here if it works on tensors: it stays where it is, and a remark says why.
"""

from collections.abc import Iterator

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation

from fuse_dialect.diagnostics import Reason
from fuse_dialect.dialect.ops.opaque import StopFusionOp
from fuse_dialect.fusion.core.decision import FusionDecision
from fuse_dialect.fusion.core.value_graph import NodeRole
from fuse_dialect.fusion.fuse_ops import BlockFusion, FuseOpsPass
from fuse_dialect.fusion.ir.block_graph import Node
from fuse_dialect.fusion.ir.fusible_blocks import graph_blocks
from fuse_dialect.fusion.kinds.foreign import foreign_op
from fuse_dialect.fusion.kinds.kind_of import kind_of, op_name
from fuse_dialect.remarks.wording import FusionRemark


def fusion_remarks(module: ModuleOp, fuse_ops: FuseOpsPass) -> Iterator[FusionRemark]:
    """Remarks on what `fuse_ops` would refuse in the module, function by function, in the order of the graph."""
    for function, merges in fuse_ops.merges_before(module).items():
        for fusion in fuse_ops.plan_function(function, merges):
            yield from block_remarks(fusion)
        yield from graph_remarks(function)


def graph_remarks(function: Operation) -> Iterator[FusionRemark]:
    """Remarks on the operators in blocks of a function that are graphs."""
    for block in graph_blocks(function):
        for op in block.ops:
            if (kind := kind_of(op)) is not None:
                yield FusionRemark(op, Reason.NOT_IN_ORDER, kind, False, None, None, None, None, None, None)


def block_remarks(fusion: BlockFusion) -> Iterator[FusionRemark]:
    """Remarks on one block: one for each operator that is not fused, the last and the opaque ones included."""
    for number, decision in enumerate(fusion.plan.decisions):
        if not decision and is_operator(fusion.block_graph.nodes[number]):
            yield remark_on(fusion, number)


def is_operator(node: Node) -> bool:
    """Whether fusion has to answer for a node: an operator, or an op of unknown kind that reads or gives a tensor.

    A barrier stays because the program says so, a call because its callee is fused for itself, and what says sizes or
    makes room for results computes nothing.
    """
    if node.role is not NodeRole.IN_PLACE or node.op is None:
        return node.role is NodeRole.OPERATOR
    if isinstance(node.op, StopFusionOp | func.CallOp):
        return False
    row = foreign_op(op_name(node.op))
    if row.is_constant or row.has_no_effects:
        return False
    return any(isinstance(value.type, TensorType) for value in (*node.op.operands, *node.op.results))


def remark_on(fusion: BlockFusion, number: int) -> FusionRemark:
    """The remark on the operator with this number in the graph."""
    return remark_of(fusion, fusion.plan.decisions[number]._replace(source=number))


def remark_of(fusion: BlockFusion, decision: FusionDecision) -> FusionRemark:
    """The remark that a verdict on an op makes."""
    nodes, graph, number = fusion.block_graph.nodes, fusion.block_graph.graph, decision.source
    op = nodes[number].op
    assert op is not None, "an operator is an op"
    return FusionRemark(
        op,
        decision.reason,
        graph.kinds[number],
        graph.escapes[number],
        None if decision.sink is None else nodes[decision.sink],
        decision.rule,
        None if decision.blocker is None else nodes[decision.blocker],
        decision.kind,
        decision.counted,
        decision.limit,
        nodes[number].role is not NodeRole.IN_PLACE,
        decision.apart,
        decision.together,
    )
