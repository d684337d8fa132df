"""Lines in order: the scans that say which place of a line comes first, second, and so on.

1. The key of an element and its place are one integer, a *word*: the key above, the place below. So words differ, and
   those of equal keys stand in the order of their places: any way to sort words is stable.
2. Runs of eight words are sorted by a network, then merged two by two. Two equal runs are merged from both ends at
   once: as many steps as a run is long from each end write all, and none of them can leave its run.
3. Where few of many are wanted, words go to a small array only if they are less than the last that is wanted so far.
   When it is full it is sorted, and what is not wanted is forgotten: n log k steps at most, n for most lines.

Source: the network is that of 19 comparators in D. E. Knuth, The Art of Computer Programming 3, 5.3.4.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fuse_dialect.backends.llvm.builder import Function, Parameter
from fuse_dialect.backends.llvm.elements import register_type
from fuse_dialect.backends.llvm.family import NoNativeFormError
from fuse_dialect.backends.llvm.kernel import Frame
from fuse_dialect.backends.llvm.nest_code import NestCode, Row, around, caption, with_axes
from fuse_dialect.backends.llvm.scalars import emit_body
from fuse_dialect.backends.llvm.values import I64, PTR, Type, Value, constant
from fuse_dialect.kernels.program import Apply, Literal, Position, Read, Stage
from fuse_dialect.kernels.schedule import Nest

_RUN = 8
"""Words that a network sorts."""
_NETWORK = (
    *((0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6), (3, 7), (0, 1), (2, 3), (4, 5), (6, 7)),
    *((2, 4), (3, 5), (1, 4), (3, 6), (1, 2), (3, 4), (5, 6)),
)
_SPARE = 16
"""More words than those wanted that a small array has room for, at least."""
_MOST = 1 << 31
"""More elements than a line may have: their places are 32 bits of a word."""


@dataclass(frozen=True, slots=True)
class _Line:
    """What is sorted."""

    size: int
    wanted: int
    room: int
    """Words of the array that is sorted; less than `size` where few are wanted (3)."""
    word: Type
    shift: int
    """Bits of the place."""

    @property
    def bytes(self) -> int:
        """Of the array, and of another one to merge into."""
        return 2 * (-(-self.room // _RUN) * _RUN) * self.word.bits // 8


def scratch_bytes(nest: Nest) -> int:
    """Bytes that a nest needs for words.

    Raises:
        NoNativeFormError: Lines are too long, or their size is not known.
    """
    return _line_of(nest).bytes


def _line_of(nest: Nest) -> _Line:
    stage, size = nest.stages[0], nest.loops[-1].size.number
    assert stage.reduction is not None, "an order is a reduction"
    if size is None or size >= _MOST:
        raise NoNativeFormError("the size of a line that is sorted is not known, or does not fit 32 bits")
    wanted = min(size, size if stage.reduction.count is None else stage.reduction.count)
    room = 2 * wanted + _SPARE
    last = stage.body[-1]
    assert isinstance(last, Read | Apply | Literal | Position), "a key is a number"
    is_wide = register_type(last.element).bits > 32
    return _Line(size, wanted, min(room, size), Type("i128") if is_wide else I64, 64 if is_wide else 32)


def write_order(nest: Nest, row: Row) -> None:
    """Write the code that sorts one line, and stores for each stage what it makes of the places."""
    code = NestCode(nest, row, env=dict(row.env))
    frame, line = row.frame, _line_of(nest)
    f = frame.f
    for stage in nest.stages:
        f.comment(caption(stage))
    if not line.wanted:
        return
    assert frame.scratch is not None, "a kernel that sorts has room for words"
    words, half = frame.scratch, line.bytes // 2 // (line.word.bits // 8)
    spare = f.offset(words, f.i64(half), line.word)
    sort = _sort_function(frame, line.word)
    if line.room < line.size:
        filled = _write_least(code, line, words, spare, sort)
    else:
        with f.loop(f.i64(0), f.i64(line.size)) as loop:
            f.store(_word(code, line, loop.index), f.offset(words, loop.index, line.word))
        filled = f.i64(line.size)
    f.call(sort, PTR, [words, spare, filled])
    with f.loop(f.i64(0), f.i64(line.wanted)) as loop:
        word = f.load(line.word, f.offset(words, loop.index, line.word))
        low = f.cast("trunc", word, I64)
        place = f.binary("and", low, f.i64((1 << 32) - 1)) if line.shift == 32 else low
        for stage in nest.stages:
            _store_place(code, stage, loop.index, place)


def _word(code: NestCode, line: _Line, index: Value) -> Value:
    """The key and the place of an element (1)."""
    f, stage = code.row.frame.f, code.nest.stages[0]
    saved = code.env
    code.env = with_axes(saved, code.nest.loops[-1], index, f.i64(0))
    key = around(code, stage, 0, 0).body(stage.body)
    code.env = saved
    wide = f.cast("sext", key, line.word)
    upper = f.binary("shl", wide, constant(line.word, line.shift))
    return f.binary("or", upper, f.cast("zext", index, line.word))


def _write_least(code: NestCode, line: _Line, words: Value, spare: Value, sort: str) -> Value:
    """Collect the least words (3); gives how many there are in the array, which is not sorted."""
    f = code.row.frame.f
    room, wanted = f.i64(line.room), f.i64(line.wanted)
    with f.loop(f.i64(0), f.i64(line.size), carried=[f.i64(0), _greatest(line.word)]) as loop:
        filled, limit = loop.carried
        word = _word(code, line, loop.index)
        f.store(word, f.offset(words, filled, line.word))
        more = f.add(filled, f.cast("zext", f.compare("slt", word, limit), I64))

        def cut() -> Sequence[Value]:
            f.call(sort, PTR, [words, spare, room])
            return [wanted, f.load(line.word, f.offset(words, f.i64(line.wanted - 1), line.word))]

        loop.following = f.either(f.compare("eq", more, room), cut, lambda: [more, limit])
    return loop.carried[0]


def _store_place(code: NestCode, stage: Stage, index: Value, place: Value) -> None:
    f = code.row.frame.f
    saved = code.env
    code.env = with_axes(saved, code.nest.loops[-1], index, f.i64(0))
    near = around(code, stage, 0, 0)
    value = emit_body(near.scalars, near, stage.finish, [place])[-1]
    near.store(value, stage.buffer, near.place(stage.buffer, stage.store))
    code.env = saved


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
    total = f.multiply(f.quotient(f.add(count, f.i64(_RUN - 1)), _RUN), f.i64(_RUN))
    with f.loop(count, total) as loop:
        f.store(_greatest(word), f.offset(words, loop.index, word))
    with f.loop(f.i64(0), total, _RUN) as loop:
        _write_network(f, f.offset(words, loop.index, word), word)
    runs = f.quotient(total, _RUN)
    # The number of passes is that of the bits of the last run's number.
    zeros = f.call("llvm.ctlz.i64", I64, [f.subtract(runs, f.i64(1)), constant(Type("i1"), 0)])
    passes = f.subtract(f.i64(64), zeros)
    with f.loop(f.i64(0), passes, carried=[words, spare]) as loop:
        source, target = loop.carried
        _write_pass(f, word, source, target, f.binary("shl", f.i64(_RUN), loop.index), total)
        loop.following = [target, source]
    sorted_words = loop.carried[0]
    with f.when(f.compare("ne", sorted_words, words)), f.loop(f.i64(0), count) as copied:
        value = f.load(word, f.offset(sorted_words, copied.index, word))
        f.store(value, f.offset(words, copied.index, word))
    f.ret(words)


def _write_network(f: Function, start: Value, word: Type) -> None:
    values = [f.load(word, f.offset(start, f.i64(number), word)) for number in range(_RUN)]
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
