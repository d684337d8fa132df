"""Sizes of all tensors as formulas: found once with traced sizes, good for all sizes that meet the same conditions.

1. Every open size of an input is an atom, those of one name one atom. A call gives what `shapes` says that it gives, by
   the same code, on polynomials.
2. A call that cannot be traced is *asked* again for each set of sizes; the sizes that it gives are atoms, as are the
   elements of a short list of integers. Other settled values of such calls are no formulas; a call that needs their
   elements is asked, too.
3. The number of an iteration is an atom, too, where sizes change with it. Such an atom, and quotients of it, have a
   value for each iteration, and no formula outside of the loop has them.
4. A count is an atom, too. Before the function runs it is taken to be the most that it can be.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fuse_dialect.backends.runtime.entry_graph import Call, EntryGraph
from fuse_dialect.backends.runtime.shapes import Bound, Resolved, SizeResolver
from fuse_dialect.backends.runtime.traced_sizes import (
    Quotient,
    Relation,
    SizeTrace,
    Terms,
    TracedSize,
    holds,
    terms_of,
    value_of,
)
from fuse_dialect.backends.types import Shape
from fuse_dialect.dialect.op import Array


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that is asked for each set of sizes (2); the atoms that it gives are the next ones."""

    call: Call
    words: int
    """How many words it has."""
    numbers: tuple[bool, ...]
    """For each result whether its elements are atoms."""


@dataclass(frozen=True, slots=True)
class Counted:
    """An atom that a call counts while the function runs (4)."""

    bound: int
    """The most that it can be."""


@dataclass(frozen=True, slots=True)
class Inside:
    """An atom that only iterations of a loop have (3): their number, or a quotient."""

    quotient: Quotient | None


@dataclass(frozen=True, slots=True)
class IterationFormulas:
    """What iterations of a loop have that are alike."""

    atoms: Mapping[int, Inside]
    """Those that only they have, in order, by number."""
    conditions: Sequence[tuple[Relation, Terms]]
    """What is so in iterations that are alike."""
    shapes: Mapping[int, Shape]
    """Of the tensors in the body."""
    words: Mapping[int, Sequence[int]]
    """What calls in it are told of sizes, by their first result."""
    told: Mapping[int, Sequence[int]]
    """Settled integers that kernels read, by tensor."""


@dataclass(frozen=True, slots=True)
class LoopFormulas:
    """A loop whose sizes change."""

    counter: int
    count: int
    """How often it runs."""
    kinds: Sequence[IterationFormulas]
    """Each iteration is of one of these."""


@dataclass(frozen=True, slots=True)
class LateAtoms:
    """The atoms that are known only while the function runs (4)."""

    counts: Sequence[int] = ()
    """Those that calls count, in order."""
    quotients: Sequence[tuple[int, Quotient]] = ()
    """Those that are quotients of others, in order."""
    after: Mapping[int, int] = field(default_factory=dict[int, int])
    """For each atom after which of the counts it is known."""

    @classmethod
    def of(cls, trace: SizeTrace, counts: Sequence[int]) -> "LateAtoms":
        """Those of a trace."""
        after = {atom: place for place, atom in enumerate(counts)}
        quotients: list[tuple[int, Quotient]] = []
        late = cls(counts, quotients, after)
        for quotient, size in trace.quotients.items() if counts else ():
            place = max(late.place(quotient.number), late.place(quotient.divisor))
            if place >= 0 and isinstance(size, TracedSize):
                ((atom,),) = size.terms
                after[atom] = place
                quotients.append((atom, quotient))
        return late

    def place(self, terms: Terms) -> int:
        """After which of the counts a polynomial is known; -1 if before all of them."""
        return max((self.after.get(atom, -1) for monomial, _ in terms for atom in monomial), default=-1)


NUMBER = -1
"""The axis of an atom that is the number in an input."""


