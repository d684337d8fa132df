"""The steps of a plan in the making, the values between them, and their order.

1. A step is a kernel in the making, with its draft, or a node that stays in place. It has the number of one of its
   nodes; what becomes part of a step is known by that step's number from then on (`alive`).
2. A value is stored by one step, and read by those that read it from outside of themselves.
3. Positions of steps are an order in which they can run (`StepOrder`).
"""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy

from fuse_dialect.cost.changes import Change, Judged
from fuse_dialect.cost.draft import Draft
from fuse_dialect.cost.drafts import Drafts
from fuse_dialect.cost.search_check import OUTSIDE, check_search
from fuse_dialect.fusion.core.step_order import StepOrder
from fuse_dialect.fusion.core.value_graph import NodeRole, ValueGraph

NOBODY: dict[int, None] = {}


class Steps:
    """See above."""

    def __init__(self, graph: ValueGraph, maker: Drafts):
        """One step for each operator, and for each node that stays in place.

        Args:
            graph: The graph.
            maker: Makes drafts of its operators.
        """
        self.graph = graph
        self.maker = maker
        self.drafts: dict[int, Draft] = {}
        """For each step that is a kernel its draft."""
        self.step_of: dict[int, int] = {}
        """For each value the step that stores it; values from outside have none (2)."""
        self.readers: dict[int, dict[int, None]] = {}
        """For each value the steps that read it."""
        self._reads: dict[int, Iterable[int]] = {}
        """For each step that is no kernel what it reads."""
        self._followers: dict[int, list[int]] = {}
        """For each node that stays in place those that must follow it although they read none of its values."""
        self._merged_into: dict[int, int] = {}
        self.order = StepOrder(self._before, self._after)
        # Nodes stand in the order of a search from the results: who must follow an op in place may have a lower number.
        self.order.begin([node for node, role in enumerate(graph.roles) if role not in OUTSIDE and self._add(node)])

    def _add(self, node: int) -> bool:
        graph = self.graph
        gives: Sequence[int] = graph.gives(node)
        self.step_of.update(dict.fromkeys(gives, node))
        for other in graph.facts.after[node]:
            self._followers.setdefault(other, []).append(node)
        if graph.roles[node] is NodeRole.OPERATOR:
            if len(gives) > 1:
                gives = [value for value in gives if self._is_read(value)] or gives
            draft = self.drafts[node] = self.maker.of_operator(node, gives)
            read: Iterable[int] = draft.form.reads
        else:
            read = self._reads[node] = dict.fromkeys(graph.facts.reads[node])
        for value in read:
            self.readers.setdefault(value, {})[node] = None
        return True

    def _is_read(self, value: int) -> bool:
        known = self.graph.facts.values[value]
        return known.escapes or bool(known.readers)

    def _before(self, step: int) -> Iterable[int]:
        draft, step_of = self.drafts.get(step), self.step_of
        reads = self._reads[step] if draft is None else draft.form.reads
        before = [step_of[value] for value in reads if value in step_of]
        return before if draft is not None else (*before, *self.graph.facts.after[step])

    def _after(self, step: int) -> Iterable[int]:
        draft = self.drafts.get(step)
        followers = self._followers.get(step)
        gives = self.graph.gives(step) if draft is None else draft.form.gives
        if len(gives) == 1 and followers is None:
            (value,) = gives
            return self.readers.get(value, ())
        after = [reader for value in gives for reader in self.readers.get(value, ())]
        return after if followers is None else after + followers

    def readers_of(self, step: int) -> list[int]:
        """The steps that read something of a kernel."""
        gives = self.drafts[step].form.gives
        if len(gives) == 1:
            (value,) = gives
            return list(self.readers.get(value, ()))
        found: dict[int, None] = {}
        for value in sorted(gives):
            found.update(self.readers.get(value, {}))
        return list(found)

    def kept(self, first: int, second: int) -> list[int]:
        """What a kernel still has to store when one of its readers computes it: what others read, or the outside."""
        producer, values = self.drafts[first], self.graph.facts.values
        kept: list[int] = []
        for value in producer.form.gives:
            reading = self.readers.get(value, NOBODY)
            # Others read it if somebody does and that is not the consumer alone.
            if len(reading) > (second in reading) or (producer.escapes and values[value].escapes):
                kept.append(value)
        return kept

    def alive(self, step: int) -> int:
        """The step that stands for one now (1)."""
        last = step
        while last in self._merged_into:
            last = self._merged_into[last]
        while step != last:
            # The way is gone once: chains of merges are long.
            self._merged_into[step], step = last, self._merged_into[step]
        return last

    def changes(self) -> Iterator[tuple[Change, int, int]]:
        """Every candidate, allowed or not."""
        for step in self.drafts:
            yield Change.INTO_READERS, step, step
            for reader in self.readers_of(step):
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

    def apply(self, change: Change, first: int, second: int, judged: Judged) -> None:
        """Let the first step become part of others."""
        gone = self.drafts.pop(first)
        self._leave(first, gone)
        for value in gone.form.gives:
            self.step_of.pop(value, None)
        if len(judged.joins) > 1:
            gone = Draft(gone.members, gone.form, gone.price, gone.escapes, gone.may_repeat, has_copies=True)
        for step, join in judged.joins:
            self._leave(step, self.drafts[step])
            self.drafts[step] = draft = self.maker.joined(gone, self.drafts[step], join)
            for value in draft.form.reads:
                self.readers.setdefault(value, {})[step] = None
            for value in draft.form.gives:
                self.step_of[value] = step
        if change is not Change.INTO_READERS:
            self._merged_into[first] = second
        if judged.ways is None:
            # (3) Nobody else reads the producer, so it may as well run where its readers do.
            del self.order.position[first]
        else:
            self.order.merge(second, first, judged.ways)

    def _leave(self, step: int, draft: Draft) -> None:
        for value in draft.form.reads:
            self.readers[value].pop(step, None)

    def check(self) -> None:
        """Check the order of the steps.

        Raises:
            CheckError: See `check_search`.
        """
        members = {step: draft.members for step, draft in self.drafts.items()}
        gives = {step: draft.form.gives for step, draft in self.drafts.items()}
        check_search(self.graph, members, gives, self.order.position)

    def copy(self) -> "Steps":
        """The same steps, to be changed otherwise."""
        other = copy(self)
        other.drafts = dict(self.drafts)
        other.step_of = dict(self.step_of)
        other.readers = {value: dict(steps) for value, steps in self.readers.items()}
        other._merged_into = dict(self._merged_into)
        other.order = StepOrder(other._before, other._after)
        other.order.position = dict(self.order.position)
        return other
