"""What tile instructions do, as functions: kernels that use tiles run, and are compared, where no processor has them.

1. A register is 256 numbers of 32 bits in memory: 16 rows of 16. Functions are told the shape that a processor would
   be configured for. Behind the numbers of a row that is loaded there are zeros; rows that a shape leaves out are not
   read.
2. Products of bytes are exact, and sums of 32 bits wrap.
3. Products of bf16: each sum begins at 0 for the numbers with even and for those with odd places, and adds one product
   after the other, rounded once; both sums, then that and what there was before, are added. Numbers below 2^-126 count
   as 0, whether they are factors or results.

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, TDPBSSD, TDPBF16PS, TILELOADD.
"""

from collections.abc import Callable, Mapping

from fuse_dialect.backends.assembler.builder import Function, Module, Parameter
from fuse_dialect.backends.assembler.values import F32, I8, I32, I64, PTR, Type, Value, constant

ROWS = 16
"""Rows of a tile, and numbers of a row."""
NUMBERS = ROWS * ROWS
"""Of a register (1)."""
_ROW = I32.wide(ROWS)
_SIGNS = {"tdpbssd": (True, True), "tdpbsud": (True, False), "tdpbusd": (False, True), "tdpbuud": (False, False)}
"""Whether the bytes of rows, and those of columns, have signs."""


def emulated(module: Module, name: str) -> str:
    """The symbol of a function that does what an instruction does; written at the first call."""
    symbol = f"emulated_{name}"
    if not module.defines(symbol):
        kinds, write = _FUNCTIONS[name]
        parameters = [Parameter(f"p{number}", type) for number, type in enumerate(kinds)]
        f = module.function(symbol, parameters, linkage="internal", attributes="noinline")
        f.flags = ""
        write(f)
    return symbol


def _zero(f: Function) -> None:
    (tile,) = f.parameters
    with f.loop(f.i64(0), f.i64(ROWS), hints=["unroll.disable"]) as loop:
        f.store(_none(), _row(f, tile, loop.index), 64)
    f.ret()


def _load(f: Function) -> None:
    tile, rows, bytes, source, distance = f.parameters
    mask = f.first_lanes(f.quotient(bytes, 4), ROWS)
    with f.loop(f.i64(0), rows, hints=["unroll.disable"]) as loop:
        # Rows are bytes apart, whatever these are multiples of.
        numbers = f.masked_load(_ROW, f.offset(source, f.multiply(loop.index, distance), I8), mask, _none())
        f.store(numbers, _row(f, tile, loop.index), 64)
    f.ret()


def _store(f: Function) -> None:
    tile, rows, bytes, to, distance = f.parameters
    mask = f.first_lanes(f.quotient(bytes, 4), ROWS)
    with f.loop(f.i64(0), rows, hints=["unroll.disable"]) as loop:
        numbers = f.load(_ROW, _row(f, tile, loop.index), 64)
        f.masked_store(numbers, f.offset(to, f.multiply(loop.index, distance), I8), mask)
    f.ret()


def _bytes(name: str) -> Callable[[Function], None]:
    def write(f: Function) -> None:
        sums, left, right, rows, points = f.parameters
        with f.loop(f.i64(0), rows, hints=["unroll.disable"]) as row:
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
        f.ret()

    return write


def _floats(f: Function) -> None:
    sums, left, right, rows, points = f.parameters
    type = F32.wide(ROWS)
    with f.loop(f.i64(0), rows, hints=["unroll.disable"]) as row:
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
    f.ret()


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


def _row(f: Function, tile: Value, number: Value) -> Value:
    return f.offset(tile, f.multiply(number, f.i64(ROWS)), I32)


def _none() -> Value:
    return constant(_ROW, 0)


_DOT: tuple[Type, ...] = (PTR, PTR, PTR, I64, I64)
_FUNCTIONS: Mapping[str, tuple[tuple[Type, ...], Callable[[Function], None]]] = {
    "tilezero": ((PTR,), _zero),
    "tileloadd64": ((PTR, I64, I64, PTR, I64), _load),
    "tilestored64": ((PTR, I64, I64, PTR, I64), _store),
    **{name: (_DOT, _bytes(name)) for name in _SIGNS},
    "tdpbf16ps": (_DOT, _floats),
}
"""By the name of the instruction: what it gets, and what it does."""
