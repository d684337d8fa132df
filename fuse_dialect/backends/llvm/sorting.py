"""Lines in order: the scans that say which place of a line comes first, second, and so on.

1. What is sorted are words, as `loops/orders.py` describes them.
2. How words are sorted, `assembler/word_sort.py` says.
3. Where few of many are wanted, the least words so far are kept.
"""

from collections.abc import Sequence

from fuse_dialect.backends.assembler.values import I64, PTR, Type, Value, constant
from fuse_dialect.backends.assembler.word_sort import greatest, sort_function
from fuse_dialect.backends.llvm.nest_code import NestCode, Row, around, caption
from fuse_dialect.backends.llvm.scalars import emit_body
from fuse_dialect.loops.nest_forms import NestForm
from fuse_dialect.loops.orders import SortedLine, sorted_line_of
from fuse_dialect.loops.program import Stage
from fuse_dialect.loops.schedule import Nest


def write_order(nest: Nest, form: NestForm, row: Row) -> None:
    """Write the code that sorts one line, and stores for each stage what it makes of the places."""
    code = NestCode(nest, form, row, row.env)
    frame, order = row.frame, sorted_line_of(nest)
    f = frame.f
    assert order is not None, "the nest sorts"
    for stage in nest.stages:
        f.comment(caption(stage))
    if not order.wanted:
        return
    assert frame.scratch is not None, "a kernel that sorts has room for words"
    words, half = frame.scratch, order.bytes // 2 // (order.word_bits // 8)
    type = word_type(order)
    spare = f.offset(words, f.i64(half), type)
    sort = sort_function(f.module, type)
    if order.room < order.size:
        filled = _write_least(code, order, words, spare, sort)
    else:
        with f.loop(f.i64(0), f.i64(order.size)) as loop:
            f.store(_word(code, order, loop.index), f.offset(words, loop.index, type))
        filled = f.i64(order.size)
    f.call(sort, PTR, [words, spare, filled])
    with f.loop(f.i64(0), f.i64(order.wanted)) as loop:
        word = f.load(type, f.offset(words, loop.index, type))
        low = f.cast("trunc", word, I64)
        place = f.binary("and", low, f.i64((1 << 32) - 1)) if order.place_bits == 32 else low
        for stage in nest.stages:
            _store_place(code, stage, loop.index, place)


def word_type(order: SortedLine) -> Type:
    """The integer that holds a word."""
    return Type(f"i{order.word_bits}")


def _word(code: NestCode, order: SortedLine, index: Value) -> Value:
    """The key and the place of an element (1)."""
    f, stage = code.row.frame.f, code.nest.stages[0]
    key = around(code.inside(code.nest.loops[-1], index), stage, 0, 0).body(stage.body)
    type = word_type(order)
    wide = f.cast("sext", key, type)
    upper = f.binary("shl", wide, constant(type, order.place_bits))
    return f.binary("or", upper, f.cast("zext", index, type))


def _write_least(code: NestCode, order: SortedLine, words: Value, spare: Value, sort: str) -> Value:
    """Collect the least words (3); gives how many there are in the array, which is not sorted."""
    f = code.row.frame.f
    type = word_type(order)
    room, wanted = f.i64(order.room), f.i64(order.wanted)
    with f.loop(f.i64(0), f.i64(order.size), carried=[f.i64(0), greatest(type)]) as loop:
        filled, limit = loop.carried
        word = _word(code, order, loop.index)
        f.store(word, f.offset(words, filled, type))
        more = f.add(filled, f.cast("zext", f.compare("slt", word, limit), I64))

        def cut() -> Sequence[Value]:
            f.call(sort, PTR, [words, spare, room])
            return [wanted, f.load(type, f.offset(words, f.i64(order.wanted - 1), type))]

        loop.following = f.either(f.compare("eq", more, room), cut, lambda: [more, limit])
    return loop.carried[0]


def _store_place(code: NestCode, stage: Stage, index: Value, place: Value) -> None:
    near = around(code.inside(code.nest.loops[-1], index), stage, 0, 0)
    value = emit_body(near.scalars, near, stage.finish, [place])[-1]
    near.store(value, stage.buffer, near.place(stage.buffer, stage.store))
