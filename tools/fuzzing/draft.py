"""A program while it is made: every op is proposed, checked by its own shape rule and verifier, and run at once.

Because each value is known when the next op is proposed, a proposal can pick indices that are in range, and an op that
its meaning leaves undefined on these elements is left out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from random import Random
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, Block
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.fields import PropertyValue
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.types import DYNAMIC, ElementType, Tensor, element_dtype, is_tensor, tensor
from fuse_dialect.interpreters.numpy import evaluate
from fuse_dialect.interpreters.values import EvaluationError
from fuse_dialect.interpreters.values import Value as RunValue
from fuse_dialect.pattern_kind import PatternKind
from fuzzing.arrays import MOST_ELEMENTS, SIZES, WEIGHTS, elements
from fuzzing.program import RandomProgram, Source, Step
from fuzzing.undefined import is_defined

UNFORESEEN = (ValueError, TypeError, ArithmeticError)
"""Errors of NumPy that say nothing about the operands; an op rejects them by others, or by an index out of range."""
MOST_BYTES = 1 << 20
"""Of a value whose size is known only when the op runs."""


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A value of the draft and what it is at run time."""

    number: int
    type: Attribute
    value: RunValue
    kind: PatternKind | None = None
    """Kind of the op that makes it; `None` for an argument or constant."""

    @property
    def tensor(self) -> Tensor:
        """Its type."""
        assert is_tensor(self.type), "asked of tensors alone"
        return self.type

    @property
    def array(self) -> Array:
        """Its elements."""
        assert isinstance(self.value, np.ndarray), "asked of tensors alone"
        return self.value

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes at run time."""
        return self.array.shape

    @property
    def element(self) -> Attribute:
        """Element type."""
        return self.tensor.element_type


@dataclass(frozen=True, slots=True)
class Proposal:
    """An op that may be valid."""

    operands: Sequence[Known]
    properties: Mapping[str, PropertyValue] = field(default_factory=dict[str, PropertyValue])
    result_types: Sequence[Attribute] | None = None


@dataclass(eq=False, slots=True)
class Draft:
    """A program under construction."""

    random: Random
    arrays: np.random.Generator
    element: ElementType
    """What fresh values hold unless something else is asked for."""
    style: str
    """See `arrays.elements`."""
    pool: Sequence[int]
    """Sizes that shapes are made of; few, so that values fit each other."""
    open_sizes: frozenset[int] = frozenset()
    """Sizes that types of arguments leave open."""
    may_refuse: bool = False
    """Whether an op that rejects its operands at run time may end the program."""
    sources: dict[int, Source] = field(default_factory=dict[int, Source])
    steps: list[Step] = field(default_factory=list[Step])
    values: list[Known] = field(default_factory=list[Known])
    refused: bool = False
    """Whether the last op rejects its operands."""
    returned: list[int] = field(default_factory=list[int])
    """Values that are returned besides those that nobody reads."""

    def chance(self, probability: float) -> bool:
        """True that often."""
        return self.random.random() < probability

    def size(self) -> int:
        """One of the sizes of this program, seldom another one."""
        if self.chance(0.15):
            return self.random.choices(SIZES, WEIGHTS)[0]
        return self.random.choice(self.pool)

    def shape(self, rank: int) -> tuple[int, ...]:
        """Sizes of a value that is not too large."""
        sizes = [self.size() for _ in range(rank)]
        if rank and self.chance(0.03):
            sizes[self.random.randrange(rank)] = 0
        while prod(sizes) > MOST_ELEMENTS:
            sizes[sizes.index(max(sizes))] = self.random.choice((1, 2, 3))
        return tuple(sizes)

    def axis(self, rank: int) -> int:
        """An axis, counted from either end."""
        return self.random.randrange(-rank, rank) if rank else 0

    def axes(self, rank: int) -> list[int]:
        """Some axes in any order."""
        chosen = self.random.sample(range(rank), self.random.randint(0, rank))
        return [axis - rank if self.chance(0.2) else axis for axis in chosen]

    def fresh(
        self,
        shape: Sequence[int],
        element: Attribute | None = None,
        *,
        array: Array | None = None,
        is_constant: bool | None = None,
        keep_closed: bool = False,
    ) -> Known:
        """A new argument or constant.

        Args:
            shape: Sizes at run time.
            element: Element type; that of the draft by default.
            array: Elements, if these and no others will do.
            is_constant: By default sometimes.
            keep_closed: Whether the type must know all sizes.
        """
        element = self.element if element is None else element
        if array is None:
            style = self.style if not self.chance(0.1) else "plain"
            array = elements(self.arrays, shape, element, style)  # pyright: ignore[reportArgumentType]  # one of ours
        array = np.asarray(array)
        constant = self.chance(0.25) if is_constant is None else is_constant
        if constant and array.size and self.chance(0.4):
            array = np.broadcast_to(array.reshape(-1)[0], array.shape)
        sizes, names = list(array.shape), [""] * array.ndim
        for place, size in enumerate(sizes):
            if not constant and not keep_closed and size in self.open_sizes and self.chance(0.85):
                sizes[place], names[place] = DYNAMIC, "" if self.chance(0.25) else f"s{size}"
        known = Known(len(self.values), tensor(sizes, element), array)
        self.values.append(known)
        self.sources[known.number] = Source(known.tensor, array, constant, tuple(names) if any(names) else ())
        return known

    def integers(self, numbers: Sequence[int], element: Attribute) -> Known:
        """A new list of numbers, which must fit the type: an argument or a constant."""
        return self.fresh((), element, array=np.array(list(numbers), element_dtype(element)), keep_closed=True)

    def number(self, value: float, element: Attribute) -> Known:
        """A new value of rank 0."""
        return self.fresh((), element, array=np.array(value, element_dtype(element)))

    def find(self, fits: Callable[[Known], bool]) -> Known | None:
        """A tensor of the draft that fits, late ones more often."""
        fitting = [known for known in self.values if is_tensor(known.type) and fits(known)]
        if not fitting:
            return None
        return self.random.choice(fitting[-2:] if self.chance(0.6) else fitting)

    def of_rank(self, subject: Known, rank: int, *, least: int = 1) -> Known:
        """The subject if it has the rank and `least` elements an axis, else one that has, by a reshape or anew."""

        def fits(known: Known) -> bool:
            return len(known.shape) == rank and min(known.shape, default=1) >= least

        if fits(subject):
            return subject
        same = self.find(lambda known: fits(known) and known.element == subject.element)
        if same is not None and self.chance(0.5):
            return same
        if subject.array.size >= least and self.chance(0.7):
            reshaped = self.reshaped(subject, factors(self.random, subject.array.size, rank))
            if reshaped is not None and fits(reshaped):
                return reshaped
        return self.fresh([max(least, size) for size in self.shape(rank)], subject.element)

    def reshaped(self, subject: Known, shape: Sequence[int]) -> Known | None:
        """The subject in another shape, by an op."""
        from fuse_dialect.dialect.ops.layout import ReshapeOp

        made = self.apply(ReshapeOp, Proposal((subject,), {}, (tensor(shape, subject.element),)))
        return made[0] if made else None

    def companion(self, subject: Known) -> Known:
        """Another operand for an op that broadcasts: of the subject's element type."""
        way = self.random.random()
        if way < 0.1:
            return subject
        if way < 0.35:
            found = self.find(lambda known: known.element == subject.element and _broadcast(known, subject))
            if found is not None:
                return found
        shape = list(subject.shape)
        if way > 0.6:
            shape = shape[self.random.randint(0, len(shape)) :]
            shape = [1 if self.chance(0.4) else size for size in shape]
        elif way > 0.55:
            shape = [self.size() if size == 1 else size for size in shape]
        if prod(shape) > MOST_ELEMENTS:
            shape = []
        return self.fresh(shape, subject.element)

    def apply(self, op_class: type[FuseOp], proposal: Proposal) -> list[Known] | None:
        """Add an op; `None` where the shape rule, the verifier, or the elements do not allow it.

        Raises:
            EvaluationError: NumPy fails in the op's `evaluate`, which is an error there.
        """
        if self.refused:
            return None
        block = Block(arg_types=[operand.type for operand in proposal.operands])
        try:
            properties: dict[str, Any] = dict(proposal.properties)
            op = op_class(*block.args, result_types=proposal.result_types, **properties)
            op.verify()
        except VerifyException:
            return None
        if any(_elements_of(type) > MOST_ELEMENTS for type in op.result_types):
            return None
        arrays = [operand.value for operand in proposal.operands]
        if not is_defined(op, arrays):
            return None
        try:
            results = evaluate(op, arrays, MOST_BYTES)
        except EvaluationError as error:
            if isinstance(error.__cause__, UNFORESEEN):
                raise
            if not self.may_refuse:
                return None
            self.refused, results = True, ()
        shapes = tuple(value.shape if isinstance(value, np.ndarray) else () for value in results)
        numbers = tuple(range(len(self.values), len(self.values) + len(op.results)))
        operands = tuple(operand.number for operand in proposal.operands)
        self.steps.append(Step(op_class, operands, numbers, tuple(op.result_types), dict(op.properties), shapes))
        if self.refused:
            results = tuple(np.zeros(()) for _ in op.results)
        made = [
            Known(number, type, value, op.kind)
            for number, type, value in zip(numbers, op.result_types, results, strict=True)
        ]
        self.values += made
        return made

    def finish(self, seed: int) -> RandomProgram:
        """The program; values that nobody reads are returned, and some others."""
        read = {operand for step in self.steps for operand in step.operands}
        made = [number for step in self.steps for number in step.results]
        outputs = [number for number in made if number not in read or self.chance(0.15)]
        if self.chance(0.05):
            outputs.append(self.random.choice(outputs or list(self.sources)))
        outputs += self.returned
        if not outputs:
            outputs = list(self.sources)[:1]
        return RandomProgram(seed, self.sources, tuple(self.steps), tuple(outputs)).pruned()


def _broadcast(one: Known, other: Known) -> bool:
    pairs = zip(reversed(one.shape), reversed(other.shape), strict=False)
    return len(one.shape) <= len(other.shape) and all(a in (1, b) for a, b in pairs)


def _elements_of(type: Attribute) -> int:
    if isinstance(type, TupleType):
        return 0
    assert is_tensor(type), "a value is a tensor or a tuple"
    return prod(1 if size == DYNAMIC else size for size in type.get_shape())


def factors(random: Random, count: int, rank: int) -> list[int]:
    """A shape of so many elements."""
    shape = [1] * rank
    if rank:
        rest = count
        for prime in (2, 3, 5, 7, 11, 13):
            while rest and rest % prime == 0 and rest > 1:
                shape[random.randrange(rank)] *= prime
                rest //= prime
        shape[random.randrange(rank)] *= rest
    return shape
