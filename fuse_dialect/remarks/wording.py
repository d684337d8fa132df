"""Remarks as data, and in words: the only place that makes sentences of them. Codes are stable, the words are not.

Source: the idea of MLIR's missed-optimization remarks, mlir/docs/Remarks.md.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import Operation

from fuse_dialect.diagnostics import Reason
from fuse_dialect.dialect.ops.tuples import TupleOp
from fuse_dialect.fusion.core.rules import FusionRule
from fuse_dialect.fusion.core.value_graph import NodeRole
from fuse_dialect.fusion.ir.block_graph import Node
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.pattern_kind import PatternKind


@dataclass(frozen=True, slots=True)
class FusionRemark:
    """Why the group that ends in `op` was not fused into what follows it."""

    op: Operation
    reason: Reason
    """The stable code."""
    kind: PatternKind
    """Kind of the operator."""
    escapes: bool
    """Whether something outside the block reads its value."""
    sink: Node | None
    """Its immediate post-dominator, if there is one."""
    rule: FusionRule | None
    """The rule that was tried last, if any was."""
    blocker: Node | None
    """What is in the way: the end of the greatest edge, the sink, or a node between."""
    blocking_kind: PatternKind | None
    """The kind that the rule does not allow: of the edge, or of the blocker's group."""
    counted: int | None
    """Nodes or arguments that the merged group would have at least; more than `limit`."""
    limit: int | None
    has_kind: bool = True
    """Whether the kind of the operator is known; if not, `kind` is opaque."""
    apart: float | None = None
    """Seconds of both kernels, by strategies that know them."""
    together: float | None = None
    """Seconds of the kernel that both would be."""

    @property
    def message(self) -> str:
        """Ops in quotes, then the code."""
        return fusion_message(self)

    @property
    def explanation(self) -> str:
        """The same in a sentence: what the rule allows, and what is there."""
        return fusion_explanation(self)


@dataclass(frozen=True, slots=True)
class CallRemark:
    """Why a call of a primitive stays."""

    op: func.CallOp
    reason: Reason = Reason.CALL_ATTRIBUTES
    """The stable code."""

    @property
    def message(self) -> str:
        """The op in quotes and what it calls, then the code."""
        return call_message(self)

    @property
    def explanation(self) -> str:
        """Which attributes would be lost."""
        return call_explanation(self)


@dataclass(frozen=True, slots=True)
class HardwareRemark:
    """Why an operator did not join a trip."""

    op: Operation
    reason: Reason
    """The stable code."""
    is_on_hardware: bool
    """Whether a unit runs it, in a trip that it starts."""
    explanation: str
    """What the template allows, and what is there."""

    @property
    def message(self) -> str:
        """The op in quotes, where it runs, then the code."""
        return hardware_message(self)


def fusion_message(remark: FusionRemark) -> str:
    """Which op is not fused into which, and the code."""
    into = "" if remark.sink is None else f" into {node_name(remark.sink)}"
    return f"'{op_name(remark.op)}' op not fused{into}: {remark.reason.value}"


