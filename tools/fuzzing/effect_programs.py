"""Random programs with regions, several blocks and effects, as text; what they mean is in `effect_semantics`.

All values are f64: images of one shape, one number for each of two channels, and single numbers, so that any two meet
in an operator. A program has loops, branches, blocks in an order in which they do not run, calls, operators with
regions, ops that nobody knows, and dead ops.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from random import Random
from typing import NamedTuple

IMAGE, CHANNELS, NUMBER = "tensor<1x2x3x3xf64>", "tensor<1x2x1x1xf64>", "tensor<f64>"
VECTOR = "tensor<2xf64>"
_WIDTH = {IMAGE: 2, CHANNELS: 1, NUMBER: 0}


class Value(NamedTuple):
    """A name and its type."""

    name: str
    type: str


@dataclass(eq=False, slots=True)
class ProgramWriter:
    """A program under construction."""

    random: Random
    ops_left: int
    lines: list[str] = field(default_factory=list[str])
    names: int = 0
    may_call: bool = True
    """Not inside an op that nobody knows: it may have symbols of its own."""

    def new(self, type: str) -> Value:
        """A value with a new name."""
        self.names += 1
        return Value(f"%v{self.names}", type)

    def op(self, text: str, type: str) -> Value:
        """Write an op with one result; `text` is what stands behind `=`."""
        self.ops_left -= 1
        value = self.new(type)
        self.lines.append(f"{value.name} = {text}")
        return value

    def chance(self, probability: float) -> bool:
        """True that often."""
        return self.random.random() < probability

    def pick(self, visible: Sequence[Value], *types: str) -> Value:
        """A visible value of one of the types, recent ones more often; a constant where there is none."""
        fitting = [value for value in visible if value.type in types]
        if not fitting:
            return self.constant(self.random.choice(types))
        return self.random.choice(fitting[-4:] if self.chance(0.6) else fitting)

    def image(self, visible: Sequence[Value]) -> str:
        """Name of a visible image."""
        return self.pick(visible, IMAGE).name

    def constant(self, type: str) -> Value:
        """A constant of the type, a splat or not; positive where that matters."""
        sizes = [int(size) for size in type[7:-1].split("x")[:-1]]
        count = 1 if self.chance(0.3) else prod(sizes)
        numbers = [self.random.choice((0.5, 1.0, 2.0, 0.25, 1.5)) for _ in range(count)]
        elements = str(numbers[0]) if count == 1 else _nested(numbers, sizes)
        return self.op(f"arith.constant dense<{elements}> : {type}", type)

    def truth(self) -> str:
        """Name of a new i1, which the run chooses."""
        return self.op('"test.choose"() : () -> i1', "i1").name


def _nested(numbers: Sequence[float], sizes: Sequence[int]) -> str:
    if not sizes:
        return str(numbers[0])
    step = len(numbers) // sizes[0]
    return f"[{', '.join(_nested(numbers[i : i + step], sizes[1:]) for i in range(0, len(numbers), step))}]"


Maker = Callable[[ProgramWriter, Sequence[Value]], Value | None]


def _unary(writer: ProgramWriter, visible: Sequence[Value]) -> Value:
    x = writer.pick(visible, IMAGE, CHANNELS, NUMBER)
    name = writer.random.choice(("relu", "tanh", "abs", "negative", "sigmoid", "leaky_relu"))
    more = ", alpha = 0.25" if name == "leaky_relu" else ""
    return writer.op(f"fuse.{name} {x.name}{more} : {x.type}", x.type)


def _binary(writer: ProgramWriter, visible: Sequence[Value]) -> Value:
    x, y = (writer.pick(visible, IMAGE, CHANNELS, NUMBER) for _ in range(2))
    if writer.chance(0.4):
        y = writer.constant(writer.random.choice((CHANNELS, NUMBER)))
    name = writer.random.choice(("add", "subtract", "multiply", "maximum"))
    type = max(x.type, y.type, key=_WIDTH.__getitem__)
    return writer.op(f"fuse.{name} {x.name}, {y.name} : ({x.type}, {y.type}) -> {type}", type)


def _convolution(writer: ProgramWriter, visible: Sequence[Value]) -> Value:
    size, padding = writer.random.choice(((1, ""), (3, ", padding = [1, 1, 1, 1]")))
    weight = writer.constant(f"tensor<2x2x{size}x{size}xf64>")
    x = writer.image(visible)
    y = writer.op(f"fuse.conv2d {x}, {weight.name}{padding} : ({IMAGE}, {weight.type}) -> {IMAGE}", IMAGE)
    if writer.chance(0.4):
        bias = writer.constant(VECTOR)
        y = writer.op(f"fuse.bias_add {y.name}, {bias.name} : ({IMAGE}, {VECTOR}) -> {IMAGE}", IMAGE)
    if writer.chance(0.4):
        return _batch_norm(writer, [*visible, y])
    return writer.op(f"fuse.tanh {y.name} : {IMAGE}", IMAGE)


def _batch_norm(writer: ProgramWriter, visible: Sequence[Value]) -> Value:
    names = [writer.constant(VECTOR).name for _ in range(4)]
    if writer.chance(0.3):
        # Maybe an argument: then nothing is known about the parameter.
        names[writer.random.randrange(4)] = writer.pick(visible, VECTOR).name
    types = ", ".join([IMAGE, *[VECTOR] * 4])
    operands = ", ".join([writer.image(visible), *names])
    return writer.op(f"fuse.batch_norm {operands} : ({types}) -> {IMAGE}", IMAGE)


def _pool(writer: ProgramWriter, visible: Sequence[Value]) -> Value:
    name = writer.random.choice(("max_pool2d", "avg_pool2d"))
    window = "pool_size = [3, 3], padding = [1, 1, 1, 1]"
    return writer.op(f"fuse.{name} {writer.image(visible)}, {window} : ({IMAGE}) -> {IMAGE}", IMAGE)


def _transposed(writer: ProgramWriter, visible: Sequence[Value]) -> Value:
    last = "tensor<1x3x3x2xf64>"
    x = writer.op(
        f"fuse.transpose {writer.image(visible)}, permutation = [0, 2, 3, 1] : ({IMAGE}) -> {last}", last
    ).name
    if writer.chance(0.7):
        x = writer.op(f"fuse.relu {x} : {last}", last).name
    return writer.op(f"fuse.transpose {x}, permutation = [0, 3, 1, 2] : ({last}) -> {IMAGE}", IMAGE)


def _reshaped(writer: ProgramWriter, visible: Sequence[Value]) -> Value:
    flat = "tensor<2x9xf64>"
    x = writer.op(f"fuse.reshape {writer.image(visible)} : ({IMAGE}) -> {flat}", flat).name
    if writer.chance(0.5):
        x = writer.op(f"fuse.softmax {x} : {flat}", flat).name
    return writer.op(f"fuse.reshape {x} : ({flat}) -> {IMAGE}", IMAGE)


def _concatenated(writer: ProgramWriter, visible: Sequence[Value]) -> Value:
    wide, pair = "tensor<1x4x3x3xf64>", (writer.image(visible), writer.image(visible))
    x = writer.op(f"fuse.concatenate {', '.join(pair)}, axis = 1 : ({IMAGE}, {IMAGE}) -> {wide}", wide).name
    return writer.op(f"fuse.strided_slice {x}, begin = [1], end = [3], axes = [1] : ({wide}) -> {IMAGE}", IMAGE)


def _split(writer: ProgramWriter, visible: Sequence[Value]) -> Value:
    half, name = "tensor<1x1x3x3xf64>", writer.new("").name
    writer.lines.append(
        f"{name}:2 = fuse.split {writer.image(visible)}, axis = 1, sizes = [1, 1] : ({IMAGE}) -> ({half}, {half})"
    )
    part = writer.op(f"fuse.abs {name}#{writer.random.randrange(2)} : {half}", half).name
    other = part if writer.chance(0.3) else f"{name}#{writer.random.randrange(2)}"
    return writer.op(f"fuse.concatenate {part}, {other}, axis = 1 : ({half}, {half}) -> {IMAGE}", IMAGE)


def _tuple(writer: ProgramWriter, visible: Sequence[Value]) -> Value:
    type = f"tuple<{IMAGE}, {IMAGE}>"
    tuples = [value for value in visible if value.type == type]
    if not tuples or writer.chance(0.6):
        pair = f"{writer.image(visible)}, {writer.image(visible)}"
        made = writer.op(f"fuse.tuple {pair} : ({IMAGE}, {IMAGE}) -> {type}", type)
        if writer.chance(0.4):
            return made
        tuples = [made]
    chosen, index = writer.random.choice(tuples).name, writer.random.randrange(2)
    return writer.op(f"fuse.get_tuple_element {chosen}, index = {index} : ({type}) -> {IMAGE}", IMAGE)


def _reduction(writer: ProgramWriter, visible: Sequence[Value]) -> Value:
    name, x = writer.random.choice(("sum", "max", "mean")), writer.image(visible)
    return writer.op(f"fuse.{name} {x}, axes = [2, 3], keepdims = true : ({IMAGE}) -> {CHANNELS}", CHANNELS)


def _where(writer: ProgramWriter, visible: Sequence[Value]) -> Value:
    truths = "tensor<1x2x3x3xi1>"
    x, y = writer.image(visible), writer.image(visible)
    condition = writer.op(f"fuse.less {x}, {y} : ({IMAGE}, {IMAGE}) -> {truths}", truths).name
    return writer.op(f"fuse.where {condition}, {y}, {x} : ({truths}, {IMAGE}, {IMAGE}) -> {IMAGE}", IMAGE)


def _of_image(*names: str) -> Maker:
    return lambda writer, visible: writer.op(
        f"fuse.{writer.random.choice(names)} {writer.image(visible)} : {IMAGE}", IMAGE
    )


def _constant(writer: ProgramWriter, visible: Sequence[Value]) -> Value:
    return writer.constant(writer.random.choice((IMAGE, CHANNELS, NUMBER)))


def _same_again(writer: ProgramWriter, visible: Sequence[Value]) -> Value:
    """The op of the last line once more, for those that look for equal ops."""
    last = writer.lines[-1].partition(" = ")[2] if writer.lines else ""
    if last.startswith("fuse.") and last.endswith(IMAGE) and "->" not in last:
        return writer.op(last, IMAGE)
    return _unary(writer, visible)


def _log(writer: ProgramWriter, visible: Sequence[Value]) -> None:
    x = writer.pick(visible, IMAGE, CHANNELS, NUMBER)
    writer.ops_left -= 1
    writer.lines.append(f'"test.log"({x.name}) : ({x.type}) -> ()')


def _read(writer: ProgramWriter, visible: Sequence[Value]) -> Value:
    return writer.op(f'"test.read"() : () -> {IMAGE}', IMAGE)


def _known(writer: ProgramWriter, visible: Sequence[Value]) -> Value:
    kind = writer.random.choice(("elemwise", "injective", "out_ewise_fusable", "opaque"))
    mark = f"fuse.pattern_kind = #fuse.pattern_kind<{kind}>"
    return writer.op(f'"test.pure"({writer.image(visible)}) {{{mark}}} : ({IMAGE}) -> {IMAGE}', IMAGE)


def _call(writer: ProgramWriter, visible: Sequence[Value]) -> Value:
    if not writer.may_call:
        return _read(writer, visible)
    name = writer.random.choice(("helper", "ready", "foreign"))
    return writer.op(f"func.call @{name}({writer.image(visible)}) : ({IMAGE}) -> {IMAGE}", IMAGE)


def _operator_with_region(writer: ProgramWriter, visible: Sequence[Value]) -> Value:
    arguments = [writer.new(IMAGE), writer.new(IMAGE)]
    x, y, result = writer.image(visible), writer.image(visible), writer.new(IMAGE)
    name, properties, operands = writer.random.choice(
        (
            ("stablehlo.reduce", "<{dimensions = array<i64>}> ", (x, y)),
            ("stablehlo.reduce_window", "<{window_dimensions = array<i64: 1, 1, 1, 1>}> ", (x, y)),
            ("stablehlo.sort", "", (x,)),
        )
    )
    heads, read = ", ".join(f"{value.name}: {value.type}" for value in arguments), ", ".join(operands)
    writer.lines.append(f'{result.name} = "{name}"({read}) {properties}({{\n^bb0({heads}):')
    may_call, writer.may_call = writer.may_call, False
    inner = write_ops(writer, [*visible, *arguments], writer.random.randint(0, 4), pure=writer.chance(0.8))
    writer.may_call = may_call
    writer.lines.append(f'"stablehlo.return"({writer.image(inner)}) : ({IMAGE}) -> ()')
    writer.lines.append(f"}}) : ({', '.join([IMAGE] * len(operands))}) -> {IMAGE}")
    return result


def _if(writer: ProgramWriter, visible: Sequence[Value]) -> Value | None:
    condition = writer.truth()
    result = writer.new(IMAGE) if writer.chance(0.6) else None
    writer.lines.append(
        f"{f'{result.name} = ' if result else ''}scf.if {condition}{f' -> ({IMAGE})' if result else ''} {{"
    )
    for branch in range(2 if result or writer.chance(0.5) else 1):
        if branch:
            writer.lines.append("} else {")
        inner = write_ops(writer, visible, writer.random.randint(0, 5))
        writer.lines.append(f"scf.yield {writer.image(inner)} : {IMAGE}" if result else "scf.yield")
    writer.lines.append("}")
    return result


def _for(writer: ProgramWriter, visible: Sequence[Value]) -> Value:
    bounds = [
        writer.op(f"arith.constant {number} : index", "index").name for number in (0, writer.random.randint(0, 3), 1)
    ]
    result, place, carried = writer.new(IMAGE), writer.new("index"), writer.new(IMAGE)
    low, high, step = bounds
    writer.lines.append(
        f"{result.name} = scf.for {place.name} = {low} to {high} step {step} "
        f"iter_args({carried.name} = {writer.image(visible)}) -> ({IMAGE}) {{"
    )
    inner = write_ops(writer, [*visible, carried], writer.random.randint(1, 5))
    writer.lines.append(f"scf.yield {writer.image(inner)} : {IMAGE}\n}}")
    return result


def _blocks_inside(writer: ProgramWriter, visible: Sequence[Value]) -> Value:
    """An op that nobody knows, whose region has several blocks."""
    result = writer.new(IMAGE)
    writer.lines.append(f'{result.name} = "test.region"() ({{')
    may_call, writer.may_call = writer.may_call, False
    write_blocks(writer, visible, writer.random.randint(1, 3), '"test.yield"({}) : ({}) -> ()')
    writer.may_call = may_call
    writer.lines.append(f"}}) : () -> {IMAGE}")
    return result


PURE: Sequence[Maker] = (
    *(
        _unary,
        _unary,
        _binary,
        _binary,
        _binary,
        _convolution,
        _convolution,
        _batch_norm,
        _pool,
        _transposed,
        _reshaped,
    ),
    *(_concatenated, _split, _tuple, _reduction, _where, _constant, _same_again, _known, _operator_with_region),
    *(_of_image("sort"), _of_image("stop_fusion"), _of_image("dropout", "softmax")),
)
OTHERS: Sequence[Maker] = (_log, _log, _read, _call, _if, _if, _for, _blocks_inside)


def write_ops(writer: ProgramWriter, visible: Sequence[Value], count: int, *, pure: bool = False) -> list[Value]:
    """Write some ops of one block.

    Args:
        writer: The program; it grows.
        visible: Values that the ops may read.
        count: How many times an op, or a few that belong together, are written.
        pure: Whether to leave out effects and control flow.

    Returns:
        The visible values after these ops.
    """
    values = list(visible)
    for _ in range(count):
        if writer.ops_left <= 0:
            break
        made = writer.random.choice(PURE if pure or writer.chance(0.75) else OTHERS)(writer, values)
        if made is not None:
            values.append(made)
    return values


def write_blocks(writer: ProgramWriter, visible: Sequence[Value], count: int, end: str) -> None:
    """Write the blocks of a region, the entry first and the others in any order.

    Args:
        writer: The program; it grows.
        visible: Values from outside.
        count: Number of blocks.
        end: The terminator of the region, with places for the value that it returns and its type.
    """
    label = [f"^b{writer.new('').name[1:]}" for _ in range(count)]
    # A branch may lead back, to any block but the entry, or to the next.
    targets = [
        []
        if block == count - 1
        else [block + 1, *writer.random.choices(range(1, count), k=writer.random.randint(0, 1))]
        for block in range(count)
    ]
    dominators = _dominators(targets)
    arguments = [[writer.new(IMAGE)] if block and writer.chance(0.4) else [] for block in range(count)]
    given: dict[int, list[Value]] = {}
    texts: list[list[str]] = [[] for _ in range(count)]
    outer, pending = writer.lines, list(range(count))
    while pending:
        block = next(each for each in pending if all(other in given for other in dominators[each]))
        pending.remove(block)
        seen = [*visible, *(value for other in sorted(dominators[block]) for value in given[other]), *arguments[block]]
        writer.lines = texts[block]
        known = write_ops(writer, seen, writer.random.randint(0, 6))
        given[block] = [*arguments[block], *known[len(seen) :]]
        _end_block(writer, known, targets[block], label, arguments, end)
    writer.lines = outer
    order = list(range(1, count))
    writer.random.shuffle(order)
    for block in (0, *order):
        heads = ", ".join(f"{value.name}: {value.type}" for value in arguments[block])
        if block:
            writer.lines.append(f"{label[block]}{f'({heads})' if heads else ''}:")
        writer.lines.extend(texts[block])


def _end_block(
    writer: ProgramWriter,
    known: Sequence[Value],
    targets: Sequence[int],
    label: Sequence[str],
    arguments: Sequence[Sequence[Value]],
    end: str,
) -> None:
    if not targets:
        writer.lines.append(end.format(writer.image(known), IMAGE))
        return
    condition = writer.truth() if len(targets) > 1 else ""
    places = [
        f"{label[target]}{f'({writer.image(known)} : {IMAGE})' if arguments[target] else ''}" for target in targets
    ]
    branch = f"cf.cond_br {condition}, {', '.join(places)}" if condition else f"cf.br {places[0]}"
    writer.lines.append(branch)


def _dominators(targets: Sequence[Sequence[int]]) -> list[set[int]]:
    """For each block those other blocks that every way to it passes; all blocks are reached from the entry."""
    everything = set(range(len(targets)))
    found = [{0}, *(set(everything) for _ in targets[1:])]
    changes = True
    while changes:
        changes = False
        for block in range(1, len(targets)):
            ways = [found[before] for before, after in enumerate(targets) if block in after]
            now = ways[0].intersection(*ways[1:]) | {block}
            changes |= now != found[block]
            found[block] = now
    return [each - {block} for block, each in enumerate(found)]


_FUNCTIONS = f"""
func.func private @ready(%x: {IMAGE}) -> {IMAGE} attributes {{primitive}} {{
  %y = fuse.tanh %x : {IMAGE}
  %z = fuse.add %y, %x : ({IMAGE}, {IMAGE}) -> {IMAGE}
  return %z : {IMAGE}
}}
func.func @foreign(%x: {IMAGE}) -> {IMAGE} attributes {{fuse.compiler = "other"}} {{
  %y = fuse.relu %x : {IMAGE}
  return %y : {IMAGE}
}}
"""


def program_text(seed: int, max_ops: int = 24) -> str:
    """The program of a seed: a function `main` of two images and a vector, and functions that it calls."""
    random = Random(seed)
    writer = ProgramWriter(random, random.randint(3, max_ops))
    arguments = [Value("%x", IMAGE), Value("%y", IMAGE), Value("%vector", VECTOR)]
    writer.lines.append(f"func.func @main(%x: {IMAGE}, %y: {IMAGE}, %vector: {VECTOR}) -> {IMAGE} {{")
    write_blocks(writer, arguments, random.choice((1, 1, 2, 3, 5)), "return {} : {}")
    writer.lines.append("}")
    writer.ops_left = 4
    writer.lines.append(f"func.func @helper(%h: {IMAGE}) -> {IMAGE} {{")
    # `main` alone calls: a helper that calls itself would never end.
    values = write_ops(writer, [Value("%h", IMAGE)], 3, pure=True)
    if random.random() < 0.5:
        _log(writer, values)
    writer.lines.append(f"return {writer.image(values)} : {IMAGE}\n}}")
    return "\n".join(writer.lines) + _FUNCTIONS
