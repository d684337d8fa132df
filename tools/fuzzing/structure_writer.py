"""Text of programs in which structure is what matters: shapes that fit each other, kernels, loops and branches.

All numbers are f32, of few shapes: images of rows and columns, one number for each row or column, single numbers. Rows
may be open. Operators keep numbers moderate, so that rounding stays small and a wrong element shows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

import numpy as np

from fuse_dialect.dialect.op import Array


@dataclass(frozen=True, slots=True)
class Rows:
    """A size that is so many times the rows of the program, and open where these are."""

    times: int = 1


@dataclass(frozen=True, slots=True)
class Open:
    """A size that nobody knows before the program runs: iterations of a loop."""


Size: TypeAlias = int | Rows | Open
Shape: TypeAlias = tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A name, and its shape and element type."""

    name: str
    shape: Shape
    element: str = "f32"


Loop: TypeAlias = Callable[[Value, Sequence[Value], Sequence[Value]], tuple[Sequence[Value], Sequence[Value]]]
"""A body: takes the number of the iteration, states and rows, gives the next states and what is stacked."""

UNARY = ("tanh", "sigmoid", "abs", "negative", "relu", "sin", "cos")
BINARY = ("add", "subtract", "maximum", "minimum")
ENDS = ("limit", "argument", "while", "rows")
"""What ends a loop: a constant limit, one that is an argument, a condition, or rows."""


