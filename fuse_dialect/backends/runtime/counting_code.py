"""The functions of calls that count, as machine code. The conditions are those of `counting`."""

from collections.abc import Callable
from dataclasses import dataclass

from fuse_dialect.backends.assembler.builder import Function, Module, Parameter
from fuse_dialect.backends.assembler.values import F32, F64, I1, I8, I16, I32, I64, PTR, Type, Value, constant
from fuse_dialect.backends.assembler.word_sort import sort_function
from fuse_dialect.backends.runtime.count_words import COUNT_ITERATIONS, COUNT_WORDS, KEY_KINDS, CountWord
from fuse_dialect.backends.runtime.size_code import FOLLOW_SECTION, at, write_sections
from fuse_dialect.backends.types import STOP
from fuse_dialect.loops.orders import RUN

_KEY = "fuse_key"
_I128 = Type("i128")
_PLACE_BITS = 32
"""Of a word of 64 bits; its key has as many."""
_SOME_KEPT = 32
"""Boxes that are looked at together: a few vectors."""
_INFINITY = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF << 52}


def counting_text() -> str:
    """The functions as LLVM IR."""
    module = Module()
    write_sections(module)
    _write_follow(module)
    _write_key(module)
    _function(module, COUNT_ITERATIONS, _iterations)
    _function(module, "fuse_count_argwhere", _argwhere)
    _function(module, "fuse_count_topk", _topk)
    _function(module, "fuse_count_unique", _unique)
    _function(module, "fuse_count_suppression", _suppression)
    return module.text()


@dataclass(frozen=True, slots=True)
class _Call:
    """What a function that counts has of its call."""

    f: Function
    slots: Value
    record: Value

    def address(self, place: int) -> Value:
        """An operand, a result or scratch, in the order of the record (5)."""
        return self.f.load(PTR, at(self.f, self.slots, self.f.load(I64, at(self.f, self.record, place))))

    def is_read(self, place: int) -> Value:
        """Whether somebody reads a result."""
        return self.f.compare("ne", self.f.load(I64, at(self.f, self.record, place)), self.f.i64(0))

    def words(self, first: int, count: int) -> list[Value]:
        """Words of the record."""
        return [self.f.load(I64, at(self.f, self.record, first + place)) for place in range(count)]


def _function(module: Module, name: str, write: Callable[[_Call], Value]) -> None:
    """A function that counts; `write` gives the count, or a negative number where the op rejects (4)."""
    f = module.function(name, [Parameter("slots", PTR)], result=I64)
    (slots,) = f.parameters
    count = write(_Call(f, slots, at(f, slots, f.load(I64, at(f, slots, CountWord.RECORD)))))
    is_right = f.compare("sge", count, f.i64(0))
    (rows,) = f.either(is_right, lambda: [f.call("fuse_follow", I64, [slots, count])], lambda: [f.i64(STOP)])
    f.ret(rows)


def _write_follow(module: Module) -> None:
    """What follows from a count (3): by how many rows to go on, or `STOP` (4)."""
    parameters = [Parameter("slots", PTR), Parameter("count", I64)]
    f = module.function("fuse_follow", parameters, linkage="internal", result=I64)
    slots, count = f.parameters
    section, cells, atoms = (
        f.load(PTR, at(f, slots, word)) for word in (CountWord.SECTION, CountWord.WORDS, CountWord.ATOMS)
    )
    f.store(count, at(f, atoms, f.load(I64, section)))
    f.ret(f.call(FOLLOW_SECTION, I64, [at(f, section, 1), cells, atoms]))


def _iterations(call: _Call) -> Value:
    """How often a loop has run; negative where it might have gone on."""
    f = call.f
    count = f.load(I64, f.load(PTR, at(f, call.slots, COUNT_WORDS)))
    is_known = f.compare("slt", count, f.load(I64, at(f, call.slots, COUNT_WORDS + 1)))
    return f.select(is_known, count, f.i64(-1))


