"""Lines in order: the scans that say which place of a line comes first, second, and so on.

1. What is sorted are words, as `loops/orders.py` describes them.
2. Runs are sorted by a network, then merged two by two. Two equal runs are merged from both ends at once: as many steps
   as a run is long from each end write all, and none of them can leave its run.
3. Where few of many are wanted, the least words so far are kept.

Source: the network is that of 19 comparators in D. E. Knuth, The Art of Computer Programming 3, 5.3.4.
"""

from collections.abc import Sequence

from fuse_dialect.backends.assembler.builder import Function, Parameter
from fuse_dialect.backends.assembler.values import I64, PTR, Type, Value, constant
from fuse_dialect.backends.llvm.kernel import Frame
from fuse_dialect.backends.llvm.nest_code import NestCode, Row, around, caption
from fuse_dialect.backends.llvm.scalars import emit_body
from fuse_dialect.loops.nest_forms import NestForm
from fuse_dialect.loops.orders import RUN, SortedLine, sorted_line_of
from fuse_dialect.loops.program import Stage
from fuse_dialect.loops.schedule import Nest

_NETWORK = (
    *((0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6), (3, 7), (0, 1), (2, 3), (4, 5), (6, 7)),
    *((2, 4), (3, 5), (1, 4), (3, 6), (1, 2), (3, 4), (5, 6)),
)


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
    sort = _sort_function(frame, type)
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
    with f.loop(f.i64(0), f.i64(order.size), carried=[f.i64(0), _greatest(type)]) as loop:
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


def _greatest(word: Type) -> Value:
    return constant(word, (1 << word.bits - 1) - 1)


def _sort_function(frame: Frame, word: Type) -> str:
    """Name of the function that sorts words in place, with as many to merge into; it is written once a module."""
    module, name = frame.f.module, f"fuse_sort_{word}"
    if not module.defines(name):
        parameters = [Parameter("words", PTR, "noalias"), Parameter("spare", PTR, "noalias"), Parameter("count", I64)]
        f = module.function(name, parameters, linkage="internal", attributes="noinline", result=PTR)
        _write_sort(f, word)
    return name


def _write_sort(f: Function, word: Type) -> None:
    words, spare, count = f.parameters
    # (2) The last run is filled up with words that come last.
    total = f.multiply(f.quotient(f.add(count, f.i64(RUN - 1)), RUN), f.i64(RUN))
    with f.loop(count, total) as loop:
        f.store(_greatest(word), f.offset(words, loop.index, word))
    with f.loop(f.i64(0), total, RUN) as loop:
        _write_network(f, f.offset(words, loop.index, word), word)
    runs = f.quotient(total, RUN)
    # The number of passes is that of the bits of the last run's number.
    zeros = f.call("llvm.ctlz.i64", I64, [f.subtract(runs, f.i64(1)), constant(Type("i1"), 0)])
    passes = f.subtract(f.i64(64), zeros)
    with f.loop(f.i64(0), passes, carried=[words, spare]) as loop:
        source, target = loop.carried
        _write_pass(f, word, source, target, f.binary("shl", f.i64(RUN), loop.index), total)
        loop.following = [target, source]
    sorted_words = loop.carried[0]
    with f.when(f.compare("ne", sorted_words, words)), f.loop(f.i64(0), count) as copied:
        value = f.load(word, f.offset(sorted_words, copied.index, word))
        f.store(value, f.offset(words, copied.index, word))
    f.ret(words)


def _write_network(f: Function, start: Value, word: Type) -> None:
    values = [f.load(word, f.offset(start, f.i64(number), word)) for number in range(RUN)]
    for one, other in _NETWORK:
        is_less = f.compare("slt", values[one], values[other])
        least, most = (
            f.select(is_less, *pair) for pair in ((values[one], values[other]), (values[other], values[one]))
        )
        values[one], values[other] = least, most
    for number, value in enumerate(values):
        f.store(value, f.offset(start, f.i64(number), word))


def _write_pass(f: Function, word: Type, source: Value, target: Value, width: Value, total: Value) -> None:
    """Merge pairs of runs of `width` words."""
    pair = f.binary("shl", width, f.i64(1))
    pairs = f.binary("udiv", total, pair)
    with f.loop(f.i64(0), pairs) as loop:
        start = f.multiply(loop.index, pair)
        _merge_equal(f, word, source, target, start, width)
    # What is left is one run and a part of another, or a part of one.
    start = f.multiply(pairs, pair)
    _merge_rest(f, word, source, target, start, f.least(f.add(start, width), total), total)


def _merge_equal(f: Function, word: Type, source: Value, target: Value, start: Value, width: Value) -> None:
    """Merge two runs of `width` words from both ends (2)."""
    middle = f.add(start, width)
    last = f.subtract(f.add(middle, width), f.i64(1))
    begin = [start, middle, f.subtract(middle, f.i64(1)), last]
    with f.loop(f.i64(0), width, carried=begin) as loop:
        left, right, left_end, right_end = loop.carried
        one, other = (f.load(word, f.offset(source, at, word)) for at in (left, right))
        is_left = f.compare("slt", one, other)
        f.store(f.select(is_left, one, other), f.offset(target, f.add(start, loop.index), word))
        step = f.cast("zext", is_left, I64)
        one, other = (f.load(word, f.offset(source, at, word)) for at in (left_end, right_end))
        is_right = f.compare("slt", one, other)
        f.store(f.select(is_right, other, one), f.offset(target, f.subtract(last, loop.index), word))
        back = f.cast("zext", is_right, I64)
        loop.following = [
            f.add(left, step),
            f.subtract(f.add(right, f.i64(1)), step),
            f.subtract(f.add(left_end, back), f.i64(1)),
            f.subtract(right_end, back),
        ]


def _merge_rest(f: Function, word: Type, source: Value, target: Value, start: Value, middle: Value, end: Value) -> None:
    """Merge two runs of any length; the second may be empty."""
    last = f.subtract(end, f.i64(1))
    with f.loop(start, end, carried=[start, middle]) as loop:
        left, right = loop.carried
        one, other = (f.load(word, f.offset(source, f.least(at, last), word)) for at in (left, right))
        has_left, no_right = f.compare("slt", left, middle), f.compare("sge", right, end)
        is_first = f.binary("and", f.compare("slt", one, other), has_left)
        is_left = f.binary("or", is_first, no_right)
        f.store(f.select(is_left, one, other), f.offset(target, loop.index, word))
        step = f.cast("zext", is_left, I64)
        loop.following = [f.add(left, step), f.subtract(f.add(right, f.i64(1)), step)]
