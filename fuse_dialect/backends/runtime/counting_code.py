"""The functions of calls that count, as machine code. The conditions are those of `counting`."""

from collections.abc import Callable

from fuse_dialect.backends.assembler.builder import Function, Module, Parameter
from fuse_dialect.backends.assembler.values import I1, I64, PTR, Type, Value, constant
from fuse_dialect.backends.runtime.counting import COUNT_WORDS, RELATIONS, CountWord
from fuse_dialect.backends.runtime.traced_sizes import Relation
from fuse_dialect.backends.types import STOP


def counting_text() -> str:
    """The functions as LLVM IR."""
    module = Module()
    _write_polynomial(module)
    _write_follow(module)
    _write_argwhere(module)
    return module.text()


def _at(f: Function, pointer: Value, index: Value | int) -> Value:
    return f.offset(pointer, f.i64(index) if isinstance(index, int) else index, I64)


def _write_polynomial(module: Module) -> None:
    """The value of a polynomial (3); the cursor, an address of an address, goes on behind it."""
    f = module.function("fuse_polynomial", [Parameter("cursor", PTR), Parameter("atoms", PTR)], linkage="internal", result=I64)
    cursor, atoms = f.parameters
    start = f.load(PTR, cursor)
    with f.loop(f.i64(0), f.load(I64, start), carried=[f.i64(0), _at(f, start, 1)]) as terms:
        total, term = terms.carried
        count = f.load(I64, _at(f, term, 1))
        listed = _at(f, term, 2)
        with f.loop(f.i64(0), count, carried=[f.load(I64, term)]) as factors:
            atom = f.load(I64, _at(f, atoms, f.load(I64, _at(f, listed, factors.index))))
            factors.following = [f.binary("mul", factors.carried[0], atom)]
        terms.following = [f.binary("add", total, factors.carried[0]), _at(f, listed, count)]
    f.store(terms.carried[1], cursor)
    f.ret(terms.carried[0])


def _write_follow(module: Module) -> None:
    """What follows from a count (3): by how many rows to go on, or `STOP` (4)."""
    f = module.function("fuse_follow", [Parameter("slots", PTR), Parameter("count", I64)], linkage="internal", result=I64)
    slots, count = f.parameters
    cursor = f.scratch(PTR, 1)
    section, words, atoms = (
        f.load(PTR, _at(f, slots, word)) for word in (CountWord.SECTION, CountWord.WORDS, CountWord.ATOMS)
    )

    def following() -> Value:
        at = f.load(PTR, cursor)
        f.store(_at(f, at, 1), cursor)
        return f.load(I64, at)

    def polynomial() -> Value:
        return f.call("fuse_polynomial", I64, [cursor, atoms])

    f.store(section, cursor)
    f.store(count, _at(f, atoms, following()))
    with f.loop(f.i64(0), following()):
        atom, number = following(), polynomial()
        f.store(f.binary("udiv", number, polynomial()), _at(f, atoms, atom))
    with f.loop(f.i64(0), following(), carried=[constant(I1, 1)]) as conditions:
        relation, value = following(), polynomial()
        predicates = {Relation.ZERO: "eq", Relation.NOT_ZERO: "ne", Relation.NOT_NEGATIVE: "sge"}
        holds = constant(I1, 0)
        for number, each in enumerate(RELATIONS):
            is_so = f.compare(predicates[each], value, f.i64(0))
            holds = f.select(f.compare("eq", relation, f.i64(number)), is_so, holds)
        conditions.following = [f.binary("and", conditions.carried[0], holds)]
    with f.loop(f.i64(0), following()):
        value = polynomial()
        with f.loop(f.i64(0), following()):
            f.store(value, _at(f, words, following()))
    f.ret(f.select(conditions.carried[0], f.i64(1), f.i64(STOP)))


def _counting(module: Module, name: str, write: Callable[[Function, Value, Value], Value]) -> None:
    """A function that counts; `write` gets the first address and the record, and gives the count."""
    f = module.function(name, [Parameter("slots", PTR)], result=I64)
    (slots,) = f.parameters
    record = _at(f, slots, f.load(I64, _at(f, slots, CountWord.RECORD)))
    count = write(f, _at(f, slots, COUNT_WORDS), record)
    f.ret(f.call("fuse_follow", I64, [slots, count]))


def _write_argwhere(module: Module) -> None:
    def write(f: Function, addresses: Value, record: Value) -> Value:
        source, target = (f.load(PTR, _at(f, addresses, place)) for place in range(2))
        item, mask, total, rank = (f.load(I64, _at(f, record, word)) for word in range(4))
        count = f.i64(0)
        for bytes in (1, 2, 4, 8):
            type = Type(f"i{8 * bytes}")

            def places(type: Type = type) -> list[Value]:
                return [_places(f, (source, type, mask), total, (rank, _at(f, record, 4)), target)]

            (count,) = f.either(f.compare("eq", item, f.i64(bytes)), places, lambda before=count: [before])
        return count

    _counting(module, "fuse_count_argwhere", write)


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
            f.store(loop.index, _at(f, target, loop.carried[0]))
            loop.following = [f.add(loop.carried[0], f.cast("zext", is_set(loop.index), I64))]
        return [loop.carried[0]]

    def of_axes() -> list[Value]:
        with f.loop(f.i64(0), total, carried=[f.i64(0)]) as loop:
            (count,) = loop.carried
            found = is_set(loop.index)
            with f.when(found):
                row = _at(f, target, f.multiply(count, rank))
                with f.loop(f.i64(0), rank, carried=[loop.index]) as each:
                    axis = f.subtract(f.subtract(rank, f.i64(1)), each.index)
                    size = f.load(I64, _at(f, sizes, axis))
                    rest = f.binary("udiv", each.carried[0], size)
                    f.store(f.subtract(each.carried[0], f.multiply(rest, size)), _at(f, row, axis))
                    each.following = [rest]
            loop.following = [f.add(count, f.cast("zext", found, I64))]
        return [loop.carried[0]]

    return f.either(f.compare("eq", rank, f.i64(1)), of_line, of_axes)[0]
