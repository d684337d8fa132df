"""Sorting words: integers that hold a key and a place.

1. Runs are sorted by a network, then merged two by two. Two equal runs are merged from both ends at once: as many steps
   as a run is long from each end write all, and none of them can leave its run.

Source: the network is that of 19 comparators in D. E. Knuth, The Art of Computer Programming 3, 5.3.4.
"""

from fuse_dialect.backends.assembler.builder import Function, Module, Parameter
from fuse_dialect.backends.assembler.values import I64, PTR, Type, Value, constant
from fuse_dialect.loops.orders import RUN

_NETWORK = (
    *((0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6), (3, 7), (0, 1), (2, 3), (4, 5), (6, 7)),
    *((2, 4), (3, 5), (1, 4), (3, 6), (1, 2), (3, 4), (5, 6)),
)


def sort_function(module: Module, word: Type) -> str:
    """Name of the function that sorts words in place, and gives them; it is written once a module.

    Its parameters are the words, room for as many, and their number, which is positive. Both have room up to the next
    multiple of `RUN`.
    """
    name = f"fuse_sort_{word}"
    if not module.defines(name):
        parameters = [Parameter("words", PTR, "noalias"), Parameter("spare", PTR, "noalias"), Parameter("count", I64)]
        f = module.function(name, parameters, linkage="internal", attributes="noinline", result=PTR)
        _write_sort(f, word)
    return name


def greatest(word: Type) -> Value:
    return constant(word, (1 << word.bits - 1) - 1)


def _write_sort(f: Function, word: Type) -> None:
    words, spare, count = f.parameters
    # (1) The last run is filled up with words that come last.
    total = f.multiply(f.quotient(f.add(count, f.i64(RUN - 1)), RUN), f.i64(RUN))
    with f.loop(count, total) as loop:
        f.store(greatest(word), f.offset(words, loop.index, word))
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
    """Merge two runs of `width` words from both ends (1)."""
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