def _argwhere(call: _Call) -> Value:
    f, source, target = call.f, call.address(0), call.address(1)
    item, mask, total, rank = call.words(2, 4)
    count = f.i64(0)
    for bytes in (1, 2, 4, 8):
        type = Type(f"i{8 * bytes}")

        def places(type: Type = type) -> list[Value]:
            return [_places(f, (source, type, mask), total, (rank, at(f, call.record, 6)), target)]

        (count,) = f.either(f.compare("eq", item, f.i64(bytes)), places, lambda before=count: [before])
    return count


def _places(
    f: Function, read: tuple[Value, Type, Value], total: Value, axes: tuple[Value, Value], target: Value
) -> Value:
    """Write the places of elements that are not zero; how many there are."""
    source, type, mask = read
    rank, sizes = axes

    def is_set(index: Value) -> Value:
        value = f.load(type, f.offset(source, index, type))
        return f.compare("ne", f.binary("and", f.cast("zext", value, I64), mask), f.i64(0))

    def of_line() -> list[Value]:
        with f.loop(f.i64(0), total, carried=[f.i64(0)]) as loop:
            # There is room: no more have been counted than were looked at.
            f.store(loop.index, at(f, target, loop.carried[0]))
            loop.following = [f.add(loop.carried[0], f.cast("zext", is_set(loop.index), I64))]
        return [loop.carried[0]]

    def of_axes() -> list[Value]:
        with f.loop(f.i64(0), total, carried=[f.i64(0)]) as loop:
            (count,) = loop.carried
            found = is_set(loop.index)
            with f.when(found):
                row = at(f, target, f.multiply(count, rank))
                with f.loop(f.i64(0), rank, carried=[loop.index]) as each:
                    axis = f.subtract(f.subtract(rank, f.i64(1)), each.index)
                    size = f.load(I64, at(f, sizes, axis))
                    rest = f.binary("udiv", each.carried[0], size)
                    f.store(f.subtract(each.carried[0], f.multiply(rest, size)), at(f, row, axis))
                    each.following = [rest]
            loop.following = [f.add(count, f.cast("zext", found, I64))]
        return [loop.carried[0]]

    return f.either(f.compare("eq", rank, f.i64(1)), of_line, of_axes)[0]


def _write_key(module: Module) -> None:
    """The key of an element: an integer that is less where the element comes first; nan comes last, zeros are equal."""
    parameters = [Parameter("source", PTR), Parameter("index", I64), Parameter("kind", I64)]
    f = module.function(_KEY, parameters, linkage="internal", attributes="alwaysinline", result=I64)
    source, index, kind = f.parameters
    key = f.i64(0)
    for number, name in enumerate(KEY_KINDS):
        type = Type(f"i{''.join(filter(str.isdigit, name))}")

        def found(type: Type = type, name: str = name) -> list[Value]:
            value = f.load(type, f.offset(source, index, type))
            if name in _INFINITY:
                return [_float_key(f, value, _INFINITY[name])]
            if not name.startswith("u"):
                return [f.cast("sext", value, I64)]
            wide = f.cast("zext", value, I64)
            # Of 32 bits too: half of the words of 64 bits are the key.
            return [f.binary("sub", wide, constant(I64, -(1 << 63) if type.bits == 64 else 1 << type.bits - 1))]

        (key,) = f.either(f.compare("eq", kind, f.i64(number)), found, lambda before=key: [before])
    f.ret(key)


def _float_key(f: Function, value: Value, infinity: int) -> Value:
    bits = value.type.bits
    wide = f.cast("sext", value, I64)
    magnitude = f.binary("and", wide, constant(I64, (1 << bits - 1) - 1))
    signed = f.select(f.compare("slt", wide, f.i64(0)), f.binary("sub", f.i64(0), magnitude), magnitude)
    is_nan = f.compare("sgt", magnitude, constant(I64, infinity))
    return f.select(is_nan, constant(I64, (1 << bits - 1) - 1), signed)


