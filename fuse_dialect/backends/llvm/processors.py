"""Machines by name as processors that LLVM knows: what code may be compiled for, never more than is at hand."""

from dataclasses import replace

from fuse_dialect.backends.assembler.engine import host
from fuse_dialect.backends.assembler.host import Host
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.machines.environment import NATIVE, machine_named
from fuse_dialect.machines.names import find_machine
from fuse_dialect.machines.processors import PROCESSORS, features_of


def named(name: str) -> Host:
    """The processor of a machine, whether or not its code runs here.

    Args:
        name: As `find_machine` takes it.

    Raises:
        FuseError: There is no such machine, or it is of a processor that is not known.
    """
    if name == NATIVE:
        return host()
    if name in PROCESSORS:
        return Host(name, features_of(name))
    machine = find_machine(name)
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
    return _within(named(machine_named(name)), host())


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
