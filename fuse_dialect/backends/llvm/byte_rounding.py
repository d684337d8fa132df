"""Real numbers that become bytes, as code; `loops/byte_rounding.py` says which.

x86 converts with rounding, and its instructions for narrow integers bound: what is too small or nan becomes the least
integer, so only the upper bound needs an instruction of its own.
"""

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import I8, I16, Value, constant
from fuse_dialect.loops.byte_rounding import GREATEST


def rounded_byte(f: Function, x: Value, zero: int, *, is_index: bool) -> Value:
    """The numbers as bytes without a sign.

    Args:
        f: Where it is written.
        x: An f32, or a vector of these.
        zero: What is added after rounding, 0 to 255.
        is_index: Whether a table is looked up with them.
    """
    count, wide = x.type.lanes, x.type.of("i32")
    high = constant(x.type, GREATEST - zero)
    x = f.select(f.compare("ogt", x, high), high, x)  # nan stays
    packs = count == 8 and not is_index
    if not packs:
        low = constant(x.type, -zero)
        x = f.select(f.compare("ogt", x, low), x, low)
    number = f.intrinsic("lrint", wide, [x], over=[wide, x.type])
    if zero:
        number = f.binary("add", number, constant(wide, zero))
    return _packed(f, number) if packs else f.cast("trunc", number, x.type.of("i8"))


def _packed(f: Function, number: Value) -> Value:
    """Eight integers of 32 bits as bytes, bounded."""
    low, high = (f.shuffle(number, number, list(range(start, start + 4))) for start in (0, 4))
    words = f.call("llvm.x86.sse2.packssdw.128", I16.wide(8), [low, high])
    bytes = f.call("llvm.x86.sse2.packuswb.128", I8.wide(16), [words, words])
    return f.shuffle(bytes, bytes, list(range(8)))
