"""What is asked of those who write kernels: a program that has a schedule, and where its code goes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fuse_dialect.backends.assembler.builder import Function, Module, Parameter
from fuse_dialect.backends.assembler.values import I64, PTR
from fuse_dialect.loops.program import LoopProgram
from fuse_dialect.machines.machine import Machine

KERNEL_PARAMETERS = (Parameter("slots", PTR, "noalias readonly"), Parameter("part", I64), Parameter("parts", I64))
"""Those of the function of a kernel: addresses and sizes, which part of the work, of how many."""


@dataclass(frozen=True, slots=True)
class Request:
    """A kernel that is to be written."""

    program: LoopProgram
    machine: Machine
    module: Module
    """Gets whatever functions the kernel needs."""
    entry: Function
    """The function of `slots`, `part` and `parts`, without code."""
    fast_math: bool = False
    """Whether nan and infinities may be ignored."""
    kept: Mapping[str, int] = field(default_factory=dict[str, int])
    """Local buffers that functions of the kernel pass on, with their offsets in the workspace."""
    kept_bytes: int = 0
    """How much of the workspace they take, at its start."""
