"""Loop programs as text, for people.

    stage dense_relu writes relu
      for i0 < 4, i1 < 6
        add from 0.0 : f32 over r2 < 8
          %0 = x[i0, r2] : f32  // dense
          %1 = w[i1, r2] : f32  // dense
          %2 = arith.mulf %0, %1 : f32  // dense
        then, %0 being the total
          %1 = 0.0 : f32
          %2 = arith.maximumf %0, %1 : f32  // relu
        store relu[i0, i1]

Axes are `i` where they are parallel and `r` where they are reduced, with their number. Where a mask hides columns from
rows (`bands`), the last line says which ones count:

    row i1 needs of s2, p the columns from i1 - 99 to before i1 + 1

And where reductions that read each other's totals are one pass with running totals (`cascades`), lines say which:

    in one pass over 512 columns:
      max is combined
      sum becomes sum * exp(max.old - max.new), and combined
"""

from collections.abc import Iterator, Sequence

from fuse_dialect.loops.bands import band_of
from fuse_dialect.loops.cascades import Cascade, cascade_behind_products, cascade_text
from fuse_dialect.loops.functions import Parameter, Variant
from fuse_dialect.loops.grouping import shared_rows
from fuse_dialect.loops.indices import Guard, Index, Loop, Quotient, loop
from fuse_dialect.loops.iteration_space import without_single_points
from fuse_dialect.loops.program import (
    Apply,
    Body,
    Extent,
    Inside,
    Instruction,
    Keep,
    Literal,
    LoopProgram,
    Position,
    Read,
    Reduction,
    Role,
    Stage,
    Value,
)


def program_text(program: LoopProgram) -> str:
    """The program, in lines that end with a newline."""
    lines = [f"program @{program.name}"]
    for buffer in program.buffers:
        shape = "".join(f"{size}x" for size in buffer.shape)
        lines.append(f"  {buffer.role.value} {buffer.name} : {shape}{buffer.element}")
    for stage in program.stages:
        lines.extend(f"  {line}" for line in _stage(stage))
    lines.extend(f"  {line}" for line in (*_band(program), *_cascade(program)))
    return "".join(f"{line}\n" for line in lines)


def _band(program: LoopProgram) -> Iterator[str]:
    """Which columns count, if not all do."""
    if len(program.stages) < 2 or any(stage.is_ordered for stage in program.stages):
        return
    stages = [without_single_points(stage) for stage in program.stages]
    rows = shared_rows(stages)
    band = band_of(program, stages, rows)
    if band is None:
        return
    axes = [axis for axis, each in enumerate(program.stages[0].axes) if each.size != 1]
    names = [f"i{axis}" for axis in axes]
    local = {buffer.name for buffer in program.buffers if buffer.role is Role.LOCAL}
    passed = dict.fromkeys(
        stage.buffer
        for number, stage in enumerate(stages)
        if number in band.axes and not stage.axes[band.axes[number]].is_reduced and stage.buffer in local
    )
    ends = [
        " or ".join(index_text(loop(rows - 1) * end.factor + end.constant, names) for end in each)
        for each in (band.lows, band.stops)
    ]
    yield f"row {names[rows - 1]} needs of {', '.join(passed)} the columns from {ends[0]} to before {ends[1]}"


def _cascade(program: LoopProgram) -> Sequence[str]:
    """The one-pass form of reductions of which some read totals."""
    if len(program.stages) < 2 or any(stage.is_ordered for stage in program.stages):
        return ()
    stages = [without_single_points(stage) for stage in program.stages]
    cascade = cascade_behind_products(stages, shared_rows(stages))
    return cascade_text(cascade) if isinstance(cascade, Cascade) and cascade.reads_totals else ()


