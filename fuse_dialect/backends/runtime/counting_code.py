"""The functions of calls that count, as machine code. The conditions are those of `counting`."""

from collections.abc import Callable

from fuse_dialect.backends.assembler.builder import Function, Module, Parameter
from fuse_dialect.backends.assembler.values import I64, PTR, Type, Value
from fuse_dialect.backends.runtime.counting import COUNT_WORDS, CountWord
from fuse_dialect.backends.runtime.size_code import FOLLOW_SECTION, at, write_sections


def counting_text() -> str:
    """The functions as LLVM IR."""
    module = Module()
    write_sections(module)
    _write_follow(module)
    _write_argwhere(module)
    return module.text()


def _write_follow(module: Module) -> None:
    """What follows from a count (3): by how many rows to go on, or `STOP` (4)."""
    f = module.function("fuse_follow", [Parameter("slots", PTR), Parameter("count", I64)], linkage="internal", result=I64)
    slots, count = f.parameters
    section, cells, atoms = (
        f.load(PTR, at(f, slots, word)) for word in (CountWord.SECTION, CountWord.WORDS, CountWord.ATOMS)
    )
    f.store(count, at(f, atoms, f.load(I64, section)))
    f.ret(f.call(FOLLOW_SECTION, I64, [at(f, section, 1), cells, atoms]))


def _counting(module: Module, name: str, write: Callable[[Function, Value, Value], Value]) -> None:
    """A function that counts; `write` gets the first address and the record, and gives the count."""
    f = module.function(name, [Parameter("slots", PTR)], result=I64)
    (slots,) = f.parameters
    record = at(f, slots, f.load(I64, at(f, slots, CountWord.RECORD)))
    count = write(f, at(f, slots, COUNT_WORDS), record)
    f.ret(f.call("fuse_follow", I64, [slots, count]))


def _write_argwhere(module: Module) -> None:
    def write(f: Function, addresses: Value, record: Value) -> Value:
        source, target = (f.load(PTR, at(f, addresses, place)) for place in range(2))
        item, mask, total, rank = (f.load(I64, at(f, record, word)) for word in range(4))
        count = f.i64(0)
        for bytes in (1, 2, 4, 8):
            type = Type(f"i{8 * bytes}")

            def places(type: Type = type) -> list[Value]:
                return [_places(f, (source, type, mask), total, (rank, at(f, record, 4)), target)]

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
