"""What candidates would do: each judgement is kept until something changes that it has looked at.

1. Of a candidate whose producer goes into readers that is the producer, its readers, and who reads them.
2. Of siblings it is both.
3. That two kernels would wait for each other is kept as long as both are the same. A merge of others may end it, and
   then two kernels stay apart that might be one.

So what a change touches is judged anew, and nothing else.

4. What a kernel may hold is asked before the law is: that is cheaper, and refuses most where values have many readers.
"""

from collections.abc import Collection, Sequence

from fuse_dialect.cost.changes import Change, Judged
from fuse_dialect.cost.draft import Draft
from fuse_dialect.cost.steps import Steps
from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.core.step_order import NoWays
from fuse_dialect.fusion.core.strategy import FusionOptions
from fuse_dialect.loops.forms import Loops
from fuse_dialect.loops.joins import Join

MOST_READERS = 8
"""Kernels in which a producer may be computed again."""
_ALL = -1
"""All readers of a step, where one of them may be named."""
LIMITS = (Reason.MAX_DEPTH, Reason.TOO_MANY_STREAMS, Reason.MAX_ARGS)
"""What `_beyond` says."""


class Judgements:
    """Verdicts on candidates of a plan in the making."""

    def __init__(self, steps: Steps, options: FusionOptions):
        """No verdict so far.

        Args:
            steps: The plan.
            options: What the user asks for.
        """
        self._steps, self._options = steps, options
        self._maker = steps.maker
        self._values = steps.graph.facts.values
        self._max_depth = options.most_nodes or float("inf")
        self._streams = steps.maker.prices.rates.streams
        self._known: dict[int, dict[int, Judged | Reason]] = {}
        """For each step, as a producer: for each reader, and for all of them as `_ALL` (1)."""
        self._siblings: dict[tuple[int, int], tuple[Draft, Draft, Judged | Reason]] = {}
        """For two steps, and as they were then (2)."""
        self._cycles: dict[tuple[int, int], tuple[Draft, Draft]] = {}
        """Two steps as they were when a way of two edges led from one to the other (3)."""

    def judge(self, change: Change, first: int, second: int) -> Judged | Reason:
        """What a candidate would do, cycles included."""
        judged = self.without_cycles(change, first, second)
        return self.searched(change, first, second, judged) if isinstance(judged, Judged) else judged

    def without_cycles(self, change: Change, first: int, second: int) -> Judged | Reason:
        """The same, except that nobody has looked for cycles."""
        if change is Change.SIBLINGS:
            one, other = self._steps.drafts[first], self._steps.drafts[second]
            seen = self._siblings.get((first, second))
            if seen is None or seen[0] is not one or seen[1] is not other:
                seen = self._siblings[first, second] = one, other, self._of_siblings(one, other, second)
            return seen[2]
        known = self._known.get(first)
        if known is None:
            known = self._known[first] = {}
        key = _ALL if change is Change.INTO_READERS else second
        judged = known.get(key)
        if judged is None:
            judged = known[key] = self._into_readers(first) if key == _ALL else self._into_one(first, second)
        return judged

    def searched(self, change: Change, first: int, second: int, judged: Judged) -> Judged | Reason:
        """A verdict with the ways between both steps, or that the change would close a cycle."""
        # Whoever else reads the producer may lead to the consumer.
        if change is Change.INTO_READERS or (change is Change.INTO_ONE and not judged.joins[0][1].kept):
            return judged
        if self.closes_cycle(first, second):
            return Reason.WOULD_CLOSE_CYCLE
        ways = self._steps.order.ways(first, second)
        if isinstance(ways, tuple):
            return judged._replace(ways=ways)
        if ways is NoWays.CYCLE:
            self._cycles[first, second] = self._steps.drafts[first], self._steps.drafts[second]
        return Reason.WOULD_CLOSE_CYCLE

    def reason(self, first: int, second: int, limit: Reason) -> Reason:
        """Why a reader is apart from a producer: what the law says goes before a limit, which was asked first (4)."""
        drafts = self._steps.drafts
        join = self._maker.fused(drafts[first], drafts[second], self._steps.kept(first, second))
        return join if isinstance(join, Reason) else limit

    def closes_cycle(self, first: int, second: int) -> bool:
        """Whether a search has said so, and neither has changed since (3)."""
        known, drafts = self._cycles.get((first, second)), self._steps.drafts
        return known is not None and known[0] is drafts[first] and known[1] is drafts[second]

    def forget(self, step: int) -> None:
        """Forget what was judged about a kernel that changes, and about those that it reads from (1)."""
        self._known.pop(step, None)
        for value in self._steps.drafts[step].form.reads:
            producer = self._steps.step_of.get(value)
            if producer is not None:
                self._known.pop(producer, None)

    def _into_readers(self, step: int) -> Judged | Reason:
        drafts = self._steps.drafts
        draft, readers = drafts[step], self._steps.readers_of(step)
        if not readers or draft.escapes:
            return Reason.VALUE_ESCAPES
        if len(readers) > 1 and (refused := self._refused_copies(draft, readers)) is not None:
            return refused
        apart, together = draft.price.seconds, 0.0
        joins: list[tuple[int, Join]] = []
        for reader in readers:
            other = drafts.get(reader)
            if other is None:
                return Reason.UNKNOWN_LOOPS
            join = self._fused(draft, other, ())
            if isinstance(join, Reason):
                return join
            apart += other.price.seconds
            together += self._maker.seconds_joined(draft, other, join)
            joins.append((reader, join))
        return Judged(apart, together, tuple(joins))

    def _fused(self, producer: Draft, consumer: Draft, kept: Sequence[int]) -> Join | Reason:
        """A producer and one that reads it as one kernel, or why they are none."""
        return self._beyond(producer, consumer, kept) or self._maker.fused(producer, consumer, kept)  # (4)

    def _refused_copies(self, draft: Draft, readers: list[int]) -> Reason | None:
        """Why a kernel is not computed in several readers."""
        if any(reader not in self._steps.drafts for reader in readers):
            return Reason.UNKNOWN_LOOPS
        if not self._options.recompute and not draft.form.is_view:
            return Reason.SWITCHED_OFF
        is_map = draft.form.loops is Loops.MAP
        return None if len(readers) <= MOST_READERS and draft.may_repeat and is_map else Reason.NOT_FASTER

    def _into_one(self, first: int, second: int) -> Judged | Reason:
        producer, consumer = self._steps.drafts[first], self._steps.drafts[second]
        if producer.form.gives.isdisjoint(consumer.form.reads):
            return Reason.LOOPS_DIFFER
        kept = self._steps.kept(first, second)
        if kept and not self._options.multi_output:
            return Reason.SWITCHED_OFF
        return self._of_pair(producer, consumer, second, self._fused(producer, consumer, kept))

    def _of_siblings(self, one: Draft, other: Draft, second: int) -> Judged | Reason:
        if not self._options.horizontal:
            return Reason.SWITCHED_OFF
        if not one.form.gives.isdisjoint(other.form.reads) or not other.form.gives.isdisjoint(one.form.reads):
            return Reason.WOULD_CLOSE_CYCLE
        join = self._beyond(one, other, one.form.gives, are_siblings=True) or self._maker.siblings(one, other)  # (4)
        return self._of_pair(one, other, second, join)

    def _of_pair(self, one: Draft, other: Draft, second: int, join: Join | Reason) -> Judged | Reason:
        if isinstance(join, Reason):
            return join
        apart = one.price.seconds + other.price.seconds
        return Judged(apart, self._maker.seconds_joined(one, other, join), ((second, join),))

    def _beyond(
        self, first: Draft, second: Draft, kept: Collection[int], *, are_siblings: bool = False
    ) -> Reason | None:
        """Which limit the kernel of both would exceed.

        Args:
            first: One of them; a producer, if they are no siblings.
            second: The other one.
            kept: What is stored of the first.
            are_siblings: Whether none depends on the other.
        """
        one, other = first.form, second.form
        if len(first.members) + len(second.members) > self._max_depth:
            return Reason.MAX_DEPTH
        arrays = len(one.reads) + len(other.reads) + len(other.gives) + len(kept)
        if arrays > self._streams:
            inside = 0 if are_siblings else len(one.gives & other.reads.keys())
            if arrays - inside - len(one.reads.keys() & other.reads.keys()) > self._streams:
                return Reason.TOO_MANY_STREAMS
        if most := self._options.max_function_args:
            read = {*one.reads, *(value for value in other.reads if value not in one.gives)}
            # A size that is known only at run time is passed, too.
            passed = (self._values[value].shape for value in (*read, *kept, *other.gives))
            if sum(1 + sum(isinstance(size, str) for size in shape) for shape in passed) > most:
                return Reason.MAX_ARGS
        return None
