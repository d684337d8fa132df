"""Which ops of a function `convert-layout{if-profitable}` converts: those for which all together take the least time.

1. What could be converted is tried on a copy: it says which ops take part, and in which form each wants its operands.
2. An op that names its layout takes some time in each; ops that follow take the same in both.
3. A value that one op gives in a form and another wants in a different one takes a transpose, once for all that want
   that form. Constants take none: they are permuted here. What stays outside (arguments, returns, other ops) has and
   wants values as they were.
4. A transpose of the program has the form that its operand lies in, permuted.

The least sum is a cut (`minimum_cut`). It is a function of the program and the machine alone.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.transforms.layouts.conversion import Conversion, order_of, wanted_order
from fuse_dialect.transforms.layouts.costs import LayoutCosts
from fuse_dialect.transforms.layouts.minimum_cut import SINK, SOURCE, UNBOUNDED, CutNetwork
from fuse_dialect.transforms.layouts.permutations import Permutation, between, identity
from fuse_dialect.transforms.layouts.rules import PermutedOp
from fuse_dialect.transforms.unfinished import walk_unfinished

_UNITS = 1e15
"""Of a second, in which the network counts: whole numbers, so that sums are exact in any order."""


@dataclass(frozen=True, slots=True)
class LayoutChoice:
    """What was decided about an op that names its layout, and why; seconds."""

    op: FuseOp
    is_converted: bool
    as_it_was: float
    converted: float
    transposes: float
    """Of its image and its result, were it converted and nothing around it."""


@dataclass(frozen=True, slots=True)
class LayoutPlan:
    """What was decided about a function."""

    ops: dict[Operation, None]
    """Those that are converted, in order; ops that follow among them."""
    choices: tuple[LayoutChoice, ...]


def choose_layouts(top: Operation, layout: str, costs: LayoutCosts) -> LayoutPlan:
    """Decide which ops of a function get a layout; nothing is changed.

    Args:
        top: The function.
        layout: As `convert-layout` takes it.
        costs: What ops take.

    Complexity: that of a conversion, and of the cut, which is linear in operands but for a constant bound.
    """
    ops = list(walk_unfinished(top))
    if not any(isinstance(op, FuseOp) and wanted_order(op, layout) is not None for op in ops):
        return LayoutPlan({}, ())
    copy = top.clone()
    copies = list(walk_unfinished(copy))
    conversion = Conversion(layout)
    conversion.run(copy)
    plans = {op: conversion.plans[other] for op, other in zip(ops, copies, strict=True) if other in conversion.plans}
    return _Network(ops, layout, costs, plans).plan()


@dataclass(frozen=True, slots=True)
class _Lying:
    """Where a value comes from."""

    node: int
    """That of the op that computes it."""
    source: SSAValue
    """What the op gives, of which the value is a transpose (4), or the value itself."""
    order: Permutation
    """The transpose."""
    forms: tuple[Permutation, Permutation]
    """Orders of the value's axes in which it lies, by the side of the op."""


@dataclass(frozen=True, slots=True)
class _Want:
    """What a reader takes, in units: by the side of what computes the value, and by its own."""

    node: int
    costs: tuple[tuple[int, int], tuple[int, int]]
    targets: tuple[Permutation, Permutation]
    """The forms that it wants, as orders of the axes of the source."""