def fusion_explanation(remark: FusionRemark, name: Callable[[Node], str] | None = None) -> str:
    """What the rule or the limit allows, and what is there.

    Args:
        remark: The remark.
        name: What nodes are called; by default `node_name`.
    """
    rule, counted, limit = remark.rule, remark.counted, remark.limit
    blocker = "the value" if remark.blocker is None else (name or node_name)(remark.blocker)
    kind = "unknown" if remark.blocking_kind is None else remark.blocking_kind.keyword
    match remark.reason:
        case Reason.EDGE_KIND if rule is not None:
            return f"rule {rule.name} follows edges of kind {_kinds(rule.edges)}; the edge into {blocker} is {kind}"
        case Reason.PATH_KIND if rule is not None:
            path_limit = rule.path_limit.keyword
            return f"rule {rule.name} lets kinds up to {path_limit} stand between; the group of {blocker} is {kind}"
        case Reason.SINK_KIND if rule is not None:
            return f"rule {rule.name} fuses into groups of kind {_kinds(rule.sinks)}; that of {blocker} is {kind}"
        case Reason.NOT_IN_ORDER:
            return "its block is a graph, where ops read values that are defined below them: nothing in it is fused"
        case Reason.TUPLE_CONSUMER:
            return "the tuple has not joined an injective operator"
        case Reason.MAX_DEPTH:
            return f"the merged group would count {counted} nodes or more, and max-depth is {limit}"
        case Reason.MAX_ARGS:
            return f"the merged group would need {counted} arguments or more, the limit is {limit}"
        case Reason.FUSION_LIMIT:
            return f"the rules allow it, and fusion-limit ends fusion after {limit} merges here"
        case Reason.NO_RULE:
            is_tuple = remark.sink is not None and _is_tuple(remark.sink)
            into = "a tuple" if is_tuple else "its consumers"
            return f"no rule fuses an operator of kind {remark.kind.keyword} into {into}"
        case Reason.OPAQUE if not remark.has_kind:
            return (
                "its kind is not known, so it stays where it is; fuse.pattern_kind on the op, or --kinds, would say it"
            )
        case Reason.OPAQUE:
            return "an operator of kind opaque stays alone"
        case Reason.FUSION_OFF:
            return "fusion is switched off"
        case Reason.NOT_CHOSEN:
            return "the strategy keeps it apart from its consumers"
        case reason if reason in _BY_COST:
            return _BY_COST[reason]
        case Reason.NOT_FASTER if remark.apart is not None and remark.together is not None:
            return f"one kernel would take {time_text(remark.together)}, both take {time_text(remark.apart)}"
        case Reason.NOT_FASTER:
            return "no kernel that holds both takes less time"
        case _ if remark.escapes:
            return "the value is read outside the block, for example returned"
        case _:
            return "there is no operator that all paths from the value lead to"


_BY_COST = {
    Reason.UNKNOWN_LOOPS: "the loops of one of the two are not known, or each step waits for the one before",
    Reason.LOOPS_DIFFER: "their loops share no rows, and neither can be computed where the other is read",
    Reason.TWO_PRODUCTS: "both multiply, and one reads what the other gives: no kernel does that in one pass",
    Reason.PRODUCT_IS_STORED: "a kernel with a product stores its result alone, and others read what is in between",
    Reason.TOO_MANY_STREAMS: "the kernel would read and store more values than the machine's streams",
    Reason.WOULD_CLOSE_CYCLE: "another operator would have to run before and after the kernel, or too many lie between",
    Reason.SWITCHED_OFF: "an option forbids what it would take: recompute, horizontal or multi-output",
}
"""What codes of the strategy `cost` mean."""


def time_text(seconds: float) -> str:
    """A time for people: `12.3 us`."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def call_message(remark: CallRemark) -> str:
    """Which call stays, and the code."""
    return f"'{op_name(remark.op)}' op of '@{remark.op.callee.string_value()}' stays: {remark.reason.value}"


def call_explanation(remark: CallRemark) -> str:
    """Which attributes the call has."""
    names = ", ".join(f"'{name}'" for name in remark.op.attributes)
    return f"no op of the primitive could take over the attributes of the call: {names}"


def hardware_message(remark: HardwareRemark) -> str:
    """Where the op runs, and the code."""
    what = "starts a trip of its own" if remark.is_on_hardware else "stays on the host"
    return f"'{op_name(remark.op)}' op {what}: {remark.reason.value}"


def node_name(node: Node) -> str:
    """What messages call a node of the graph."""
    if node.op is None:
        return "a value from outside"
    article = {NodeRole.RESULT: "a result of ", NodeRole.OPERAND_TUPLE: "the operands of "}.get(node.role, "")
    return f"{article}'{op_name(node.op)}'"


def _is_tuple(node: Node) -> bool:
    return node.role is NodeRole.OPERAND_TUPLE or isinstance(node.op, TupleOp)


def _kinds(kinds: Iterable[PatternKind]) -> str:
    words = [kind.keyword for kind in sorted(kinds)]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
