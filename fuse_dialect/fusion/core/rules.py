"""Fusion rules as data: which kinds may fuse, one row for each way to fuse, and what a table of rows must keep to.

A node (the *source*) fuses into its immediate post-dominator (the *sink*) together with every node between them. Kinds
of the source, the sink and the nodes between are those of the groups that they belong to by then. The edge kind is the
greatest one on any path from source to sink. Rows are tried in phases, and within a phase from the first node to the
last.

The partition is fast because it relies on what no row may do. `RuleTable` checks these conditions, and errors name them
by their number:

1. Every row has a name of its own in kebab-case, phases that count from 0, and at least one kind of source, of edge and
   of sink.
2. At most one row of a phase applies to a kind of source. So the order of rows means nothing.
3. Every row lets kinds up to `PATH_LIMIT` stand between. A row may have the stricter limit BROADCAST if it takes
   elementwise edges alone and has no injective sink. One structure answers the path checks of both (`BlockedPaths`).
4. No row has an opaque source or sink. Opaque operators stay alone.
5. No row has sinks of kind TUPLE: a group of that kind is a single tuple, and a tuple is no kernel.
6. A row whose sources are anchors has no sinks that hold an anchor, so that no group ever has two.
7. A phase has rows into tuples or other rows, not both.

Source: TVM `GraphPartitioner::RunFuse`, src/relay/analysis/graph_partitioner.cc (v0.18).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from fuse_dialect.diagnostics import Reason
from fuse_dialect.pattern_kind import PatternKind

PATH_LIMIT = PatternKind.INJECTIVE
"""The greatest kind that any row allows between source and sink."""

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class FusionRule:
    """One way to fuse: what may join what, in which phases. A `RuleTable` checks it."""

    name: str
    """Stable kebab-case name; remarks and FileCheck files use it."""
    phases: tuple[int, ...]
    sources: frozenset[PatternKind]
    """Kinds of the source."""
    edges: frozenset[PatternKind]
    """Allowed values of the greatest edge kind between source and sink."""
    path_limit: PatternKind
    """Greatest kind allowed strictly between source and sink."""
    sinks: frozenset[PatternKind]
    """Kinds of the sink's group."""
    into_tuple: bool = False
    """Whether the sink itself is a tuple; the other rows never have a tuple as sink."""

    def refusal(self, edge: PatternKind, sink: PatternKind, path_is_blocked: bool) -> Reason | None:
        """Why this rule refuses a source of a matching kind, or `None` if it does not."""
        if edge not in self.edges:
            return Reason.EDGE_KIND
        if sink not in self.sinks:
            return Reason.TUPLE_CONSUMER if sink is PatternKind.TUPLE else Reason.SINK_KIND
        return Reason.PATH_KIND if path_is_blocked else None


class RuleError(ValueError):
    """Rules that the partition cannot work with: the conditions of this module say which it can."""

    def __init__(self, rule: FusionRule, condition: int, message: str):
        super().__init__(f"fusion rule '{rule.name}' {message} (condition {condition} of its module)")
        self.rule = rule
        self.condition = condition
        """Number of the condition that the rule breaks."""


class RulePhase(NamedTuple):
    """What one phase does."""

    number: int
    into_tuple: bool
    """Whether its rows have tuples as sinks."""
    row_of: Mapping[PatternKind, FusionRule]
    """The row that applies to a source of each kind."""


