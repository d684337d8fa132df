"""Drafts of kernels, and how two of them become one: the law says which may, and the prices what they take."""

from collections.abc import Iterable, Sequence

from fuse_dialect.cost.draft import Draft
from fuse_dialect.cost.price import Prices
from fuse_dialect.diagnostics import Reason
from fuse_dialect.fusion.core.value_graph import NodeRole, ValueGraph
from fuse_dialect.loops.forms import UNKNOWN_OPERATOR, OperatorForm
from fuse_dialect.loops.joins import Join, joined
from fuse_dialect.loops.law import join, siblings
from fuse_dialect.machines.machine import Machine

SMALL = 2e-6
"""Seconds in which loops run that only follow each other: less than it takes threads to meet."""
_SCALAR_BYTES = 8


class Drafts:
    """Drafts of kernels of a graph on a machine."""

    def __init__(self, graph: ValueGraph, machine: Machine, forms: Sequence[OperatorForm | None], open_size: int):
        """See `Prices`."""
        self.graph, self.forms = graph, forms
        self.prices = Prices(graph, machine, forms, open_size)

    def of_operator(self, node: int, gives: Iterable[int]) -> Draft:
        """The kernel of one operator.

        Args:
            node: The operator.
            gives: The values that it stores.
        """
        facts, roles, bytes_of = self.graph.facts, self.graph.roles, self.prices.bytes_of
        values, constant = facts.values, NodeRole.CONSTANT
        # A scalar constant stands in the kernel itself.
        read = [
            None if bytes_of(value) <= _SCALAR_BYTES and roles[values[value].producer] is constant else value
            for value in facts.reads[node]
        ]
        known, work = self.forms[node] or UNKNOWN_OPERATOR
        form = known.of(read, gives)
        price = self.prices.of_operator(node, form, work)
        escapes = any(values[value].escapes for value in form.gives)
        return Draft(frozenset((node,)), form, price, escapes, facts.may_repeat[node])

    def fused(self, producer: Draft, consumer: Draft, kept: Iterable[int]) -> Join | Reason:
        """A producer and one that reads it as one kernel, or why they are none.

        Args:
            producer: It stores something that `consumer` reads.
            consumer: It stores nothing that `producer` reads.
            kept: Those of the producer's values that the kernel has to store.
        """
        values, members = self.graph.facts.values, consumer.members

        def places(value: int) -> int:
            return sum([reader in members for reader in values[value].readers])

        found = join(producer.form, consumer.form, frozenset(kept), values, places)
        if isinstance(found, Reason) or not found.must_be_small:
            return found
        return found if self.prices.times(producer, consumer, found).loops <= SMALL else Reason.LOOPS_DIFFER

    def siblings(self, one: Draft, other: Draft) -> Join | Reason:
        """Two kernels of which none depends on the other as one, or why they are none."""
        return siblings(one.form, other.form)

    def seconds_joined(self, first: Draft, second: Draft, join: Join) -> float:
        """What the kernel of both would take."""
        return self.prices.seconds_joined(first, second, join)

    def joined(self, first: Draft, second: Draft, join: Join) -> Draft:
        """The kernel of both."""
        values = self.graph.facts.values
        form = joined(first.form, second.form, join)
        return Draft(
            first.members | second.members,
            form,
            self.prices.joined(first, second, join, form),
            second.escapes or (bool(join.kept) and any(values[value].escapes for value in join.kept)),
            first.may_repeat and second.may_repeat,
            first.has_copies or second.has_copies,
        )