def _sorted(
    call: _Call,
    elements: tuple[Value, Value, Value],
    count: Value,
    ascends: Value,
    wide: bool,
    picks: Value | None = None,
) -> tuple[Value, Value, Type]:
    """Sort elements by key and place, in scratch: words, how many, their type.

    Args:
        call: The call.
        elements: Address of the first one, their kind, scratch.
        count: How many there are.
        ascends: Whether the least comes first.
        wide: Whether a word has 128 bits.
        picks: A float above which an element counts, if not all do.
    """
    f, (source, kind, words) = call.f, elements
    word = _I128 if wide else I64
    bits = constant(word, 64 if wide else _PLACE_BITS)
    flip = f.select(ascends, f.i64(0), f.i64(-1))
    with f.loop(f.i64(0), count, carried=[f.i64(0)]) as loop:
        (filled,) = loop.carried
        key = f.binary("xor", f.call(_KEY, I64, [source, loop.index, kind]), flip)
        upper = f.binary("shl", f.cast("sext", key, word), bits)
        f.store(f.binary("or", upper, f.cast("zext", loop.index, word)), f.offset(words, filled, word), align=8)
        more = f.i64(1)
        if picks is not None:
            value = f.load(picks.type, f.offset(source, loop.index, picks.type))
            more = f.cast("zext", f.compare("ogt", value, picks), I64)
        loop.following = [f.add(filled, more)]
    (filled,) = loop.carried
    spare = f.offset(words, f.add(count, f.i64(RUN)), word)
    with f.when(f.compare("sgt", filled, f.i64(1))):
        f.call(sort_function(f.module, word), PTR, [words, spare, filled])
    return words, filled, word


def _place(f: Function, word: Value) -> Value:
    low = f.cast("trunc", word, I64)
    return low if word.type == _I128 else f.binary("and", low, f.i64((1 << _PLACE_BITS) - 1))


def _key_of(f: Function, word: Value) -> Value:
    shifted = f.binary("ashr", word, constant(word.type, 64 if word.type == _I128 else _PLACE_BITS))
    return f.cast("trunc", shifted, I64)


def _either_width(f: Function, item: Value, write: Callable[[bool], list[Value]]) -> list[Value]:
    """Keys of more than 32 bits need words of 128."""
    return [*f.either(f.compare("sgt", item, f.i64(4)), lambda: write(True), lambda: write(False))]


