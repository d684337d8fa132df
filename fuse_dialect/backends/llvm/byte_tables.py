"""Tables of 256 bytes as code: `loops/byte_tables.py` says what becomes one.

Processors look up bytes in registers: 128 in one instruction with AVX-512 VBMI, 16 with SSSE3. Others, and vectors of a
few lanes, which AVX2 fills no register with, read the table from memory, where it is four lines.
"""

from hashlib import sha256

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import I8, I32, Type, Value, constant, lanes, poison
from fuse_dialect.machines.machine import Machine, Unit

_COUNT = 256
"""Numbers of 8 bits."""
_REGISTER = 16
"""Bytes of a register of SSSE3."""


def look_up(f: Function, machine: Machine, table: bytes, index: Value) -> Value:
    """The elements of a table at the numbers that bytes are without a sign.

    Args:
        f: Where it is written.
        machine: What has the instructions.
        table: 256 bytes.
        index: An i8, or a vector of these.
    """
    count = index.type.lanes
    if Unit.BYTE_TABLES in machine.units and count:
        return _in_four_registers(f, table, index)
    if Unit.BYTE_SHUFFLES in machine.units and count in (_REGISTER, 2 * _REGISTER):
        return _in_sixteen(f, table, index)
    return _from_memory(f, machine, table, index)


def _in_four_registers(f: Function, table: bytes, index: Value) -> Value:
    """With AVX-512 VBMI: an instruction for each half of the table, and the first bit chooses."""
    wide = I8.wide(64)
    place = index if index.type == wide else _resized(f, "insert", index, wide)
    rows = [lanes(wide, list(table[start : start + 64])) for start in range(0, _COUNT, 64)]
    halves = [f.call("llvm.x86.avx512.vpermi2var.qi.512", wide, [rows[half], place, rows[half + 1]]) for half in (0, 2)]
    found = f.select(f.compare("slt", place, constant(wide, 0)), halves[1], halves[0])
    return found if index.type == wide else _resized(f, "extract", found, index.type)


def _resized(f: Function, what: str, value: Value, type: Type) -> Value:
    """The value as the first lanes of another vector, or its first lanes."""
    operands = [poison(type), value, f.i64(0)] if what == "insert" else [value, f.i64(0)]
    return f.intrinsic(f"vector.{what}", type, operands, over=[type, value.type])


def _in_sixteen(f: Function, table: bytes, index: Value) -> Value:
    """With SSSE3: a row of 16 at a time; a number that is too small for a row has its first bit set, and gives 0."""
    type = index.type
    found: Value | None = None
    # Signed numbers stay below 0 when something is subtracted, so each half of the table has numbers of its own.
    for half, place in ((0, index), (128, f.binary("xor", index, constant(type, -128)))):
        before = bytes(_REGISTER)
        for start in range(half, half + 128, _REGISTER):
            row = table[start : start + _REGISTER]
            # Each row is told apart from the one before, which has been found for these numbers too.
            change = [one ^ other for one, other in zip(row, before, strict=True)]
            values = lanes(type, change * (type.lanes // _REGISTER))
            name = "llvm.x86.ssse3.pshuf.b.128" if type.lanes == _REGISTER else "llvm.x86.avx2.pshuf.b"
            part = f.call(name, type, [values, place])
            found = part if found is None else f.binary("xor", found, part)
            place = f.intrinsic("ssub.sat", type, [place, constant(type, _REGISTER)])
            before = row
    assert found is not None
    return found


def _from_memory(f: Function, machine: Machine, table: bytes, index: Value) -> Value:
    """Element by element, or as the gather of AVX2 reads 32 bits: the byte is the lowest of them."""
    # What is read beyond the last byte is there, and cut off.
    name = f"table.{sha256(table.hex().encode()).hexdigest()[:16]}"
    start = f.module.table(name, I8, [*table, 0, 0, 0])
    if index.type.lanes == 8 and Unit.GATHERS in machine.units:
        wide = I32.wide(8)
        operands = [constant(wide, 0), start, f.cast("zext", index, wide), constant(wide, -1), constant(I8, 1)]
        return f.cast("trunc", f.call("llvm.x86.avx2.gather.d.d.256", wide, operands), index.type)
    places = f.cast("zext", index, index.type.of("i64"))
    if not index.type.lanes:
        return f.load(I8, f.offset(start, places, I8))
    found = poison(index.type)
    for lane in range(index.type.lanes):
        found = f.insert(found, f.load(I8, f.offset(start, f.element(places, lane), I8)), lane)
    return found
