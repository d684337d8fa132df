"""Scalar code as the instructions of a loop program, recorded while `scalars` is asked for it.

Facets say what an element is by the functions of `scalars`. Where code of the IR is wanted, these make ops of `arith`
and `math`; while a `ScalarCode` records they make instructions, and no op is built to be read back. An instruction gets
its operands' places only when a body is cut out of the code, because instructions that nobody needs are left out.
"""

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from fuse_dialect.loops.program import Apply, Body, Instruction, Literal

Making: TypeAlias = Callable[[Sequence[int]], Instruction]
"""Makes an instruction of the places of its operands."""


@dataclass(eq=False)
class ScalarValue(SSAValue[Attribute]):
    """What a recorded instruction gives; it stands in no IR."""

    operands: tuple["ScalarValue", ...]
    make: Making | None
    """Makes the instruction; `None` for a value that comes from elsewhere, the total of a reduction."""

    @property
    def owner(self) -> Operation | Block:
        """No op gives it.

        Raises:
            TypeError: Always.
        """
        raise TypeError("a recorded value has no owner")


class ScalarCode:
    """Instructions in the order in which they were asked for."""

    def __init__(self, origin: str = ""):
        """No code yet; `origin` says which op it will be of."""
        self.origin = origin
        self.values: list[ScalarValue] = []

    @contextmanager
    def recording(self) -> Generator[None]:
        """Within it the functions of `scalars` record here. It may be entered again, and others within it."""
        token = _recorder.set(self)
        try:
            yield
        finally:
            _recorder.reset(token)

    def add(self, type: Attribute, operands: Sequence[SSAValue], make: Making | None) -> ScalarValue:
        """The value of an instruction that nobody has asked for before.

        Args:
            type: Of the value: a float or a signless integer.
            operands: Values that this code has recorded.
            make: See `ScalarValue`.
        """
        value = ScalarValue(type, tuple([_recorded(operand) for operand in operands]), make)
        self.values.append(value)
        return value

    def apply(
        self, function: str, operands: Sequence[SSAValue], type: Attribute, predicate: str | None = None
    ) -> ScalarValue:
        """What a function gives; see `loops.program.Apply`."""
        element, origin = element_name(type), self.origin
        return self.add(type, operands, lambda places: Apply(function, tuple(places), element, predicate, origin))

    def constant(self, value: float, type: Attribute) -> ScalarValue:
        """A number, rounded to the type."""
        made = literal(rounded_to(value, type), type)
        return self.add(type, (), lambda _: made)

    def needed(self, result: SSAValue, until: ScalarValue | None = None) -> Collection[SSAValue]:
        """A value and what it is computed from; `until` is looked up, and not what that is computed from."""
        found: set[SSAValue] = {result}
        for value in reversed(self.values):
            if value is not until and value in found:
                found.update(value.operands)
        return found

    def body(self, result: SSAValue, given: ScalarValue | None = None) -> Body:
        """The instructions that a value needs, in order; `given` stands at place 0 if it is among what they read."""
        needed = self.needed(result, given)
        places: dict[SSAValue, int] = {}
        if given is not None and given in needed:
            places[given] = 0
        first = len(places)
        body: list[Instruction] = []
        for value in self.values:
            if value is given or value not in needed:
                continue
            assert value.make is not None, "the total of one nest is read in another one"
            places[value] = first + len(body)
            body.append(value.make([places[operand] for operand in value.operands]))
        return tuple(body)


_recorder: ContextVar[ScalarCode | None] = ContextVar("recorder of scalar code", default=None)


def recorder() -> ScalarCode | None:
    """Where scalar code is recorded; `None` where it becomes ops."""
    return _recorder.get()


def _recorded(value: SSAValue) -> ScalarValue:
    if isinstance(value, ScalarValue):
        return value
    owner = f"'{value.owner.name}' op" if isinstance(value.owner, Operation) else "block"
    raise TypeError(f"scalar code is written with the functions of 'scalars', got a value of a {owner}")


@lru_cache(256)
def element_name(type: Attribute) -> str:
    """A type as MLIR writes it; printing takes long."""
    return str(type)


def rounded_to(value: float, type: Attribute) -> float:
    """The number of a floating-point type nearest to it, infinite where that has none; of other types as it is."""
    if not isinstance(type, AnyFloat):
        return value
    try:
        return FloatAttr(value, type).value.data
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def literal(value: float, element: Attribute) -> Literal:
    """A number of a (float or signless integer) type; integers that do not fit wrap around.

    Raises:
        TypeError: There is no scalar code on such elements.
    """
    if isinstance(element, AnyFloat):
        return Literal(float(value), element_name(element))
    match element:
        case IntegerType() if element.width.data == 1:
            return Literal(bool(value), "i1")
        case IntegerType():
            width = element.width.data
            wrapped = int(value) & (1 << width) - 1
            return Literal(wrapped - (1 << width) if wrapped >> width - 1 else wrapped, element_name(element))
        case _:
            raise TypeError(f"no scalar code for elements of type {element}")
