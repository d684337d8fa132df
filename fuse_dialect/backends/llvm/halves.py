"""f16 to f32 and back: one instruction where the processor has it, else on integers.

LLVM itself would call functions of its runtime library, which is in no process.

Source: F. Giesen, half_to_float_fast5 and float_to_half_fast3_rtne (public domain),
    https://gist.github.com/rygorous/2156668.
"""

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import Value, constant


def widened(f: Function, bits: Value) -> Value:
    """The f32 of the same value; `bits` are those of f16, as i16."""
    single = bits.type.of("float")
    if f.module.has_halves:
        return f.cast("fpext", f.cast("bitcast", bits, bits.type.of("half")), single)
    wide = f.cast("zext", bits, bits.type.of("i32"))
    magnitude = f.binary("shl", f.binary("and", wide, constant(wide.type, 0x7FFF)), constant(wide.type, 13))
    # Exponents differ by 112; a product with 2**112 is exact, and makes denormal numbers normal ones.
    scaled = f.fmul(f.cast("bitcast", magnitude, single), constant(single, 2.0**112), "")
    is_finite = f.compare("olt", scaled, constant(single, 65536))
    scaled_bits = f.cast("bitcast", scaled, wide.type)
    above = f.binary("or", scaled_bits, constant(wide.type, 0x7F800000))
    sign = f.binary("shl", f.binary("and", wide, constant(wide.type, 0x8000)), constant(wide.type, 16))
    return f.cast("bitcast", f.binary("or", f.select(is_finite, scaled_bits, above), sign), single)


def narrowed(f: Function, value: Value) -> Value:
    """The bits of an f32 as f16, rounded to the nearest, the even one of two."""
    short = value.type.of("i16")
    if f.module.has_halves:
        return f.cast("bitcast", f.cast("fptrunc", value, value.type.of("half")), short)
    bits = f.cast("bitcast", value, value.type.of("i32"))

    def whole(number: int) -> Value:
        return constant(bits.type, number)

    magnitude = f.binary("and", bits, whole(0x7FFFFFFF))
    sign = f.cast("trunc", f.binary("lshr", f.binary("xor", bits, magnitude), whole(16)), short)
    # Added to 1/2, a denormal result stands in the last bits, rounded by the addition.
    denormal = f.fadd(f.cast("bitcast", magnitude, value.type), constant(value.type, 0.5), "")
    denormal = f.binary("sub", f.cast("bitcast", denormal, bits.type), whole(0x3F000000))
    last = f.binary("and", f.binary("lshr", magnitude, whole(13)), whole(1))
    normal = f.binary("add", f.binary("add", magnitude, whole(0xFFF - (112 << 23))), last)
    normal = f.binary("lshr", normal, whole(13))
    result = f.select(f.compare("ult", magnitude, whole(113 << 23)), denormal, normal)
    result = f.select(f.compare("ult", magnitude, whole(143 << 23)), result, whole(0x7C00))
    result = f.select(f.compare("ugt", magnitude, whole(0x7F800000)), whole(0x7E00), result)
    return f.binary("or", f.cast("trunc", result, short), sign)
