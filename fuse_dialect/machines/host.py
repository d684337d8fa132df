"""The processor at hand, as far as plans go by it. Backends ask their code generator, which knows more of it.

Linux lists what programs may use. Elsewhere nothing is read: the processor counts as one of its architecture that is
common today.
"""

import platform
from functools import cache
from pathlib import Path

from fuse_dialect.machines.environment import NATIVE, PROCESSOR_FILE
from fuse_dialect.machines.machine import Cache, Machine
from fuse_dialect.machines.processors import features_of, machine_of
from fuse_dialect.machines.tiles import usable

_LISTS = ("flags", "Features")
"""Names of the list of instructions on x86 and on ARM."""
_SPELLED = {"asimd": "neon", "sse4_1": "sse4.1", "sse4_2": "sse4.2", "avx_vnni": "avxvnni"}
"""What LLVM calls otherwise than Linux, besides those with an underscore that LLVM leaves out."""
_CACHES = "/sys/devices/system/cpu/cpu0/cache"
_OF_A_CACHE = ("type", "size", "ways_of_associativity", "level")
_TYPICAL = {"aarch64": "generic", "arm64": "generic"}
_TYPICAL_X86 = "x86-64-v3"


@cache
def host_machine() -> Machine:
    """The machine of the processor at hand."""
    return machine_of(NATIVE, host_features())


def host_features() -> str:
    """What the processor at hand can do, as LLVM spells it: `+avx2,+fma`."""
    try:
        with open(PROCESSOR_FILE, encoding="utf-8") as stream:
            for line in stream:
                name, _, value = line.partition(":")
                if name.strip() in _LISTS:
                    return ",".join(f"+{_spelled(flag)}" for flag in usable(sorted(value.split())))
    except (OSError, UnicodeDecodeError):
        pass
    return features_of(_TYPICAL.get(platform.machine(), _TYPICAL_X86))


def host_caches() -> tuple[Cache, ...]:
    """The caches for data of the first processor, nearest first; those that any machine has where nothing says it."""
    found: dict[int, Cache] = {}
    for place in sorted(Path(_CACHES).glob("index*")):
        try:
            kind, size, ways, level = ((place / name).read_text().strip() for name in _OF_A_CACHE)
            if kind != "Instruction":
                bytes = int(size.rstrip("KM")) << (20 if size.endswith("M") else 10)
                # Some systems say 0 where any line may hold anything.
                found[int(level)] = Cache(bytes, int(ways) or 8)
        except (OSError, ValueError):
            continue
    return tuple(found[level] for level in sorted(found)) or host_machine().caches


def _spelled(flag: str) -> str:
    if flag.startswith("amx"):
        return flag.replace("_", "-")
    return _SPELLED.get(flag) or (flag.replace("_", "") if flag.startswith("avx512") else flag)
