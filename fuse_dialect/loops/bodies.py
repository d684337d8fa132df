"""Bodies: built instruction by instruction, each once, with indices and guards simplified; and what they cost."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import is_

from fuse_dialect.counts import Size
from fuse_dialect.loops.functions import scalar_function
from fuse_dialect.loops.indices import Guard, Index, holds, loop, number, simplified, substituted
from fuse_dialect.loops.program import (
    Apply,
    Body,
    Extent,
    Inside,
    Instruction,
    Literal,
    Position,
    Read,
    Stage,
    Value,
)


def cost(body: Body) -> int:
    """What a body costs, about, in additions; reads at known places cost nothing."""
    total = 0
    for instruction in body:
        match instruction:
            case Apply():
                total += scalar_function(instruction.function).cost
            case Read():
                total += len(instruction.guards) + sum(isinstance(index, Value) for index in instruction.indices)
            case Inside():
                total += len(instruction.guards)
            case Literal() | Position() | Extent():
                pass
    return total


@dataclass(eq=False, slots=True)
class BodyBuilder:
    """A body in the making, over axes of known extents. Equal instructions are one."""

    extents: Sequence[Size]
    first: int = 0
    """Number of values that stand before the first instruction: 1 in `finish`."""
    instructions: list[Instruction] = field(default_factory=list[Instruction])
    _places: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, instruction: Instruction) -> int:
        """The place of an instruction, a new one or that of its equal."""
        simple = self._simplified(instruction)
        if isinstance(simple, int):
            return simple
        key = repr(simple)  # unlike `==` it tells -0.0 from 0.0
        place = self._places.get(key)
        if place is None:
            # Equal instructions are one: the first stands before every later one, so SSA order stays.
            place = self._places[key] = self.first + len(self.instructions)
            self.instructions.append(simple)
        return place

    def _simplified(self, instruction: Instruction) -> "Instruction | int":
        match instruction:
            case Read():
                return self._read(instruction)
            case Position():
                return replace(instruction, index=simplified(instruction.index, self.extents))
            case Inside():
                guards, known = self._guards(instruction.guards)
                return Inside(guards) if known is None else Literal(known, "i1")
            case Apply("arith.select", (condition, one, other)):
                match self._literal(condition):
                    case Literal(True):
                        return one
                    case Literal(False):
                        return other
                    case _:
                        one = self._where(condition, one)
                        return one if one == other else replace(instruction, operands=(condition, one, other))
            case Apply("arith.extf" | "arith.extsi", (operand,), element):
                match self._literal(operand):
                    # True is -1 where i1 is read as signed and 1 elsewhere, so truth values are left to the function.
                    case Literal(value, source) if source != "i1":
                        return Literal(value, element)
                    case _:
                        return instruction
            case Apply("arith.trunci", (operand,), element):
                # What was only made wider is as it was.
                match self.instructions[operand - self.first] if operand >= self.first else None:
                    case Apply("arith.extui" | "arith.extsi", (source,)) if self._element(source) == element:
                        return source
                    case _:
                        return instruction
            case Apply("arith.fptoui" | "arith.fptosi", (operand,)):
                return replace(instruction, operands=(self._without_bounds(instruction, operand),))
            case Apply():
                known = [self._literal(place) for place in instruction.operands]
                folded = _folded(instruction, [literal.value for literal in known if literal is not None])
                return folded if folded is not None and None not in known else instruction
            case _:
                return instruction

    def _where(self, condition: int, place: int) -> int:
        """The place of a value that is the same wherever guards hold, and anything elsewhere.

        Choices by the same guards are made already, and a number without indices is there anyhow. A chain of functions
        that is read with padding around makes such a choice behind each of them.
        """
        inside = self.instructions[condition - self.first] if condition >= self.first else None
        if not isinstance(inside, Inside):
            return place
        needed, changed = {place}, dict[int, int]()
        for at in range(place, self.first - 1, -1):
            if at in needed:
                needed.update(operands(self.instructions[at - self.first]))
        for at in sorted(needed - set(range(self.first))):
            match self.instructions[at - self.first]:
                case Apply("arith.select", (chosen, one, _)) if chosen == condition:
                    changed[at] = changed.get(one, one)
                case Read(indices=(), guards=guards) as read if guards and guards == inside.guards:
                    changed[at] = self.add(replace(read, guards=(), otherwise=None))
                case Apply(_, used) as apply if any(each in changed for each in used):
                    changed[at] = self.add(replace(apply, operands=tuple(changed.get(each, each) for each in used)))
                case _:
                    pass
        return changed.get(place, place)

    def _without_bounds(self, conversion: Apply, place: int) -> int:
        """What is converted to integers, before it is bounded by the least and greatest of them, as conversions do."""
        bits = {"i8": 8, "i16": 16}.get(conversion.element)
        if bits is None:  # the bounds of others are no floats
            return place
        is_signed = conversion.function == "arith.fptosi"
        least, greatest = -(1 << bits - 1) if is_signed else 0, (1 << bits - is_signed) - 1
        bounds = {"arith.maximumf": least, "arith.minimumf": greatest}
        while place >= self.first:
            match self.instructions[place - self.first]:
                case Apply(function, (value, bound)) if function in bounds:
                    literal = self._literal(bound)
                    if literal is None or literal.value != bounds[function]:
                        return place
                    place = value
                case _:
                    return place
        return place

    def _element(self, place: int) -> str:
        """The element type of a value; empty for what has none of its own, or stands before the first."""
        instruction = self.instructions[place - self.first] if place >= self.first else None
        return instruction.element if isinstance(instruction, Read | Apply | Literal) else ""

    def _literal(self, place: int) -> Literal | None:
        instruction = self.instructions[place - self.first] if place >= self.first else None
        return instruction if isinstance(instruction, Literal) else None

    def _read(self, read: Read) -> Read | Literal:
        guards, known = self._guards(read.guards)
        if known is False:
            assert read.otherwise is not None, "a read with guards says what it gives elsewhere"
            return read.otherwise
        indices = tuple(self._index(index) for index in read.indices)
        if not read.guards and all(map(is_, indices, read.indices)):
            return read  # as most are: a copy takes long
        return replace(read, indices=indices, guards=guards, otherwise=read.otherwise if guards else None)

    def _index(self, index: Index | Value) -> Index | Value:
        """An index as simple as can be: a computed one that is known is a number."""
        if isinstance(index, Index):
            return simplified(index, self.extents)
        literal = self._literal(index.place)
        return index if literal is None else number(int(literal.value))

    def _guards(self, guards: Iterable[Guard]) -> tuple[tuple[Guard, ...], bool | None]:
        """The guards that are not always true; and true if there is none, false if one never holds."""
        left: dict[Guard, None] = {}
        for guard in guards:
            guard = Guard(simplified(guard.index, self.extents), guard.size)
            # A guard that never holds decides the read; one that always holds says nothing.
            held = holds(guard, self.extents)
            if held is False:
                return (), False
            if held is None:
                left[guard] = None
        return tuple(left), None if left else True

    def copy(self, body: Body, places: list[int]) -> int:
        """Append a body over the same axes.

        Args:
            body: Its instructions.
            places: Where the values before its first instruction stand here; it is filled up with those of the body.

        Returns:
            The place of its last value.
        """
        for instruction in body:
            places.append(self.add(moved(instruction, places)))
        return places[-1]

    def finished(self, result: int) -> Body:
        """The instructions that a value needs, which is the last one; none if it stands before the first."""
        needed = {result}
        # Backwards, because operands stand before what needs them: one pass finds them all.
        for place in range(result, self.first - 1, -1):
            if place in needed:
                needed.update(operands(self.instructions[place - self.first]))
        places = list(range(self.first))
        body: list[Instruction] = []
        for place in range(self.first, result + 1):
            places.append(self.first + len(body))
            if place in needed:
                body.append(moved(self.instructions[place - self.first], places))
        return tuple(body)


_FOLDED: Mapping[str, Callable[[int, int], int]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.maxsi": max,
    "arith.minsi": min,
}
"""Functions on i64 that are computed here: counts and positions are made of them."""
_COMPARED: Mapping[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "slt": operator.lt,
    "sle": operator.le,
    "sgt": operator.gt,
    "sge": operator.ge,
}
"""Comparisons of known integers, by the parameter of `arith.cmpi`."""


def _folded(instruction: Apply, values: Sequence[float]) -> Literal | None:
    """The value of a function of known numbers, where that is exact."""
    match instruction.function, values:
        case "arith.sitofp", [int(value)] if abs(value) < 1 << 24 and instruction.element in ("f32", "f64"):
            return Literal(float(value), instruction.element)
        case name, [int(one), int(other)] if name in _FOLDED and instruction.element == "i64":
            value = _FOLDED[name](one, other)
            return Literal(value, "i64") if abs(value) < 1 << 63 else None
        # A true i1 would be read as -1.
        case "arith.cmpi", [int(one), int(other)] if str(instruction.parameter) in _COMPARED and not (
            isinstance(one, bool) or isinstance(other, bool)
        ):
            return Literal(_COMPARED[str(instruction.parameter)](one, other), "i1")
        case _:
            return None


def needed_of(body: Sequence[Instruction], first: int) -> Body:
    """The instructions that the last one needs; `first` values stand before the first one."""
    needed = {first + len(body) - 1}
    for place in range(first + len(body) - 1, first - 1, -1):
        if place in needed:
            needed.update(operands(body[place - first]))
    places, left = list(range(first)), list[Instruction]()
    for place, instruction in enumerate(body, first):
        places.append(first + len(left))
        if place in needed:
            left.append(moved(instruction, places))
    return tuple(left)


def operands(instruction: Instruction) -> tuple[int, ...]:
    """The places that an instruction reads."""
    match instruction:
        case Apply():
            return instruction.operands
        case Read():
            return tuple(index.place for index in instruction.indices if isinstance(index, Value))
        case _:
            return ()


def moved(instruction: Instruction, places: Sequence[int] | Mapping[int, int]) -> Instruction:
    """The instruction with operands at other places."""
    match instruction:
        case Apply():
            operands = tuple([places[place] for place in instruction.operands])
            return instruction if operands == instruction.operands else replace(instruction, operands=operands)
        case Read() if any(isinstance(index, Value) for index in instruction.indices):
            indices = tuple(
                Value(places[index.place]) if isinstance(index, Value) else index for index in instruction.indices
            )
            return replace(instruction, indices=indices)
        case _:
            return instruction


def with_indices(instruction: Instruction, changed: Callable[[Index], Index]) -> Instruction:
    """The instruction with changed indices, those of its guards too; indices that the body computes stay."""

    def guards(old: Iterable[Guard]) -> tuple[Guard, ...]:
        return tuple(Guard(changed(guard.index), guard.size) for guard in old)

    match instruction:
        case Read():
            indices = tuple(index if isinstance(index, Value) else changed(index) for index in instruction.indices)
            if not instruction.guards and all(map(is_, indices, instruction.indices)):
                return instruction
            return replace(instruction, indices=indices, guards=guards(instruction.guards))
        case Position():
            return replace(instruction, index=changed(instruction.index))
        case Inside():
            return Inside(guards(instruction.guards))
        case _:
            return instruction


def indices_of(body: Body) -> list[Index]:
    """All indices in a body, those of guards too."""
    found: list[Index] = []
    for instruction in body:
        match instruction:
            case Read(_, indices, _, guards):
                found += [index for index in indices if isinstance(index, Index)]
                found += [guard.index for guard in guards]
            case Position(index):
                found.append(index)
            case Inside(guards):
                found += [guard.index for guard in guards]
            case _:
                pass
    return found


def over(instruction: Instruction, values: Sequence[Index], extents: Sequence[Size]) -> Instruction:
    """The instruction with indices in place of the loop variables; these are over axes of `extents`."""
    return with_indices(instruction, lambda index: substituted(index, values, extents))


def body_over(body: Body, values: Sequence[Index], extents: Sequence[Size]) -> Body:
    """The body with indices in place of the loop variables."""
    return tuple(over(instruction, values, extents) for instruction in body)


def reads(body: Body, buffer: str | None = None) -> list[Read]:
    """The reads of a body, all or those of one buffer."""
    return [
        instruction
        for instruction in body
        if isinstance(instruction, Read) and (buffer is None or instruction.buffer == buffer)
    ]


def with_maps(stage: Stage, maps: Mapping[str, Stage]) -> Body | None:
    """The body of a stage that computes maps where it read them.

    Args:
        stage: What reads them.
        maps: By the buffers that they write.

    Returns:
        `None` if one is read otherwise than point by point.
    """
    if any(isinstance(each, Read) and each.buffer in maps for each in stage.finish):
        return None
    builder = BodyBuilder([axis.size for axis in stage.axes])
    places: list[int] = []
    for each in stage.body:
        if isinstance(each, Read) and each.buffer in maps:
            writer = maps[each.buffer]
            stored = dict(zip(writer.stored, each.indices, strict=True))
            values = [stored.get(loop(axis)) for axis in range(len(writer.axes))]
            known = [value for value in values if isinstance(value, Index)]
            if each.guards or len(known) < len(values):
                return None
            places.append(builder.copy(body_over(writer.body, known, builder.extents), []))
        else:
            places.append(builder.add(moved(each, places)))
    return builder.finished(places[-1])
