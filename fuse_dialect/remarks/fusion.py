"""Why was this not fused? One remark for each group that did not grow into its consumers, with the reason's code.

Source: the idea of MLIR's missed-optimization remarks, mlir/docs/Remarks.md.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from fuse_dialect.analysis.block_graph import Role
from fuse_dialect.analysis.fusible_blocks import functions_to_fuse, fusible_blocks
from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.plan import FusionDecision
from fuse_dialect.kinds.kind_of import op_name
from fuse_dialect.pattern_kind import PatternKind
from fuse_dialect.transforms.fuse_ops import BlockFusion, FuseOpsPass


@dataclass(frozen=True, slots=True)
class FusionRemark:
    """Why the group that ends in `op` was not fused into what follows it."""

    op: Operation
    message: str
    """Ops in quotes, then the reason's code."""
    explanation: str
    """The same in a sentence: what the rule allows, and what is there."""


def fusion_remarks(module: ModuleOp, fuse_ops: FuseOpsPass) -> Iterator[FusionRemark]:
    """Remarks on what `fuse_ops` would refuse in the module, function by function, in the order of the graph."""
    for function in functions_to_fuse(module):
        yield from function_remarks(function, fuse_ops)


def function_remarks(function: func.FuncOp, fuse_ops: FuseOpsPass) -> Iterator[FusionRemark]:
    """Remarks on one function."""
    for block in fusible_blocks(function):
        yield from block_remarks(fuse_ops.plan_block(block))


def block_remarks(fusion: BlockFusion) -> Iterator[FusionRemark]:
    """Remarks on one block: none for what nothing follows, or for what is opaque anyway."""
    graph, nodes = fusion.block_graph.graph, fusion.block_graph.nodes
    for number, decision in enumerate(fusion.plan.decisions):
        op = nodes[number].op
        is_worth_it = nodes[number].role is Role.OPERATOR and bool(graph.users[number])
        if op is None or decision or not is_worth_it or decision.reason is Reason.OPAQUE:
            continue
        into = "" if decision.sink is None else f" into {_name(fusion, decision.sink)}"
        message = f"'{op_name(op)}' op not fused{into}: {decision.reason.value}"
        yield FusionRemark(op, message, explain(fusion, decision))


def explain(fusion: BlockFusion, decision: FusionDecision) -> str:
    """A sentence that says what the rule allows and what stands in the way."""
    rule = decision.rule
    blocker = "the value" if decision.blocker is None else _name(fusion, decision.blocker)
    kind = "unknown" if decision.kind is None else decision.kind.keyword
    match decision.reason:
        case Reason.EDGE_KIND if rule is not None:
            return f"rule {rule.name} follows edges of kind {_kinds(rule.edges)}; the edge into {blocker} is {kind}"
        case Reason.PATH_KIND if rule is not None:
            limit = rule.path_limit.keyword
            return f"rule {rule.name} lets kinds up to {limit} stand between; the group of {blocker} is {kind}"
        case Reason.SINK_KIND if rule is not None:
            return f"rule {rule.name} fuses into groups of kind {_kinds(rule.sinks)}; that of {blocker} is {kind}"
        case Reason.TUPLE_CONSUMER:
            return "the tuple has not joined an injective operator"
        case Reason.MAX_DEPTH:
            return f"the merged group would count {decision.counted} nodes or more, and max-depth is {decision.limit}"
        case Reason.MAX_ARGS:
            return f"the merged group would need {decision.counted} arguments or more, the limit is {decision.limit}"
        case Reason.NO_RULE:
            source = fusion.block_graph.graph.kinds[decision.source].keyword
            return f"no rule fuses an operator of kind {source} into its consumers"
        case _:
            return "something outside reads the value, or the ways of its users never meet"


def _name(fusion: BlockFusion, number: int) -> str:
    node = fusion.block_graph.nodes[number]
    if node.op is None:
        return "a value from outside"
    article = {Role.RESULT: "a result of ", Role.OPERAND_TUPLE: "the operands of "}.get(node.role, "")
    return f"{article}'{op_name(node.op)}'"


def _kinds(kinds: Iterable[PatternKind]) -> str:
    words = [kind.keyword for kind in sorted(kinds)]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
