"""What a search has decided and why: merges as they are made, and at the end a decision on each node."""

from collections.abc import Iterable, Iterator

from fuse_dialect.cost.changes import Change, Judged
from fuse_dialect.cost.draft import Draft
from fuse_dialect.cost.judgements import LIMITS, Judgements
from fuse_dialect.cost.steps import Steps
from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.core.decision import FusionDecision, Merge
from fuse_dialect.fusion.core.plan import FusionPlan
from fuse_dialect.fusion.core.strategy import FusionOptions


class Story:
    """Tells whoever asks in the options."""

    def __init__(self, steps: Steps, judgements: Judgements, options: FusionOptions):
        """Of a plan in the making.

        Args:
            steps: The plan.
            judgements: What is known of its candidates.
            options: Who is told.
        """
        self._steps, self._judgements, self._options = steps, judgements, options

    def before(self, first: int, judged: Judged) -> tuple[Draft, float]:
        """What goes in a change, and how many bytes the kernels that it touches read and store."""
        drafts = self._steps.drafts
        if self._options.log is None:
            return drafts[first], 0.0
        return drafts[first], self._bytes([drafts[first], *(drafts[step] for step, _ in judged.joins)])

    def merged(self, gone: Draft, before: float, judged: Judged) -> None:
        """Tell of a change that was made; see `before`."""
        if self._options.log is not None:
            drafts = [self._steps.drafts[step] for step, _ in judged.joins]
            last, source = max(drafts[0].members), max(gone.members)
            saved = round(before - self._bytes(drafts))
            self._options.log(Merge(source, last, (source,), None, None, judged.saved, saved))

    def _bytes(self, drafts: Iterable[Draft]) -> float:
        """What kernels read and store."""
        bytes_of = self._steps.maker.prices.bytes_of
        return sum(bytes_of(value) for draft in drafts for value in (*draft.form.reads, *draft.form.gives))

    def decisions(self, plan: FusionPlan, *, is_limited: bool) -> list[FusionDecision]:
        """Why each node that is not fused is not: what the reader that comes closest has against it.

        Args:
            plan: The plan that was made.
            is_limited: Whether it ended before its time, so that nothing is against a merge but that.
        """
        decisions = list(plan.decisions)
        step_of = {node: step for step, draft in self._steps.drafts.items() for node in draft.members}
        for node, decision in enumerate(decisions):
            if decision.reason is not Reason.NOT_FASTER or node not in step_of:
                continue
            step = step_of[node]
            readers = self._steps.readers_of(step)
            closest = _closest((each, self._attempt(node, step, each, is_limited)) for each in readers)
            if closest is None:
                decisions[node] = decision._replace(reason=Reason.UNKNOWN_LOOPS)
                continue
            decisions[node] = self._explained(step, *closest)
            if self._options.attempts is not None:
                for each in readers:
                    self._options.attempts(self._explained(step, each, self._attempt(node, step, each, is_limited)))
        return decisions

    def _explained(self, step: int, reader: int, attempt: FusionDecision) -> FusionDecision:
        """An attempt with what the law says, where a limit was asked first."""
        if attempt.reason not in LIMITS:
            return attempt
        return attempt._replace(reason=self._judgements.reason(step, reader, attempt.reason))

    def _attempt(self, node: int, step: int, reader: int, is_limited: bool) -> FusionDecision:
        """What a reader has against a kernel at the end, as a decision on a node of the kernel."""
        drafts, reads = self._steps.drafts, self._steps.graph.facts.reads
        if reader not in drafts:
            return FusionDecision(Reason.UNKNOWN_LOOPS, node, reader)
        judged = Reason.FUSION_LIMIT if is_limited else self._judgements.judge(Change.INTO_ONE, step, reader)
        members, gives = drafts[reader].members, drafts[step].form.gives
        # Members are few; the readers of a value need not be.
        sink = min((each for each in members if not gives.isdisjoint(reads[each])), default=min(members))
        if isinstance(judged, Reason):
            return FusionDecision(judged, node, sink)
        return FusionDecision(Reason.NOT_FASTER, node, sink, apart=judged.apart, together=judged.together)


def _closest(attempts: Iterator[tuple[int, FusionDecision]]) -> tuple[int, FusionDecision] | None:
    """The first reader that would be allowed, and only takes longer, with its attempt; else the first of all."""
    first = None
    for reader, attempt in attempts:
        if attempt.apart is not None:
            return reader, attempt
        first = (reader, attempt) if first is None else first
    return first
