"""The story of one operator: what it is, what was tried on it, where it ended, and what would have to change.

The same text is printed by `fuse-opt --explain`, shown by pictures, and given by `ModulePlan.explain`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Operation

from fuse_dialect.diagnostics import Reason
from fuse_dialect.dialect.op_sources import source_of
from fuse_dialect.fusion.core.decision import FusionDecision
from fuse_dialect.fusion.core.value_graph import NodeRole
from fuse_dialect.fusion.ir.block_graph import Node
from fuse_dialect.fusion.ir.function_like import place_name
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.pattern_kind import PatternKind
from fuse_dialect.remarks.changes import Change, ChangeSort, smallest_change
from fuse_dialect.remarks.fusion import remark_of
from fuse_dialect.remarks.kind_origin import kind_origin
from fuse_dialect.remarks.paths import draw_paths
from fuse_dialect.remarks.printed_ir import PrintedIR
from fuse_dialect.remarks.recorded_fusion import RecordedFusion
from fuse_dialect.remarks.splitting import splitting_text
from fuse_dialect.remarks.wording import fusion_explanation

_BY_MODEL = (
    Reason.NOT_FASTER,
    Reason.LOOPS_DIFFER,
    Reason.UNKNOWN_LOOPS,
    Reason.TWO_PRODUCTS,
    Reason.PRODUCT_IS_STORED,
    Reason.TOO_MANY_STREAMS,
    Reason.SWITCHED_OFF,
)
"""Verdicts of the strategy `cost`, which does not ask for kinds."""
MOST_NAMED = 12
"""Ops of a kernel that are named; the others are counted."""


@dataclass(frozen=True, slots=True)
class StoryTeller:
    """Tells the stories of the operators of one block."""

    recorded: RecordedFusion
    printed: PrintedIR
    """Names of values, as the module is printed."""
    tries_changes: bool = True
    """Whether to find out what would have to change, which takes a few partitions for each operator."""

    def story(self, number: int) -> list[str]:
        """The story of the node with this number, line by line."""
        return [
            *self._beginning(number),
            *self._ways(number),
            *self._attempts(number),
            *self._ending(number),
            *self._change(number),
        ]

    def summary(self, number: int) -> list[str]:
        """The verdict alone, for modules of so many ops that all stories would be a book."""
        decisions = self.recorded.fusion.plan.decisions
        verdict = [self._verdict(decisions[number])] if decisions else []
        return [*list(self._beginning(number)), *verdict, "--explain tells the whole story"]

    def name(self, number: int) -> str:
        """What a story calls a node: its value, and its op."""
        return self.node_name(self.recorded.fusion.block_graph.nodes[number])

    def node_name(self, node: Node) -> str:
        """The same for a node."""
        role, op, value = node
        if op is None:
            return "a value from outside" if value is None else f"{self.printed.name_of(value)} from outside"
        results = (value,) if value is not None else op.results
        values = ", ".join(self.printed.name_of(each) for each in results)
        prefix = "the operands of " if role is NodeRole.OPERAND_TUPLE else "a result of " if value is not None else ""
        return f"{values} = {prefix}'{op_name(op)}'" if values else f"{prefix}'{op_name(op)}'"

    def _beginning(self, number: int) -> Iterator[str]:
        node = self.recorded.fusion.block_graph.nodes[number]
        assert node.op is not None, "stories are about ops"
        source = source_of(node.op)
        where = f" of {place_name(self.recorded.function)}"
        yield f"{self.name(number)}{where}{f', from {source}' if source else ''}"
        kind = self.recorded.fusion.block_graph.graph.kinds[number].keyword
        if node.role is NodeRole.CONSTANT:
            yield f"kind: {kind}: a constant; {'a scalar may move' if kind == 'elemwise' else 'it becomes an argument'}"
        else:
            unknown = node.role is NodeRole.IN_PLACE
            yield f"kind: {'unknown, so it stays in place' if unknown else kind}: {kind_origin(node.op)}"

    def _ways(self, number: int) -> Iterator[str]:
        graph, plan = self.recorded.fusion.block_graph.graph, self.recorded.fusion.plan
        sink = plan.decisions[number].sink if plan.decisions else None
        if plan.partition is not None:
            sink = plan.partition.tree.parent[number]
        users = graph.users[number]
        if sink is None:
            why = "the value is read outside the block" if graph.escapes[number] else "its readers meet nowhere"
            yield f"post-dominator: none: {why if users or graph.escapes[number] else 'nobody reads it'}"
        else:
            yield f"post-dominator: {self.name(sink)}"
            if plan.partition is not None:
                tree = plan.partition.tree
                end = tree.edge_end[number]
                into = "" if end is None else f", into {self.name(end)}"
                yield f"greatest edge on the way: {tree.edge_kind[number].keyword}{into}"
        if users:
            yield "ways:" if sink is not None else "readers:"
            yield from (f"  {line}" for line in draw_paths(graph.users, number, sink, self.name))

    def _attempts(self, number: int) -> Iterator[str]:
        attempts = self.recorded.attempts_on.get(number, [])
        decision = self.recorded.fusion.plan.decisions[number] if self.recorded.fusion.plan.decisions else None
        yield "attempts:" if attempts else "attempts: none"
        for place, attempt in enumerate(attempts, 1):
            rule = "" if attempt.rule is None else f", rule {attempt.rule.name}"
            into = "" if attempt.sink is None else f" into {self.name(attempt.sink)}"
            phase = "" if attempt.phase is None else f"phase {attempt.phase}{rule}"
            yield f"  {place}. {phase}{into}".replace(".  ", ". ")
            yield f"     {self._verdict(attempt)}"
        merge = self.recorded.merge_of.get(number)
        if merge is not None and self.recorded.merges[merge].source != number:
            step = self.recorded.merges[merge]
            between = f"{self.name(step.source)} and {self.name(step.sink)}"
            yield f"  taken along by merge {merge + 1}: it stands between {between}"
        elif decision is not None and not attempts and not decision and not self._is_constant(number):
            yield f"  {decision.reason.value}: {self._explained(decision)}"

    def _is_constant(self, number: int) -> bool:
        return self.recorded.fusion.block_graph.nodes[number].role is NodeRole.CONSTANT

    def _verdict(self, decision: FusionDecision) -> str:
        if decision:
            merge = self.recorded.merge_of.get(decision.source)
            return "fused" if merge is None else f"fused, by merge {merge + 1} of {len(self.recorded.merges)}"
        return f"{decision.reason.value}: {self._explained(decision)}"

    def _explained(self, decision: FusionDecision) -> str:
        return fusion_explanation(remark_of(self.recorded.fusion, decision), self.node_name)

    def _ending(self, number: int) -> Iterator[str]:
        kernels = self.recorded.kernels_of[number]
        if not kernels:
            yield "kernel: none: it stays where it is"
        for each in kernels:
            kernel = self.recorded.fusion.plan.kernels[each]
            nodes = self.recorded.fusion.block_graph.nodes
            ops = [op for role, op, _ in (nodes[node] for node in kernel.nodes) if op is not None and not role.is_view]
            names = " + ".join(_short(op) for op in ops[:MOST_NAMED])
            more = f" and {len(ops) - MOST_NAMED} more" if len(ops) > MOST_NAMED else ""
            yield f"kernel: {each + 1} of {len(self.recorded.fusion.plan.kernels)}: {names}{more}"
            # Only what combines has to do with it; a kernel of a hundred maps is not looked at for each of them.
            combines = self.recorded.fusion.block_graph.graph.kinds[number] >= PatternKind.COMM_REDUCE
            if combines and (splits := splitting_text(ops)):
                yield f"  {splits}"

    def _change(self, number: int) -> Iterator[str]:
        plan, node = self.recorded.fusion.plan, self.recorded.fusion.block_graph.nodes[number]
        if node.role not in (NodeRole.OPERATOR, NodeRole.IN_PLACE) or not plan.decisions or plan.decisions[number]:
            return
        if not self.recorded.fusion.block_graph.graph.users[number]:
            yield "to fuse it: nothing in the block reads it, so there is nothing to fuse it into"
        elif not self.tries_changes:
            yield "to fuse it: --explain tries what would have to change"
        elif self.recorded.fuse_ops.fusion_limit is not None:
            yield "to fuse it: ask without fusion-limit"
        elif plan.partition is None and plan.decisions[number].reason in _BY_MODEL:
            yield "to fuse it: the verdict above says what a kernel would have to be; other kinds change nothing"
        elif plan.decisions[number].reason is Reason.NOT_CHOSEN:
            yield "to fuse it: ask another strategy; this one gives no reasons"
        else:
            change = smallest_change(self.recorded, number)
            yield f"to fuse it: {self.change_text(change)}"

    def change_text(self, change: Change | None) -> str:
        """A change in words."""
        if change is None:
            return "no single kind, reader or limit would do"
        match change.sort:
            case ChangeSort.LIMIT:
                return f"{change.option}={change.value} would do"
            case ChangeSort.KIND:
                return f"it would, if the kind of {self.name(change.node)} were elemwise"
            case ChangeSort.ESCAPE:
                return "it would, if nothing outside the block read the value"
            case ChangeSort.READER:
                assert change.reader is not None, "such a change has a reader"
                return f"it would, if {self.name(change.reader)} did not read it"


def _short(op: Operation) -> str:
    return op_name(op).split(".", 1)[-1]
