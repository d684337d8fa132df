"""The strategy `cost`: kernels grow where that saves time, by a model of the machine.

1. Each operator starts as a kernel of its own. Views join all their readers first: they take no time, and hide what
   stands behind them. Then products and rows take what follows them alone.
2. A *candidate* is a change of the plan: a producer is computed in all of its readers and stored no more; a producer
   and one of its readers become one kernel, which still stores what others read; two kernels that read one value do.
   Which are allowed says `draft`, what they take the machine.
3. The candidate that saves the most time comes first. What it touches is judged anew.
4. A graph of few operators is searched from the kernels of TVM's rules, too: the plan that takes less time is the
   result, so there it is never worse than TVM's by the model.

Near-linear in practice: a kernel reads and stores at most `streams` values, a producer of more than `MOST_READERS`
readers is not computed again, and a search for cycles gives up (`step_order`). The worst case is
O(operators · (streams + MOST_READERS) · MOST_VISITED).

Source: the queue of XLA's priority fusion, xla/backends/gpu/transforms/priority_fusion.cc; "AStitch: Enabling a New
Multi-Dimensional Optimization Space for Memory-Intensive ML Training and Inference on Modern SIMT Architectures",
https://doi.org/10.1145/3503222.3507723, for kernels of several results.
"""

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from enum import IntEnum
from heapq import heappop, heappush

from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.decision import FusionDecision, Merge
from fuse_dialect.fusion.draft import ANCHORS, Costs, Draft, Join
from fuse_dialect.fusion.loop_form import UNKNOWN_FORM, Loops
from fuse_dialect.fusion.partition import tvm
from fuse_dialect.fusion.plan import FusionPlan, plan_of_nodes
from fuse_dialect.fusion.rates import find_rates
from fuse_dialect.fusion.step_order import StepOrder
from fuse_dialect.fusion.strategy import FusionOptions
from fuse_dialect.fusion.value_graph import NodeRole, ValueGraph
from fuse_dialect.pattern_kind import PatternKind

NOTHING = 1e-12
"""Seconds that rounding may add up to."""
NEIGHBOURS = 2
"""Other readers of a value, before and behind a kernel, that are tried as its siblings."""
MOST_READERS = 8
"""Kernels in which a producer may be computed again."""
FEW_OPERATORS = 32
"""Operators of a graph that is searched twice (4)."""


