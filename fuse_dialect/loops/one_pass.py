"""Products and the reductions between them as one pass over blocks of columns. Pure data, and the choice of it.

Where a row has more columns than a cache has room for, or where nobody knows how many, its maximum, its sum and its
product cannot each have the row. A cascade (`cascades`) needs none of it: each block of columns is added to a *state*,
and what was added before is corrected to it.

1. The *columns* are the one reduced axis of open size. A stage has them once or not at all, behind the rows.
2. *Feeding* stages combine along another axis, at each column: scores. They run as they are, on one block.
3. All others that have columns are a cascade: maps stand where they are read, and what is of totals alone moves behind.
4. A body reads no totals but maxima, as they are; a correction is `exp(old - new)`, or a power of it, which is at most
   1. So nothing that is added up overflows which would not in the program.
5. A state has two places, the *old* one and the *new* one, which change places after each block. A block combines: its
   own total, and the old one times the correction, are the new one. A product adds to what the correction has left.
6. What is relative to a maximum of -inf is relative to 0: all of it is exp(-inf), which is 0. In the end it is
   corrected to the maximum as it is; `0 * exp(0 - -inf)` is nan, as it is in the program.
7. Weights, what a product multiplies with its columns, are stored for a block, once for all who read them.
8. Stages without columns that need no total run before all blocks, the *opening*; the others after them, the *closing*.
   A row without columns is what its stages make of nothing.
9. A block of which a mask hides everything from all rows of a strip is left out: a stage looks at the mask first
   (`hidden_blocks`).

Source: online softmax as in `cascades`, and the blocks of keys of FlashAttention (arXiv:2205.14135).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fuse_dialect.counts import Size
from fuse_dialect.loops.bodies import body_over, moved, reads
from fuse_dialect.loops.cascades import Rule, Split, cascade_of
from fuse_dialect.loops.grouping import parallel_sizes
from fuse_dialect.loops.hidden_blocks import counting_stage
from fuse_dialect.loops.indices import Index, loop
from fuse_dialect.loops.pass_parts import (
    COMBINE,
    Parts,
    column_axis,
    columns_of,
    is_maximum,
    is_twice,
    parts_of,
    refused,
    weighted_product,
)
from fuse_dialect.loops.program import (
    Apply,
    Axis,
    Body,
    Buffer,
    Combiner,
    Extent,
    Instruction,
    Literal,
    LoopProgram,
    Read,
    Reduction,
    Refusal,
    Role,
    Stage,
)
from fuse_dialect.loops.splits import Applied, Expression, Number, Side, Total

BLOCK_FIRST, BLOCK_STOP = "block.first", "block.stop"
"""Sizes that each block has for itself: its first column, and the one behind the last."""
BLOCK_SIZES = "block"
"""A buffer that nobody reads or writes: its shape says that there are those sizes."""


@dataclass(frozen=True, slots=True)
class State:
    """What goes from one block to the next: the names of its two places (5)."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class OnePass:
    """A program that runs block by block."""

    buffers: tuple[Buffer, ...]
    """Those of the program, and what blocks need; what has columns has those of one block."""
    rows: int
    """How many leading axes all stages share."""
    columns: Size
    opening: tuple[Stage, ...]
    counting: Stage | None
    """What says for each row whether something of a block counts (9)."""
    block: tuple[Stage, ...]
    closing: tuple[Stage, ...]
    states: tuple[State, ...]
    in_block: frozenset[str]
    """Buffers that have the columns of one block, in their last axis."""
    added: tuple[Buffer, ...]
    """Those that are none of the program."""

    def column_axis(self, stage: Stage) -> int | None:
        """The column axis of a stage; `None` if it has none."""
        return column_axis(stage, self.rows, self.columns)


