"""The search of the strategy `cost`: the changes of drafts that save the most time, one after the other.

Conditions are those of `by_cost`.
"""

from collections.abc import Iterator, Sequence
from copy import copy

from fuse_dialect.checked import checks_plans
from fuse_dialect.cost.changes import NOTHING, Change, Judged
from fuse_dialect.cost.drafts import Drafts
from fuse_dialect.cost.judgements import MOST_READERS, Judgements
from fuse_dialect.cost.queue import Queue
from fuse_dialect.cost.steps import Steps
from fuse_dialect.cost.story import Story
from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.core.plan import FusionPlan, plan_of_nodes
from fuse_dialect.fusion.core.strategy import FusionOptions
from fuse_dialect.fusion.core.value_graph import NodeRole, ValueGraph
from fuse_dialect.loops.forms import ANCHORS, Loops, OperatorForm, Order
from fuse_dialect.machines.description import with_rates
from fuse_dialect.machines.machine import Machine
from fuse_dialect.machines.names import find_machine
from fuse_dialect.pattern_kind import PatternKind

NEIGHBOURS = 2
"""Other readers of a value, before and behind a kernel, that are tried as its siblings."""
MOST_CHECKED = 64
"""Steps of a plan in the making that is checked after every change, in checked mode; larger ones are in the end."""
_WITHOUT_SIBLINGS = (Loops.UNKNOWN, Loops.WINDOWS, Loops.STRIPS)


def machine_of(options: FusionOptions) -> Machine:
    """What is counted for, with rates.

    Raises:
        FuseError: There is no such machine.
    """
    named = options.machine or options.target or ""
    return with_rates(find_machine(named) if isinstance(named, str) else named)


def forms_of(graph: ValueGraph, options: FusionOptions, machine: Machine) -> Sequence[OperatorForm | None]:
    """How the loops of each node look from outside, as far as the caller of the strategy knows."""
    return [None] * len(graph) if options.forms is None else options.forms(machine)


