"""Tracing the sizes of functions with loops and branches.

1. A state whose sizes differ after an iteration is supposed to grow by the same in each: it is `s + c n` in iteration
   `n`. The first iteration says what `c` is. If an iteration with any number gives `s + c (n + 1)` under that
   supposition, that is so in all of them, by induction.
2. What is compared while an iteration is traced holds for iterations that are alike. Those for which it does not hold
   are of another kind, and traced again: the first one, in which a state has one row, may be.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fuse_dialect.backends.runtime.entry_graph import Branch, Call, Loop
from fuse_dialect.backends.runtime.shapes import MOST_ITERATIONS, Bound, SizeResolver
from fuse_dialect.backends.runtime.size_formulas import (
    NUMBER,
    Inside,
    IterationFormulas,
    LateAtoms,
    LoopFormulas,
    SizeFormulas,
)
from fuse_dialect.backends.runtime.size_tracing import Tracing
from fuse_dialect.backends.runtime.traced_sizes import (
    Quotient,
    Relation,
    Terms,
    TracedSize,
    UntraceableError,
    holds,
    is_same,
    value_of,
)
from fuse_dialect.backends.types import Shape
from fuse_dialect.dialect.types import DYNAMIC

MOST_KINDS = 3
"""Of iterations of one loop."""


def trace_sizes(
    resolver: SizeResolver, input_shapes: Sequence[Shape], counts: Mapping[int, int], counted: Sequence[int] = ()
) -> SizeFormulas | None:
    """The formulas that hold for these sizes, and for those like them; `None` if a call gives no answer.

    Args:
        resolver: It has resolved these sizes.
        input_shapes: Sizes of the inputs.
        counts: The numbers in inputs that say how often loops run.
        counted: What calls have counted with these sizes, in order; others are taken to count some number.
    """
    tracing = _Tracing(resolver, likely=counted)
    graph = resolver.graph
    names: dict[str, int] = {}
    symbols: list[tuple[int, int]] = []
    for place, (tensor, shape) in enumerate(zip(graph.inputs, input_shapes, strict=True)):
        own: list[int] = []
        for axis, (known, size) in enumerate(zip(graph.tensors[tensor].shape, shape, strict=True)):
            if known != DYNAMIC:
                own.append(known)
                continue
            name = graph.size_names[place][axis] if graph.size_names[place] else ""
            if name and name in names:
                own.append(tracing.trace.size_of(names[name]))
                continue
            names.setdefault(name, len(tracing.trace.values))
            own.append(tracing.trace.atom(size))
            symbols.append((place, axis))
        tracing.set_shape(tensor, tuple(own))
    for place, count in counts.items():
        number = tracing.trace.atom(count)
        tracing.counts.update((tensor, number) for tensor in resolver.counting_inputs[place])
        symbols.append((place, NUMBER))
    if not tracing.calls(graph.calls):
        return None
    return SizeFormulas(
        symbols=symbols,
        derived=tracing.trace.derived,
        conditions=list(tracing.trace.conditions),
        shapes=tracing.shapes,
        bytes=tracing.bytes,
        values=tracing.values,
        words=tracing.words,
        loops=tracing.loops,
        bounds=tracing.bounds,
        late=LateAtoms.of(tracing.trace, tracing.counted),
    )


class _Tracing(Tracing):
    """A trace that goes into loops and branches."""

    def control(self, call: Call, control: Loop | Branch) -> Sequence[Shape] | None:
        """See `Tracing.control`."""
        return _trace_loop(self, control) if isinstance(control, Loop) else _trace_branch(self, control)


def _trace_branch(tracing: Tracing, branch: Branch) -> list[Shape] | None:
    """The sizes of a branch's results; `None` if its sides differ or are not known."""
    if not all(tracing.calls(calls) for calls in branch.calls):
        return None
    then, otherwise = ([tracing.shapes[tensor] for tensor in yielded] for yielded in branch.yielded)
    return then if _are_equal(then, otherwise) else None


