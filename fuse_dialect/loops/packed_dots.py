"""Products of integers of 8 bits as packed dot products: four neighbours along the sum in 32 bits. Pure data.

Processors multiply four pairs of bytes, one without sign and one with, and add them to a sum of 32 bits in one
instruction. A program whose factors lie with the summed axis last is one on *quads* of bytes: its buffers have a
quarter of the elements in the last axis, that axis a quarter of the points, and the product is a *dot* of two quads.
Everything else about it is as before: what lies where, windows, padding (a quad of four equal bytes), `finish`.

1. The sum is over products of one read of `ui8` and one of `i8`, each made an i32; nothing else reads these buffers.
2. One reduced axis runs along the last axis of both, with stride 1, and in no other index and no guard.
3. Its size, the last axes of both buffers, and whatever else is added to the two indices are multiples of four.

Other processors multiply two pairs of 16 bits. There 32 bits are a *pair*: constant factors are packed as numbers of 16
bits, and the others, two bytes at a time, become such when they are copied for the kernel. Multiples of two suffice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fuse_dialect.loops.bodies import indices_of
from fuse_dialect.loops.functions import DOT, PAIR_DOT
from fuse_dialect.loops.indices import Index, Loop, axes_of
from fuse_dialect.loops.program import Apply, Axis, Body, Literal, LoopProgram, Read, Stage

QUAD = 4
"""Bytes of a quad."""
PAIR = 2
"""Bytes that become a pair of numbers of 16 bits."""


@dataclass(frozen=True, slots=True)
class _Product:
    """The product of two bytes."""

    reads: tuple[Read, Read]
    is_unsigned: tuple[bool, bool]


def in_quads(program: LoopProgram) -> LoopProgram | None:
    """The program of one stage on quads of bytes; `None` if it is no sum of products as (1) to (3) say."""
    taken = _taken(program, QUAD)
    if taken is None:
        return None
    product, axis, reads = taken
    factors = (0, 1) if product.is_unsigned[0] else (1, 0)
    body: Body = (*(_of_32_bits(read) for read in reads), Apply(DOT, factors, "i32"))
    return _rewritten(program, axis, body, dict.fromkeys((read.buffer for read in reads), "i32"), QUAD)


def in_pairs(program: LoopProgram, constants: frozenset[str]) -> LoopProgram | None:
    """The program of one stage on pairs; `None` if it is no such sum, or the numbers with a sign are not constant.

    Elements of the constant are pairs already, which its packing has to see to: `Packing.is_pairs`.
    """
    taken = _taken(program, PAIR)
    if taken is None:
        return None
    product, axis, reads = taken
    place = product.is_unsigned.index(True)
    x, w = reads[place], reads[1 - place]
    if w.buffer not in constants or x.buffer in constants:
        return None
    body: Body = (
        replace(x, element="i16", otherwise=None if x.otherwise is None else _repeated(x.otherwise, PAIR)),
        Apply("arith.extui", (0,), "i32"),
        Literal(8, "i32"),
        Apply("arith.shli", (1, 2), "i32"),
        Apply("arith.ori", (1, 3), "i32"),
        Literal(0x00FF00FF, "i32"),
        Apply("arith.andi", (4, 5), "i32"),  # bytes 0 and 1 are where those of numbers 0 and 1 of a pair are
        _of_32_bits(w),
        Apply(PAIR_DOT, (6, 7), "i32"),
    )
    return _rewritten(program, axis, body, {x.buffer: "i16", w.buffer: "i32"}, PAIR)


def _taken(program: LoopProgram, unit: int) -> tuple[_Product, int, tuple[Read, Read]] | None:
    """The product, its axis, and both reads by units of so many bytes, of the element type that they had."""
    (stage,) = program.stages
    reduction = stage.reduction
    if reduction is None or reduction.start != Literal(0, "i32") or reduction.combiner.value != "add" or stage.is_scan:
        return None
    product = _product(stage.body)
    if product is None or product.is_unsigned[0] == product.is_unsigned[1]:
        return None
    names = [read.buffer for read in product.reads]
    others = [each.buffer for each in stage.finish if isinstance(each, Read)]
    if names[0] == names[1] or set(names) & set(others):  # (1)
        return None
    shapes = {buffer.name: buffer.shape for buffer in program.buffers}
    axis = _axis(stage, product.reads, unit)
    lasts = [shapes[name][-1] for name in names]
    if axis is None or not all(isinstance(size, int) and size % unit == 0 for size in lasts):
        return None
    one, other = (_by_units(read, axis, unit) for read in product.reads)
    return None if one is None or other is None else (product, axis, (one, other))


def _rewritten(program: LoopProgram, axis: int, body: Body, elements: Mapping[str, str], unit: int) -> LoopProgram:
    (stage,) = program.stages
    axes = (
        *stage.axes[:axis],
        Axis(_divided(stage.axes[axis].size, unit), is_reduced=True),
        *stage.axes[axis + 1 :],
    )
    buffers = tuple(
        replace(buffer, element=elements[buffer.name], shape=(*buffer.shape[:-1], _divided(buffer.shape[-1], unit)))
        if buffer.name in elements
        else buffer
        for buffer in program.buffers
    )
    return replace(program, buffers=buffers, stages=(replace(stage, axes=axes, body=body),))


def rounds_to_bytes(program: LoopProgram) -> bool:
    """Whether floats become integers of 8 bits, and are no sums: then one rounding more or less is a step of these."""
    of_floats = any(each.reduction is not None and "f" in each.reduction.start.element for each in program.stages)
    return not of_floats and any(
        isinstance(each, Apply) and each.function in ("arith.fptoui", "arith.fptosi") and each.element == "i8"
        for stage in program.stages
        for each in (*stage.body, *stage.finish)
    )


def _divided(size: int | str, unit: int) -> int:
    assert isinstance(size, int), "sizes along the sum are known"
    return size // unit


def _product(body: Body) -> _Product | None:
    """The two reads whose elements are multiplied, if that is all."""
    if len(body) != 5:
        return None
    match body[4]:
        case Apply("arith.muli", (left, right), "i32") if left != right:
            pass
        case _:
            return None
    reads: list[Read] = []
    signs: list[bool] = []
    for place in (left, right):
        match body[place]:
            case Apply("arith.extui" | "arith.extsi" as function, (source,), "i32"):
                read = body[source]
                if not isinstance(read, Read) or read.element != "i8":
                    return None
                reads.append(read)
                signs.append(function == "arith.extui")
            case _:
                return None
    return _Product((reads[0], reads[1]), (signs[0], signs[1]))


def _axis(stage: Stage, reads: Sequence[Read], unit: int) -> int | None:
    """The reduced axis along which both factors lie (2)."""
    for axis, each in enumerate(stage.axes):
        if not each.is_reduced or not isinstance(each.size, int) or each.size % unit:
            continue
        if all(_is_last(read, axis) for read in reads):
            return axis
    return None


def _is_last(read: Read, axis: int) -> bool:
    last = read.indices[-1] if read.indices else None
    if not isinstance(last, Index) or (Loop(axis), 1) not in last.terms:
        return False
    # Once as the loop alone; inside of a quotient or a guard the axis would count bytes.
    rest = Index(tuple(term for term in last.terms if term != (Loop(axis), 1)), last.constant)
    others = [*indices_of((replace(read, indices=read.indices[:-1]),)), rest]
    return all(axis not in axes_of(index) for index in others)


def _by_units(read: Read, axis: int, unit: int) -> Read | None:
    """The read of so many bytes at once (3)."""
    last = read.indices[-1]
    assert isinstance(last, Index)
    terms = [(atom, factor) for atom, factor in last.terms if (atom, factor) != (Loop(axis), 1)]
    if last.constant % unit or any(factor % unit for _, factor in terms):
        return None
    # A guard on the last axis counts bytes, unless it is about another index.
    if any(guard.index == last for guard in read.guards):
        return None
    units = Index((*((atom, factor // unit) for atom, factor in terms),), last.constant // unit)
    return replace(read, indices=(*read.indices[:-1], units + Index(((Loop(axis), 1),))))


def _of_32_bits(read: Read) -> Read:
    """The read of 32 bits in place of a byte, with equal bytes around."""
    return replace(read, element="i32", otherwise=None if read.otherwise is None else _repeated(read.otherwise, QUAD))


def _repeated(byte: Literal, count: int) -> Literal:
    """A number of some equal bytes, with a sign."""
    number = int.from_bytes(bytes([int(byte.value) & 0xFF] * count), "little", signed=True)
    return Literal(number, {QUAD: "i32", PAIR: "i16"}[count])