class CostSearch:
    """The plan in the making.

    Complexity: see `by_cost`.
    """

    def __init__(self, graph: ValueGraph, options: FusionOptions):
        """No change so far.

        Args:
            graph: The graph.
            options: What the user asks for.
        """
        self.graph, self.options = graph, options
        machine = machine_of(options)
        maker = Drafts(graph, machine, forms_of(graph, options, machine), options.open_size)
        self.steps = Steps(graph, maker)
        self.judgements = Judgements(self.steps, options)
        self._story = Story(self.steps, self.judgements, options)
        self._queue = Queue()
        self.left = float("inf") if options.most_merges is None else options.most_merges
        """Merges that may still be made."""
        self._streams = maker.prices.rates.streams
        self._checks = checks_plans()

    def run(self, start: FusionPlan | None = None, *, joins_maps: bool = True) -> None:
        """Make changes as long as they save time, after those that lead to the kernels of a plan.

        Args:
            start: A plan whose kernels are made first.
            joins_maps: Whether maps join the map that alone reads them before the queue decides.
        """
        drafts = self.steps.drafts
        self.join_views()
        if start is not None:
            self.join_groups(start)
        for step in sorted(drafts):
            if step in drafts and drafts[step].form.loops in (*ANCHORS, Loops.ROWS):
                self._grow(step)
        for step in sorted(drafts) if joins_maps else ():
            self._join_only_reader(step)
        for step in sorted(drafts):
            self._push_all(step)
        while self._queue and self.left:
            self._take(*self._queue.pop())

    def _take(self, before: float, change: Change, first: int, second: int) -> None:
        """Carry a candidate out, if it still saves the most.

        Args:
            before: Seconds that it saved when it was judged.
            change: What it does.
            first: The step that goes.
            second: The one that it becomes part of.
        """
        first, second = self.steps.alive(first), self.steps.alive(second)
        if first not in self.steps.drafts or second not in self.steps.drafts:
            return
        if (first == second) != (change is Change.INTO_READERS):
            return
        judged = self.judgements.without_cycles(change, first, second)
        if isinstance(judged, Reason) or (saved := judged.saved) <= NOTHING:
            return
        # (3) What has changed meanwhile waits for its new turn.
        if self._queue.is_behind(saved) and saved < before:
            self._queue.push(saved, change, first, second)
            return
        judged = self.judgements.searched(change, first, second, judged)
        if isinstance(judged, Judged):
            self.apply(change, first, second, judged)

    def join_views(self) -> None:
        """Let views stand where they are read."""
        drafts = self.steps.drafts
        for step in sorted(drafts):
            if step in drafts and drafts[step].form.is_view and not self._belongs_to_producer(step):
                self._try(step, -NOTHING)

    def _belongs_to_producer(self, view: int) -> bool:
        """Whether a view joins the map that it alone reads, since no reader can take what the map moves.

        Products read rows as they lie, and windows all that they read. A map that writes the shape that they read has
        the longer last axis.
        """
        drafts = self.steps.drafts
        form = drafts[view].form
        producer = self.steps.step_of.get(next(iter(form.reads))) if len(form.reads) == 1 else None
        if not self.left or producer is None or producer not in drafts:
            return False
        moving = drafts[producer].form
        if moving.loops is not Loops.MAP or moving.is_view:
            return False
        is_moved = any(access.order > Order.LINES for access in moving.reads.values())
        for reader in self.steps.readers_of(view):
            other = drafts[reader].form if reader in drafts else None
            if other is None or other.loops not in ANCHORS or not form.gives.isdisjoint(other.columns):
                return False
            if other.loops is Loops.PRODUCT and not is_moved:
                return False
        return self._try(producer, -NOTHING, readers=1)

    def _try(self, step: int, least: float, readers: int | None = None) -> bool:
        """Compute a kernel in its readers, if that saves more than `least` seconds; whether it has been done.

        Args:
            step: The kernel.
            least: Seconds.
            readers: How many it must have; by default any number.
        """
        if not self.left:
            return False
        judged = self.judgements.judge(Change.INTO_READERS, step, step)
        if isinstance(judged, Reason) or judged.saved <= least:
            return False
        if readers is not None and len(judged.joins) != readers:
            return False
        self.apply(Change.INTO_READERS, step, step, judged, pushes=False)
        return True

    def join_groups(self, plan: FusionPlan) -> None:
        """Make every change within a kernel of a plan."""
        group_of = {node: number for number, kernel in enumerate(plan.kernels) for node in kernel.nodes}
        drafts = self.steps.drafts
        has_changed = True
        while has_changed:
            has_changed = False
            for change, first, second in list(self.changes()):
                touched = {first, second}
                if change is Change.INTO_READERS and first in drafts:
                    touched.update(self.steps.readers_of(first))
                if not self.left or not touched <= drafts.keys():
                    continue
                if len({group_of.get(node) for step in touched for node in drafts[step].members}) > 1:
                    continue
                judged = self.judge(change, first, second)
                if isinstance(judged, Judged):
                    self.apply(change, first, second, judged, pushes=False)
                    has_changed = True

    @property
    def seconds(self) -> float:
        """What the plan takes so far."""
        return sum(draft.price.seconds for draft in self.steps.drafts.values())

    def state(self) -> frozenset[tuple[frozenset[int], frozenset[int]]]:
        """The kernels: nodes and what they store."""
        return frozenset((draft.members, draft.form.gives) for draft in self.steps.drafts.values())

    def changes(self) -> Iterator[tuple[Change, int, int]]:
        """Every candidate, allowed or not."""
        return self.steps.changes()

    def judge(self, change: Change, first: int, second: int) -> Judged | Reason:
        """What a candidate would do."""
        return self.judgements.judge(change, first, second)

    def copy(self) -> "CostSearch":
        """The same plan, to be changed otherwise; nothing is known of its candidates."""
        other = copy(self)
        other.steps = self.steps.copy()
        other.judgements = Judgements(other.steps, self.options)
        other._story = Story(other.steps, other.judgements, self.options)
        other._queue = Queue()
        return other

    def _grow(self, step: int) -> None:
        """Let a product or rows take what follows, as long as that saves time: later its readers may be moved."""
        while step in self.steps.drafts:
            readers = self.steps.readers_of(step)
            if len(readers) != 1 or not self._try(step, NOTHING):
                return
            (step,) = readers

    def _join_only_reader(self, step: int) -> None:
        """Let a map become part of the map that alone reads it, in the same order, if that saves time."""
        form, readers = self.steps.drafts[step].form, self.steps.readers_of(step)
        if not self.left or form.loops is not Loops.MAP or len(readers) != 1:
            return
        judged = self.judge(Change.INTO_READERS, step, step)
        if isinstance(judged, Judged) and judged.saved > NOTHING:
            join = judged.joins[0][1]
            if join.loops is Loops.MAP and not join.is_in_place:
                self.apply(Change.INTO_READERS, step, step, judged, pushes=False)

    def _push(self, change: Change, first: int, second: int) -> None:
        judged = self.judgements.without_cycles(change, first, second)
        if (
            isinstance(judged, Judged)
            and (saved := judged.saved) > NOTHING
            and (change is Change.INTO_READERS or not self.judgements.closes_cycle(first, second))
        ):
            self._queue.push(saved, change, first, second)

    def _push_all(self, step: int) -> None:
        """Judge what a kernel could become."""
        drafts, step_of = self.steps.drafts, self.steps.step_of
        draft = drafts[step]
        if draft.form.loops is Loops.UNKNOWN:
            return
        readers = self.steps.readers_of(step)
        if len(readers) <= MOST_READERS:
            self._push(Change.INTO_READERS, step, step)
            for reader in readers if len(readers) > 1 or draft.escapes else ():
                if reader in drafts:
                    self._push(Change.INTO_ONE, step, reader)
        for value in draft.form.reads:
            producer = step_of.get(value)
            if producer is not None and (other := drafts.get(producer)) is not None:
                reading = self.steps.readers[value]
                if len(reading) > 1 or other.escapes:
                    self._push(Change.INTO_ONE, producer, step)
                if len(reading) <= MOST_READERS:
                    self._push(Change.INTO_READERS, producer, producer)
        for other in self._siblings(step):
            self._push(Change.SIBLINGS, min(step, other), max(step, other))

    def _siblings(self, step: int) -> dict[int, None]:
        """The kernels that are tried as siblings of one."""
        form, found = self.steps.drafts[step].form, dict[int, None]()
        # A kernel that reads and stores all that one may has none.
        is_full = len(form.reads) + len(form.gives) >= self._streams
        if self.options.horizontal and not is_full and self._may_have_siblings(step):
            for value in form.reads:
                reading = self.steps.readers[value]
                if 1 < len(reading) <= 8 * MOST_READERS:
                    found.update(self._neighbours(step, list(reading)))
        return found

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
        draft = self.steps.drafts.get(step)
        return draft is not None and not draft.form.is_view and draft.form.loops not in _WITHOUT_SIBLINGS

    def apply(self, change: Change, first: int, second: int, judged: Judged, *, pushes: bool = True) -> None:
        """Carry a candidate out."""
        self.left -= 1
        gone, before = self._story.before(first, judged)
        readers = [step for step, _ in judged.joins]
        for step in (first, *readers):
            self.judgements.forget(step)
        self.steps.apply(change, first, second, judged)
        self._story.merged(gone, before, judged)
        if self._checks and len(self.steps.order.position) <= MOST_CHECKED:
            self.steps.check()
        for step in readers if pushes else ():
            self._push_all(step)

    def plan(self) -> FusionPlan:
        """The plan as far as it was made."""
        if self._checks:
            self.steps.check()
        drafts, position = self.steps.drafts, self.steps.order.position
        in_order = sorted(drafts, key=position.__getitem__)
        sets = [self._with_constants(drafts[step].members) for step in in_order]
        plan = plan_of_nodes(self.graph, sets, Reason.NOT_FASTER)
        decisions = self._story.decisions(plan, is_limited=not self.left)
        return FusionPlan(plan.kernels, decisions, promises=[drafts[step].form.family for step in in_order])

    def _with_constants(self, members: frozenset[int]) -> set[int]:
        """The nodes of a kernel with the scalar constants that they read."""
        facts, roles, kinds = self.graph.facts, self.graph.roles, self.graph.forward.kinds
        found = set(members)
        for node in members:
            for value in facts.reads[node]:
                producer = facts.values[value].producer
                if roles[producer] is NodeRole.CONSTANT and kinds[producer] is not PatternKind.OPAQUE:
                    found.add(producer)
        return found