def _copy_item(f: Function, item: Value, source: tuple[Value, Value], target: tuple[Value, Value]) -> None:
    """Copy one element from one place to another."""
    for bits in (8, 16, 32, 64):
        type = Type(f"i{bits}")
        with f.when(f.compare("eq", item, f.i64(bits // 8))):
            f.store(f.load(type, f.offset(*source, type)), f.offset(*target, type))


def _integer(f: Function, pointer: Value, bytes: Value) -> Value:
    """A signed integer of so many bytes."""
    value = f.i64(0)
    for type in (I8, I16, I32, I64):

        def load(type: Type = type) -> list[Value]:
            return [f.cast("sext", f.load(type, pointer), I64)]

        is_own = f.compare("eq", bytes, f.i64(type.bits // 8))
        (value,) = f.either(is_own, load, lambda before=value: [before])
    return value


def _topk(call: _Call) -> Value:
    f = call.f
    x, k_at, values, indices, words = map(call.address, range(5))
    kind, item, k_bytes, lines, size, ascends = call.words(5, 6)
    wanted = _integer(f, k_at, k_bytes)
    fits = f.binary("and", f.compare("sge", wanted, f.i64(0)), f.compare("sle", wanted, size))
    (count,) = f.either(fits, lambda: [wanted], lambda: [f.i64(-1)])
    has_values, has_indices = call.is_read(2), call.is_read(3)
    is_ascending = f.compare("ne", ascends, f.i64(0))

    def write(wide: bool) -> list[Value]:
        with f.loop(f.i64(0), f.select(fits, lines, f.i64(0))) as line:
            first = f.multiply(line.index, size)
            source = f.offset(x, f.multiply(first, item), I8)
            order, _, word = _sorted(call, (source, kind, words), size, is_ascending, wide)
            with f.loop(f.i64(0), count) as each:
                place = _place(f, f.load(word, f.offset(order, each.index, word), align=8))
                to = f.add(f.multiply(line.index, count), each.index)
                with f.when(has_values):
                    _copy_item(f, item, (x, f.add(first, place)), (values, to))
                with f.when(has_indices):
                    f.store(place, at(f, indices, to))
        return [f.i64(0)]

    _either_width(f, item, write)
    return count


def _unique(call: _Call) -> Value:
    f = call.f
    x, values, indices, inverse, counts, words = map(call.address, range(6))
    kind, item, size = call.words(6, 3)
    has_values, has_indices, has_inverse, has_counts = (call.is_read(place) for place in range(1, 5))

    def write(wide: bool) -> list[Value]:
        order, _, word = _sorted(call, (x, kind, words), size, constant(I1, 1), wide)
        with f.loop(f.i64(0), size, carried=[f.i64(-1), f.i64(0), f.i64(0)]) as loop:
            row, before, began = loop.carried
            own = f.load(word, f.offset(order, loop.index, word), align=8)
            place, key = _place(f, own), _key_of(f, own)
            differs = f.compare("ne", key, before)
            is_new = f.binary("or", differs, f.compare("eq", loop.index, f.i64(0)))
            row = f.add(row, f.cast("zext", is_new, I64))
            began = f.select(is_new, loop.index, began)
            with f.when(is_new):
                # Of equal elements the first one comes first.
                with f.when(has_values):
                    _copy_item(f, item, (x, place), (values, row))
                with f.when(has_indices):
                    f.store(place, at(f, indices, row))
            with f.when(has_inverse):
                f.store(row, at(f, inverse, place))
            with f.when(has_counts):
                f.store(f.add(f.subtract(loop.index, began), f.i64(1)), at(f, counts, row))
            loop.following = [row, key, began]
        return [f.add(loop.carried[0], f.i64(1))]

    return _either_width(f, item, write)[0]


def _suppression(call: _Call) -> Value:
    f = call.f
    (kind,) = call.words(7, 1)
    is_wide = f.compare("eq", kind, f.i64(KEY_KINDS.index("float64")))
    return f.either(is_wide, lambda: [_suppressed(call, F64)], lambda: [_suppressed(call, F32)])[0]


def _suppressed(call: _Call, type: Type) -> Value:
    f = call.f
    boxes, scores, limit_at, overlap_at, score_at, target, words = map(call.address, range(7))
    kind, limit_bytes, images, classes, count, has_centre = call.words(7, 6)
    limit = _integer(f, limit_at, limit_bytes)
    most_overlap, least_score = f.load(type, overlap_at), f.load(type, score_at)
    kept = f.offset(words, f.multiply(f.add(count, f.i64(RUN)), f.i64(4 if type == F64 else 2)), I64)
    sides = [f.offset(kept, f.multiply(count, f.i64(number)), I64) for number in range(5)]
    centred = f.compare("ne", has_centre, f.i64(0))
    with f.loop(f.i64(0), f.multiply(images, classes), carried=[f.i64(0)]) as group:
        image, number = f.binary("udiv", group.index, classes), f.binary("urem", group.index, classes)
        own_scores = f.offset(scores, f.multiply(group.index, count), type)
        own_boxes = f.offset(boxes, f.multiply(f.multiply(image, count), f.i64(4)), type)
        order, filled, word = _sorted(
            call, (own_scores, kind, words), count, constant(I1, 0), type == F64, picks=least_score
        )
        with f.loop(f.i64(0), filled, carried=[group.carried[0], f.i64(0)]) as each:
            rows, own = each.carried
            place = _place(f, f.load(word, f.offset(order, each.index, word), align=8))
            box = f.offset(own_boxes, f.multiply(place, f.i64(4)), type)
            numbers = [f.load(type, f.offset(box, f.i64(side), type)) for side in range(4)]
            low, high = _corners(f, numbers, centred)
            area = f.fmul(f.fsub(high[0], low[0], ""), f.fsub(high[1], low[1], ""), "")
            has_room = f.compare("slt", own, limit)
            lanes = 8 if type == F32 else 4
            wide_low, wide_high = ([f.splat(side, lanes) for side in sides] for sides in (low, high))
            wide_area, wide_most = f.splat(area, lanes), f.splat(most_overlap, lanes)
            with f.loop(f.i64(0), f.select(has_room, own, f.i64(0)), _SOME_KEPT, [constant(I1, 0)]) as some:
                # Most boxes that are out overlap one of the first that are kept: then the others are not looked at.
                stop = f.least(f.add(some.index, f.i64(_SOME_KEPT)), own)
                first = f.select(some.carried[0], stop, some.index)
                with f.loop(first, stop, lanes, [constant(I1.wide(lanes), 0)]) as other:
                    # (6) The last vector reaches behind what is kept: into what is written later, or room for that.
                    them = [f.load(type.wide(lanes), f.offset(side, other.index, type)) for side in sides]
                    height, width = (
                        f.fsub(_least(f, wide_high[axis], them[2 + axis]), _greatest(f, wide_low[axis], them[axis]), "")
                        for axis in (0, 1)
                    )
                    zero = constant(type.wide(lanes), 0.0)
                    common = f.fmul(height, width, "")
                    union = f.fsub(f.fadd(them[4], wide_area, ""), common, "")
                    is_there = fits = f.first_lanes(f.subtract(own, other.index), lanes)
                    for positive in (height, width, common, wide_area, them[4], union):
                        fits = f.binary("and", fits, f.compare("ogt", positive, zero))
                    ratio = f.select(fits, f.fdiv(common, union, ""), zero)
                    # An overlap of 0 is too much where the limit is below 0.
                    is_out = f.compare("ogt", ratio, wide_most)
                    other.following = [f.binary("or", other.carried[0], f.binary("and", is_out, is_there))]
                bits = other.carried[0]
                found = f.intrinsic("vector.reduce.or", I1, [bits], over=[bits.type])
                some.following = [f.binary("or", some.carried[0], found)]
            stays = f.select(some.carried[0], constant(I1, 0), has_room)
            with f.when(stays):
                for side, value in zip(sides, (*low, *high, area), strict=True):
                    f.store(value, f.offset(side, own, type))
                row = at(f, target, f.multiply(rows, f.i64(3)))
                for column, value in enumerate((image, number, place)):
                    f.store(value, at(f, row, column))
            one = f.cast("zext", stays, I64)
            each.following = [f.add(rows, one), f.add(own, one)]
        group.following = [each.carried[0]]
    return group.carried[0]


def _corners(f: Function, numbers: list[Value], centred: Value) -> tuple[list[Value], list[Value]]:
    """Least and greatest coordinates of a box."""
    half = [f.fmul(side, constant(side.type, 0.5), "") for side in numbers[2:]]
    ones = [f.select(centred, f.fsub(c, h, ""), first) for c, h, first in zip(numbers, half, numbers, strict=False)]
    others = [f.select(centred, f.fadd(c, h, ""), far) for c, h, far in zip(numbers, half, numbers[2:], strict=False)]
    # Sides of a box that has a centre are in order already, unless it has a negative size.
    low = [f.select(centred, one, _least(f, one, other)) for one, other in zip(ones, others, strict=True)]
    high = [f.select(centred, other, _greatest(f, one, other)) for one, other in zip(ones, others, strict=True)]
    return low, high


def _least(f: Function, one: Value, other: Value) -> Value:
    """As `numpy.minimum`: nan if one of them is."""
    return f.intrinsic("minimum", one.type, [one, other])


def _greatest(f: Function, one: Value, other: Value) -> Value:
    return f.intrinsic("maximum", one.type, [one, other])