def one_pass(program: LoopProgram, stages: Sequence[Stage], rows: int, width: int) -> OnePass | Refusal:
    """A program as one pass, or why it is none.

    Args:
        program: What is computed, in the form for the machine.
        stages: Its stages, without axes of one element.
        rows: How many leading axes they share.
        width: Distance of rows of what has the columns of one block, in elements.
    """
    columns = columns_of(stages, rows)
    if isinstance(columns, Refusal):
        return columns
    if not rows or any(is_twice(stage, rows, columns) for stage in stages):
        return Refusal("some stage has the columns twice")
    parts = parts_of(program, stages, rows, columns)
    if isinstance(parts, Refusal):
        return parts
    cascade = cascade_of(parts.chain, rows)
    if isinstance(cascade, Refusal):
        return cascade
    refusal = refused(program, parts, cascade.splits)
    if refusal is not None:
        return refusal
    return _Writer(program, parts, cascade.splits, width).written()


def splits_before_product(program: LoopProgram, stages: Sequence[Stage], rows: int) -> bool:
    """Whether rows of open length, and a product of what they come to with other columns, are one pass.

    Args:
        program: Loops that end with a map over columns, a softmax for one.
        stages: Theirs, without axes of one element.
        rows: How many leading axes they share.
    """
    last = stages[-1]
    element = _element(last.body[-1]) if isinstance(last.body[-1], Read | Literal | Apply) else ""
    if len(last.axes) != rows + 1 or not isinstance(last.axes[rows].size, str) or last.reduction is not None:
        return False
    if not rows or element not in ("f32", "f64"):
        return False
    read = Read(last.buffer, tuple(loop(axis) for axis in (*range(rows), rows + 1)), element)
    other = Read("columns", (loop(rows + 1), loop(rows)), element)
    body = read, other, Apply("arith.mulf", (0, 1), element)
    axes = *last.axes[:rows], Axis(_WIDTH), Axis(last.axes[rows].size, is_reduced=True)
    sizes = tuple(axis.size for axis in axes)
    reduction = Reduction(Combiner.ADD, Literal(0.0, element))
    store = tuple(loop(axis) for axis in range(rows + 1))
    behind = Stage("product", "product", axes, body, reduction, store=store)
    buffers = tuple(
        replace(each, shape=sizes[:rows] + sizes[-1:], role=Role.LOCAL) if each.name == last.buffer else each
        for each in program.buffers
    )
    columns = Buffer("columns", element, sizes[:rows:-1], Role.ARGUMENT)
    whole = LoopProgram(program.name, (*buffers, columns, Buffer("product", element, sizes[:-1], Role.RESULT)), ())
    last = replace(last, store=(*store[:rows], loop(rows)))
    return isinstance(one_pass(whole, [*stages[:-1], last, behind], rows, _WIDTH), OnePass)


_WIDTH = 64
"""Of a product that is asked about."""