class _Network:
    """The network of one function."""

    def __init__(
        self, ops: Sequence[Operation], layout: str, costs: LayoutCosts, plans: dict[Operation, PermutedOp]
    ) -> None:
        self._ops, self._layout, self._costs, self._plans = ops, layout, costs, plans
        self._cut = CutNetwork()
        self._node_of = {op: self._cut.add_node() for op in plans}
        self._lying: dict[SSAValue, _Lying] = {}
        self._wants: dict[SSAValue, list[_Want]] = defaultdict(list)

    def plan(self) -> LayoutPlan:
        """Build the network, and cut it."""
        for op in self._ops:
            order = order_of(op)
            if order is not None:
                self._record_transpose(op, order)
                continue
            for index, value in enumerate(op.operands):
                if is_tensor(value.type) and not isinstance(value.owner, arith.ConstantOp):
                    self._want(op, index, value)
        named = [op for op in self._plans if isinstance(op, FuseOp) and wanted_order(op, self._layout) is not None]
        seconds = {op: self._seconds(op) for op in named}
        for op, (first, second) in seconds.items():
            self._cut.add_pipe(self._node_of[op], SINK, _units(first))
            self._cut.add_pipe(SOURCE, self._node_of[op], _units(second))
        for source, wants in self._wants.items():
            self._connect(self._at(source).node, wants)
        is_second = self._cut.second_side()
        chosen = {op: None for op, node in self._node_of.items() if is_second[node]}
        choices = [LayoutChoice(op, op in chosen, *seconds[op], self._own_transposes(op)) for op in named]
        return LayoutPlan(chosen, tuple(choices))

    def _seconds(self, op: FuseOp) -> tuple[float, float]:
        """(2) What an op takes as it was, and converted."""
        goes_last = self._layout == "NHWC"
        first, second = (self._costs.of_op(op, channels_last=last) for last in (not goes_last, goes_last))
        return first, second

    def _at(self, value: SSAValue) -> _Lying:
        """Where a value comes from; one that nobody transposed is what its op gives."""
        if value not in self._lying:
            assert is_tensor(value.type)
            plain = identity(value.type.get_num_dims())
            plan = self._plans.get(value.owner) if isinstance(value.owner, Operation) else None
            if plan is None:
                self._lying[value] = _Lying(SOURCE, value, plain, (plain, plain))
            else:
                assert isinstance(value.owner, Operation)
                form = plan.results[value.owner.results.index(value)]
                self._lying[value] = _Lying(self._node_of[value.owner], value, plain, (plain, form))
        return self._lying[value]

    def _record_transpose(self, op: Operation, order: Permutation) -> None:
        """(4) Its result is what its operand is, with axes that are counted in another order."""
        lying = self._at(op.operands[0])
        first, second = (between(order, form) for form in lying.forms)
        whole = tuple(lying.order[axis] for axis in order)
        self._lying[op.results[0]] = _Lying(lying.node, lying.source, whole, (first, second))

    def _want(self, op: Operation, index: int, value: SSAValue) -> None:
        """(3) What it takes to get a value in the form that a reader wants on either side."""
        lying = self._at(value)
        assert is_tensor(value.type)
        plain = identity(value.type.get_num_dims())
        plan = self._plans.get(op)
        form = None if plan is None else plan.operands[index]
        wanted = (plain, form if isinstance(form, tuple) else plain)
        before, after = (
            tuple(_units(self._costs.of_transpose(value, at, target)) for target in wanted) for at in lying.forms
        )
        targets = tuple(tuple(lying.order[axis] for axis in target) for target in wanted)
        node = SOURCE if plan is None else self._node_of[op]
        want = _Want(node, ((before[0], before[1]), (after[0], after[1])), (targets[0], targets[1]))
        self._wants[lying.source].append(want)

    def _connect(self, node: int, wants: Sequence[_Want]) -> None:
        """Pipes between an op and the readers of its value: one for all readers that want one form."""
        ahead: dict[tuple[Permutation, int], list[int]] = defaultdict(list)
        back: dict[tuple[Permutation, int], list[int]] = defaultdict(list)
        # What a reader from outside gets transposed in any case is at hand for others.
        paid = {want.targets[0] for want in wants if want.node == node == SOURCE and want.costs[0][0]}
        for want in dict.fromkeys(wants):  # one who wants a value twice, or two from outside, pay once
            (both_first, reader_second), (reader_first, both_second) = want.costs
            first, second = want.targets
            if node == SOURCE:
                ahead[second, 0 if second in paid else reader_second].append(want.node)
                back[first, 0 if first in paid else both_first].append(want.node)
                continue
            # A sum of what the reader costs by its own side, what the op does by its side, and two pipes. Without
            # transposes of the program nothing is paid where both agree: then the first two are 0.
            own = min(max(0, both_second - reader_first), reader_second - both_first)
            self._bias(want.node, own)
            self._bias(node, both_second - both_first - own)
            ahead[second, reader_second - both_first - own].append(want.node)
            # Less than 0 is more than two sides can say: then they do not gain by differing.
            back[first, max(0, reader_first - both_second + own)].append(want.node)
        for (_, room), readers in ahead.items():
            self._cut.add_pipe(node, self._gathered(readers, is_ahead=True), room)
        for (_, room), readers in back.items():
            # Readers on the first side of what stays there may want it transposed, too.
            self._cut.add_pipe(self._gathered(readers, is_ahead=False), SINK if node == SOURCE else node, room)

    def _gathered(self, readers: Sequence[int], *, is_ahead: bool) -> int:
        """A node that is on the second side as soon as one of the readers is; on the first side, if not ahead."""
        if len(readers) == 1:
            return readers[0]
        node = self._cut.add_node()
        for reader in dict.fromkeys(readers):
            source, target = (node, reader) if is_ahead else (reader, node)
            self._cut.add_pipe(source, target, UNBOUNDED)
        return node

    def _bias(self, node: int, units: int) -> None:
        """Cost of a node on the second side; less than 0 is one of the first side."""
        if node != SOURCE:
            source, target = (SOURCE, node) if units > 0 else (node, SINK)
            self._cut.add_pipe(source, target, abs(units))

    def _own_transposes(self, op: FuseOp) -> float:
        plan = self._plans[op]
        return sum(
            self._costs.of_transpose(value, identity(len(form)), form)
            for value, form in ((op.operands[0], plan.operands[0]), (op.results[0], plan.results[0]))
            if isinstance(form, tuple) and not isinstance(value.owner, arith.ConstantOp)
        )


def _units(seconds: float) -> int:
    return round(seconds * _UNITS)
