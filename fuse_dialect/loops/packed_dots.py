"""Products of integers of 8 bits as packed dot products: four neighbours along the sum in 32 bits. Pure data.

Processors multiply four pairs of bytes, one without sign and one with, and add them to a sum of 32 bits in one
instruction. A program whose factors lie with the summed axis last is one on *quads* of bytes: its buffers have a
quarter of the elements in the last axis, that axis a quarter of the points, and the product is a *dot* of two quads.
Everything else about it is as before: what lies where, windows, padding (a quad of four equal bytes), `finish`.

1. The sum is over products of one read of `ui8` and one of `i8`, each made an i32; nothing else reads these buffers.
2. One reduced axis runs along the last axis of both: of four neighbours along it all other indices and guards are the
   same, and the last index counts up by one. That may be in parts, as where heads of an attention lie one behind the
   other: `k // 64` and `k % 64` are such indices.
3. Its size, the last axes of both buffers, and the last index of the first of four neighbours are multiples of four.

Other processors multiply two pairs of 16 bits. There 32 bits are a *pair*: constant factors are packed as numbers of 16
bits, and the others, two bytes at a time, become such when they are copied for the kernel. Multiples of two suffice.

Tiles multiply quads of any signs, and pairs of bf16, of which 32 bits count as an f32 that is only moved. A constant
factor may lie otherwise: then its packing makes pairs of it. Of any other that does, each pair is two reads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from fuse_dialect.loops.bodies import indices_of, moved, with_indices
from fuse_dialect.loops.functions import BYTE_PAIR, DOT, FLOAT_DOT, PAIR_DOT, SIGNED_DOT, UNSIGNED_DOT
from fuse_dialect.loops.indices import Index, axes_of, loop, substituted
from fuse_dialect.loops.program import Apply, Axis, Body, Buffer, Literal, LoopProgram, Read, Stage

QUAD = 4
"""Bytes of a quad."""
PAIR = 2
"""Bytes that become a pair of numbers of 16 bits."""


@dataclass(frozen=True, slots=True)
class _Product:
    """The product of two bytes."""

    reads: tuple[Read, Read]
    is_unsigned: tuple[bool, bool]


def in_quads(program: LoopProgram, *, of_equal_signs: bool = False) -> LoopProgram | None:
    """The program of one stage on quads of bytes; `None` if it is no sum of products as (1) to (3) say.

    Args:
        program: The program.
        of_equal_signs: Whether both factors may have signs, or none.
    """
    taken = _taken(program, QUAD, of_equal_signs=of_equal_signs)
    if taken is None:
        return None
    product, axis, reads = taken
    first, second = product.is_unsigned
    factors = (1, 0) if second and not first else (0, 1)
    name = DOT if first != second else UNSIGNED_DOT if first else SIGNED_DOT
    body: Body = (*(_of_32_bits(read) for read in reads), Apply(name, factors, "i32"))
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
        Apply(BYTE_PAIR, (0,), "i32"),
        _of_32_bits(w),
        Apply(PAIR_DOT, (1, 2), "i32"),
    )
    return _rewritten(program, axis, body, {x.buffer: "i16", w.buffer: "i32"}, PAIR)


def in_float_pairs(program: LoopProgram, constants: frozenset[str]) -> LoopProgram | None:
    """The program of one stage on pairs of bf16; `None` if it is no sum of products of two reads of these.

    One factor lies along the sum, as (2) and (3) say for pairs. The other does, too, or is constant: then its packing
    has to put neighbours along the sum together, `Packing.apart` elements from each other. Else each pair is two reads.
    """
    (stage,) = program.stages
    reduction = stage.reduction
    if reduction is None or reduction.start != Literal(0.0, "f32") or reduction.combiner.value != "add":
        return None
    reads = None if stage.is_scan else _float_reads(stage.body)
    if reads is None or _are_read_elsewhere(stage, reads) or not all(map(_has_zeros_around, reads)):
        return None
    shapes = {buffer.name: buffer.shape for buffer in program.buffers}
    for x, w in (reads, reads[::-1]):
        found = _along(stage, [x], PAIR)
        if found is None or not _is_even(shapes[x.buffer][-1]):
            continue
        axis, (pairs,) = found
        places: dict[str, int | None] = {x.buffer: len(shapes[x.buffer]) - 1}
        other, place, apart = (_of_f32(w),), _pair_place(w, axis, shapes[w.buffer], constants), 1
        along = _by_units(w, axis, PAIR, stage) if _is_even(shapes[w.buffer][-1]) else None
        if along is not None:
            other, place = (_of_f32(along),), len(w.indices) - 1
        elif place is not None:
            apart = prod(size for size in shapes[w.buffer][place + 1 :] if isinstance(size, int))
        else:
            other, place = _two_reads(w, axis, stage), None
        places[w.buffer] = place
        body: Body = (_of_f32(pairs), *(moved(each, range(1, 1 + len(other))) for each in other))
        body = (*body, Apply(FLOAT_DOT, (0, len(body) - 1), "f32", apart))
        elements = {x.buffer: "f32", w.buffer: "i16" if place is None else "f32"}
        return _rewritten(program, axis, body, elements, PAIR, places)
    return None


def _two_reads(read: Read, axis: int, stage: Stage) -> Body:
    """The pair of two numbers that do not lie side by side, the first one in the lower bits."""
    sizes = [each.size for each in stage.axes]

    def at(number: int) -> Read:
        values = [loop(each) if each != axis else loop(each) * PAIR + number for each in range(len(sizes))]
        one = with_indices(read, lambda index: substituted(index, values, sizes))
        assert isinstance(one, Read), "a read with other indices"
        return replace(one, element="i16", otherwise=None if read.otherwise is None else Literal(0, "i16"))

    return (
        at(0),
        at(1),
        Apply("arith.extui", (0,), "i32"),
        Apply("arith.extui", (1,), "i32"),
        Literal(16, "i32"),
        Apply("arith.shli", (3, 4), "i32"),
        Apply("arith.ori", (2, 5), "i32"),
        Apply("arith.bitcast", (6,), "f32"),
    )


def _has_zeros_around(read: Read) -> bool:
    return read.otherwise is None or read.otherwise.value == 0


def _float_reads(body: Body) -> tuple[Read, Read] | None:
    """The two reads of bf16 that are multiplied in f32, if that is all."""
    if len(body) != 5:
        return None
    match body[4]:
        case Apply("arith.mulf", (left, right), "f32") if left != right:
            widened = [body[left], body[right]]
        case _:
            return None
    reads: list[Read] = []
    for each in widened:
        read = body[each.operands[0]] if isinstance(each, Apply) and each.function == "arith.extf" else None
        if not isinstance(read, Read) or read.element != "bf16":
            return None
        reads.append(read)
    return reads[0], reads[1]


def _pair_place(read: Read, axis: int, shape: tuple[int | str, ...], constants: frozenset[str]) -> int | None:
    """The axis of a constant, which is not its last one, along which it is paired: the only one that an axis counts."""
    places = [place for place, index in enumerate(read.indices) if index == loop(axis)]
    others = [index for index in indices_of((read,)) if index != loop(axis)]
    if read.buffer not in constants or read.guards or len(places) != 1 or any(axis in axes_of(each) for each in others):
        return None
    return places[0] if _is_even(shape[places[0]]) and all(isinstance(size, int) for size in shape) else None


def _is_even(size: int | str) -> bool:
    return isinstance(size, int) and size % PAIR == 0


def _of_f32(read: Read) -> Read:
    """The read of 32 bits in place of a bf16; what stands around is 0."""
    return replace(read, element="f32", otherwise=None if read.otherwise is None else Literal(0.0, "f32"))


def _are_read_elsewhere(stage: Stage, reads: Sequence[Read]) -> bool:
    """Whether a factor is the other one, too, or is read behind the sum (1)."""
    names = [read.buffer for read in reads]
    return names[0] == names[1] or any(isinstance(each, Read) and each.buffer in names for each in stage.finish)


def _taken(
    program: LoopProgram, unit: int, *, of_equal_signs: bool = False
) -> tuple[_Product, int, tuple[Read, Read]] | None:
    """The product, its axis, and both reads by units of so many bytes, of the element type that they had."""
    (stage,) = program.stages
    reduction = stage.reduction
    if reduction is None or reduction.start != Literal(0, "i32") or reduction.combiner.value != "add" or stage.is_scan:
        return None
    product = _product(stage.body)
    if product is None or (product.is_unsigned[0] == product.is_unsigned[1] and not of_equal_signs):
        return None
    if _are_read_elsewhere(stage, product.reads):
        return None
    names = [read.buffer for read in product.reads]
    shapes = {buffer.name: buffer.shape for buffer in program.buffers}
    found = _along(stage, product.reads, unit)
    lasts = [shapes[name][-1] for name in names]
    if found is None or not all(isinstance(size, int) and size % unit == 0 for size in lasts):
        return None
    axis, (one, other) = found
    return product, axis, (one, other)


def _rewritten(
    program: LoopProgram,
    axis: int,
    body: Body,
    elements: Mapping[str, str],
    unit: int,
    places: Mapping[str, int | None] | None = None,
) -> LoopProgram:
    """The program with another body, whose buffers have units of elements along the last axis, or that of `places`.

    A buffer whose place is `None` keeps its shape.
    """
    (stage,) = program.stages

    def shape(buffer: Buffer) -> tuple[int | str, ...]:
        place = (places or {}).get(buffer.name, len(buffer.shape) - 1)
        if place is None:
            return buffer.shape
        return (*buffer.shape[:place], _divided(buffer.shape[place], unit), *buffer.shape[place + 1 :])

    axes = (
        *stage.axes[:axis],
        Axis(_divided(stage.axes[axis].size, unit), is_reduced=True),
        *stage.axes[axis + 1 :],
    )
    buffers = tuple(
        replace(buffer, element=elements[buffer.name], shape=shape(buffer)) if buffer.name in elements else buffer
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


def _along(stage: Stage, reads: Sequence[Read], unit: int) -> tuple[int, list[Read]] | None:
    """The reduced axis along which factors lie (2), and their reads by units."""
    for axis, each in enumerate(stage.axes):
        found = [_by_units(read, axis, unit, stage) for read in reads] if each.is_reduced else []
        by_units = [read for read in found if read is not None]
        if len(by_units) == len(reads):
            return axis, by_units
    return None


def _by_units(read: Read, axis: int, unit: int, stage: Stage) -> Read | None:
    """The read of so many neighbours along an axis at once; `None` if they do not lie as (2) and (3) say."""
    size = stage.axes[axis].size
    if not read.indices or not isinstance(read.indices[-1], Index) or not isinstance(size, int) or size % unit:
        return None
    sizes = [each.size if number != axis else size // unit for number, each in enumerate(stage.axes)]

    def at(place: int) -> Read:
        values = [loop(each) if each != axis else loop(axis) * unit + place for each in range(len(sizes))]
        neighbour = with_indices(read, lambda index: substituted(index, values, sizes))
        assert isinstance(neighbour, Read), "a read with other indices"
        return neighbour

    first = at(0)
    *before, last = first.indices
    assert isinstance(last, Index), "what replaces an index is one"
    if any(at(place) != replace(first, indices=(*before, last + place)) for place in range(1, unit)):
        return None
    if last.constant % unit or any(factor % unit for _, factor in last.terms):
        return None
    by_units = Index(tuple((atom, factor // unit) for atom, factor in last.terms), last.constant // unit)
    return replace(first, indices=(*before, by_units))


def _of_32_bits(read: Read) -> Read:
    """The read of 32 bits in place of a byte, with equal bytes around."""
    return replace(read, element="i32", otherwise=None if read.otherwise is None else _repeated(read.otherwise, QUAD))


def _repeated(byte: Literal, count: int) -> Literal:
    """A number of some equal bytes, with a sign."""
    number = int.from_bytes(bytes([int(byte.value) & 0xFF] * count), "little", signed=True)
    return Literal(number, {QUAD: "i32", PAIR: "i16"}[count])