class _Writer:
    """Writes the stages of a pass."""

    def __init__(self, program: LoopProgram, parts: Parts, splits: Sequence[Split], width: int):
        self.program, self.parts, self.width = program, parts, width
        self.splits = {split.stage.buffer: split for split in splits}
        self.rows = [Axis(size) for size in parallel_sizes(parts.stages[0])[: parts.rows]]
        self.at_row = tuple(loop(axis) for axis in range(parts.rows))
        (self.element,) = {split.stage.reduction.start.element for split in splits if split.stage.reduction}
        self.maxima = {name for name, split in self.splits.items() if is_maximum(split, parts.rows)}
        self.added: dict[str, Buffer] = {}
        self.block: list[Stage] = []
        self.in_block = {stage.buffer for stage in parts.feeding}
        self.factors: dict[str, str] = {}
        """Buffers of corrections, by how they are written."""
        self.weights: dict[Body, str] = {}
        """Buffers of weights (7), by their bodies."""

    def written(self) -> OnePass | Refusal:
        """The pass."""
        shapes = {buffer.name: buffer.shape for buffer in self.program.buffers}
        for stage in self.parts.feeding:
            sizes = [size for size in shapes[stage.buffer] if size != 1]
            plain = [each for each in stage.store if each != Index()]
            wanted = [*(axis.size for axis in self.rows), self.parts.columns]
            if sizes != wanted or plain != [loop(axis) for axis in range(len(wanted))] or shapes[stage.buffer][-1] == 1:
                return Refusal(f"'{stage.name}' stores something else than rows of columns")
        opening = [*self.parts.opening, *(self._start(name) for name in self.splits)]
        self.block += self.parts.feeding
        waiting = self._weights()
        for name, split in self.splits.items():
            # A total of what a product multiplies reads it, so weights come as soon as their maxima are there.
            for body in [
                each for each in waiting if all(f"{total}.base" in self.added for total in self._totals_of(each))
            ]:
                self._store_weights(body, waiting.pop(body))
            if len(split.stage.axes) == self.parts.rows + 1:
                self._total(name, split)
        for name, split in self.splits.items():
            if len(split.stage.axes) > self.parts.rows + 1:
                self._scaled(name, split)
        for name, split in self.splits.items():
            if len(split.stage.axes) > self.parts.rows + 1:
                self._added_up(name, split)
        closing: list[Stage] = []
        for stage in self.parts.stages:
            if stage.buffer in self.splits:
                closing += self._finished(stage)
            elif stage in self.parts.late:
                closing.append(stage)
        states = tuple(State(f"{name}.old", f"{name}.new") for name in self.splits)
        counting = self._counting()
        buffers = tuple(
            replace(buffer, shape=(*buffer.shape[:-1], self.width), role=Role.RESULT)
            if buffer.name in self.in_block
            else buffer
            for buffer in self.program.buffers
        )
        return OnePass(
            (*buffers, *self.added.values(), Buffer(BLOCK_SIZES, "i8", (BLOCK_FIRST, BLOCK_STOP), Role.LOCAL)),
            self.parts.rows,
            self.parts.columns,
            tuple(opening),
            counting,
            tuple(self.block),
            tuple(closing),
            states,
            frozenset(self.in_block),
            tuple(self.added.values()),
        )

    def _counting(self) -> Stage | None:
        """The stage that looks whether a block counts (9); it needs a maximum, and all others to be sums."""
        sums = [split for split in self.splits.values() if split.combiner is Combiner.ADD]
        maxima = [self.splits[name].stage for name in self.maxima]
        if len(maxima) != 1 or len(sums) + 1 != len(self.splits):
            return None
        is_product = [len(split.stage.axes) > self.parts.rows + 1 for split in sums]
        others = [
            self._weights_of(split) if product else split.stage.body
            for split, product in zip(sums, is_product, strict=True)
        ]
        feeding = {stage.buffer: stage for stage in self.parts.feeding}
        names = "counts", f"{maxima[0].buffer}.old"
        found = counting_stage(maxima[0], feeding, others, self.parts.rows, names)
        if found is not None:
            self._add("counts", [axis.size for axis in self.rows], Role.RESULT)
        return found

    def _add(self, name: str, shape: Sequence[Size], role: Role = Role.LOCAL) -> str:
        self.added[name] = Buffer(name, self.element, tuple(shape), role)
        return name

    def _own(self, split: Split) -> list[Axis]:
        """Its parallel axes."""
        return [axis for axis in split.stage.axes if not axis.is_reduced]

    def _map(self, name: str, axes: Sequence[Axis], body: Sequence[Instruction]) -> Stage:
        """A stage that stores at its own point."""
        return Stage(name, name, tuple(axes), tuple(body), store=tuple(loop(axis) for axis in range(len(axes))))

    def _read(self, name: str, axes: int | None = None) -> Read:
        indices = self.at_row if axes is None else tuple(loop(axis) for axis in range(axes))
        return Read(name, indices, self.element)

    def _start(self, name: str) -> Stage:
        """What a total is of no columns."""
        split = self.splits[name]
        assert split.stage.reduction is not None, "a split is one of a reduction"
        axes = self._own(split)
        for side in ("old", "new"):
            self._add(f"{name}.{side}", [axis.size for axis in axes], Role.RESULT)
        return self._map(f"{name}.old", axes, (split.stage.reduction.start,))

    def _weights(self) -> dict[Body, str]:
        """The bodies of all weights, with the names of their buffers, in order."""
        found: dict[Body, str] = {}
        for name, split in self.splits.items():
            if len(split.stage.axes) > self.parts.rows + 1:
                found.setdefault(self._weights_of(split), f"{name}.weights")
        return found

    def _weights_of(self, split: Split) -> Body:
        """What a product multiplies with its columns, over rows and columns."""
        product = weighted_product(self.program, split.stage, self.parts.rows, self.parts.columns)
        assert product is not None, "what has own axes is a product"
        (column,) = product.reduced
        values = [loop(axis) if axis < self.parts.rows else Index() for axis in range(len(split.stage.axes))]
        values[column] = loop(self.parts.rows)
        extents = [*(axis.size for axis in self.rows), self.parts.columns]
        return body_over(product.rows.body, values, extents)

    def _totals_of(self, body: Body) -> set[str]:
        return {read.buffer for read in reads(body)} & self.splits.keys()

    def _relative(self, body: Body) -> Body:
        """A body that reads maxima as what others are relative to (6)."""
        return tuple(
            self._read(f"{each.buffer}.base") if isinstance(each, Read) and each.buffer in self.maxima else each
            for each in body
        )

    def _store_weights(self, body: Body, name: str) -> None:
        shape = [*(axis.size for axis in self.rows), self.width]
        self.weights[body] = self._add(name, shape, Role.RESULT)
        self.in_block.add(name)
        axes = [*self.rows, Axis(self.parts.columns)]
        self.block.append(self._map(name, axes, self._relative(body)))

    def _total(self, name: str, split: Split) -> None:
        """The total of a block, and the new one (5)."""
        stage, old, new = split.stage, f"{name}.old", f"{name}.new"
        sizes = [axis.size for axis in self.rows]
        body = self._relative(stage.body)
        if stage.body in self.weights:
            body = (self._read(self.weights[stage.body], self.parts.rows + 1),)
        own = self._add(f"{name}.block", sizes)
        self.block.append(replace(stage, name=own, buffer=own, body=body, finish=(), store=self.at_row))
        combined = COMBINE[split.combiner]
        factor = self._factor(split)
        if factor is None:
            body = self._read(old), self._read(own), Apply(combined, (0, 1), self.element)
        else:
            scaled = Apply("arith.mulf", (0, 1), self.element)
            body = self._read(old), self._read(factor), scaled, self._read(own), Apply(combined, (2, 3), self.element)
        self.block.append(self._map(new, self.rows, body))
        if name in self.maxima:
            base = self._add(f"{name}.base", sizes)
            self.block.append(self._map(base, self.rows, self._base(new)))

    def _base(self, name: str) -> Body:
        """A maximum, or 0 where it is -inf (6)."""
        return (
            self._read(name),
            Literal(-float("inf"), self.element),
            Apply("arith.cmpf", (0, 1), "i1", "oeq"),
            Literal(0.0, self.element),
            Apply("arith.select", (2, 3, 0), self.element),
        )

    def _factor(self, split: Split, *, is_last: bool = False) -> str | None:
        """The buffer of a correction, to the new totals or at last to what they are (6); `None` if it is 1."""
        if split.rule is Rule.SAME:
            return None
        names = (".end", ".old") if is_last else (".old", ".base")
        body: list[Instruction] = []
        self._write_expression(split.factor, names, body)
        key = repr(body)
        if key not in self.factors:
            self.factors[key] = self._add(f"correction{len(self.factors)}", [axis.size for axis in self.rows])
            self.block.append(self._map(self.factors[key], self.rows, body))
        return self.factors[key]

    def _write_expression(self, expression: Expression, names: tuple[str, str], body: list[Instruction]) -> int:
        """Append an expression of old and new totals to a body; its place there."""
        match expression:
            case Number(value):
                body.append(Literal(value, self.element))
            case Total(buffer, side):
                body.append(self._read(buffer + names[side is Side.NEW]))
            case Applied(function, operands):
                places = tuple(self._write_expression(operand, names, body) for operand in operands)
                body.append(Apply(function, places, self.element))
        return len(body) - 1

    def _scaled(self, name: str, split: Split) -> None:
        """What the correction leaves of a product (5)."""
        axes, factor = self._own(split), self._factor(split)
        body: list[Instruction] = [self._read(f"{name}.old", len(axes))]
        if factor is not None:
            self.added[factor] = replace(self.added[factor], role=Role.RESULT)
            body += [self._read(factor), Apply("arith.mulf", (0, 1), self.element)]
        self.block.append(self._map(f"{name}.new", axes, body))

    def _added_up(self, name: str, split: Split) -> None:
        """The product of a block, which adds to what is there."""
        stage = split.stage
        product = weighted_product(self.program, stage, self.parts.rows, self.parts.columns)
        assert product is not None, "what has own axes is a product"
        (column,) = product.reduced
        weights = Read(self.weights[self._weights_of(split)], (*self.at_row, loop(column)), self.element)
        factor = [moved(each, [place + 1 for place in range(len(stage.body))]) for each in product.columns.body]
        last = stage.body[-1]
        assert isinstance(last, Apply), "a product multiplies"
        body = weights, *factor, replace(last, operands=(0, len(factor)))
        store = tuple(loop(axis) for axis in range(len(self._own(split))))
        self.block.append(replace(stage, name=name, buffer=f"{name}.new", body=body, finish=(), store=store))

    def _finished(self, stage: Stage) -> list[Stage]:
        """A total as its readers have it (6, 8)."""
        split = self.splits[stage.buffer]
        assert stage.reduction is not None, "a split is one of a reduction"
        axes, found = self._own(split), list[Stage]()
        body: list[Instruction] = [self._read(f"{stage.buffer}.old", len(axes))]
        if split.rule is not Rule.SAME:
            found, self.block = self.block, []
            factor = self._factor(split, is_last=True)
            assert factor is not None, "what is scaled has a factor"
            found, self.block = self.block, found
            body += [self._read(factor), Apply("arith.mulf", (0, 1), self.element)]
        _append(body, len(body) - 1, split.stage.finish)
        if isinstance(self.parts.columns, str):
            value = len(body) - 1
            body.append(stage.reduction.start)
            _append(body, len(body) - 1, stage.finish)
            empty = len(body) - 1
            body += [Extent(self.parts.columns, "i64"), Literal(0, "i64")]
            body.append(Apply("arith.cmpi", (empty + 1, empty + 2), "i1", "eq"))
            body.append(Apply("arith.select", (empty + 3, empty, value), _element(body[value])))
        found.append(replace(stage, axes=tuple(axes), body=tuple(body), reduction=None, finish=()))
        if stage.buffer in self.maxima:
            end = self._add(f"{stage.buffer}.end", [axis.size for axis in axes])
            found.append(self._map(end, axes, self._base(f"{stage.buffer}.old")))
        return found


def _append(body: list[Instruction], value: int, finish: Body) -> None:
    """Append the end of a reduction, of a value that the body has."""
    places: Mapping[int, int] = {0: value} | {place + 1: len(body) + place for place in range(len(finish))}
    body += [moved(each, places) for each in finish]


def _element(each: Instruction) -> str:
    assert isinstance(each, Read | Literal | Apply), "totals are numbers"
    return each.element
