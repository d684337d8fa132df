"""Products of integers of 8 bits as products of words: four neighbours along the sum in 32 bits. Pure data.

Processors multiply four pairs of bytes, one without sign and one with, and add them to a sum of 32 bits in one
instruction. A program whose factors lie with the summed axis last is one on words of four bytes: its buffers have a
quarter of the elements in the last axis, that axis a quarter of the points, and the product is a *dot* of two words.
Everything else about it is as before: what lies where, windows, padding (a word of four equal bytes), `finish`.

1. The sum is over products of one read of `ui8` and one of `i8`, each made an i32; nothing else reads these buffers.
2. One reduced axis runs along the last axis of both, with stride 1, and in no other index and no guard.
3. Its size, the last axes of both buffers, and whatever else is added to the two indices are multiples of four.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fuse_dialect.kernels.bodies import indices_of
from fuse_dialect.kernels.indices import Index, Loop, axes_of
from fuse_dialect.kernels.program import Apply, Axis, Body, Literal, LoopProgram, Read, Stage

WORD = 4
"""Bytes of a word."""
DOTS = ("dot4.us", "dot4.su")
"""Functions of two words, of one of which the bytes have no sign: the first, the second."""


@dataclass(frozen=True, slots=True)
class _Product:
    """The product of two bytes."""

    reads: tuple[Read, Read]
    is_unsigned: tuple[bool, bool]


def in_words(program: LoopProgram) -> LoopProgram | None:
    """The program of one stage on words; `None` if it is no sum of products of bytes as the module's docstring says."""
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
    axis = _axis(stage, product.reads)
    lasts = [shapes[name][-1] for name in names]
    if axis is None or not all(isinstance(size, int) and size % WORD == 0 for size in lasts):
        return None
    reads = [_on_words(read, axis) for read in product.reads]
    if not all(reads):
        return None
    size = stage.axes[axis].size
    assert isinstance(size, int)
    function = DOTS[0] if product.is_unsigned[0] else DOTS[1]
    body: Body = (*(read for read in reads if read), Apply(function, (0, 1), "i32"))
    axes = (*stage.axes[:axis], Axis(size // WORD, is_reduced=True), *stage.axes[axis + 1 :])
    buffers = tuple(
        replace(buffer, element="i32", shape=(*buffer.shape[:-1], _quarter(buffer.shape[-1])))
        if buffer.name in names
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


def _quarter(size: int | str) -> int:
    assert isinstance(size, int)
    return size // WORD


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


def _axis(stage: Stage, reads: Sequence[Read]) -> int | None:
    """The reduced axis along which both factors lie (2)."""
    for axis, each in enumerate(stage.axes):
        if not each.is_reduced or not isinstance(each.size, int) or each.size % WORD:
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


def _on_words(read: Read, axis: int) -> Read | None:
    """The read of a word (3)."""
    last = read.indices[-1]
    assert isinstance(last, Index)
    terms = [(atom, factor) for atom, factor in last.terms if (atom, factor) != (Loop(axis), 1)]
    if last.constant % WORD or any(factor % WORD for _, factor in terms):
        return None
    for guard in read.guards:
        # A guard on the last axis counts bytes, unless it is about another index.
        if guard.index == last:
            return None
    words = Index((*((atom, factor // WORD) for atom, factor in terms),), last.constant // WORD)
    return replace(
        read,
        indices=(*read.indices[:-1], words + Index(((Loop(axis), 1),))),
        element="i32",
        otherwise=None if read.otherwise is None else Literal(_repeated(read.otherwise), "i32"),
    )


def _repeated(byte: Literal) -> int:
    """A word of four equal bytes, as a signed number."""
    word = (int(byte.value) & 0xFF) * 0x01010101
    return word - (1 << 32) if word >> 31 else word
