"""What numbers depend on here: the processor, the kernels of NumPy's BLAS, and the vector instructions that NumPy uses.

`OPENBLAS_CORETYPE` and `NPY_DISABLE_CPU_FEATURES` let NumPy compute as on another processor, see `other_processors`.
"""

import ctypes
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

MEMORY_MAP = Path("/proc/self/maps")
PROCESSORS = Path("/proc/cpuinfo")
NAMES_OF_KERNELS = (
    "scipy_openblas_get_corename64_",
    "scipy_openblas_get_corename",
    "openblas_get_corename64_",
    "openblas_get_corename",
)
"""How builds of OpenBLAS call the function that tells which kernels it has chosen."""
UNKNOWN = "unknown"


def description() -> list[str]:
    """Lines for the head of a test run."""
    lines = [
        f"processor: {processor()}",
        f"NumPy {np.__version__}: BLAS kernels of {blas_kernels()}, vectors of {' '.join(vector_features())}",
    ]
    names = ("FUSE_TARGET_CPU", "OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES")
    chosen = [f"{name}={os.environ[name]}" for name in names if os.environ.get(name)]
    return [*lines, f"chosen: {', '.join(chosen)}"] if chosen else lines


def processor() -> str:
    """The name that the processor gives itself."""
    if PROCESSORS.exists():
        for line in PROCESSORS.read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or UNKNOWN


def blas_kernels() -> str:
    """The processor whose kernels NumPy's BLAS has chosen; `unknown` if it is no OpenBLAS, or this is not Linux."""
    if not MEMORY_MAP.exists():
        return UNKNOWN
    files = [line.split(maxsplit=5)[-1] for line in MEMORY_MAP.read_text().splitlines() if "openblas" in line]
    for file in dict.fromkeys(files):
        library = ctypes.CDLL(file)
        for name in NAMES_OF_KERNELS:
            function = getattr(library, name, None)
            if function is not None:
                function.restype = ctypes.c_char_p
                return cast(bytes, function()).decode()
    return UNKNOWN


def vector_features() -> list[str]:
    """The sets of instructions for which NumPy was built or has found the processor."""
    extensions = _extensions()
    return [*extensions.get("baseline", []), *extensions.get("found", [])] or [UNKNOWN]


def _extensions() -> Mapping[str, list[str]]:
    configuration = cast("dict[str, Any]", np.show_config(mode="dicts"))
    return configuration.get("SIMD Extensions", {})


@dataclass(frozen=True, slots=True)
class OtherProcessor:
    """A processor as which NumPy can compute here."""

    name: str
    blas: str
    """What OpenBLAS calls it."""
    lacks: tuple[str, ...]
    """Sets of instructions that NumPy does without, though the processor has them."""

    def environment(self) -> dict[str, str]:
        """What a process needs for it."""
        return {"OPENBLAS_CORETYPE": self.blas, "NPY_DISABLE_CPU_FEATURES": " ".join(self.lacks)}


def other_processors() -> tuple[OtherProcessor, ...]:
    """Those whose instructions this processor has: with AVX-512, AVX2, AVX, and none of them.

    The one as which NumPy computes already is left out. OpenBLAS has the kernels of `Haswell` for AMD's `Zen`, too.
    """
    found = _extensions().get("found", [])
    beyond_avx2 = tuple(name for name in found if name.startswith(("X86_V4", "AVX512")))
    candidates = [OtherProcessor("prescott", "Prescott", tuple(found))]
    if {"X86_V3", "AVX2"} & set(found):
        candidates.append(OtherProcessor("sandybridge", "Sandybridge", tuple(found)))
        candidates.append(OtherProcessor("haswell", "Haswell", beyond_avx2))
    if beyond_avx2:
        candidates.append(OtherProcessor("skylakex", "SkylakeX", ()))
    return tuple(each for each in candidates if each.lacks or each.blas != blas_kernels())