@dataclass(frozen=True, slots=True)
class RuleTable:
    """Rules that are checked together, as a value: `partition` takes one.

    Example:
        >>> from fuse_dialect.pattern_kind import PatternKind as Kind
        >>> greedy = FusionRule(
        ...     name="greedy",
        ...     phases=(0,),
        ...     sources=frozenset({Kind.ELEMWISE, Kind.OPAQUE}),
        ...     edges=frozenset(Kind),
        ...     path_limit=PATH_LIMIT,
        ...     sinks=up_to(Kind.INJECTIVE),
        ... )
        >>> RuleTable((greedy,))
        Traceback (most recent call last):
            ...
        fuse_dialect.fusion.core.rules.RuleError: fusion rule 'greedy' has opaque sources (condition 4 of its module)
    """

    rows: tuple[FusionRule, ...]
    phases: tuple[RulePhase, ...] = field(init=False, repr=False, compare=False)
    """The phases that have rows, in their order."""

    def __post_init__(self):
        problem = next(chain(_problems_of_rows(self.rows), _problems_between_rows(self.rows)), None)
        if problem is not None:
            raise problem
        numbers = sorted({phase for row in self.rows for phase in row.phases})
        phases = [[row for row in self.rows if number in row.phases] for number in numbers]
        # Frozen: the field that follows from the rows is set once, here.
        object.__setattr__(
            self,
            "phases",
            tuple(
                RulePhase(number, rows[0].into_tuple, {kind: row for row in rows for kind in row.sources})
                for number, rows in zip(numbers, phases, strict=True)
            ),
        )

    def guard(self, source: PatternKind, sink: PatternKind | None) -> Reason:
        """What keeps a source unfused as long as no row has been tried on it.

        Args:
            source: Kind of the node's operator.
            sink: Kind of the operator of its immediate post-dominator, or `None` if there is none.
        """
        if source is PatternKind.OPAQUE:
            return Reason.OPAQUE
        if sink is None:
            return Reason.VALUE_ESCAPES
        if sink is PatternKind.TUPLE and any(row.into_tuple and source in row.sources for row in self.rows):
            return Reason.TUPLE_CONSUMER
        return Reason.NO_RULE


def up_to(limit: PatternKind) -> frozenset[PatternKind]:
    """All kinds that are at most `limit`."""
    return frozenset(kind for kind in PatternKind if kind <= limit)


def _problems_of_rows(rows: tuple[FusionRule, ...]) -> Iterator[RuleError]:
    """What is wrong with single rows."""
    opaque, anchor = PatternKind.OPAQUE, PatternKind.OUT_EWISE_FUSABLE
    for row in rows:
        if not _NAME.fullmatch(row.name):
            yield RuleError(row, 1, "expects a name in kebab-case")
        if not row.phases or min(row.phases) < 0:
            yield RuleError(row, 1, f"expects phases that count from 0, got {row.phases}")
        for what, kinds in (("source", row.sources), ("edge", row.edges), ("sink", row.sinks)):
            if not kinds:
                yield RuleError(row, 1, f"expects a kind of {what}, got none")
        yield from _problems_of_path_limit(row)
        for what, kinds in (("sources", row.sources), ("sinks", row.sinks)):
            if opaque in kinds:
                yield RuleError(row, 4, f"has opaque {what}")
        if PatternKind.TUPLE in row.sinks:
            yield RuleError(row, 5, "has sinks of kind tuple")
        if anchor in row.sources & row.sinks:
            yield RuleError(row, 6, f"fuses {anchor.keyword} into {anchor.keyword}, so that a group has two anchors")


def _problems_of_path_limit(row: FusionRule) -> Iterator[RuleError]:
    """What is wrong with the kinds that a row allows between source and sink."""
    if row.path_limit is PATH_LIMIT:
        return
    limit, got = PATH_LIMIT.keyword, row.path_limit.keyword
    if row.path_limit is not PatternKind.BROADCAST or row.edges != frozenset({PatternKind.ELEMWISE}):
        yield RuleError(row, 3, f"expects path limit {limit}, or broadcast with elementwise edges alone, got {got}")
    elif PatternKind.INJECTIVE in row.sinks:
        yield RuleError(row, 3, f"has path limit {got}, and injective sinks, which may reach in between")


def _problems_between_rows(rows: tuple[FusionRule, ...]) -> Iterator[RuleError]:
    """What is wrong with rows beside the others."""
    names: set[str] = set()
    taken: dict[tuple[int, PatternKind], FusionRule] = {}
    first_of_phase: dict[int, FusionRule] = {}
    for row in rows:
        if row.name in names:
            yield RuleError(row, 1, "stands twice in the table")
        names.add(row.name)
        for phase in dict.fromkeys(row.phases):
            first = first_of_phase.setdefault(phase, row)
            if first.into_tuple != row.into_tuple:
                yield RuleError(row, 7, f"shares phase {phase} with '{first.name}', only one of them is into tuples")
            for kind in sorted(row.sources):
                other = taken.setdefault((phase, kind), row)
                if other is not row:
                    what = f"applies in phase {phase} to {kind.keyword}, as '{other.name}' does"
                    yield RuleError(row, 2, what)