class Change(IntEnum):
    """What a candidate does (2); the order decides between candidates that save the same."""

    INTO_READERS = 0
    INTO_ONE = 1
    SIBLINGS = 2


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate that is allowed."""

    apart: float
    """Seconds as it is."""
    together: float
    """Seconds after the change."""
    joins: tuple[tuple[int, Join], ...]
    """How what goes becomes part of other kernels, by their numbers."""
    ways: tuple[set[int], set[int]] | None = None
    """See `StepOrder.ways`; `None` if no search was needed."""

    @property
    def saved(self) -> float:
        """Seconds."""
        return self.apart - self.together


def cost(graph: ValueGraph, options: FusionOptions) -> FusionPlan:
    """Fuse where it saves time; keeps to `max_depth` as operators of a kernel, and to `max_function_args`."""
    return _searched(graph, options).plan()


def predicted_seconds(graph: ValueGraph, options: FusionOptions) -> float:
    """What the plan of the strategy takes by its model; of the block of a primitive, what that takes."""
    return _searched(graph, options).seconds


def seconds_of(graph: ValueGraph, options: FusionOptions, plan: FusionPlan) -> float:
    """What the plan of another strategy takes by the model, as far as the model allows its kernels.

    Its kernels are made by changes, whether they save time or not; one that changes do not make counts as several.
    """
    search = _Search(graph, options)
    search.join_views()
    search.join_groups(plan)
    return search.seconds


def _searched(graph: ValueGraph, options: FusionOptions) -> "_Search":
    """The search at its end, from the better start (4)."""
    start = None
    if sum(role is NodeRole.OPERATOR for role in graph.roles) <= FEW_OPERATORS:
        # Which start is better does not depend on a limit of merges: each limit gives a part of the same changes.
        quiet = replace(options, log=None, attempts=None, most_merges=None)
        by_rules = tvm(graph, quiet)
        from_nodes, from_groups = _Search(graph, quiet), _Search(graph, quiet)
        from_nodes.run()
        from_groups.run(by_rules)
        if from_groups.seconds < from_nodes.seconds - NOTHING:
            start = by_rules
    search = _Search(graph, options)
    search.run(start)
    return search


def best_seconds(graph: ValueGraph, options: FusionOptions, most_plans: int) -> float | None:
    """The least time, by the model, of all plans that changes lead to; `None` if there are more than `most_plans`.

    Every order of changes is tried, whether they save time or not: a measure of how good the strategy is.

    Complexity: exponential.
    """
    first = _Search(graph, options)
    first.join_views()
    seen = {first.state()}
    pending, best = [first], float("inf")
    while pending:
        search = pending.pop()
        best = min(best, search.seconds)
        for change, one, other in search.changes():
            judged = search.judge(change, one, other)
            if isinstance(judged, Judged):
                following = search.copy()
                following.apply(change, one, other, judged, pushes=False)
                if (state := following.state()) not in seen:
                    if len(seen) >= most_plans:
                        return None
                    seen.add(state)
                    pending.append(following)
    return best


class _Search:
    """The plan in the making."""

    def __init__(self, graph: ValueGraph, options: FusionOptions):
        self.graph, self.options = graph, options
        self.rates = find_rates(options.machine)
        self.costs = Costs(graph, self.rates, options.open_size)
        facts, forms = graph.facts, graph.forms
        self.drafts: dict[int, Draft] = {}
        """For each step that is a kernel its draft."""
        self.step_of: dict[int, int] = {}
        """For each value the step that stores it; values from outside have none."""
        self.readers: dict[int, dict[int, None]] = {}
        """For each value the steps that read it."""
        self.reads: dict[int, Iterable[int]] = {}
        """For each step that is no kernel what it reads."""
        self.followers: dict[int, list[int]] = {}
        self.merged_into: dict[int, int] = {}
        self.queue: list[tuple[float, int, int, int]] = []
        self.left = float("inf") if options.most_merges is None else options.most_merges
        """Merges that may still be made."""
        self.order = StepOrder(self._before, self._after)
        for node, role in enumerate(graph.roles):
            if role.is_view or role in (NodeRole.INPUT, NodeRole.CONSTANT):
                continue
            self.order.position[node] = node
            for value in graph.gives(node):
                self.step_of[value] = node
            for other in facts.after[node]:
                self.followers.setdefault(other, []).append(node)
            if role is NodeRole.OPERATOR:
                gives = [value for value in graph.gives(node) if self._is_read(value)] or list(graph.gives(node))
                self.drafts[node] = self.costs.draft(node, forms[node] or UNKNOWN_FORM, set(gives))
                read = self.drafts[node].reads
            else:
                read = self.reads[node] = dict.fromkeys(facts.reads[node])
            for value in read:
                self.readers.setdefault(value, {})[node] = None

    def _is_read(self, value: int) -> bool:
        known = self.graph.facts.values[value]
        return known.escapes or bool(known.readers)

    def _before(self, step: int) -> Iterator[int]:
        for value in self.drafts[step].reads if step in self.drafts else self.reads[step]:
            if value in self.step_of:
                yield self.step_of[value]
        if step in self.reads:
            yield from self.graph.facts.after[step]

    def _after(self, step: int) -> Iterator[int]:
        gives = self.drafts[step].outputs if step in self.drafts else self.graph.gives(step)
        for value in gives:
            yield from self.readers.get(value, ())
        yield from self.followers.get(step, ())

    def _readers_of(self, step: int) -> list[int]:
        """The steps that read something of a kernel."""
        found: dict[int, None] = {}
        for value in sorted(self.drafts[step].outputs):
            found.update(self.readers.get(value, {}))
        return list(found)

    def run(self, start: FusionPlan | None = None) -> None:
        """Make changes as long as they save time, after those that lead to the kernels of a plan."""
        self.join_views()
        if start is not None:
            self.join_groups(start)
        for step in sorted(self.drafts):
            if step in self.drafts and self.drafts[step].loops in (*ANCHORS, Loops.ROWS):
                self._grow(step)
        for step in sorted(self.drafts):
            self._push_all(step)
        while self.queue and self.left:
            priority, change, first, second = heappop(self.queue)
            first, second = self._alive(first), self._alive(second)
            if first not in self.drafts or second not in self.drafts:
                continue
            if (first == second) != (change == Change.INTO_READERS):
                continue
            judged = self.judge(Change(change), first, second)
            if isinstance(judged, Reason) or judged.saved <= NOTHING:
                continue
            # (3) What has changed meanwhile waits for its new turn.
            if self.queue and -judged.saved > self.queue[0][0] and judged.saved < -priority:
                heappush(self.queue, (-judged.saved, change, first, second))
                continue
            self.apply(Change(change), first, second, judged)

    def join_views(self) -> None:
        """Let views stand where they are read."""
        for step in sorted(self.drafts):
            if step in self.drafts and self.drafts[step].is_view:
                judged = self.judge(Change.INTO_READERS, step, step)
                if self.left and isinstance(judged, Judged) and judged.saved > -NOTHING:
                    self.apply(Change.INTO_READERS, step, step, judged, pushes=False)

    def join_groups(self, plan: FusionPlan) -> None:
        """Make every change within a kernel of a plan."""
        group_of = {node: number for number, kernel in enumerate(plan.kernels) for node in kernel.nodes}
        has_changed = True
        while has_changed:
            has_changed = False
            for change, first, second in list(self.changes()):
                touched = {first, second}
                if change is Change.INTO_READERS and first in self.drafts:
                    touched.update(self._readers_of(first))
                if not self.left or not touched <= self.drafts.keys():
                    continue
                if len({group_of.get(node) for step in touched for node in self.drafts[step].members}) > 1:
                    continue
                judged = self.judge(change, first, second)
                if isinstance(judged, Judged):
                    self.apply(change, first, second, judged, pushes=False)
                    has_changed = True

    @property
    def seconds(self) -> float:
        """What the plan takes so far."""
        return sum(draft.seconds for draft in self.drafts.values())

    def state(self) -> frozenset[tuple[frozenset[int], frozenset[int]]]:
        """The kernels: nodes and outputs."""
        return frozenset((frozenset(draft.members), frozenset(draft.outputs)) for draft in self.drafts.values())

    def changes(self) -> Iterator[tuple[Change, int, int]]:
        """Every candidate, allowed or not."""
        for step in self.drafts:
            yield Change.INTO_READERS, step, step
            for reader in self._readers_of(step):
                if reader in self.drafts:
                    yield Change.INTO_ONE, step, reader
        pairs = {
            (one, other)
            for reading in self.readers.values()
            for one in reading
            for other in reading
            if one < other and one in self.drafts and other in self.drafts
        }
        yield from ((Change.SIBLINGS, one, other) for one, other in sorted(pairs))

    def copy(self) -> "_Search":
        """The same plan, to be changed otherwise."""
        other = copy(self)
        other.drafts = dict(self.drafts)
        other.step_of = dict(self.step_of)
        other.readers = {value: dict(steps) for value, steps in self.readers.items()}
        other.merged_into = dict(self.merged_into)
        other.order = StepOrder(other._before, other._after)
        other.order.position = dict(self.order.position)
        return other

    def _grow(self, step: int) -> None:
        """Let a product or rows take what follows, as long as that saves time: later its readers may be moved."""
        while self.left and step in self.drafts:
            readers = self._readers_of(step)
            judged = self.judge(Change.INTO_READERS, step, step) if len(readers) == 1 else None
            if not isinstance(judged, Judged) or judged.saved <= NOTHING:
                return
            self.apply(Change.INTO_READERS, step, step, judged, pushes=False)
            (step,) = readers

    def _alive(self, step: int) -> int:
        while step in self.merged_into:
            step = self.merged_into[step]
        return step

    def _push(self, change: Change, first: int, second: int) -> None:
        judged = self.judge(change, first, second, searches=False)
        if isinstance(judged, Judged) and judged.saved > NOTHING:
            heappush(self.queue, (-judged.saved, change, first, second))

    def _push_all(self, step: int) -> None:
        """Judge what a kernel could become."""
        draft = self.drafts[step]
        if draft.loops is Loops.UNKNOWN:
            return
        readers = self._readers_of(step)
        if len(readers) <= MOST_READERS:
            self._push(Change.INTO_READERS, step, step)
            for reader in readers if len(readers) > 1 or self._escapes(step) else ():
                if reader in self.drafts:
                    self._push(Change.INTO_ONE, step, reader)
        for value in draft.reads:
            producer = self.step_of.get(value)
            if producer is not None and producer in self.drafts:
                if len(self.readers[value]) > 1 or self._escapes(producer):
                    self._push(Change.INTO_ONE, producer, step)
                if len(self.readers[value]) <= MOST_READERS:
                    self._push(Change.INTO_READERS, producer, producer)
            if self.options.horizontal and len(self.readers[value]) > 1 and self._may_have_siblings(step):
                self._push_siblings(step, value)

    def _escapes(self, step: int) -> bool:
        """Whether something outside the graph sees what a kernel stores."""
        values = self.graph.facts.values
        return any(values[value].escapes for value in self.drafts[step].outputs)

    def _push_siblings(self, step: int, value: int) -> None:
        """Judge a kernel with its neighbours among those that read a value."""
        if len(self.readers[value]) > 8 * MOST_READERS:
            return
        reading = [other for other in self.readers[value] if other == step or self._may_have_siblings(other)]
        place = reading.index(step)
        for other in reading[max(0, place - NEIGHBOURS) : place + NEIGHBOURS + 1]:
            if other != step:
                self._push(Change.SIBLINGS, min(step, other), max(step, other))

    def _may_have_siblings(self, step: int) -> bool:
        draft = self.drafts.get(step)
        return draft is not None and not draft.is_view and draft.loops not in (Loops.UNKNOWN, Loops.WINDOWS)

    def judge(self, change: Change, first: int, second: int, *, searches: bool = True) -> Judged | Reason:
        """What a candidate would do."""
        match change:
            case Change.INTO_READERS:
                return self._judge_into_readers(first)
            case Change.INTO_ONE:
                return self._judge_into_one(first, second, searches)
            case Change.SIBLINGS:
                return self._judge_siblings(first, second, searches)

    def _judge_into_readers(self, step: int) -> Judged | Reason:
        draft = self.drafts[step]
        readers = self._readers_of(step)
        if not readers or self._escapes(step):
            return Reason.VALUE_ESCAPES
        if any(reader not in self.drafts for reader in readers):
            return Reason.UNKNOWN_LOOPS
        if len(readers) > 1:
            if not self.options.recompute and not draft.is_view:
                return Reason.SWITCHED_OFF
            may_repeat = all(self.graph.facts.may_repeat[node] for node in draft.members)
            if len(readers) > MOST_READERS or not may_repeat or draft.loops is not Loops.MAP:
                return Reason.NOT_FASTER
        apart, together = draft.seconds, 0.0
        joins: list[tuple[int, Join]] = []
        for reader in readers:
            other = self.drafts[reader]
            join = self.costs.fused(draft, other, ())
            if isinstance(join, Reason):
                return join
            if (refused := self._beyond(draft, other, join)) is not None:
                return refused
            apart += other.seconds
            together += self.costs.seconds_joined(draft, other, join)
            joins.append((reader, join))
        return Judged(apart, together, tuple(joins))

    def _judge_into_one(self, first: int, second: int, searches: bool) -> Judged | Reason:
        producer, consumer = self.drafts[first], self.drafts[second]
        if not any(value in consumer.reads for value in producer.outputs):
            return Reason.LOOPS_DIFFER
        values = self.graph.facts.values
        kept = {
            value
            for value in producer.outputs
            if values[value].escapes or any(reader != second for reader in self.readers.get(value, ()))
        }
        if kept and not self.options.multi_output:
            return Reason.SWITCHED_OFF
        join = self.costs.fused(producer, consumer, kept)
        # Whoever else reads the producer may lead to the consumer.
        return join if isinstance(join, Reason) else self._judged_pair(first, second, join, searches and bool(kept))

    def _judge_siblings(self, first: int, second: int, searches: bool) -> Judged | Reason:
        if not self.options.horizontal:
            return Reason.SWITCHED_OFF
        one, other = self.drafts[first], self.drafts[second]
        if any(value in other.reads for value in one.outputs) or any(value in one.reads for value in other.outputs):
            return Reason.WOULD_CLOSE_CYCLE
        join = self.costs.siblings(one, other)
        return join if isinstance(join, Reason) else self._judged_pair(first, second, join, searches)

    def _judged_pair(self, first: int, second: int, join: Join, searches: bool) -> Judged | Reason:
        one, other = self.drafts[first], self.drafts[second]
        refused = self._beyond(one, other, join)
        if refused is not None:
            return refused
        ways = None
        if searches:
            ways = self.order.ways(first, second)
            if ways is None:
                return Reason.WOULD_CLOSE_CYCLE
        apart = one.seconds + other.seconds
        return Judged(apart, self.costs.seconds_joined(one, other, join), ((second, join),), ways)

    def _beyond(self, first: Draft, second: Draft, join: Join) -> Reason | None:
        """Which limit the kernel of both would exceed."""
        depth, most = self.options.max_depth, self.options.max_function_args
        if depth is not None and len(first.members) + len(second.members) > depth:
            return Reason.MAX_DEPTH
        if self.costs.arrays_joined(first, second, join) > self.rates.streams:
            return Reason.TOO_MANY_STREAMS
        if most:
            values, inside = self.graph.facts.values, first.members
            read = {*first.reads, *(value for value in second.reads if values[value].producer not in inside)}
            # A size that is known only at run time is passed, too.
            passed = (values[value].shape for value in (*read, *join.kept, *second.outputs))
            if sum(1 + sum(isinstance(size, str) for size in shape) for shape in passed) > most:
                return Reason.MAX_ARGS
        return None

    def apply(self, change: Change, first: int, second: int, judged: Judged, *, pushes: bool = True) -> None:
        """Carry a candidate out."""
        self.left -= 1
        gone = self.drafts[first]
        readers = [step for step, _ in judged.joins]
        before = self._bytes([gone, *(self.drafts[step] for step in readers)]) if self.options.log is not None else 0.0
        for value in gone.reads:
            self.readers[value].pop(first, None)
        del self.drafts[first]
        for value in gone.outputs:
            self.step_of.pop(value, None)
        if len(readers) > 1:
            gone = replace(gone, has_copies=True)
        for step, join in judged.joins:
            for value in self.drafts[step].reads:
                self.readers[value].pop(step, None)
            self.drafts[step] = draft = self.costs.joined(gone, self.drafts[step], join)
            for value in draft.reads:
                self.readers.setdefault(value, {})[step] = None
            for value in draft.outputs:
                self.step_of[value] = step
        if self.options.log is not None:
            last, source = max(self.drafts[readers[0]].members), max(gone.members)
            bytes = round(before - self._bytes([self.drafts[step] for step in readers]))
            self.options.log(Merge(source, last, (source,), None, None, judged.saved, bytes))
        if change is Change.INTO_READERS:
            del self.order.position[first]
        else:
            self.merged_into[first] = second
            if judged.ways is None:
                # Nobody else reads the producer, so it may as well run where its reader does.
                del self.order.position[first]
            else:
                self.order.merge(second, first, judged.ways)
        for step in readers if pushes else ():
            self._push_all(step)

    def _bytes(self, drafts: Iterable[Draft]) -> float:
        """What kernels read and store."""
        return sum(self.costs.bytes_of(value) for draft in drafts for value in (*draft.reads, *draft.outputs))

    def plan(self) -> FusionPlan:
        """The plan as far as it was made."""
        drafts = [self.drafts[step] for step in sorted(self.drafts, key=self.order.position.__getitem__)]
        sets = [self._with_constants(draft.members) for draft in drafts]
        plan = plan_of_nodes(self.graph, sets, Reason.NOT_FASTER)
        return FusionPlan(plan.kernels, self._decisions(plan))

    def _with_constants(self, members: set[int]) -> set[int]:
        """The nodes of a kernel with the scalar constants that they read."""
        facts, roles, kinds = self.graph.facts, self.graph.roles, self.graph.forward.kinds
        found = set(members)
        for node in members:
            for value in facts.reads[node]:
                producer = facts.values[value].producer
                if roles[producer] is NodeRole.CONSTANT and kinds[producer] is not PatternKind.OPAQUE:
                    found.add(producer)
        return found

    def _decisions(self, plan: FusionPlan) -> list[FusionDecision]:
        """Why each node that is not fused is not: what the reader that comes closest has against it."""
        decisions = list(plan.decisions)
        step_of = {node: step for step, draft in self.drafts.items() for node in draft.members}
        for node, decision in enumerate(decisions):
            if decision.reason is Reason.NOT_FASTER and node in step_of:
                attempts = [self._attempt(node, step_of[node], reader) for reader in self._readers_of(step_of[node])]
                if self.options.attempts is not None:
                    for attempt in attempts:
                        self.options.attempts(attempt)
                # One that would be allowed, and only takes longer, comes closest.
                closest = next((each for each in attempts if each.reason is Reason.NOT_FASTER), None)
                decisions[node] = closest or next(iter(attempts), decision._replace(reason=Reason.UNKNOWN_LOOPS))
        return decisions

    def _attempt(self, node: int, step: int, reader: int) -> FusionDecision:
        """What a reader has against a node."""
        if reader not in self.drafts:
            return FusionDecision(Reason.UNKNOWN_LOOPS, node, reader)
        members, outputs, reads = self.drafts[reader].members, self.drafts[step].outputs, self.graph.facts.reads
        # Members are few; the readers of a value need not be.
        sink = min((each for each in members if not outputs.isdisjoint(reads[each])), default=min(members))
        judged = self._judge_into_one(step, reader, searches=True) if self.left else Reason.FUSION_LIMIT
        if isinstance(judged, Reason):
            return FusionDecision(judged, node, sink)
        return FusionDecision(Reason.NOT_FASTER, node, sink, apart=judged.apart, together=judged.together)
