"""The search of the strategy `cost`: drafts of kernels, and the changes of them that save the most time.

Each judgement is kept until something changes that it has looked at: of a candidate whose producer goes into readers
the producer, its readers, and who reads them; of siblings both. So what a change touches is judged anew, and nothing
else. That two kernels would wait for each other is kept as long as both are the same. A merge of others may end it, and
then two kernels stay apart that might be one.
"""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from enum import IntEnum
from heapq import heappop, heappush
from typing import NamedTuple, cast

from fuse_dialect.checked import checks_plans
from fuse_dialect.cost.draft import ANCHORS, Costs, Draft, Join
from fuse_dialect.cost.search_check import OUTSIDE, check_search
from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.decision import FusionDecision, Merge
from fuse_dialect.fusion.plan import FusionPlan, plan_of_nodes
from fuse_dialect.fusion.step_order import NoWays, StepOrder
from fuse_dialect.fusion.strategy import FusionOptions
from fuse_dialect.fusion.value_graph import NodeRole, ValueGraph
from fuse_dialect.kernels.forms import UNKNOWN_FORM, LoopForm, Loops, Order
from fuse_dialect.machines.description import with_rates
from fuse_dialect.machines.machine import Machine
from fuse_dialect.machines.names import find_machine
from fuse_dialect.pattern_kind import PatternKind

NOTHING = 1e-12
"""Seconds that rounding may add up to."""
NEIGHBOURS = 2
"""Other readers of a value, before and behind a kernel, that are tried as its siblings."""
MOST_CHECKED = 64
"""Steps of a plan in the making that is checked after every change, in checked mode; larger ones are in the end."""
MOST_READERS = 8
"""Kernels in which a producer may be computed again."""
_NOBODY: dict[int, None] = {}
_ALL = -1
"""All readers of a step, where one of them may be named."""
_WITHOUT_SIBLINGS = (Loops.UNKNOWN, Loops.WINDOWS)


class Change(IntEnum):
    """What a candidate does (2); the order decides between candidates that save the same."""

    INTO_READERS = 0
    INTO_ONE = 1
    SIBLINGS = 2


class Judged(NamedTuple):
    """A candidate that is allowed."""

    apart: float
    """Seconds as it is."""
    together: float
    """Seconds after the change."""
    joins: tuple[tuple[int, Join], ...]
    """How what goes becomes part of other kernels, by their numbers."""
    ways: tuple[set[int], set[int]] | None = None
    """See `StepOrder.ways`; `None` if no search was needed, or none was made."""

    @property
    def saved(self) -> float:
        """Seconds."""
        return self.apart - self.together


def machine_of(options: FusionOptions) -> Machine:
    """What is counted for, with rates.

    Raises:
        FuseError: There is no such machine.
    """
    machine = options.machine
    return with_rates(machine if isinstance(machine, Machine) else find_machine(str(machine)))


def forms_of(graph: ValueGraph, options: FusionOptions) -> Sequence[LoopForm | None]:
    """How the loops of each node look from outside, as far as the caller of the strategy knows."""
    return [None] * len(graph) if options.forms is None else cast("Sequence[LoopForm | None]", options.forms())


