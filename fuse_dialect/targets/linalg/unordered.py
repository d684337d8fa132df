"""Stages whose points run in an order, as stages whose points do not: what `linalg` can say.

1. A *running* combination is one for each point, of the values up to it.
2. An *order* is three stages: the keys; for each key its rank, the number of keys that come before it; and for each
   place the point whose rank it is.
3. A *scatter* is a search for each element: of the updates that name its place the last one is taken, or all of them
   are combined with what is there.

That is more work, n * n for a line of n points, but all of it in parallel, and right for any size. What is computed
several times, keys and updates, is stored first unless it is a read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fuse_dialect.counts import Size
from fuse_dialect.dialect.loops import LoopFormError
from fuse_dialect.loops.bodies import BodyBuilder, body_over, cost
from fuse_dialect.loops.indices import Guard, Index, Loop, linear, loop, number
from fuse_dialect.loops.iteration_space import with_axes
from fuse_dialect.loops.program import (
    Apply,
    Axis,
    Body,
    Buffer,
    Combiner,
    Extent,
    Inside,
    Keep,
    Literal,
    LoopProgram,
    Position,
    Read,
    Reduction,
    Role,
    Scatter,
    Stage,
    Value,
)

_COMBINERS: Mapping[Combiner, tuple[str, str, str]] = {
    Combiner.ADD: ("arith.addf", "arith.addi", "arith.addi"),
    Combiner.MULTIPLY: ("arith.mulf", "arith.muli", "arith.muli"),
    Combiner.MAXIMUM: ("arith.maximumf", "arith.maxsi", "arith.maxui"),
    Combiner.MINIMUM: ("arith.minimumf", "arith.minsi", "arith.minui"),
    Combiner.AND: ("", "arith.andi", "arith.andi"),
    Combiner.OR: ("", "arith.ori", "arith.ori"),
}
"""For floats, for integers, and for integers without a sign."""


def combining_function(combiner: Combiner, element: str) -> str:
    """The scalar function that combines two values of an element type, `ui8` if it has no sign."""
    floating, signed, unsigned = _COMBINERS[combiner]
    return unsigned if element.startswith("u") else signed if element.startswith("i") else floating


def unordered(program: LoopProgram) -> LoopProgram:
    """The program without scans and scatters.

    Raises:
        LoopFormError: A stage stores where its axes do not say.
    """
    if not any(stage.is_ordered for stage in program.stages):
        return program
    writing = _Writing({buffer.name: buffer for buffer in program.buffers})
    for stage in program.stages:
        if stage.scatter is not None:
            writing.scatter(stage, stage.scatter)
        elif stage.reduction is None or not stage.is_scan:
            writing.stages.append(stage)
        elif stage.reduction.combiner is Combiner.ORDER:
            writing.order(stage, stage.reduction)
        else:
            writing.running(stage, stage.reduction)
    return LoopProgram(program.name, tuple(writing.buffers.values()), tuple(writing.stages))


class _Code(BodyBuilder):
    """A body, function by function."""

    def apply(self, function: str, *operands: int, element: str = "i64", parameter: str | None = None) -> int:
        """What a function gives."""
        return self.add(Apply(function, operands, element, parameter))

    def count(self, size: Size) -> int:
        """A size, in i64."""
        return self.add(Literal(size, "i64") if isinstance(size, int) else Extent(size, "i64"))

    def place(self, at: Sequence[Index], sizes: Sequence[Size]) -> int:
        """The place of an element in row-major order."""
        known = linear(at, sizes)
        if known is not None:
            return self.add(Position(known, "i64"))
        place = self.add(Position(at[0], "i64"))
        for index, size in zip(at[1:], sizes[1:], strict=True):
            scaled = self.apply("arith.muli", place, self.count(size))
            place = self.apply("arith.addi", scaled, self.add(Position(index, "i64")))
        return place

    def select(self, condition: int, one: int, other: int, element: str = "i64") -> int:
        """One of two values."""
        return self.apply("arith.select", condition, one, other, element=element)

    def number(self, value: int) -> int:
        """A number, in i64."""
        return self.add(Literal(value, "i64"))

    def compare(self, predicate: str, one: int, other: int) -> int:
        """Whether two integers compare so."""
        return self.apply("arith.cmpi", one, other, element="i1", parameter=predicate)


@dataclass(eq=False, slots=True)
class _Writing:
    """The new program so far."""

    buffers: dict[str, Buffer]
    stages: list[Stage] = field(default_factory=list[Stage])
    computed: dict[str, Buffer] = field(default_factory=dict[str, Buffer])
    """New buffers by what they hold: two results of one `topk` rank the same keys."""

    def _local(self, name: str, element: str, shape: Sequence[Size]) -> Buffer:
        unique = f"{name}_{len(self.buffers)}"
        self.buffers[unique] = Buffer(unique, element, tuple(shape), Role.LOCAL)
        return self.buffers[unique]

    def _computed(self, name: str, element: str, stage: Stage) -> Buffer:
        """A buffer that holds what a stage gives, which is added unless an equal one has been."""
        content = repr(replace(stage, name="", buffer=""))
        if content not in self.computed:
            shape = [axis.size for axis in stage.axes if not axis.is_reduced]
            self.computed[content] = self._local(name, element, shape)
            self.stages.append(replace(stage, buffer=self.computed[content].name))
        return self.computed[content]

    def _stored(self, stage: Stage, element: str, *, is_plain: bool) -> Read:
        """A read of the value at a point of the axes, which is stored unless it is one, if plain by lone loops."""
        sizes = [axis.size for axis in stage.axes]
        at = tuple(map(loop, range(len(sizes))))
        match stage.body:
            case (Read(_, indices, _, ()) as read,) if not is_plain or indices == at:
                return read
            case _:
                pass
        alone = Stage(stage.name, "", tuple(map(Axis, sizes)), stage.body)
        kept = self._computed(f"{stage.buffer}_kept", element, alone)
        return Read(kept.name, at, element)

    def running(self, stage: Stage, reduction: Reduction) -> None:
        """Condition 1: the reduced axis stands twice, as the point that is written and as those that count."""
        line, size, element = len(stage.axes) - 1, stage.axes[-1].size, reduction.start.element
        sizes = [*(axis.size for axis in stage.axes), size]
        body = stage.body
        if cost(body) > 1:
            body = (self._stored(stage, element, is_plain=False),)
        code = _Code(sizes)
        value = code.copy(body_over(body, _line_of(line, line + 1), sizes), [])
        is_left_out = int(reduction.keep is Keep.BEFORE)
        counts = code.add(Inside((Guard(loop(line) - loop(line + 1) - is_left_out, size),)))
        kept = code.select(counts, value, code.add(reduction.start), element)
        self._reduced(stage, size, code.finished(kept), replace(reduction, keep=Keep.TOTAL))

    def order(self, stage: Stage, reduction: Reduction) -> None:
        """Condition 2."""
        line, size = len(stage.axes) - 1, stage.axes[-1].size
        last = stage.body[-1]
        assert isinstance(last, Apply | Read | Literal | Position), "a key is a number"
        key = self._stored(stage, last.element, is_plain=False)
        outer = [axis.size for axis in stage.axes[:-1]]
        sizes = [*outer, size, size]
        code = _Code(sizes)
        own, other = (code.copy(body_over((key,), _line_of(line, point), sizes), []) for point in (line, line + 1))
        is_earlier = code.add(Inside((Guard(loop(line) - loop(line + 1) - 1, size),)))
        is_earlier = code.apply("arith.andi", code.compare("eq", other, own), is_earlier, element="i1")
        counts = code.apply("arith.ori", code.compare("slt", other, own), is_earlier, element="i1")
        one, zero = code.number(1), code.number(0)
        axes = (*stage.axes[:-1], Axis(size), Axis(size, is_reduced=True))
        ranks = code.finished(code.select(counts, one, zero))
        rank = self._computed(f"{stage.buffer}_rank", "i64", Stage(stage.name, "", axes, ranks, _SUM))
        count = size if reduction.count is None else reduction.count
        code = _Code([*outer, count, size])
        read = code.add(Read(rank.name, tuple(_line_of(line, line + 1)), "i64"))
        hit = code.compare("eq", read, code.add(Position(loop(line), "i64")))
        point = code.select(hit, code.add(Position(loop(line + 1), "i64")), code.number(0))
        self._reduced(stage, count, code.finished(point), _SUM)

    def _reduced(self, stage: Stage, count: Size, body: Body, reduction: Reduction) -> None:
        """Add a stage with its scanned axis as a parallel one of `count` points, and as one that is reduced."""
        line, size = len(stage.axes) - 1, stage.axes[-1].size
        axes = (*stage.axes[:-1], Axis(count), Axis(size, is_reduced=True))
        stage = replace(stage, axes=axes, body=body, reduction=reduction)
        if any((Loop(line), -1) in index.terms for index in stage.store) and isinstance(size, int):
            # Nothing is stored backwards: the axis is counted from its other end, and what is combined, too.
            values = list(map(loop, range(line)))
            values += [loop(axis) * -1 + (size - 1) for axis in (line, line + 1)]
            stage = with_axes(stage, axes, values)
        self.stages.append(stage)

    def scatter(self, stage: Stage, target: Scatter) -> None:
        """Condition 3.

        Raises:
            LoopFormError: A slice is not stored as it is.
        """
        buffer, depth = self.buffers[stage.buffer], target.depth
        before = self._local(f"{stage.buffer}_before", buffer.element, buffer.shape)
        # What is there already becomes a buffer of its own: stages read only what others have written.
        self.stages = [
            replace(each, buffer=before.name) if each.buffer == buffer.name else each for each in self.stages
        ]
        update = self._stored(stage, _signless(buffer.element), is_plain=target.combination is None)
        stored = {_axis_of(index): loop(place) for place, index in enumerate(stage.store) if place >= depth}
        searched = [axis for axis in range(len(stage.axes)) if axis not in stored]
        search = _Search(stage, target, buffer, Read(before.name, _points(buffer), update.element), stored, searched)
        if target.combination is not None:
            self.stages.append(search.combined(update, target.combination))
            return
        winner = self._local(f"{buffer.name}_winner", "i64", buffer.shape[:depth])
        self.stages += [search.winners(winner), search.taken(update, winner)]


@dataclass(frozen=True, slots=True)
class _Search:
    """The updates of a scatter, looked through for those of each element of the target."""

    stage: Stage
    target: Scatter
    buffer: Buffer
    before: Read
    """What the element is without updates."""
    stored: Mapping[int, Index]
    """The target's axis for each axis of a slice."""
    searched: Sequence[int]
    """The axes that number updates."""

    @property
    def counts(self) -> list[Size]:
        """How many updates there are along each of their axes."""
        return [self.stage.axes[axis].size for axis in self.searched]

    def _code(self, rank: int) -> tuple[_Code, tuple[Axis, ...], list[Index]]:
        """Code over the first axes of the target and the updates, and what stands for the stage's axes in it."""
        axes = (*map(Axis, self.buffer.shape[:rank]), *(Axis(size, is_reduced=True) for size in self.counts or [1]))
        values = [self.stored.get(axis, number(0)) for axis in range(len(self.stage.axes))]
        for place, axis in enumerate(self.searched):
            values[axis] = loop(rank + place)
        return _Code([axis.size for axis in axes]), axes, values

    def _names(self, code: _Code, values: Sequence[Index]) -> int:
        """Whether an update is one of the element."""
        read = Read(self.target.places, self.target.indices, "i64")
        (place,) = body_over((read,), values, code.extents)
        depth = self.target.depth
        own = code.place(list(map(loop, range(depth))), self.buffer.shape[:depth])
        return code.compare("eq", code.add(place), own)

    def combined(self, update: Read, combination: Reduction) -> Stage:
        """All updates of an element and what is there, combined."""
        code, axes, values = self._code(len(self.buffer.shape))
        value = code.copy(body_over((update,), values, code.extents), [])
        kept = code.select(self._names(code, values), value, code.add(combination.start), update.element)
        finish = _Code(self.buffer.shape, 1)
        function = combining_function(combination.combiner, combination.start.element)
        both = finish.apply(function, finish.add(self.before), 0, element=update.element)
        return Stage(self.stage.name, self.buffer.name, axes, code.finished(kept), combination, finish.finished(both))

    def winners(self, winner: Buffer) -> Stage:
        """The number of the last update of each place, -1 where there is none."""
        code, axes, values = self._code(len(winner.shape))
        names = self._names(code, values)
        own = code.place([values[axis] for axis in self.searched], self.counts)
        last = code.finished(code.select(names, own, code.number(-1)))
        return Stage(self.stage.name, winner.name, axes, last, Reduction(Combiner.MAXIMUM, Literal(-1, "i64")))

    def taken(self, update: Read, winner: Buffer) -> Stage:
        """The element of that update, or what is there."""
        code = _Code(self.buffer.shape)
        last = code.add(Read(winner.name, _points(winner), "i64"))
        zero = code.number(0)
        exists, rest = code.compare("sge", last, zero), code.apply("arith.maxsi", last, zero)
        places: dict[int, Value] = {}
        for axis, size in reversed(list(zip(self.searched, self.counts, strict=True))):
            is_first = axis == self.searched[0]
            place = rest if is_first else code.apply("arith.remsi", rest, code.count(size))
            rest = rest if is_first else code.apply("arith.divsi", rest, code.count(size))
            places[axis] = Value(place)
        indices = tuple(places.get(axis) or self.stored[axis] for axis in range(len(self.stage.axes)))
        new = code.add(replace(update, indices=indices))
        body = code.finished(code.select(exists, new, code.add(self.before), update.element))
        return Stage(self.stage.name, self.buffer.name, tuple(map(Axis, self.buffer.shape)), body)


_SUM = Reduction(Combiner.ADD, Literal(0, "i64"))


def _signless(element: str) -> str:
    """An element type without its sign: `i8` for `ui8`."""
    return element.removeprefix("u")


def _points(buffer: Buffer) -> tuple[Index, ...]:
    return tuple(map(loop, range(len(buffer.shape))))


def _line_of(line: int, point: int) -> list[Index]:
    """What stands for the axes of a scan: its own outer ones, and `point` for the last."""
    return [*map(loop, range(line)), loop(point)]


def _axis_of(index: Index) -> int:
    match index:
        case Index(((Loop(axis), 1),), 0):
            return axis
        case _:
            raise LoopFormError("stores its updates where its loops do not say")
