"""Processors and machines by name: what code may be compiled for, never more than the processor at hand can do.

A table names what the code generator looks at; LLVM knows the rest by the processor's name.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches

from fuse_dialect.backends.llvm.engine import host
from fuse_dialect.backends.llvm.host import Host
from fuse_dialect.backends.machines import find_machine, machine_names
from fuse_dialect.diagnostics import FuseError

VARIABLE = "FUSE_TARGET_CPU"
"""Names the processor where nobody else does."""
NATIVE = "native"
"""The name of the processor at hand."""
_V1 = frozenset({"sse2"})
_V2 = _V1 | {"sse4.1"}
_AVX = _V2 | {"avx"}
_V3 = _AVX | {"avx2", "fma", "f16c"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512dq", "avx512vl"}
_V3_DOTS = _V3 | {"avxvnni"}
_V4_DOTS = _V4 | {"avx512vnni"}
_V4_TABLES = _V4_DOTS | {"avx512vbmi"}
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
    _V4_TABLES: "icelake-client icelake-server tigerlake rocketlake sapphirerapids emeraldrapids "
    "graniterapids znver4 znver5",
    _ARM: "generic cortex-a53 cortex-a72 cortex-a76 cortex-x1 neoverse-n1 neoverse-n2 neoverse-v1 neoverse-v2 "
    "apple-m1 apple-m2 apple-m3 apple-m4 ampere1",
}
PROCESSORS: Mapping[str, frozenset[str]] = {
    name: features for features, names in _NAMES.items() for name in names.split()
}
"""What code generation looks at, by the name that LLVM knows the processor by."""


def named(name: str) -> Host:
    """A processor, or a machine of another package, whether or not its code runs here.

    Raises:
        FuseError: There is no such name, or the machine is of a processor that is not known.
    """
    if name == NATIVE:
        return host()
    if name in PROCESSORS:
        return Host(name, ",".join(f"+{feature}" for feature in sorted(PROCESSORS[name])))
    machine = find_machine(name)
    if machine is None:
        known = (NATIVE, *sorted(PROCESSORS), *machine_names())
        close = get_close_matches(name, known[1:], n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(known)}"
        raise FuseError(f"unknown processor '{name}'", hint=hint)
    processor = machine.processor or machine.name
    if processor != NATIVE and processor not in PROCESSORS:
        hint = f"there are {NATIVE}, {', '.join(sorted(PROCESSORS))}"
        raise FuseError(f"machine '{name}' is of the unknown processor '{processor}'", hint=hint)
    return replace(named(processor), described=machine)


def target_of(name: str | None = None) -> Host:
    """The processor to compile for: what both the named one and the one at hand can do.

    Args:
        name: As `named` takes it; by default what the environment variable names, else the processor at hand.

    Raises:
        FuseError: There is no such name, or its code does not run here at all.
    """
    name = name or os.environ.get(VARIABLE) or NATIVE
    return _within(named(name), host())


def _within(target: Host, own: Host) -> Host:
    """The target without what this processor lacks: LLVM must be told, because it goes by the target's name."""
    if (target.cpu, target.features) == (own.cpu, own.features):
        return target
    mine = own.features.split(",")
    wanted = target.features.split(",")
    # Two architectures have no instruction in common, so nothing would be left.
    if ("+neon" in wanted) != ("+neon" in mine):
        raise FuseError(
            f"code for the processor '{target.cpu}' does not run on this one, which is '{own.cpu}'",
            hint="fuse-opt -t llvm prints code for any processor",
        )
    # Without these LLVM would use what processors of the target's name have, and this one may lack.
    missing = [feature for feature in mine if feature.startswith("-")]
    return replace(target, features=",".join([*(feature for feature in wanted if feature in mine), *missing]))
