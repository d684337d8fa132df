"""What becomes of sums: the `finish` of a stage on several vectors side by side.

1. Vectors take turns, so that a processor has work while one of them waits.
2. Four vectors of 32 bits are one of bytes. Where bytes are rounded to at the end, or looked up, four vectors are one
   for these instructions, and one instruction does for all: processors that look up 16 bytes at a time take as long
   for 32 as for 8. Where there are fewer, the last one fills their place.
3. Not with a mask, nor where a processor narrows and looks up vectors of any length at once.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import Value
from fuse_dialect.backends.llvm.byte_rounding import joined, joined_bytes, parted
from fuse_dialect.backends.llvm.byte_tables import look_up
from fuse_dialect.backends.llvm.memory import Reader
from fuse_dialect.backends.llvm.scalars import emit_instruction
from fuse_dialect.loops.bodies import operands
from fuse_dialect.loops.byte_rounding import TOGETHER, joined_places, joins_vectors
from fuse_dialect.loops.functions import TABLE
from fuse_dialect.loops.program import Apply, Body, Instruction
from fuse_dialect.machines.machine import Machine


def joins_bytes(finish: Body, machine: Machine, lanes: int) -> bool:
    """Whether vectors of so many sums are one somewhere in `finish` (2)."""
    return joins_vectors(machine, lanes) and bool(joined_places(finish, 1))


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
    parts = -(-count // TOGETHER)
    cuts = [number * count // parts for number in range(parts + 1)]
    return list(pairwise(cuts))


class _Together:
    """Some vectors, and the values of the instructions so far: of each vector, or of all as one (2)."""

    def __init__(self, readers: Sequence[Reader], totals: Sequence[Value]):
        self.readers = readers
        self.f: Function = readers[0].addresses.f
        self.machine = readers[0].addresses.frame.machine
        self.items: list[Instruction | None] = [None]
        self.values: list[dict[int, Value]] = [{0: total} for total in totals]
        self.all: dict[int, Value] = {}

    def body(self, body: Body) -> list[Value]:
        """The results of all vectors."""
        places = joined_places(body, 1)
        for place, instruction in enumerate(body, 1):
            match instruction:
                case Apply(function, (source,), _, table) if function == TABLE and isinstance(table, bytes):
                    self.all[place] = look_up(self.f, self.machine, table, self._together(source))
                case Apply(_, (source,), _, zero) if place in places:
                    assert isinstance(zero, int | None), "the parameter of what is rounded is a zero point"
                    self.all[place] = joined_bytes(self.f, self._filled(self._each(source)), zero)
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
        if any(place not in values for values in self.values):
            for values, value in zip(self.values, parted(self.f, self.all[place], len(self.values)), strict=True):
                values[place] = value
        return [values[place] for values in self.values]

    def _together(self, place: int) -> Value:
        """The values of all vectors as one."""
        if place not in self.all:
            self.all[place] = joined(self.f, self._filled(self._each(place)))
        return self.all[place]

    def _filled(self, values: Sequence[Value]) -> list[Value]:
        """Four of them."""
        return [*values, *[values[-1]] * (TOGETHER - len(values))]
