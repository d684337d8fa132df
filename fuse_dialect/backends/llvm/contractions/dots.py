"""Dot products of quads: four products of bytes, one without sign and one with, added to sums of 32 bits. All exact.

1. `vpdpbusd` does it in one instruction.
2. `pmaddwd` adds two products of 16 bits. Where factors are not there as pairs of these, bytes with even and with odd
   numbers become 16 bits by shifts and masks. (`pmaddubsw` takes bytes, but its sums of 16 bits saturate.)
3. Else each of the four products is formed in 32 bits.
"""

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import I8, I16, I32, Value, constant
from fuse_dialect.loops.packed_dots import QUAD
from fuse_dialect.machines.machine import Machine, Unit

_PAIRS = {16: "sse2.pmadd.wd", 32: "avx2.pmadd.wd", 64: "avx512.pmaddw.d.512"}
"""The intrinsic of `pmaddwd` by the bytes of a vector."""


def pair_dot(f: Function, machine: Machine, factors: tuple[Value, Value], total: Value) -> Value:
    """The sum and the products of two vectors of pairs of 16 bits, on a machine that adds these up (2)."""
    wide, bytes = I16.wide(2 * total.type.lanes), total.type.lanes * QUAD
    assert Unit.PAIR_DOTS in machine.units, "schedules make pairs for machines that multiply them"
    operands = [f.cast("bitcast", each, wide) for each in factors]
    return f.binary("add", total, f.call(f"llvm.x86.{_PAIRS[bytes]}", total.type, operands))


def dot(f: Function, machine: Machine, factors: tuple[Value, Value], total: Value) -> Value:
    """The sum and the products of bytes of two vectors of quads.

    Args:
        f: The function.
        machine: What has the instructions.
        factors: Quads of bytes without sign, and with one.
        total: The sums so far.
    """
    x, w = factors
    lanes, bytes = total.type.lanes, total.type.lanes * QUAD
    if Unit.BYTE_DOTS in machine.units and bytes in (16, 32, 64):
        wide = I8.wide(bytes)
        operands = [total, f.cast("bitcast", x, wide), f.cast("bitcast", w, wide)]
        return f.call(f"llvm.x86.avx512.vpdpbusd.{8 * bytes}", total.type, operands)
    if Unit.PAIR_DOTS in machine.units and bytes in _PAIRS and bytes <= machine.vector_bytes:
        wide = I16.wide(2 * lanes)
        byte, mask = constant(wide, 8), constant(I32.wide(lanes), 0x00FF00FF)
        even = f.cast("bitcast", f.binary("and", x, mask), wide)
        odd = f.binary("lshr", f.cast("bitcast", x, wide), byte)
        signed = f.cast("bitcast", w, wide)
        even_w = f.binary("ashr", f.binary("shl", signed, byte), byte)
        odd_w = f.binary("ashr", signed, byte)
        name = f"llvm.x86.{_PAIRS[bytes]}"
        total = f.binary("add", total, f.call(name, total.type, [even, even_w]))
        return f.binary("add", total, f.call(name, total.type, [odd, odd_w]))
    for place in range(QUAD):
        low, high = (constant(total.type, bits) for bits in (8 * place, 24 - 8 * place))
        byte_x = f.binary("and", f.binary("lshr", x, low), constant(total.type, 0xFF))
        byte_w = f.binary("ashr", f.binary("shl", w, high), constant(total.type, 24))
        total = f.binary("add", total, f.binary("mul", byte_x, byte_w))
    return total
