"""Processors by the names that LLVM knows them by, and the machines that they are.

A table names what code generation looks at; LLVM knows the rest by the processor's name.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from fuse_dialect.machines.machine import TILES, Cache, Machine, Unit

_V1 = frozenset({"sse2"})
_V2 = _V1 | {"sse4.1"}
_AVX = _V2 | {"avx"}
_V3 = _AVX | {"avx2", "fma", "f16c"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512dq", "avx512vl"}
_V3_DOTS = _V3 | {"avxvnni"}
_V4_DOTS = _V4 | {"avx512vnni"}
_V4_TABLES = _V4_DOTS | {"avx512vbmi"}
_V4_TILES = _V4_TABLES | {"amx-tile", "amx-int8", "amx-bf16"}
_ARM = frozenset({"neon"})
_NAMES: Mapping[frozenset[str], str] = {
    _V1: "x86-64 core2",
    _V2: "x86-64-v2 penryn nehalem westmere silvermont goldmont tremont",
    _AVX: "sandybridge",
    _AVX | {"f16c"}: "ivybridge",
    _V3: "x86-64-v3 haswell broadwell skylake znver1 znver2 znver3",
    _V3_DOTS: "alderlake raptorlake arrowlake lunarlake",
    _V4: "x86-64-v4 skylake-avx512",
    _V4_DOTS: "cascadelake cooperlake",
    _V4_TABLES: "icelake-client icelake-server tigerlake rocketlake znver4 znver5",
    _V4_TILES: "sapphirerapids emeraldrapids graniterapids",
    _ARM: "generic cortex-a53 cortex-a72 cortex-a76 cortex-x1 neoverse-n1 neoverse-n2 neoverse-v1 neoverse-v2 "
    "apple-m1 apple-m2 apple-m3 apple-m4 ampere1",
}
PROCESSORS: Mapping[str, frozenset[str]] = {
    name: features for features, names in _NAMES.items() for name in names.split()
}
"""What code generation looks at, by the name that LLVM knows the processor by."""
_UNITS: dict[Unit, tuple[frozenset[str], ...]] = {
    Unit.FMA: (frozenset({"+fma"}), frozenset({"+avx512f"}), frozenset({"+neon"})),
    Unit.MASKS: (frozenset({"+avx512vl", "+avx512bw"}),),
    Unit.NARROWING_STORES: (frozenset({"+avx512f"}),),
    Unit.HALVES: (frozenset({"+f16c"}), frozenset({"+neon"})),
    Unit.ROUNDING: (frozenset({"+sse4.1"}), frozenset({"+avx"}), frozenset({"+neon"})),
    Unit.SCALING: (frozenset({"+avx512f"}),),
    Unit.STREAMS: (frozenset({"+sse2"}), frozenset({"+avx"})),
    Unit.BYTE_DOTS: (frozenset({"+avx512vnni", "+avx512vl"}), frozenset({"+avxvnni", "-avx512f"})),
    Unit.PAIR_DOTS: (frozenset({"+sse2", "-avx"}), frozenset({"+avx2", "-avx512f"}), frozenset({"+avx512bw"})),
    Unit.BYTE_SHUFFLES: (frozenset({"+ssse3", "-avx"}), frozenset({"+avx2"})),
    Unit.BYTE_TABLES: (frozenset({"+avx512vbmi", "+avx512bw"}),),
    Unit.GATHERS: (frozenset({"+avx2"}),),
    Unit.BYTE_TILES: (frozenset({"+amx-tile", "+amx-int8", "+avx512f"}),),
    Unit.PAIR_TILES: (frozenset({"+amx-tile", "+amx-bf16", "+avx512f"}),),
}
"""Units, with the sets of features each of which brings them."""


_CACHES_BESIDE_TILES = (Cache(48 << 10, 12), Cache(2 << 20, 16), Cache(32 << 20, 16))
"""Caches of all processors that have tiles so far."""


@cache
def machine_of(cpu: str, features: str) -> Machine:
    """The machine that a processor with some features is. Caches are those that schedules take for granted.

    Args:
        cpu: Name of the processor.
        features: `+avx2,-avx512f`, as LLVM takes them.
    """
    on = frozenset(features.split(","))
    # What a processor lacks need not be spelled out.
    on |= {f"-{name}" for name in ("avx", "avx512f") if f"+{name}" not in on}
    units = Unit.NONE
    for unit, sets in _UNITS.items():
        if any(needed <= on for needed in sets):
            units |= unit
    # AVX brings floats of 32 bytes; integers of that width come with AVX2, and LLVM halves them before.
    vector_bytes = 64 if "+avx512f" in on else 32 if "+avx" in on else 16
    machine = Machine(cpu, vector_bytes, 32 if on & {"+avx512f", "+neon"} else 16, units, processor=cpu)
    return replace(machine, caches=_CACHES_BESIDE_TILES) if "+amx-tile" in on else machine


def features_of(processor: str) -> str:
    """The features of a processor of the table, as LLVM takes them."""
    return ",".join(f"+{feature}" for feature in sorted(PROCESSORS[processor]))


def class_of(machine: Machine) -> str:
    """Name of the machine of the package whose rates stand for those of a machine that has none of its own.

    It has vectors of the same width. Of 16 bytes there are two: 32 registers of that width are those of AArch64. Of 64
    bytes there are two: one has tiles, and the caches of the processors that have these.
    """
    if machine.units & TILES & ~machine.emulated:
        return "cpu-amx"
    if machine.vector_bytes >= 32:
        return "cpu-avx512" if machine.vector_bytes >= 64 else "cpu-avx2"
    return "cpu-neon" if machine.registers >= 32 else "cpu-sse2"
