"""Processors as LLVM knows them, and the machines that they are."""

from dataclasses import dataclass, replace
from functools import cache

from fuse_dialect.kernels.machine import Machine, Unit

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
}
"""Units, with the sets of features each of which brings them."""


@dataclass(frozen=True, slots=True)
class Host:
    """A processor as LLVM knows it."""

    cpu: str
    """Name, as `-mcpu` takes it."""
    features: str
    """`+avx2,-avx512f`, as `-mattr` takes it."""
    described: Machine | None = None
    """A machine whose code runs on the processor; by default the processor itself."""

    @property
    def machine(self) -> Machine:
        """What schedules are made for: what the processor and the machine that is described can both do."""
        own = _machine(self.cpu, self.features)
        if self.described is None:
            return own
        return replace(
            self.described,
            vector_bytes=min(own.vector_bytes, self.described.vector_bytes),
            registers=min(own.registers, self.described.registers),
            # A unit that shapes code for the sake of what LLVM does with it is the processor's, whatever is described.
            units=(own.units & self.described.units) | (own.units & Unit.NARROWING_STORES),
        )

    @property
    def attributes(self) -> str:
        """Attributes of functions that are compiled for it."""
        return f'nounwind "prefer-vector-width"="{8 * self.machine.vector_bytes}" "no-trapping-math"="true"'


@cache
def _machine(cpu: str, features: str) -> Machine:
    """The machine that a processor with some features is. Caches are those that schedules take for granted."""
    on = frozenset(features.split(","))
    # What a processor lacks need not be spelled out.
    on |= {f"-{name}" for name in ("avx", "avx512f") if f"+{name}" not in on}
    units = Unit.NONE
    for unit, sets in _UNITS.items():
        if any(needed <= on for needed in sets):
            units |= unit
    # AVX brings floats of 32 bytes; integers of that width come with AVX2, and LLVM halves them before.
    vector_bytes = 64 if "+avx512f" in on else 32 if "+avx" in on else 16
    return Machine(cpu, vector_bytes, 32 if on & {"+avx512f", "+neon"} else 16, units, processor=cpu)


SSE2 = Host("x86-64", "+sse2")
"""Every x86 of 64 bits."""
AVX2 = Host("haswell", "+avx,+avx2,+fma,+f16c,+sse4.2,+bmi,+bmi2")
"""x86 of about 2013 and later."""