def _trace_loop(tracing: Tracing, loop: Loop) -> list[Shape] | None:
    """The sizes of a loop's results; `None` if they are not known.

    Raises:
        UntraceableError: Polynomials do not say them.
    """
    initial = [tracing.shapes[tensor] for tensor in loop.initial]
    rows = [tracing.shapes[tensor] for tensor in loop.rows]
    for tensor, shape in zip(loop.elements, rows, strict=True):
        tracing.set_shape(tensor, shape[1:])
    if any(shape[0] != rows[0][0] for shape in rows):
        return None
    count = _count(tracing, loop, rows)
    if loop.is_counted:
        bound = tracing.bounds[loop.counter] = _bound(tracing, loop, rows)
        count = bound.iterations
    if count is None and loop.stacked:
        return None
    if loop.number is None and loop.counter not in tracing.resolver.changing:
        before = _Before.of(tracing)
        _set_states(tracing, loop, initial)
        if not tracing.calls(loop.calls):
            return None
        following = [tracing.shapes[tensor] for tensor in loop.following]
        if _are_equal(following, initial):
            stacked = _stacked(tracing, loop)
            number = tracing.count(count) if loop.is_counted and count is not None else count or 0
            return [*initial, *((number, *shape) for shape in stacked)]
        before.restore(tracing)
    if count is None or tracing.is_iterating or tracing.counted:
        return None  # the table of its iterations is made before the function runs
    if not 0 < count <= MOST_ITERATIONS:
        raise UntraceableError("too many iterations, or none")
    tracing.is_iterating = True
    try:
        return _trace_iterations(tracing, loop, initial, count)
    finally:
        tracing.is_iterating = False


def _count(tracing: Tracing, loop: Loop, rows: Sequence[Shape]) -> int | None:
    """How often a loop runs, as `iterations` of `shapes` says; `None` if that is not known."""
    if loop.ends_by_condition:
        return None
    count = rows[0][0] if rows else None
    if loop.limit is not None:
        limit = tracing.number_of(loop.limit)
        if limit is None:
            return None
        limit = limit if limit > 0 else 0
        count = limit if count is None or limit < count else count
    return count


def _bound(tracing: Tracing, loop: Loop, rows: Sequence[Shape]) -> Bound:
    """How often a loop may run that counts its iterations."""
    limit = None if loop.limit is None else tracing.number_of(loop.limit)
    return Bound.of(rows[0][0] if rows else None, limit)


