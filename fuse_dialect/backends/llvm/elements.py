"""Element types of programs: how they lie in memory, and what registers hold.

1. i1 lies in memory as a byte, 0 or 1; any other byte than 0 counts as true.
2. f16 and bf16 are i16 in memory and in registers; bf16 is the upper half of an f32.
3. Integers are signless; `ui8` is an i8.
"""

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import BF16, F16, F32, F64, I1, I8, I16, I32, I64, Type, Value, constant
from fuse_dialect.backends.llvm import halves

_REGISTERS = {
    "f16": F16,
    "bf16": BF16,
    "f32": F32,
    "f64": F64,
    "i1": I1,
    "i8": I8,
    "ui8": I8,
    "i16": I16,
    "ui16": I16,
    "i32": I32,
    "ui32": I32,
    "i64": I64,
    "ui64": I64,
    "index": I64,
}


def register_type(element: str, lanes: int = 0) -> Type:
    """What a register holds for elements of a type.

    Raises:
        KeyError: There are no kernels for the type, see `loops.elements.is_known`.
    """
    return _REGISTERS[element].wide(lanes)


def memory_type(element: str, lanes: int = 0) -> Type:
    """How elements lie in memory."""
    type = register_type(element, lanes)
    return type.of(_IN_MEMORY.get(type.element, type.element))


_IN_MEMORY = {"i1": "i8", "f16": "i16", "bf16": "i16"}


def from_memory(f: Function, value: Value, element: str) -> Value:
    """What was read, as a register holds it."""
    # (1) Any byte may lie there, since arrays come from outside.
    if element == "i1":
        return f.compare("ne", value, constant(value.type, 0))
    return Value(value.text, register_type(element, value.type.lanes), value.number)


def to_memory(f: Function, value: Value) -> Value:
    """A register's value, as it lies in memory."""
    if value.type.element == "i1":
        return f.cast("zext", value, value.type.of("i8"))
    return bits16(value) if value.type.is_float and value.type.bits == 16 else value


def bits16(value: Value) -> Value:
    """The bits of a 16-bit float: LLVM sees nothing else."""
    return Value(value.text, value.type.of("i16"))


def widened(f: Function, value: Value) -> Value:
    """The float in the type in which formulas are computed: f16 and bf16 become f32."""
    match value.type.element:
        case "f16":
            return halves.widened(f, bits16(value))
        case "bf16":
            bits = f.cast("zext", bits16(value), value.type.of("i32"))
            return f.cast("bitcast", f.binary("shl", bits, constant(bits.type, 16)), value.type.of("float"))
        case _:
            return value


def narrowed(f: Function, value: Value, type: Type) -> Value:
    """The float in another float type, rounded to the nearest, the even one of two."""
    if value.type == type:
        return value
    # f64 to 16 bits through f32 would round twice, so the first step rounds to odd.
    if type.bits == 16:
        value = _rounded_to_odd(f, value) if value.type.bits == 64 else widened(f, value)
        bits = halves.narrowed(f, value) if type.element == "f16" else _as_bfloat(f, value)
        return Value(bits.text, type)
    value = widened(f, value)
    if value.type == type:
        return value
    return f.cast("fpext" if value.type.bits < type.bits else "fptrunc", value, type)


def _rounded_to_odd(f: Function, value: Value) -> Value:
    """The f64 as an f32 whose last bit tells that it is not exact: then a second rounding does not round twice.

    Source: S. Boldo and G. Melquiond, Emulation of FMA and correctly rounded sums, IEEE Trans. Computers 57 (2008).
    """
    near = f.cast("fptrunc", value, value.type.of("float"))
    back = f.cast("fpext", near, value.type)
    bits = f.cast("bitcast", near, value.type.of("i32"))
    one = constant(bits.type, 1)
    magnitude, exact = (f.intrinsic("fabs", value.type, [number]) for number in (back, value))
    toward_zero = f.select(f.compare("ogt", magnitude, exact), f.binary("sub", bits, one), bits)
    odd = f.select(f.compare("one", back, value), f.binary("or", toward_zero, one), bits)
    return f.cast("bitcast", odd, near.type)


def _as_bfloat(f: Function, value: Value) -> Value:
    """The upper half of an f32, rounded; done on integers, because few processors do it and none of the others."""
    bits = f.cast("bitcast", value, value.type.of("i32"))

    def whole(number: int) -> Value:
        return constant(bits.type, number)

    # Half of the last place less one, and one more if that place is odd: ties go to the even one.
    last = f.binary("and", f.binary("lshr", bits, whole(16)), whole(1))
    rounded = f.binary("lshr", f.binary("add", bits, f.binary("add", last, whole(0x7FFF))), whole(16))
    quiet = f.binary("or", f.binary("lshr", bits, whole(16)), whole(0x40))
    upper = f.select(f.compare("uno", value, value), quiet, rounded)
    return f.cast("trunc", upper, upper.type.of("i16"))