def _stage(stage: Stage) -> Iterator[str]:
    names = [f"{'r' if axis.is_reduced else 'i'}{number}" for number, axis in enumerate(stage.axes)]
    loops = [f"{name} < {axis.size}" for name, axis in zip(names, stage.axes, strict=True)]
    parallel = [number for number, axis in enumerate(stage.axes) if not axis.is_reduced]
    yield f"stage {stage.name} writes {stage.buffer}"
    yield f"  for {', '.join(loops[number] for number in parallel) or 'once'}"
    if stage.reduction is None:
        yield from (f"    {line}" for line in _body(stage.body, names, 0))
    else:
        start = literal_text(stage.reduction.start)
        over = ", ".join(loops[len(parallel) :])
        yield f"    {stage.reduction.combiner.value} from {start} over {over}{_kept(stage.reduction)}"
        yield from (f"      {line}" for line in _body(stage.body, names, 0))
        if stage.finish:
            yield f"    then, %0 being the {'value' if stage.is_scan else 'total'}"
            yield from (f"      {line}" for line in _body(stage.finish, names, 1))
    stored = [index_text(index, names) for index in stage.stored]
    if stage.scatter is None:
        yield f"    store {stage.buffer}[{', '.join(stored)}]"
        return
    place = ", ".join(index_text(index, names) for index in stage.scatter.indices)
    how = stage.scatter.combination.combiner.value if stage.scatter.combination is not None else "store"
    rest = "".join(f", {index}" for index in stored[stage.scatter.depth :])
    yield f"    {how} in order {stage.buffer}[{stage.scatter.places}[{place}]{rest}]"


def _kept(reduction: Reduction) -> str:
    match reduction.keep:
        case Keep.TOTAL:
            return ""
        case Keep.THROUGH:
            places = "each point" if reduction.count is None else f"the first {reduction.count} points"
            return f", stored at {places}"
        case Keep.BEFORE:
            return ", stored before each point"


def _body(body: Body, names: Sequence[str], first: int) -> Iterator[str]:
    for place, instruction in enumerate(body, first):
        origin = instruction.origin if isinstance(instruction, Read | Apply) else ""
        yield f"%{place} = {instruction_text(instruction, names)}{f'  // {origin}' if origin else ''}"


def instruction_text(instruction: Instruction, names: Sequence[str]) -> str:
    """An instruction without its place; `names` are those of the axes."""
    match instruction:
        case Read():
            indices = [
                f"%{index.place}" if isinstance(index, Value) else index_text(index, names)
                for index in instruction.indices
            ]
            where = ""
            if instruction.otherwise is not None:
                otherwise = literal_text(instruction.otherwise).partition(" : ")[0]
                where = f" where {_guards(instruction.guards, names)} else {otherwise}"
            return f"{instruction.buffer}[{', '.join(indices)}]{where} : {instruction.element}"
        case Literal():
            return literal_text(instruction)
        case Position(index, element):
            return f"position {index_text(index, names)} : {element}"
        case Extent(size, element):
            return f"extent {size} : {element}"
        case Inside(guards):
            return f"inside {_guards(guards, names)} : i1"
        case Apply(function, operands, element, parameter):
            arguments = [*_parameter(parameter), *(f"%{place}" for place in operands)]
            return f"{function} {', '.join(arguments)} : {element}"


def _parameter(parameter: Parameter | None) -> list[str]:
    match parameter:
        case None:
            return []
        case Variant():
            return [parameter.value]
        case bytes():
            return [parameter.hex()]
        case _:
            return [str(parameter)]


def literal_text(literal: Literal) -> str:
    """A constant and its type."""
    return f"{str(literal.value).lower()} : {literal.element}"


def _guards(guards: Sequence[Guard], names: Sequence[str]) -> str:
    return " and ".join(f"0 <= {index_text(guard.index, names)} < {guard.size}" for guard in guards)


def index_text(index: Index, names: Sequence[str]) -> str:
    """An index as a sum: `2*i0 + r3 - 1`."""
    text = ""
    for atom, factor in index.terms:
        match atom:
            case Loop(axis):
                part = names[axis]
            case Quotient(of, by):
                part = f"{_operand(of, names)} // {by}"
            case _:
                part = f"{_operand(atom.of, names)} % {atom.by}"
        if abs(factor) != 1:
            part = f"{abs(factor)}*{part if isinstance(atom, Loop) else f'({part})'}"
        sign = "-" if factor < 0 else "+"
        text += f" {sign} {part}" if text else f"-{part}" if factor < 0 else part
    if not text:
        return str(index.constant)
    return text + (f" {'-' if index.constant < 0 else '+'} {abs(index.constant)}" if index.constant else "")


def _operand(index: Index, names: Sequence[str]) -> str:
    """An index that is divided: only a loop variable stands without parentheses."""
    text = index_text(index, names)
    return text if text in names else f"({text})"