def _trace_iterations(tracing: Tracing, loop: Loop, initial: Sequence[Shape], count: int) -> list[Shape] | None:
    before = _Before.of(tracing)
    steps = _steps(tracing, loop, initial)
    before.restore(tracing)
    if steps is None:
        return None
    kinds: list[IterationFormulas] = []
    stacked: list[Shape] | None = None
    left = list(range(_value(count)))
    while left:
        if len(kinds) == MOST_KINDS:
            return None
        kind = _trace_kind(tracing, loop, initial, steps, left[len(left) // 2])
        if kind is None:
            return None
        if stacked is not None and not _are_equal(stacked, _stacked(tracing, loop)):
            return None
        stacked = _stacked(tracing, loop)
        inside = {atom for shape in stacked for size in shape for atom in _atoms(size)}
        if not inside.isdisjoint(kind.atoms):
            return None
        kinds.append(kind)
        left = [number for number in left if not _is_of_kind(kind, number, tracing.trace.values)]
    tracing.loops.append(LoopFormulas(loop.counter, count, kinds))
    own = {atom for kind in kinds for atom in kind.atoms}
    for tensor in loop.tensors:
        if not own.isdisjoint(_atoms(tracing.bytes[tensor])):
            tracing.bytes[tensor] = 0  # the kinds say how many
    number = tracing.count(count) if loop.is_counted else count
    ends = [_after(shape, step, number) for shape, step in zip(initial, steps, strict=True)]
    return [*ends, *((number, *shape) for shape in stacked or ())]


def _steps(tracing: Tracing, loop: Loop, initial: Sequence[Shape]) -> list[Shape] | None:
    """By how much the sizes of states grow in the first iteration (1)."""
    _set_states(tracing, loop, initial)
    _set_number(tracing, loop, 0)
    if not tracing.calls(loop.calls):
        return None
    following = [tracing.shapes[tensor] for tensor in loop.following]
    if any(len(one) != len(other) for one, other in zip(following, initial, strict=True)):
        return None
    # A batch of 1 stays as it is where the body says 1: what is 0 for the sizes that are traced is noted to be 0.
    return [
        tuple([0 if size == first else size - first for size, first in zip(one, other, strict=True)])
        for one, other in zip(following, initial, strict=True)
    ]


def _trace_kind(
    tracing: Tracing, loop: Loop, initial: Sequence[Shape], steps: Sequence[Shape], number: int
) -> IterationFormulas | None:
    """The formulas of iterations like one of them; `None` if the supposition (1) does not hold."""
    trace = tracing.trace
    first, begun = len(trace.values), len(trace.derived)
    known = {*trace.conditions}
    n = trace.atom(number)
    trace.derived.append(Inside(None))
    _set_states(tracing, loop, [_after(shape, step, n) for shape, step in zip(initial, steps, strict=True)])
    _set_number(tracing, loop, n)
    if not tracing.calls(loop.calls):
        return None
    for tensor, shape, step in zip(loop.following, initial, steps, strict=True):
        after = _after(shape, step, n + 1)
        if not all(_is_equal(size, other, first) for size, other in zip(tracing.shapes[tensor], after, strict=True)):
            return None
    atoms = {first: Inside(None)}
    for place in range(begun + 1, len(trace.derived)):
        # Only quotients are found within iterations, each one atom.
        quotient, atom = trace.derived[place], first + place - begun
        if isinstance(quotient, Quotient) and not _atoms_in(quotient).isdisjoint(atoms):
            trace.derived[place] = atoms[atom] = Inside(quotient)
    conditions: list[tuple[Relation, Terms]] = []
    for relation, terms in [each for each in trace.conditions if each not in known]:
        if any(atom in atoms for monomial, _ in terms for atom in monomial):
            del trace.conditions[relation, terms]
            conditions.append((relation, terms))
    inner = loop.tensors
    words = {tensor: tracing.words[tensor] for tensor in inner if tensor in tracing.words}
    values = {tensor: tracing.values[tensor] for tensor in loop.told}
    told = {tensor: value.reshape(-1).tolist() for tensor, value in values.items() if value is not None}
    if len(told) < len(values):
        return None
    return IterationFormulas(atoms, conditions, {tensor: tracing.shapes[tensor] for tensor in inner}, words, told)


def _is_equal(size: int, other: int, first: int) -> bool:
    """Whether two sizes of an iteration are equal in all iterations; atoms from `first` on differ from one to the next.

    Where they are equal for the sizes of inputs that are traced, as a batch of 1 and 1 are, that is noted.
    """
    if is_same(size, other):
        return True
    return all(atom < first for atom in _atoms(size - other)) and size == other


def _is_of_kind(kind: IterationFormulas, number: int, atoms: Sequence[int]) -> bool:
    """Whether an iteration meets the conditions of a kind, for the sizes that are traced."""
    own = [*atoms]
    for atom, inside in kind.atoms.items():
        if inside.quotient is None:
            own[atom] = number
            continue
        divisor = value_of(inside.quotient.divisor, own)
        if divisor <= 0:
            return False
        own[atom] = value_of(inside.quotient.number, own) // divisor
    return all(holds(relation, value_of(terms, own)) for relation, terms in kind.conditions)


@dataclass(frozen=True, slots=True)
class _Before:
    """A trace as it was, for what is tried."""

    values: int
    derived: int
    conditions: Sequence[tuple[Relation, Terms]]

    @staticmethod
    def of(tracing: Tracing) -> "_Before":
        """As it is."""
        trace = tracing.trace
        return _Before(len(trace.values), len(trace.derived), [*trace.conditions])

    def restore(self, tracing: Tracing) -> None:
        """Forget what was found since."""
        trace = tracing.trace
        del trace.values[self.values :], trace.derived[self.derived :]
        trace.conditions = dict.fromkeys(self.conditions)
        trace.quotients = {key: size for key, size in trace.quotients.items() if max(_atoms(size)) < self.values}


def _set_states(tracing: Tracing, loop: Loop, shapes: Sequence[Shape]) -> None:
    for tensor, shape in zip(loop.states, shapes, strict=True):
        tracing.set_shape(tensor, shape)


def _set_number(tracing: Tracing, loop: Loop, number: int) -> None:
    if loop.number is not None:
        value = np.empty((), object)
        value[()] = number
        tracing.values[loop.number] = value


def _stacked(tracing: Tracing, loop: Loop) -> list[Shape]:
    return [tracing.shapes[tensor] for tensor in loop.stacked]


def _after(shape: Shape, step: Shape, count: int) -> Shape:
    """A state's sizes after so many iterations."""
    return tuple([size + by * count for size, by in zip(shape, step, strict=True)])


def _are_equal(some: Sequence[Shape], others: Sequence[Shape]) -> bool:
    return len(some) == len(others) and all(
        len(one) == len(other) and all(size == same for size, same in zip(one, other, strict=True))
        for one, other in zip(some, others, strict=True)
    )


def _value(size: int) -> int:
    return size.value if isinstance(size, TracedSize) else size


def _atoms(size: int) -> set[int]:
    return {atom for monomial in size.terms for atom in monomial} if isinstance(size, TracedSize) else set()


def _atoms_in(quotient: Quotient) -> set[int]:
    return {atom for terms in (quotient.number, quotient.divisor) for monomial, _ in terms for atom in monomial}