@dataclass(eq=False, slots=True)
class StructureWriter:
    """A program under construction."""

    random: Random
    rows: int
    columns: int
    is_open: bool
    """Whether types leave the rows open."""
    lines: list[str] = field(default_factory=list[str])
    arguments: list[Value] = field(default_factory=list[Value])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    """Numbers for the arguments of type i64."""
    outputs: list[Value] = field(default_factory=list[Value])
    pool: list[Value] = field(default_factory=list[Value])
    """What later parts may read."""
    names: int = 0

    @property
    def image(self) -> Shape:
        """Rows and columns."""
        return (Rows(), self.columns)

    def number(self, size: Size) -> int:
        """A size at run time."""
        assert not isinstance(size, Open), "only types are asked of stacks"
        return size.times * self.rows if isinstance(size, Rows) else size

    def type(self, shape: Shape, element: str = "f32") -> str:
        """A type as MLIR writes it."""
        sizes = ["?" if self._is_open(size) else str(self.number(size)) for size in shape]
        return f"tensor<{'x'.join([*sizes, element])}>"

    def _is_open(self, size: Size) -> bool:
        return isinstance(size, Open) or (isinstance(size, Rows) and self.is_open)

    def type_of(self, value: Value) -> str:
        """The type of a value."""
        return self.type(value.shape, value.element)

    def new(self, shape: Shape, element: str = "f32") -> Value:
        """A value with a new name."""
        self.names += 1
        return Value(f"%v{self.names}", shape, element)

    def argument(self, shape: Shape) -> Value:
        """A new argument of floats."""
        value = self.new(shape)
        self.arguments.append(value)
        return value

    def count(self, number: int) -> Value:
        """A new argument that is a count."""
        value = self.new((), "i64")
        self.arguments.append(value)
        self.counts[value.name] = number
        return value

    def constant(self, number: float, shape: Shape = (), element: str = "f32") -> Value:
        """A constant of one number; it has no open sizes."""
        value = self.new(shape, element)
        text = str(number).lower() if element == "i1" else str(number)
        self.lines.append(f"{value.name} = arith.constant dense<{text}> : {self.type_of(value)}")
        return value

    def op(
        self, name: str, *operands: Value, shape: Shape | None = None, element: str = "f32", more: str = ""
    ) -> Value:
        """Write an op with one result, by default of the first operand's shape."""
        return self.ops(name, operands, [(operands[0].shape if shape is None else shape, element)], more)[0]

    def ops(
        self, name: str, operands: Sequence[Value], results: Sequence[tuple[Shape, str]], more: str = ""
    ) -> list[Value]:
        """Write an op with several results."""
        made = [self.new(shape, element) for shape, element in results]
        types = ", ".join(self.type_of(each) for each in operands)
        given = ", ".join(self.type_of(each) for each in made)
        read = ", ".join([*(each.name for each in operands), *([more] if more else [])])
        names = ", ".join(each.name for each in made)
        self.lines.append(f"{names} = fuse.{name} {read} : ({types}) -> ({given})")
        return made

    def unary(self, x: Value) -> Value:
        """Any function of one number."""
        return self.op(self.random.choice(UNARY), x)

    def binary(self, x: Value, y: Value) -> Value:
        """Any function of two numbers, of the shape of the first."""
        return self.op(self.random.choice(BINARY), x, y)

    def reduced(self, name: str, x: Value, axis: int, *, keepdims: bool = False) -> Value:
        """A reduction along one axis."""
        kept: Shape = (1,) if keepdims else ()
        shape = (*x.shape[:axis], *kept, *x.shape[axis + 1 :])
        more = f"axes = [{axis}]" + ", keepdims = true" * keepdims
        return self.op(name, x, shape=shape, more=more)

    def pick(self, shape: Shape | None = None) -> Value:
        """A value of a shape (by default an image) that is there, recent ones more often, or a new argument."""
        shape = self.image if shape is None else shape
        fitting = [value for value in self.pool if value.shape == shape and value.element == "f32"]
        if not fitting or self.random.random() < 0.15:
            return self.keep(self.argument(shape))
        return self.random.choice(fitting[-3:] if self.random.random() < 0.6 else fitting)

    def keep(self, value: Value) -> Value:
        """Let later parts read a value."""
        self.pool.append(value)
        return value

    def give(self, *values: Value) -> None:
        """Return values from the program."""
        self.outputs += values

    def loop(
        self,
        body: Loop,
        states: Sequence[Value] = (),
        rows: Sequence[Value] = (),
        *,
        trips: int | None = None,
        end: str | None = None,
    ) -> list[Value]:
        """Write a loop.

        Args:
            body: Writes what an iteration does.
            states: What the first iteration begins with.
            rows: Tensors of which each iteration takes a row.
            trips: Most iterations; by default 1 to 3.
            end: One of `ENDS`, by default any; `rows` where there are rows.

        Returns:
            The last states, then what was stacked, of which the first size is open unless rows alone end the loop.
        """
        trips = self.random.randint(1, 3) if trips is None else trips
        end = end or self.random.choice(ENDS if rows else ENDS[:-1])
        limit = self._limit(end, trips)
        begins = self.constant(trips > 0, element="i1") if end == "while" else None
        last = self.constant(trips - 1, element="i64") if end == "while" else None
        outer, self.lines = self.lines, []
        place = self.new((), "i64")
        inside = [self.new(each.shape, each.element) for each in states]
        lines = [self.new(each.shape[1:], each.element) for each in rows]
        following, stacked = body(place, inside, lines)
        goes_on = None if last is None else self.op("less", place, last, shape=(), element="i1")
        inner, self.lines = self.lines, outer
        head = "".join(
            f" {word}({', '.join(each.name for each in values)} : {', '.join(map(self.type_of, values))})"
            for word, values in (
                ("limit", limit),
                ("while", [begins] if begins else []),
                ("states", states),
                ("rows", rows),
            )
            if values
        )
        count: Size = rows[0].shape[0] if end == "rows" else Open()
        made = [self.new(each.shape, each.element) for each in states]
        made += [self.new((count, *each.shape), each.element) for each in stacked]
        arguments = ", ".join(f"{each.name}: {self.type_of(each)}" for each in (place, *inside, *lines))
        self._write_region(
            f"{', '.join(each.name for each in made)} = fuse.loop{head} -> ({', '.join(map(self.type_of, made))}) {{",
            f"^bb0({arguments}):",
            inner,
            [*following, *stacked],
            goes_on,
        )
        self.lines.append("}")
        return made

    def _limit(self, end: str, trips: int) -> list[Value]:
        match end:
            case "limit":
                return [self.constant(trips, element="i64")]
            case "argument":
                return [self.count(trips)]
            case _:
                return []

    def branch(
        self, condition: Value, then: Callable[[], Sequence[Value]], otherwise: Callable[[], Sequence[Value]]
    ) -> list[Value]:
        """Write a branch; both sides give the same shapes."""
        outer, regions = self.lines, list[tuple[list[str], Sequence[Value]]]()
        for side in (then, otherwise):
            self.lines = []
            given = side()
            regions.append((self.lines, given))
        self.lines = outer
        made = [self.new(each.shape, each.element) for each in regions[0][1]]
        head = f"{', '.join(each.name for each in made)} = fuse.if({condition.name} : {self.type_of(condition)})"
        self._write_region(f"{head} -> ({', '.join(map(self.type_of, made))}) {{", "", *regions[0])
        self._write_region("} else {", "", *regions[1])
        self.lines.append("}")
        return made

    def _write_region(
        self, head: str, label: str, inner: Sequence[str], given: Sequence[Value], goes_on: Value | None = None
    ) -> None:
        condition = f" while({goes_on.name} : {self.type_of(goes_on)})" if goes_on is not None else ""
        values = f" {', '.join(each.name for each in given)} : {', '.join(map(self.type_of, given))}" if given else ""
        self.lines += [
            head,
            *([label] if label else []),
            *(f"  {line}" for line in inner),
            f"  fuse.yield{condition}{values}",
        ]

    def text(self) -> str:
        """The program."""
        named = self.is_open and self.random.random() < 0.5
        arguments = ", ".join(
            f"{each.name}: {self.type_of(each)}{self._names(each) * named}" for each in self.arguments
        )
        types = ", ".join(self.type_of(each) for each in self.outputs)
        names = ", ".join(each.name for each in self.outputs)
        body = "".join(f"  {line}\n" for line in (*self.lines, f"return {names} : {types}"))
        return f"func.func @main({arguments}) -> ({types}) {{\n{body}}}\n"

    def _names(self, value: Value) -> str:
        names = [f'"n{size.times}"' if isinstance(size, Rows) else '""' for size in value.shape]
        return f" {{fuse.sizes = [{', '.join(names)}]}}" if any(isinstance(size, Rows) for size in value.shape) else ""

    def inputs(self, seed: int, rows: int | None = None) -> list[Array]:
        """Elements of the arguments: halves, so that equal numbers are met, too.

        Args:
            seed: Which elements.
            rows: Other rows than the program's.
        """
        random = np.random.default_rng(seed)
        many = self.rows if rows is None else rows
        found: list[Array] = []
        for each in self.arguments:
            if each.name in self.counts:
                found.append(np.array(self.counts[each.name], np.int64))
                continue
            shape = [size.times * many if isinstance(size, Rows) else self.number(size) for size in each.shape]
            found.append((random.integers(-6, 7, shape) / 2).astype(np.float32).reshape(shape))
        return found
