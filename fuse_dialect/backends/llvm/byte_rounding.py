"""Real numbers that become bytes, as code; `loops/byte_rounding.py` says which.

x86 converts with rounding, and its instructions for narrow integers bound: what is too small or nan becomes the least
integer, so only the upper bound needs an instruction of its own.
"""

from collections.abc import Sequence

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import I8, I16, I32, Type, Value, constant
from fuse_dialect.loops.byte_rounding import GREATEST, TOGETHER


def rounded_byte(f: Function, x: Value, zero: int, result: Type, *, is_index: bool) -> Value:
    """The numbers as bytes without a sign.

    Args:
        f: Where it is written.
        x: An f32, or a vector of these.
        zero: What is added after rounding, 0 to 255.
        result: i8, or i32 for bytes as numbers of 32 bits.
        is_index: Whether something is computed with them, or a table is looked up.
    """
    packs = x.type.lanes == 8 and not is_index
    if not packs:
        low = constant(x.type, -zero)
        x = f.select(f.compare("ogt", x, low), x, low)  # nan becomes the lower bound
    number = _moved(f, x, zero)
    return _packed(f, number) if packs else f.cast("trunc", number, result)


def cut_byte(f: Function, x: Value) -> Value:
    """The numbers, an f32 or a vector of these, bounded as bytes without a sign and cut to integers."""
    if x.type.lanes == 8:
        return _packed(f, _cut(f, x))
    low, high = constant(x.type, 0), constant(x.type, GREATEST)
    x = f.select(f.compare("ogt", x, low), x, low)  # nan becomes the lower bound
    x = f.select(f.compare("olt", x, high), x, high)
    return f.cast("trunc", f.cast("fptosi", x, x.type.of("i32")), x.type.of("i8"))


def joined_bytes(f: Function, numbers: Sequence[Value], zero: int | None) -> Value:
    """The numbers of four vectors of eight f32 as 32 bytes without a sign; cut to integers without a zero point."""
    words: list[Value] = []
    for low, high in (numbers[:2], numbers[2:]):
        one, other = (_cut(f, each) if zero is None else _moved(f, each, zero) for each in (low, high))
        words.append(f.call("llvm.x86.avx2.packssdw", I16.wide(16), [one, other]))
    bytes = f.call("llvm.x86.avx2.packuswb", I8.wide(32), words)
    # Each half of the register has been narrowed by itself: four numbers of each vector lie side by side.
    quads = f.cast("bitcast", bytes, I32.wide(8))
    return f.cast("bitcast", f.shuffle(quads, quads, [0, 4, 1, 5, 2, 6, 3, 7]), bytes.type)


def joined(f: Function, vectors: Sequence[Value]) -> Value:
    """Four vectors of bytes as one."""
    one, other, third, last = vectors
    count = one.type.lanes
    low, high = (f.shuffle(*pair, list(range(2 * count))) for pair in ((one, other), (third, last)))
    return f.shuffle(low, high, list(range(TOGETHER * count)))


def parted(f: Function, vector: Value, count: int) -> list[Value]:
    """The first vectors of the four that a vector of bytes was made of."""
    lanes = vector.type.lanes // TOGETHER
    return [f.shuffle(vector, vector, list(range(number * lanes, (number + 1) * lanes))) for number in range(count)]


def bounded_quotient(f: Function, x: Value, divisor: Value, reciprocal: Value, bound: Value) -> Value:
    """Quotients as `Variant.BOUNDED` says: three products in place of a division, rounded as that is.

    Args:
        f: Where it is written.
        x: Dividends, a vector of f32.
        divisor: The same in all lanes, positive, from 2^-60 to 2^60.
        reciprocal: That of the divisor, rounded to the nearest.
        bound: The divisor times `BOUND`.

    Source: Brisebarre, Muller, Raina: Accelerating correctly rounded floating-point division when the divisor is known
    in advance, IEEE Trans. Computers 53 (2004), https://doi.org/10.1109/TC.2004.37: one product and two fused ones.
    """
    x = f.select(f.compare("ogt", x, bound), bound, x)  # nan stays; without it, an infinite one would become nan
    near = f.fmul(x, reciprocal, "")
    rest = f.fma(f.fneg(near), divisor, x)
    return f.fma(rest, reciprocal, near)


def _moved(f: Function, x: Value, zero: int) -> Value:
    """The numbers rounded and moved, as integers of 32 bits that are bounded when they are narrowed."""
    high = constant(x.type, GREATEST - zero)
    x = f.select(f.compare("ogt", x, high), high, x)  # nan stays
    wide = x.type.of("i32")
    number = f.intrinsic("lrint", wide, [x], over=[wide, x.type])
    return f.binary("add", number, constant(wide, zero)) if zero else number


def _cut(f: Function, x: Value) -> Value:
    """Eight numbers cut to integers of 32 bits, which are bounded when they are narrowed."""
    high = constant(x.type, GREATEST)
    x = f.select(f.compare("ogt", x, high), high, x)  # nan stays
    return f.call("llvm.x86.avx.cvtt.ps2dq.256", x.type.of("i32"), [x])


def _packed(f: Function, number: Value) -> Value:
    """Eight integers of 32 bits as bytes, bounded."""
    low, high = (f.shuffle(number, number, list(range(start, start + 4))) for start in (0, 4))
    words = f.call("llvm.x86.sse2.packssdw.128", I16.wide(8), [low, high])
    bytes = f.call("llvm.x86.sse2.packuswb.128", I8.wide(16), [words, words])
    return f.shuffle(bytes, bytes, list(range(8)))
