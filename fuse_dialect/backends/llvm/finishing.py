"""What becomes of sums: the `finish` of a stage on several vectors side by side.

1. Vectors take turns, so that a processor has work while one of them waits.
2. Four vectors of 32 bits are one of bytes. Where bytes are rounded to at the end, or looked up, four vectors are one
   for these instructions, and one instruction does for all: processors that look up 16 bytes at a time take as long
   for 32 as for 8. Where there are fewer, the last one fills their place.
3. Not with a mask, nor where a processor narrows and looks up vectors of any length at once.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import Value
from fuse_dialect.backends.llvm.byte_rounding import rounded_bytes
from fuse_dialect.backends.llvm.byte_tables import look_up
from fuse_dialect.backends.llvm.memory import Reader
from fuse_dialect.backends.llvm.scalars import emit_instruction
from fuse_dialect.loops.bodies import operands
from fuse_dialect.loops.functions import BYTE, INDEX, TABLE
from fuse_dialect.loops.program import Apply, Body, Instruction
from fuse_dialect.loops.scheduling import CHAINS
from fuse_dialect.machines.machine import Machine, Unit

_BYTES = 32
"""Of the vectors that four vectors of 32 bits become (2)."""


def joins_bytes(finish: Body, machine: Machine, lanes: int) -> bool:
    """Whether vectors of so many sums are one somewhere in `finish` (2)."""
    is_short = Unit.BYTE_SHUFFLES in machine.units and Unit.BYTE_TABLES not in machine.units
    return is_short and CHAINS * lanes == machine.vector_bytes == _BYTES and any(map(_is_of_bytes, finish))


def finished(readers: Sequence[Reader], finish: Body, totals: Sequence[Value]) -> list[Value]:
    """The results of some vectors of sums.

    Args:
        readers: What is around each vector; all of one number of lanes.
        finish: Instructions on a sum; none leave it as it is.
        totals: The sums.
    """
    if not finish:
        return list(totals)
    at = readers[0].addresses
    joins = joins_bytes(finish, at.frame.machine, at.lanes) and all(reader.mask is None for reader in readers)
    results: list[Value] = []
    for start, stop in _parts(len(totals)):
        part = slice(start, stop)
        if joins and stop - start > 1:
            results += _Together(readers[part], totals[part]).body(finish)
        else:
            alone = zip(readers[part], totals[part], strict=True)
            results += at.f.interleaved([partial(reader.body, finish, [total]) for reader, total in alone])
    return results


def _parts(count: int) -> list[tuple[int, int]]:
    """So many vectors in as few parts as hold four at most, all about as long: none is left alone."""
    parts = -(-count // CHAINS)
    cuts = [number * count // parts for number in range(parts + 1)]
    return list(pairwise(cuts))


def _is_of_bytes(instruction: Instruction) -> bool:
    return isinstance(instruction, Apply) and instruction.function in (BYTE, INDEX, TABLE)


class _Together:
    """Some vectors, and the values of the instructions so far: of each vector, or of all as one (2)."""

    def __init__(self, readers: Sequence[Reader], totals: Sequence[Value]):
        self.readers = readers
        self.f: Function = readers[0].addresses.f
        self.machine = readers[0].addresses.frame.machine
        self.items: list[Instruction | None] = [None]
        self.values: list[dict[int, Value]] = [{0: total} for total in totals]
        self.joined: dict[int, Value] = {}

    def body(self, body: Body) -> list[Value]:
        """The results of all vectors."""
        ends = _joined_places(body)
        for place, instruction in enumerate(body, 1):
            match instruction:
                case Apply(function, (source,), _, table) if function == TABLE and isinstance(table, bytes):
                    self.joined[place] = look_up(self.f, self.machine, table, self._together(source))
                case Apply(_, (source,), _, zero) if place in ends and isinstance(zero, int):
                    self.joined[place] = rounded_bytes(self.f, self._filled(self._each(source)), zero)
                case _:
                    self._take_turns(place, instruction)
            self.items.append(instruction)
        return self._each(len(body))

    def _take_turns(self, place: int, instruction: Instruction) -> None:
        """Compute an instruction for each vector (1)."""
        for source in operands(instruction):
            self._each(source)

        def one(reader: Reader, values: Mapping[int, Value]) -> Value:
            return reader.scalars.wide(emit_instruction(reader.scalars, reader, instruction, values, self.items))

        found = self.f.interleaved(
            [partial(one, reader, values) for reader, values in zip(self.readers, self.values, strict=True)]
        )
        for values, value in zip(self.values, found, strict=True):
            values[place] = value

    def _each(self, place: int) -> list[Value]:
        """The value of each vector."""
        lanes = self.readers[0].addresses.lanes
        for number, values in enumerate(self.values):
            if place not in values:
                all = self.joined[place]
                values[place] = self.f.shuffle(all, all, list(range(number * lanes, (number + 1) * lanes)))
        return [values[place] for values in self.values]

    def _together(self, place: int) -> Value:
        """The values of all vectors as one."""
        if place not in self.joined:
            one, other, third, last = self._filled(self._each(place))
            count = one.type.lanes
            low, high = (self.f.shuffle(*pair, list(range(2 * count))) for pair in ((one, other), (third, last)))
            self.joined[place] = self.f.shuffle(low, high, list(range(4 * count)))
        return self.joined[place]

    def _filled(self, values: Iterable[Value]) -> list[Value]:
        """Four of them."""
        found = list(values)
        return [*found, *[found[-1]] * (CHAINS - len(found))]


def _joined_places(body: Body) -> frozenset[int]:
    """The places of bytes that are rounded to at the end, or looked up."""
    looked_up = {each.operands[0] for each in body if isinstance(each, Apply) and each.function == TABLE}
    return frozenset(
        place
        for place, each in enumerate(body, 1)
        if isinstance(each, Apply) and each.function in (BYTE, INDEX) and (place in looked_up or place == len(body))
    )
