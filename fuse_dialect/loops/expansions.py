"""Constant columns of few bits, which kernels make real numbers of in registers. Pure data.

    columns[k, n] = (f32(q[k, n]) - zero[block, n]) * scale[block, n]      with block = k // size

1. One read, of *elements*, depends on the last reduced axis; all others, of *parameters*, on none or on axes before it.
2. What the factor multiplies by parameters alone moves out of the sum over the last reduced axis, since products
   distribute over sums: `sum(x * q * scale) = sum(x * q) * scale`, once for each block. (For numbers: where a parameter
   is not finite, the two differ.)
3. Elements of which four bits count (`q << 4 >> 4`) are packed two to a byte: those of neighbours along the sum.
4. Elements and parameters lie in panels of as many columns as a micro-kernel has.

Source: Frantar et al., MARLIN (arXiv:2408.11743), for 3; onnxruntime, MLAS SQNBitGemm, which sums blocks apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from fuse_dialect.loops.bodies import operands
from fuse_dialect.loops.contraction import Contraction, shapes_of, slice_of
from fuse_dialect.loops.indices import axes_of
from fuse_dialect.loops.packing import Packing, Strided
from fuse_dialect.loops.places import flat_place
from fuse_dialect.loops.program import Apply, Body, Literal, LoopProgram, Read, Value

_HALF = 4


@dataclass(frozen=True, slots=True)
class Expansion:
    """How the columns factor is made of what is packed."""

    elements: str
    """The buffer of integers."""
    is_signed: bool
    """Whether elements have a sign."""
    inside: Body
    """What is multiplied for each point of the last reduced axis; its read gives an element."""
    outside: Body
    """What the sum over that axis is multiplied by, of parameters; nothing if there is no such factor."""
    packings: Mapping[str, Packing] = field(hash=False)
    """The panels of elements and of the parameters that depend on columns, by buffer."""

    @property
    def panels(self) -> Packing:
        """Those of the elements."""
        return self.packings[self.elements]

    @property
    def per_byte(self) -> int:
        """Elements in a byte."""
        return 2 if self.panels.is_halves else 1


def expansion_of(
    program: LoopProgram, contraction: Contraction, constants: frozenset[str], width: int
) -> Expansion | None:
    """How constant columns expand; `None` if they are no such factor, or others read what would be packed.

    Args:
        program: What the contraction is from.
        contraction: Its reduced axes are packed in their order.
        constants: Names of buffers whose values are known.
        width: Columns of a panel.
    """
    stage, factor = contraction.stage, contraction.columns
    if contraction.element != "f32" or contraction.product != "arith.mulf" or factor.axes & {*contraction.outer}:
        return None
    if any(isinstance(stage.axes[axis].size, str) for axis in factor.axes):
        return None
    reads = [each for each in factor.body if isinstance(each, Read)]
    if any(not isinstance(each, Read | Literal | Apply) for each in factor.body) or any(map(_is_odd, reads)):
        return None
    last = contraction.reduced[-1]
    found = [place for place, each in enumerate(factor.body) if isinstance(each, Read) and last in _axes(each)]
    if len(found) != 1 or len({read.buffer for read in reads}) < len(reads):  # (1)
        return None
    elements, taken = factor.body[found[0]], _halves(factor.body, found[0])
    assert isinstance(elements, Read)
    has_halves = taken != found[0]
    # Bytes become floats and nothing else, so that registers may have them in any width.
    match [factor.body[reader] for reader in _readers(factor.body, taken)]:
        case [Apply("arith.sitofp" | "arith.uitofp", _, "f32") as conversion] if elements.element == "i8":
            is_signed = conversion.function == "arith.sitofp"
        case _:
            return None
    if has_halves:
        match factor.body[taken]:
            case Apply("arith.shrui"):
                is_signed = False
            case _ if not is_signed:
                return None
            case _:
                pass
        if _number(stage.axes[last].size) % 2:
            return None
    # The read stands where its halves were; what computed these is computed for nobody, and left out below. Registers
    # of 32 bits hold all elements with a sign.
    (converted,) = _readers(factor.body, taken)
    changed = {taken: elements, converted: replace(conversion, function="arith.sitofp")}
    body = tuple(changed.get(place, each) for place, each in enumerate(factor.body))
    outside, inside = _split(body, elements)
    packings: dict[str, Packing] = {}
    for read in reads:
        axes = contraction.reduced if read is elements else contraction.reduced[:-1]
        if not _axes(read):
            continue
        packing = _panels(program, contraction, read, axes, width)
        others = sum(isinstance(each, Read) and each.buffer == read.buffer for each in (*stage.body, *stage.finish))
        if packing is None or read.buffer not in constants or others > 1:
            return None
        packings[read.buffer] = replace(packing, is_halves=has_halves) if read is elements else packing
    return Expansion(elements.buffer, is_signed, inside, outside, packings)


def _panels(
    program: LoopProgram, contraction: Contraction, read: Read, reduced: tuple[int, ...], width: int
) -> Packing | None:
    """The panels of a read: for each point of some reduced axes, in order, one element of each column."""
    stage = contraction.stage
    place = flat_place(read.indices, shapes_of(program)[read.buffer], len(stage.axes))
    if place is None or place.constant.number is None:
        return None

    def strided(axis: int) -> Strided:
        return Strided(_number(stage.axes[axis].size), _number(place.strides[axis].number))

    columns = strided(contraction.column_axes[-1])
    return Packing(read.element, place.constant.number, (), columns, tuple(map(strided, reduced)), width)


def _is_odd(read: Read) -> bool:
    return bool(read.guards) or read.element not in ("i8", "f32")


def _axes(read: Read) -> set[int]:
    return {axis for index in read.indices if not isinstance(index, Value) for axis in axes_of(index)}


def _number(size: int | str | None) -> int:
    assert isinstance(size, int), "constant arrays have known sizes"
    return size


def _halves(body: Body, place: int) -> int:
    """Where the body has the lower four bits of a value that it needs for nothing else; else the value's own place."""
    match _readers(body, place):
        case [shifted]:
            match body[shifted], [body[number] for number in _readers(body, shifted)]:
                case Apply("arith.shli", (_, one), "i8"), [Apply("arith.shrsi" | "arith.shrui", (_, other), "i8")]:
                    if _is_half(body[one]) and _is_half(body[other]):
                        return _readers(body, shifted)[0]
                case _:
                    pass
        case _:
            pass
    return place


def _readers(body: Body, place: int) -> list[int]:
    return [number for number, each in enumerate(body) if place in operands(each)]


def _is_half(instruction: object) -> bool:
    return isinstance(instruction, Literal) and instruction.value == _HALF


def _split(body: Body, elements: Read) -> tuple[Body, Body]:
    """What a factor multiplies by parameters alone, if its last step does, and the rest (2)."""
    last = len(body) - 1
    match body[last]:
        case Apply("arith.mulf", (left, right)):
            parts = slice_of(body, left), slice_of(body, right)
        case _:
            return (), slice_of(body, last)
    for outside, inside in (parts, parts[::-1]):
        if elements not in outside:
            return outside, inside
    return (), slice_of(body, last)
