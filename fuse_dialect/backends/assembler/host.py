"""Processors as LLVM knows them, and the machines that they are."""

from dataclasses import dataclass, replace

from fuse_dialect.machines.machine import Machine, Unit
from fuse_dialect.machines.processors import machine_of


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
        own = machine_of(self.cpu, self.features)
        if self.described is None:
            return own
        return replace(
            self.described,
            vector_bytes=min(own.vector_bytes, self.described.vector_bytes),
            registers=min(own.registers, self.described.registers),
            # A unit that shapes code for the sake of what LLVM does with it is the processor's, whatever is described.
            units=(own.units & self.described.units) | (own.units & Unit.NARROWING_STORES) | self.described.emulated,
        )

    @property
    def attributes(self) -> str:
        """Attributes of functions that are compiled for it."""
        return f'nounwind "prefer-vector-width"="{8 * self.machine.vector_bytes}" "no-trapping-math"="true"'


SSE2 = Host("x86-64", "+sse2")
"""Every x86 of 64 bits."""
AVX2 = Host("haswell", "+avx,+avx2,+fma,+f16c,+sse4.2,+bmi,+bmi2")
"""x86 of about 2013 and later."""
