"""Whether the loops of a scheduled kernel keep their values apart: reads are followed back to who wrote last.

For some points of each stage, each element that it reads of a local buffer or a result is looked up in memory, where
`LocalPlaces` says. Steps of a kernel are ordered by phase, row and nest; the points of one nest have no order, because
they run in vectors, tiles and parts, but one point reads before it stores. Checked is:

1. An element without memory is read at the point that computes it; or it is the one value of its row, which an earlier
   nest of the row has computed.
2. An element in memory has been written by the last stage before, in program order, that stores it: in an earlier nest
   of the same row, or in an earlier phase if the buffer has all rows and no other thread may have written it.
3. Nothing else is written there between: no other buffer that shares the memory, at any point.
4. A result is not written over after its stage.
5. What lies in a result has its size, and what lies in a workspace has room.

Where a stage of thousands of points stores through quotients of its axes, who stores an element is not looked for.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod

from fuse_dialect.backends.checking.points import UnknownPointError, holds, known, number_of, some_points
from fuse_dialect.backends.checking.scheduled_stages import Point, ScheduledStage, Time, scheduled_stages, sizes_of
from fuse_dialect.checked import CheckError
from fuse_dialect.loops.elements import element_bytes
from fuse_dialect.loops.indices import Index
from fuse_dialect.loops.local_places import LocalPlaces
from fuse_dialect.loops.program import Buffer, Read, Role
from fuse_dialect.loops.schedule import Schedule


def check_kernel_memory(plan: Schedule, places: LocalPlaces) -> None:
    """Check where the local buffers of a scheduled program live.

    Raises:
        CheckError: A stage would read something else than the program means.

    Complexity: in proportion to the reads, times the stages that share memory.
    """
    _Check(plan, places).run()


@dataclass(frozen=True, slots=True)
class _Lookup:
    """One element that one point of a stage reads."""

    reader: ScheduledStage
    read: Read
    point: Point
    element: tuple[int, ...]
    is_finish: bool
    """Whether it is read after the reduced axes."""

    def __str__(self) -> str:
        return f"'{self.reader.name}' at {self.point} reads '{self.read.buffer}'{list(self.element)}"

    @property
    def time(self) -> Time:
        return self.reader.time(self.point)


class _Check:
    def __init__(self, plan: Schedule, places: LocalPlaces):
        self.plan, self.places = plan, places
        self.sizes = sizes_of(plan.program)
        self.buffers = {buffer.name: buffer for buffer in plan.program.buffers}
        self.stages = scheduled_stages(plan, self.sizes)
        self.writers: dict[str, list[ScheduledStage]] = {}
        """Who stores to each buffer, in the order of the program."""
        for stage in self.stages:
            self.writers.setdefault(stage.buffer, []).append(stage)

    def run(self) -> None:
        self.check_room()
        for stage in self.stages:
            for lookup in self.lookups(stage):
                with suppress(UnknownPointError):
                    self.check_lookup(lookup)
        for name, buffer in self.buffers.items():
            if buffer.role is Role.RESULT:
                with suppress(UnknownPointError):
                    self.check_result(name)

    def shape(self, buffer: str) -> tuple[int, ...]:
        return tuple(known(size, self.sizes) for size in self.buffers[buffer].shape)

    def bytes_of(self, buffer: Buffer) -> int:
        return prod(self.shape(buffer.name)) * element_bytes(buffer.element)

    def is_in_memory(self, buffer: str) -> bool:
        is_local = self.buffers[buffer].role is Role.LOCAL
        return not is_local or buffer in self.places.sizes or buffer in self.places.shared

    def memory_of(self, buffer: str) -> str:
        """The buffer whose memory it is in."""
        return self.places.shared.get(buffer, buffer)

    def check_room(self) -> None:
        """(5)."""
        for local, result in self.places.shared.items():
            if self.bytes_of(self.buffers[local]) > self.bytes_of(self.buffers[result]):
                raise CheckError(f"'{local}' is larger than '{result}', in which it lies")
        for local, room in self.places.sizes.items():
            for writer in self.writers.get(local, ()):
                single = writer.row_dimensions if local in self.places.of_a_row else frozenset[int]()
                needed = prod(size for place, size in enumerate(self.shape(local)) if place not in single)
                if needed > room:
                    raise CheckError(f"'{local}' needs room for {needed} elements, and has {room}")

    def lookups(self, reader: ScheduledStage) -> Iterator[_Lookup]:
        """What some points of a stage read of buffers that the kernel writes."""
        stage = reader.stage
        body = [inner for inner in stage.body if isinstance(inner, Read)]
        if stage.scatter is not None:
            body.append(Read(stage.scatter.places, stage.scatter.indices, "i64"))
        finish = [inner for inner in stage.finish if isinstance(inner, Read)]
        for is_finish, found in ((False, body), (True, finish)):
            extents = reader.extents[: reader.stored_axes] if is_finish else reader.extents
            wanted = [read for read in found if read.buffer in self.writers]
            for point in some_points(extents) if wanted else ():
                for read in wanted:
                    if holds(read.guards, point, self.sizes):
                        yield from self.elements(_Lookup(reader, read, point, (), is_finish))

    def elements(self, lookup: _Lookup) -> Iterator[_Lookup]:
        """The element that is read; if the body computes its place, the first element and the last."""
        indices, shape = lookup.read.indices, self.shape(lookup.read.buffer)
        computed = any(not isinstance(index, Index) for index in indices)
        for is_last in (False, True) if computed else (False,):
            element = tuple(
                number_of(index, lookup.point) if isinstance(index, Index) else (size - 1) * is_last
                for index, size in zip(indices, shape, strict=True)
            )
            yield _Lookup(lookup.reader, lookup.read, lookup.point, element, lookup.is_finish)

    def check_lookup(self, lookup: _Lookup) -> None:
        writer, source = self.writer_of(lookup)
        begun, now = writer.time(source), lookup.time
        if begun == now and source == lookup.point and self.is_register(writer, lookup):
            return  # (1), or (2) without a way through memory
        if not self.is_in_memory(lookup.read.buffer):
            if begun[:2] == now[:2] and begun[2] < now[2] and writer.has_one_value:
                return  # (1)
            raise CheckError(f"{lookup}, which has no memory and is computed at {source} of '{writer.name}'")
        # (2)
        if begun >= now or (begun[0] == now[0] and begun[1] != now[1]):
            raise CheckError(f"{lookup}, which '{writer.name}' stores at {source}: not before, or in another row")
        if begun[0] != now[0]:
            is_own = self.plan.phases[writer.phase].is_everyones or not self.plan.is_parallel
            if not is_own or lookup.read.buffer in self.places.of_a_row:
                raise CheckError(f"{lookup}, which '{writer.name}' stores for another thread, or another row")
        self.check_untouched(lookup, writer, begun)

    def writer_of(self, lookup: _Lookup) -> tuple[ScheduledStage, Point]:
        """The last stage before the reader that stores the element, and the point that does."""
        reader = lookup.reader
        for writer in reversed(self.writers[lookup.read.buffer]):
            if writer.order < reader.order:
                row = reader.row_of(lookup.point) if writer.phase == reader.phase else {}
                source = writer.storing(lookup.element, row)
                if source is not None:
                    return writer, source
        raise CheckError(f"{lookup}, which no earlier stage stores")

    def is_register(self, writer: ScheduledStage, lookup: _Lookup) -> bool:
        """Whether the reader has what the writer computes at the same point."""
        return writer.stage.reduction is None and not lookup.read.guards and not lookup.is_finish

    def check_untouched(self, lookup: _Lookup, writer: ScheduledStage, begun: Time) -> None:
        """(3): nobody stores to the place of the element between its writer and its reader."""
        buffer, reader, now = lookup.read.buffer, lookup.reader, lookup.time
        single = writer.row_dimensions if buffer in self.places.of_a_row else frozenset[int]()
        cell = tuple(0 if place in single else index for place, index in enumerate(lookup.element))
        for other in self.stages:
            shares = self.memory_of(other.buffer) == self.memory_of(buffer) and self.is_in_memory(other.buffer)
            if other is writer or not shares:
                continue
            stored = other.storing(cell, reader.row_of(lookup.point) if other.phase == reader.phase else {})
            if stored is None or not begun <= (time := other.time(stored)) <= now:
                continue
            if time == now and stored == lookup.point[: len(stored)] and self.is_later(other, lookup):
                continue
            raise CheckError(f"{lookup}, where '{other.name}' stores '{other.buffer}' before")

    def is_later(self, other: ScheduledStage, lookup: _Lookup) -> bool:
        """Whether a stage of the same nest stores after another one reads at the same point."""
        if not lookup.is_finish:
            return True
        # Maps have stored by then, and reductions end in the order of the program.
        return other.stage.reduction is not None and other.order >= lookup.reader.order

    def check_result(self, name: str) -> None:
        """(4)."""
        others = [local for local, result in self.places.shared.items() if result == name]
        for element in some_points(self.shape(name)) if others else ():
            self.check_last(name, element, [stage for local in others for stage in self.writers[local]])

    def check_last(self, name: str, element: Sequence[int], others: Sequence[ScheduledStage]) -> None:
        for writer in self.writers[name]:
            stored = writer.storing(element, {})
            for other in others if stored is not None else ():
                over = other.storing(element, {})
                if over is not None and stored is not None and other.time(over) >= writer.time(stored):
                    raise CheckError(f"'{other.buffer}' is stored over '{name}'{list(element)}")