class CostSearch:
    """The plan in the making.

    Complexity: see `by_cost`.
    """

    def __init__(self, graph: ValueGraph, options: FusionOptions):
        self.graph, self.options = graph, options
        self.max_depth = float("inf") if options.max_depth is None else options.max_depth
        self.costs = Costs(graph, machine_of(options), forms_of(graph, options), options.open_size)
        self.rates = self.costs.rates
        facts, forms, operator = graph.facts, self.costs.forms, NodeRole.OPERATOR
        self.drafts: dict[int, Draft] = {}
        """For each step that is a kernel its draft."""
        self.step_of: dict[int, int] = {}
        """For each value the step that stores it; values from outside have none."""
        self.readers = readers = dict[int, dict[int, None]]()
        """For each value the steps that read it."""
        self.reads: dict[int, Iterable[int]] = {}
        """For each step that is no kernel what it reads."""
        self.followers: dict[int, list[int]] = {}
        self.merged_into: dict[int, int] = {}
        self.queue: list[tuple[float, Change, int, int]] = []
        self.waiting: dict[tuple[Change, int, int], float] = {}
        """For candidates in the queue the first of their priorities."""
        self.known: dict[int, dict[int, Judged | Reason]] = {}
        """For each step, as a producer, what was judged since it and its readers have changed: for each reader, and
        for all of them as `_ALL`."""
        self.known_siblings: dict[tuple[int, int], tuple[Draft, Draft, Judged | Reason]] = {}
        """The same for two steps as they were then."""
        self.cycles: dict[tuple[int, int], tuple[Draft, Draft]] = {}
        """Two steps as they were when a way of two edges led from one to the other."""
        self.left = float("inf") if options.most_merges is None else options.most_merges
        """Merges that may still be made."""
        self.order = StepOrder(self._before, self._after)
        steps: list[int] = []
        for node, role in enumerate(graph.roles):
            if role in OUTSIDE:
                continue
            steps.append(node)
            gives: Sequence[int] = graph.gives(node)
            for value in gives:
                self.step_of[value] = node
            for other in facts.after[node]:
                self.followers.setdefault(other, []).append(node)
            if role is operator:
                if len(gives) > 1:
                    gives = [value for value in gives if self._is_read(value)] or gives
                self.drafts[node] = self.costs.draft(node, forms[node] or UNKNOWN_FORM, set(gives))
                read = self.drafts[node].reads
            else:
                read = self.reads[node] = dict.fromkeys(facts.reads[node])
            for value in read:
                if value in readers:
                    readers[value][node] = None
                else:
                    readers[value] = {node: None}
        # Nodes stand in the order of a search from the results: who must follow an op in place may have a lower number.
        self.order.begin(steps)
        self._checks = checks_plans()

    def _is_read(self, value: int) -> bool:
        known = self.graph.facts.values[value]
        return known.escapes or bool(known.readers)

    def _before(self, step: int) -> Iterable[int]:
        draft, step_of = self.drafts.get(step), self.step_of
        before = [step_of[value] for value in (self.reads[step] if draft is None else draft.reads) if value in step_of]
        return before if draft is not None else (*before, *self.graph.facts.after[step])

    def _after(self, step: int) -> Iterable[int]:
        draft = self.drafts.get(step)
        followers = self.followers.get(step)
        if draft is not None and len(draft.outputs) == 1 and followers is None:
            (value,) = draft.outputs
            return self.readers.get(value, ())
        gives = self.graph.gives(step) if draft is None else draft.outputs
        after = [reader for value in gives for reader in self.readers.get(value, ())]
        return after if followers is None else after + followers

    def _readers_of(self, step: int) -> list[int]:
        """The steps that read something of a kernel."""
        outputs = self.drafts[step].outputs
        if len(outputs) == 1:
            (value,) = outputs
            return list(self.readers.get(value, ()))
        found: dict[int, None] = {}
        for value in sorted(outputs):
            found.update(self.readers.get(value, {}))
        return list(found)

    def run(self, start: FusionPlan | None = None, *, joins_maps: bool = True) -> None:
        """Make changes as long as they save time, after those that lead to the kernels of a plan.

        Args:
            start: A plan whose kernels are made first.
            joins_maps: Whether maps join the map that alone reads them before the queue decides.
        """
        self.join_views()
        if start is not None:
            self.join_groups(start)
        for step in sorted(self.drafts):
            if step in self.drafts and self.drafts[step].loops in (*ANCHORS, Loops.ROWS):
                self._grow(step)
        for step in sorted(self.drafts) if joins_maps else ():
            self._join_only_reader(step)
        for step in sorted(self.drafts):
            self._push_all(step)
        while self.queue and self.left:
            priority, change, first, second = heappop(self.queue)
            if self.waiting.get((change, first, second)) == priority:
                del self.waiting[change, first, second]
            first, second = self._alive(first), self._alive(second)
            if first not in self.drafts or second not in self.drafts:
                continue
            if (first == second) != (change is Change.INTO_READERS):
                continue
            judged = self._judged(change, first, second)
            if isinstance(judged, Reason) or (saved := judged.saved) <= NOTHING:
                continue
            # (3) What has changed meanwhile waits for its new turn.
            if self.queue and -saved > self.queue[0][0] and saved < -priority:
                self._wait(-saved, change, first, second)
                continue
            judged = self._searched(change, first, second, judged)
            if isinstance(judged, Judged):
                self.apply(change, first, second, judged)

    def join_views(self) -> None:
        """Let views stand where they are read."""
        for step in sorted(self.drafts):
            if step in self.drafts and self.drafts[step].is_view and not self._belongs_to_producer(step):
                judged = self.judge(Change.INTO_READERS, step, step)
                if self.left and isinstance(judged, Judged) and judged.saved > -NOTHING:
                    self.apply(Change.INTO_READERS, step, step, judged, pushes=False)

    def _belongs_to_producer(self, view: int) -> bool:
        """Whether a view joins the map that it alone reads, since no reader can take what the map moves.

        Products read rows as they lie, and windows all that they read. A map that writes the shape that they read has
        the longer last axis.
        """
        draft = self.drafts[view]
        producer = self.step_of.get(next(iter(draft.reads))) if len(draft.reads) == 1 else None
        moving = None if producer is None else self.drafts.get(producer)
        if not self.left or producer is None or moving is None or moving.loops is not Loops.MAP or moving.is_view:
            return False
        is_moved = any(access.order > Order.LINES for access in moving.reads.values())
        for reader in self._readers_of(view):
            other = self.drafts.get(reader)
            if other is None or other.loops not in ANCHORS or not draft.outputs.isdisjoint(other.columns):
                return False
            if other.loops is Loops.PRODUCT and not is_moved:
                return False
        judged = self.judge(Change.INTO_READERS, producer, producer)
        if isinstance(judged, Judged) and len(judged.joins) == 1 and judged.saved > -NOTHING:
            self.apply(Change.INTO_READERS, producer, producer, judged, pushes=False)
            return True
        return False

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

    def copy(self) -> "CostSearch":
        """The same plan, to be changed otherwise."""
        other = copy(self)
        other.drafts = dict(self.drafts)
        other.step_of = dict(self.step_of)
        other.readers = {value: dict(steps) for value, steps in self.readers.items()}
        other.merged_into = dict(self.merged_into)
        other.known, other.known_siblings, other.cycles = {}, {}, {}
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

    def _join_only_reader(self, step: int) -> None:
        """Let a map become part of the map that alone reads it, in the same order, if that saves time."""
        draft, readers = self.drafts[step], self._readers_of(step)
        if not self.left or draft.loops is not Loops.MAP or len(readers) != 1:
            return
        judged = self.judge(Change.INTO_READERS, step, step)
        if isinstance(judged, Judged) and judged.saved > NOTHING:
            join = judged.joins[0][1]
            if join.loops is Loops.MAP and not join.is_in_place:
                self.apply(Change.INTO_READERS, step, step, judged, pushes=False)

    def _alive(self, step: int) -> int:
        """The step that stands for one now."""
        last = step
        while last in self.merged_into:
            last = self.merged_into[last]
        while step != last:
            # The way is gone once: chains of merges are long.
            self.merged_into[step], step = last, self.merged_into[step]
        return last

    def _push(self, change: Change, first: int, second: int) -> None:
        judged = self._judged(change, first, second)
        if (
            isinstance(judged, Judged)
            and (saved := judged.saved) > NOTHING
            and (change is Change.INTO_READERS or not self._closes_cycle(first, second))
        ):
            self._wait(-saved, change, first, second)

    def _wait(self, priority: float, change: Change, first: int, second: int) -> None:
        """Put a candidate into the queue, unless it comes up earlier anyway: then it is judged anew."""
        key = (change, first, second)
        if self.waiting.get(key, 0.0) > priority:
            self.waiting[key] = priority
            heappush(self.queue, (priority, change, first, second))

    def _closes_cycle(self, first: int, second: int) -> bool:
        """Whether a search has said so, and neither has changed since."""
        known = self.cycles.get((first, second))
        return known is not None and known[0] is self.drafts[first] and known[1] is self.drafts[second]

    def _push_all(self, step: int) -> None:
        """Judge what a kernel could become."""
        draft = self.drafts[step]
        if draft.loops is Loops.UNKNOWN:
            return
        readers = self._readers_of(step)
        if len(readers) <= MOST_READERS:
            self._push(Change.INTO_READERS, step, step)
            for reader in readers if len(readers) > 1 or draft.escapes else ():
                if reader in self.drafts:
                    self._push(Change.INTO_ONE, step, reader)
        # A kernel that reads and stores all that one may has no siblings.
        is_full = len(draft.reads) + len(draft.outputs) >= self.rates.streams
        has_siblings = self.options.horizontal and not is_full and self._may_have_siblings(step)
        siblings: dict[int, None] = {}
        for value in draft.reads:
            producer, reading = self.step_of.get(value), self.readers[value]
            if producer is not None and (other := self.drafts.get(producer)) is not None:
                if len(reading) > 1 or other.escapes:
                    self._push(Change.INTO_ONE, producer, step)
                if len(reading) <= MOST_READERS:
                    self._push(Change.INTO_READERS, producer, producer)
            if has_siblings and 1 < len(reading) <= 8 * MOST_READERS:
                siblings.update(self._neighbours(step, list(reading)))
        for other in siblings:
            self._push(Change.SIBLINGS, min(step, other), max(step, other))

    def _neighbours(self, step: int, reading: Sequence[int]) -> dict[int, None]:
        """A kernel's neighbours among those that read a value, of those that may have siblings."""
        place, found = reading.index(step), dict[int, None]()
        for others in (reading[:place][::-1], reading[place + 1 :]):
            left = NEIGHBOURS
            for other in others:
                if self._may_have_siblings(other):
                    found[other] = None
                    left -= 1
                    if not left:
                        break
        return found

    def _may_have_siblings(self, step: int) -> bool:
        draft = self.drafts.get(step)
        return draft is not None and not draft.is_view and draft.loops not in _WITHOUT_SIBLINGS

    def judge(self, change: Change, first: int, second: int) -> Judged | Reason:
        """What a candidate would do."""
        judged = self._judged(change, first, second)
        return self._searched(change, first, second, judged) if isinstance(judged, Judged) else judged

    def _judged(self, change: Change, first: int, second: int) -> Judged | Reason:
        """The same, except that nobody has looked for cycles."""
        if change is Change.SIBLINGS:
            one, other = self.drafts[first], self.drafts[second]
            seen = self.known_siblings.get((first, second))
            if seen is None or seen[0] is not one or seen[1] is not other:
                seen = self.known_siblings[first, second] = one, other, self._judge_siblings(one, other, second)
            return seen[2]
        known = self.known.get(first)
        if known is None:
            known = self.known[first] = {}
        key = _ALL if change is Change.INTO_READERS else second
        judged = known.get(key)
        if judged is None:
            judged = self._judge_into_readers(first) if key == _ALL else self._judge_into_one(first, second)
            known[key] = judged
        return judged

    def _searched(self, change: Change, first: int, second: int, judged: Judged) -> Judged | Reason:
        """The same, or that it closes a cycle."""
        # Whoever else reads the producer may lead to the consumer.
        if change is Change.INTO_READERS or (change is Change.INTO_ONE and not judged.joins[0][1].kept):
            return judged
        if self._closes_cycle(first, second):
            return Reason.WOULD_CLOSE_CYCLE
        ways = self.order.ways(first, second)
        if isinstance(ways, tuple):
            return judged._replace(ways=ways)
        if ways is NoWays.CYCLE:
            self.cycles[first, second] = self.drafts[first], self.drafts[second]
        return Reason.WOULD_CLOSE_CYCLE

    def _judge_into_readers(self, step: int) -> Judged | Reason:
        drafts, costs = self.drafts, self.costs
        draft, readers = drafts[step], self._readers_of(step)
        if not readers or draft.escapes:
            return Reason.VALUE_ESCAPES
        if len(readers) > 1:
            if any(reader not in drafts for reader in readers):
                return Reason.UNKNOWN_LOOPS
            if not self.options.recompute and not draft.is_view:
                return Reason.SWITCHED_OFF
            if len(readers) > MOST_READERS or not draft.may_repeat or draft.loops is not Loops.MAP:
                return Reason.NOT_FASTER
        apart, together = draft.seconds, 0.0
        joins: list[tuple[int, Join]] = []
        for reader in readers:
            other = drafts.get(reader)
            if other is None:
                return Reason.UNKNOWN_LOOPS
            join = costs.fused(draft, other, ())
            if isinstance(join, Reason):
                return join
            if (refused := self._beyond(draft, other, join)) is not None:
                return refused
            apart += other.seconds
            together += costs.seconds_joined(draft, other, join)
            joins.append((reader, join))
        return Judged(apart, together, tuple(joins))

    def _judge_into_one(self, first: int, second: int) -> Judged | Reason:
        producer, consumer = self.drafts[first], self.drafts[second]
        if producer.outputs.isdisjoint(consumer.reads):
            return Reason.LOOPS_DIFFER
        values, readers = self.graph.facts.values, self.readers
        kept: list[int] = []
        for value in producer.outputs:
            reading = readers.get(value, _NOBODY)
            # Others read it if somebody does and that is not the consumer alone.
            if len(reading) > (second in reading) or (producer.escapes and values[value].escapes):
                kept.append(value)
        if kept and not self.options.multi_output:
            return Reason.SWITCHED_OFF
        join = self.costs.fused(producer, consumer, kept)
        return join if isinstance(join, Reason) else self._judged_pair(producer, consumer, second, join)

    def _judge_siblings(self, one: Draft, other: Draft, second: int) -> Judged | Reason:
        if not self.options.horizontal:
            return Reason.SWITCHED_OFF
        if not one.outputs.isdisjoint(other.reads) or not other.outputs.isdisjoint(one.reads):
            return Reason.WOULD_CLOSE_CYCLE
        join = self.costs.siblings(one, other)
        return join if isinstance(join, Reason) else self._judged_pair(one, other, second, join)

    def _judged_pair(self, one: Draft, other: Draft, second: int, join: Join) -> Judged | Reason:
        refused = self._beyond(one, other, join)
        if refused is not None:
            return refused
        apart = one.seconds + other.seconds
        return Judged(apart, self.costs.seconds_joined(one, other, join), ((second, join),))

    def _beyond(self, first: Draft, second: Draft, join: Join) -> Reason | None:
        """Which limit the kernel of both would exceed."""
        if len(first.members) + len(second.members) > self.max_depth:
            return Reason.MAX_DEPTH
        arrays = len(first.reads) + len(second.reads) + len(second.outputs) + len(join.kept)
        if arrays > self.rates.streams and self.costs.arrays_joined(first, second, join) > self.rates.streams:
            return Reason.TOO_MANY_STREAMS
        if most := self.options.max_function_args:
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
        self._forget(first, gone)
        del self.drafts[first]
        for value in gone.outputs:
            self.step_of.pop(value, None)
        if len(readers) > 1:
            gone = replace(gone, has_copies=True)
        for step, join in judged.joins:
            self._forget(step, self.drafts[step])
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
        if self._checks and len(self.order.position) <= MOST_CHECKED:
            self._check()
        for step in readers if pushes else ():
            self._push_all(step)

    def _check(self) -> None:
        drafts = self.drafts
        members = {step: draft.members for step, draft in drafts.items()}
        check_search(self.graph, members, {step: drafts[step].outputs for step in drafts}, self.order.position)

    def _forget(self, step: int, draft: Draft) -> None:
        """Forget that a kernel reads what it reads, and what was judged about it and those that it reads from."""
        readers, step_of, known = self.readers, self.step_of, self.known
        known.pop(step, None)
        for value in draft.reads:
            readers[value].pop(step, None)
            producer = step_of.get(value)
            if producer is not None:
                known.pop(producer, None)

    def _bytes(self, drafts: Iterable[Draft]) -> float:
        """What kernels read and store."""
        return sum(self.costs.bytes_of(value) for draft in drafts for value in (*draft.reads, *draft.outputs))

    def plan(self) -> FusionPlan:
        """The plan as far as it was made."""
        if self._checks:
            self._check()
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
                step = step_of[node]
                readers = self._readers_of(step)
                if self.options.attempts is not None:
                    for reader in readers:
                        self.options.attempts(self._attempt(node, step, reader))
                # One that would be allowed, and only takes longer, comes closest.
                closest = next((each for each in readers if isinstance(self._verdict(step, each), Judged)), None)
                if readers:
                    decisions[node] = self._attempt(node, step, readers[0] if closest is None else closest)
                else:
                    decisions[node] = decision._replace(reason=Reason.UNKNOWN_LOOPS)
        return decisions

    def _verdict(self, step: int, reader: int) -> Judged | Reason:
        """What a reader has against a kernel at the end."""
        if reader not in self.drafts:
            return Reason.UNKNOWN_LOOPS
        return self.judge(Change.INTO_ONE, step, reader) if self.left else Reason.FUSION_LIMIT

    def _attempt(self, node: int, step: int, reader: int) -> FusionDecision:
        """The same as a decision on a node of the kernel."""
        judged = self._verdict(step, reader)
        if reader not in self.drafts:
            return FusionDecision(Reason.UNKNOWN_LOOPS, node, reader)
        members, outputs, reads = self.drafts[reader].members, self.drafts[step].outputs, self.graph.facts.reads
        # Members are few; the readers of a value need not be.
        sink = min((each for each in members if not outputs.isdisjoint(reads[each])), default=min(members))
        if isinstance(judged, Reason):
            return FusionDecision(judged, node, sink)
        return FusionDecision(Reason.NOT_FASTER, node, sink, apart=judged.apart, together=judged.together)
