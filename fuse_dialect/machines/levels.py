"""What a processor must have for code of a level of x86-64: code that goes to other machines is made for a level.

A name of LLVM's stands for more than a list of vector instructions, and nobody says what of that code may use. For
these names the list is written down, as Linux spells it.

Source: System V ABI, AMD64 supplement, 3.1.1 "Processor Architecture"; Linux, arch/x86/include/asm/cpufeatures.h.
"""

from collections.abc import Mapping

_V1 = frozenset({"cmov", "cx8", "fpu", "fxsr", "mmx", "sse", "sse2"})
_V2 = _V1 | {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"}
_V3 = _V2 | {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}

LEVELS: Mapping[str, frozenset[str]] = {
    "x86-64-v4": _V4,
    "skylake-avx512": _V4 | {"adx", "aes", "pclmulqdq", "rdseed"},
    "x86-64-v3": _V3,
    # Beside the level's it has what compilers use only where a program asks for it.
    "haswell": _V3,
    "x86-64-v2": _V2,
    "x86-64": _V1,
}
"""Flags that a processor has which runs code for a name, the name that can do most first."""


def is_run_by(level: str, flags: frozenset[str]) -> bool:
    """Whether a processor of these flags runs code for a name; of a name without a list nobody knows."""
    return level in LEVELS and LEVELS[level] <= flags
