"""What tile instructions do, as functions: kernels that use tiles run, and are compared, where no processor has them.

1. A tile is a vector of 256 numbers of 32 bits: 16 rows of 16. What a shape leaves out is 0.
2. Products of bytes are exact, and sums of 32 bits wrap.
3. Products of bf16: each sum begins at 0 for the numbers with even and for those with odd places, and adds one product
   after the other, rounded once; both sums, then that and what there was before, are added. Numbers below 2^-126 count
   as 0, whether they are factors or results.

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, TDPBSSD, TDPBF16PS, TILELOADD.
"""

from collections.abc import Callable, Mapping

from fuse_dialect.backends.assembler.builder import Function, Module, Parameter
from fuse_dialect.backends.assembler.values import F32, I8, I16, I32, I64, PTR, VOID, Type, Value, constant

ROWS = 16
"""Rows of a tile, and numbers of a row."""
TILE = I32.wide(ROWS * ROWS)
"""What holds a tile (1)."""
_ROW = I32.wide(ROWS)
_SIGNS = {"tdpbssd": (True, True), "tdpbsud": (True, False), "tdpbusd": (False, True), "tdpbuud": (False, False)}
"""Whether the bytes of rows, and those of columns, have signs."""


def emulated(module: Module, name: str) -> str:
    """The symbol of a function that does what an instruction does; written at the first call."""
    symbol = f"emulated_{name}"
    if not module.defines(symbol):
        kinds, result, write = _FUNCTIONS[name]
        parameters = [Parameter(f"p{number}", type) for number, type in enumerate(kinds)]
        f = module.function(symbol, parameters, linkage="internal", attributes="noinline", result=result)
        f.flags = ""
        write(f)
    return symbol


def _zero(f: Function) -> None:
    f.ret(constant(TILE, 0))


def _load(f: Function) -> None:
    rows, bytes, source, distance = f.parameters
    to = _stored(f, constant(TILE, 0))
    mask = f.first_lanes(f.quotient(_long(f, bytes), 4), ROWS)
    with f.loop(f.i64(0), _long(f, rows), hints=["unroll.disable"]) as loop:
        # Rows are bytes apart, whatever these are multiples of.
        numbers = f.masked_load(_ROW, f.offset(source, f.multiply(loop.index, distance), I8), mask, _none())
        f.store(numbers, _row(f, to, loop.index), 64)
    f.ret(f.load(TILE, to, 64))


def _store(f: Function) -> None:
    rows, bytes, to, distance, tile = f.parameters
    source = _stored(f, tile)
    mask = f.first_lanes(f.quotient(_long(f, bytes), 4), ROWS)
    with f.loop(f.i64(0), _long(f, rows), hints=["unroll.disable"]) as loop:
        numbers = f.load(_ROW, _row(f, source, loop.index), 64)
        f.masked_store(numbers, f.offset(to, f.multiply(loop.index, distance), I8), mask)
    f.ret()


def _bytes(name: str) -> Callable[[Function], None]:
    def write(f: Function) -> None:
        rows, _, depth, total, lhs, rhs = f.parameters
        sums, left, right = (_stored(f, each) for each in (total, lhs, rhs))
        with f.loop(f.i64(0), _long(f, rows), hints=["unroll.disable"]) as row:
            points = f.quotient(_long(f, depth), 4)
            start = [f.load(_ROW, _row(f, sums, row.index), 64)]
            with f.loop(f.i64(0), points, carried=start, hints=["unroll.disable"]) as loop:
                quad, quads = _factors(f, (left, right), row.index, loop.index)
                (added,) = loop.carried
                for place in range(4):
                    factors = [
                        _byte(f, each, place, has_sign)
                        for each, has_sign in zip((quad, quads), _SIGNS[name], strict=True)
                    ]
                    added = f.binary("add", added, f.binary("mul", *factors))
                loop.following = [added]
            f.store(loop.carried[0], _row(f, sums, row.index), 64)
        f.ret(f.load(TILE, sums, 64))

    return write


def _floats(f: Function) -> None:
    rows, _, depth, total, lhs, rhs = f.parameters
    sums, left, right = (_stored(f, each) for each in (total, lhs, rhs))
    type = F32.wide(ROWS)
    with f.loop(f.i64(0), _long(f, rows), hints=["unroll.disable"]) as row:
        points = f.quotient(_long(f, depth), 4)
        start = [constant(type, 0), constant(type, 0)]
        with f.loop(f.i64(0), points, carried=start, hints=["unroll.disable"]) as loop:
            pair, pairs = _factors(f, (left, right), row.index, loop.index)
            loop.following = [
                _normal(f, f.fma(_number(f, pair, place), _number(f, pairs, place), added))
                for place, added in enumerate(loop.carried)
            ]
        place = _row(f, sums, row.index)
        even, odd = loop.carried
        both = _normal(f, f.fadd(even, odd))
        f.store(_normal(f, f.fadd(_normal(f, f.load(type, place, 64)), both)), place, 64)
    f.ret(f.load(TILE, sums, 64))


def _factors(f: Function, tiles: tuple[Value, Value], row: Value, point: Value) -> tuple[Value, Value]:
    """One number of 32 bits of a row, in all lanes, and those of all columns."""
    number = f.load(I32, f.offset(_row(f, tiles[0], row), point, I32))
    return f.splat(number, ROWS), f.load(_ROW, _row(f, tiles[1], point), 64)


def _byte(f: Function, quads: Value, place: int, has_sign: bool) -> Value:
    high = f.binary("shl", quads, constant(_ROW, 24 - 8 * place))
    return f.binary("ashr" if has_sign else "lshr", high, constant(_ROW, 24))


def _number(f: Function, pairs: Value, place: int) -> Value:
    """A bf16 of each pair as an f32."""
    high = f.binary("shl", pairs, constant(_ROW, 16)) if place == 0 else pairs
    return _normal(f, f.cast("bitcast", f.binary("and", high, constant(_ROW, -1 << 16)), F32.wide(ROWS)))


def _normal(f: Function, value: Value) -> Value:
    """The number, or a 0 of its sign if it is below the normal ones (3)."""
    bits = f.cast("bitcast", value, _ROW)
    exponent = f.binary("and", bits, constant(_ROW, 0x7F800000))
    sign = f.binary("and", bits, constant(_ROW, -1 << 31))
    chosen = f.select(f.compare("eq", exponent, _none()), sign, bits)
    return f.cast("bitcast", chosen, value.type)


def _stored(f: Function, tile: Value) -> Value:
    to = f.scratch(I32, ROWS * ROWS)
    f.store(tile, to, 64)
    return to


def _row(f: Function, tile: Value, number: Value) -> Value:
    return f.offset(tile, f.multiply(number, f.i64(ROWS)), I32)


def _long(f: Function, value: Value) -> Value:
    return f.cast("zext", value, I64)


def _none() -> Value:
    return constant(_ROW, 0)


_DOT: tuple[Type, ...] = (I16, I16, I16, TILE, TILE, TILE)
_FUNCTIONS: Mapping[str, tuple[tuple[Type, ...], Type, Callable[[Function], None]]] = {
    "tilezero": ((I16, I16), TILE, _zero),
    "tileloadd64": ((I16, I16, PTR, I64), TILE, _load),
    "tilestored64": ((I16, I16, PTR, I64, TILE), VOID, _store),
    **{name: (_DOT, TILE, _bytes(name)) for name in _SIGNS},
    "tdpbf16ps": (_DOT, TILE, _floats),
}
"""By the name of the instruction: what it gets, what it gives, and what it does."""
