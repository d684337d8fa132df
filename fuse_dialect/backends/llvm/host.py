"""What the machine that runs the code can do. Pure data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Host:
    """A processor as LLVM knows it."""

    cpu: str
    """Name, as `-mcpu` takes it."""
    features: str
    """`+avx2,-avx512f`, as `-mattr` takes it."""

    @property
    def vector_bytes(self) -> int:
        """Bytes of the vectors that the processor computes on."""
        if "+avx512f" in self._set:
            return 64
        return 32 if "+avx" in self._set else 16

    @property
    def registers(self) -> int:
        """Number of vector registers."""
        return 32 if self._set & {"+avx512f", "+neon"} else 16

    @property
    def has_fma(self) -> bool:
        """Whether a fused multiplication and addition is one instruction."""
        return bool(self._set & {"+fma", "+avx512f", "+neon"})

    @property
    def has_masks(self) -> bool:
        """Whether any load and store may leave out lanes at no cost."""
        return "+avx512vl" in self._set and "+avx512bw" in self._set

    @property
    def narrows_in_stores(self) -> bool:
        """Whether a store may cut off the upper bits of integers."""
        return "+avx512f" in self._set

    @property
    def has_half(self) -> bool:
        """Whether f16 converts to f32 and back without a library."""
        return bool(self._set & {"+f16c", "+neon"})

    @property
    def has_rounding(self) -> bool:
        """Whether rounding to the nearest integer is one instruction."""
        return bool(self._set & {"+sse4.1", "+avx", "+neon"})

    @property
    def has_scalef(self) -> bool:
        """Whether multiplying 16 f32 by powers of two is one instruction."""
        return "+avx512f" in self._set

    @property
    def has_streams(self) -> bool:
        """Whether stores past the caches exist, and `sfence`, which orders them."""
        return "+sse2" in self._set or "+avx" in self._set

    @property
    def _set(self) -> frozenset[str]:
        return frozenset(self.features.split(","))

    @property
    def attributes(self) -> str:
        """Attributes of functions that are compiled for it."""
        return f'nounwind "prefer-vector-width"="{8 * self.vector_bytes}" "no-trapping-math"="true"'


SSE2 = Host("x86-64", "+sse2")
"""Every x86 of 64 bits."""
AVX2 = Host("haswell", "+avx,+avx2,+fma,+f16c,+sse4.2,+bmi,+bmi2")
"""x86 of about 2013 and later."""