@dataclass(frozen=True, slots=True)
class SizeFormulas:
    """What a trace has found. Sizes are integers or `TracedSize`."""

    symbols: Sequence[tuple[int, int]]
    """Where inputs have the atoms, in order: number of the input and axis, or `NUMBER`. Sizes of one name are known to
    be equal."""
    derived: Sequence[Quotient | Asked | Inside | Counted]
    """What gives the atoms behind those of the inputs."""
    conditions: Sequence[tuple[Relation, Terms]]
    shapes: Sequence[Shape]
    bytes: Sequence[int]
    values: Mapping[int, Array | None]
    """Settled values: arrays of objects, or of numbers where they are the same for all sizes; `None` if they are no
    formulas."""
    words: Mapping[int, Sequence[int]]
    loops: Sequence[LoopFormulas] = ()
    """Those whose sizes change."""
    bounds: Mapping[int, Bound] = field(default_factory=dict[int, Bound])
    """Of loops that count their iterations, by their counter."""
    late: LateAtoms = field(default_factory=LateAtoms)

    def is_late(self, tensor: int) -> bool:
        """Whether a settled value follows from a count."""
        value = self.values.get(tensor)
        if value is None or value.dtype != object or not self.late.counts:
            return False
        return any(self.late.place(terms_of(number)) >= 0 for number in value.reshape(-1).tolist())

    def hold_for(self, atoms: Sequence[int], counted: Sequence[int]) -> bool:
        """Whether these formulas are for what calls have counted.

        Args:
            atoms: As `found` gives them.
            counted: The counts, in order.
        """
        own = [*atoms]
        for atom, count in zip(self.late.counts, counted, strict=True):
            own[atom] = count
        for atom, quotient in self.late.quotients:
            divisor = value_of(quotient.divisor, own)
            if divisor <= 0:
                return False
            own[atom] = value_of(quotient.number, own) // divisor
        return all(holds(relation, value_of(terms, own)) for relation, terms in self.conditions)

    def found(self, resolver: SizeResolver, shapes: Sequence[Shape], counts: Mapping[int, int]) -> "FoundSizes | None":
        """The atoms for inputs of these shapes; `None` if they are not such as were traced.

        Args:
            resolver: That of the function.
            shapes: Of the inputs.
            counts: The numbers in inputs that say how often loops run.

        Raises:
            FuseError: As `SizeResolver.resolve` does.
        """
        atoms = [counts[place] if axis == NUMBER else shapes[place][axis] for place, axis in self.symbols]
        again = (lambda: resolver.resolve(shapes, counts)) if self.loops else None
        found = FoundSizes(self, atoms, again=again)
        for each in self.derived:
            if isinstance(each, Quotient):
                divisor = value_of(each.divisor, atoms)
                if divisor <= 0:
                    return None
                atoms.append(value_of(each.number, atoms) // divisor)
            elif isinstance(each, Counted):
                atoms.append(found.number(each.bound))
            elif isinstance(each, Inside):
                atoms.append(0)  # no formula outside of the loop has it
            elif not found.ask(resolver, each):
                return None
        return found


@dataclass(frozen=True, slots=True)
class FoundSizes:
    """The atoms for one set of sizes."""

    formulas: SizeFormulas
    atoms: list[int]
    asked: dict[int, Array] = field(default_factory=dict[int, Array])
    """Settled values that are no formulas."""
    again: Callable[[], Resolved | None] | None = None
    """Finds all sizes anew, where formulas do not say those of each iteration; `None` where they say everything."""

    def ask(self, resolver: SizeResolver, asked: Asked) -> bool:
        """Ask a call, whose atoms are the next ones; whether it has given such as were traced."""
        call = asked.call
        shapes = [self.shape(tensor) for tensor in call.arguments]
        given = resolver.ask(call, shapes, [self.value(resolver, tensor) for tensor in call.arguments])
        if given is None or len(given.words) != asked.words:
            return False
        for tensor, shape in zip(call.results, given.shapes, strict=True):
            known = self.formulas.shapes[tensor]
            if len(shape) != len(known):
                return False
            for size, formula in zip(shape, known, strict=True):
                if isinstance(formula, TracedSize):
                    self.atoms.append(size)
                elif size != formula:
                    return False
        for tensor, value, is_number in zip(call.results, given.values, asked.numbers, strict=False):
            if is_number:
                self.atoms.extend(value.reshape(-1).tolist())
            self.asked[tensor] = value
        self.atoms.extend(given.words)
        return True

    def number(self, size: int) -> int:
        """What a size is."""
        return value_of(size.terms, self.atoms) if isinstance(size, TracedSize) else size

    def shape(self, tensor: int) -> Shape:
        """The sizes of a tensor."""
        return tuple([self.number(size) for size in self.formulas.shapes[tensor]])

    def value(self, resolver: SizeResolver, tensor: int) -> Array | None:
        """The elements of a settled value or a constant; `None` of another tensor."""
        if tensor in self.asked:
            return self.asked[tensor]
        value = self.formulas.values.get(tensor)
        if value is None:
            return resolver.graph.constants.get(tensor)
        return self.settled(resolver.graph, tensor, value)

    def value_of(self, graph: EntryGraph, tensor: int) -> Array:
        """The elements of a settled value."""
        value = self.formulas.values[tensor]
        return self.asked[tensor].view() if value is None else self.settled(graph, tensor, value)

    def settled(self, graph: EntryGraph, tensor: int, value: Array) -> Array:
        """The elements of a settled value, dense and read-only."""
        dtype = graph.tensors[tensor].dtype
        if value.dtype == object:
            numbers = [self.number(number) for number in value.reshape(-1).tolist()]
            value = np.array(numbers, dtype).reshape(value.shape)
            value.flags.writeable = False
            return value
        return value.view()

    def counted(self, atoms: Sequence[int]) -> "FoundSizes":
        """The same after a run, which has said all atoms."""
        return FoundSizes(self.formulas, [*atoms], self.asked)

    def resolved(self, graph: EntryGraph) -> Resolved:
        """All that a plan is made of."""
        formulas = self.formulas
        if self.again is not None and (resolved := self.again()) is not None:
            return resolved
        return Resolved(
            [self.shape(tensor) for tensor in range(len(formulas.shapes))],
            [self.number(count) for count in formulas.bytes],
            {tensor: self.value_of(graph, tensor) for tensor in formulas.values},
            {tensor: [self.number(word) for word in words] for tensor, words in formulas.words.items()},
            bounds={
                counter: Bound(self.number(bound.iterations), bound.ends_run)
                for counter, bound in formulas.bounds.items()
            },
        )
