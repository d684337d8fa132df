"""What a family of kernels is: a function that writes the code of programs of one shape, or declines."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from fuse_dialect.backends.backend import Packing
from fuse_dialect.backends.llvm.builder import Function, Module, Parameter
from fuse_dialect.backends.llvm.values import I64, PTR
from fuse_dialect.kernels.program import LoopProgram
from fuse_dialect.machines.machine import Machine

KERNEL_PARAMETERS = (Parameter("slots", PTR, "noalias readonly"), Parameter("part", I64), Parameter("parts", I64))
"""Those of the function of a kernel: addresses and sizes, which part of the work, of how many."""


class NoNativeFormError(Exception):
    """A program holds something that has no native code; it runs by its NumPy meaning instead."""


@dataclass(frozen=True, slots=True)
class Request:
    """A kernel that is wanted."""

    program: LoopProgram
    machine: Machine
    module: Module
    """Gets whatever functions the kernel needs."""
    entry: Function
    """The function of `slots`, `part` and `parts`, without code."""
    constants: frozenset[int] = frozenset()
    """Positions of arguments that may be packed once."""
    fast_math: bool = False
    """Whether nan and infinities may be ignored."""
    kept: Mapping[str, int] = field(default_factory=dict[str, int])
    """Local buffers that functions of the kernel pass on, with their offsets in the workspace."""
    kept_bytes: int = 0
    """How much of the workspace they take, at its start."""


@dataclass(frozen=True, slots=True)
class Written:
    """What the caller of a kernel must know about it."""

    workspace_bytes: int
    parallel: bool
    """Whether parts share the work."""
    packings: Mapping[int, Packing] = field(default_factory=dict[int, Packing])
    """Arguments, by position, that must be passed packed."""
    checked: str = ""
    """The function that runs the kernel and says whether there was a fault; empty if there can be none."""


Family: TypeAlias = Callable[[Request], Written | None]
"""Writes a kernel; `None`, with nothing written, if the program is not of the family's shape.

Raises `NoNativeFormError` if nobody could write it.
"""
