"""Whether kernels that are planned by cost become what their plan has counted on, on any machine and without LLVM."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.backends.backend import KernelRequest, Packing
from fuse_dialect.backends.compile import compile_program
from fuse_dialect.backends.llvm.backend import LLVMBackend
from fuse_dialect.backends.options import CompileOptions
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.loops.choosing import choose
from fuse_dialect.loops.program import Refusal
from fuse_dialect.machines.machine import Machine
from fuse_dialect.machines.names import find_machine

MACHINES = ("cpu-avx512", "cpu-avx2", "cpu-sse2", "cpu-neon")
"""With and without wide vectors, products of bytes, and masks."""


@dataclass(frozen=True)
class ChosenKernel:
    """A kernel of which only the family is known; it cannot be called."""

    family: str
    address: int = 0
    checked: int = 0
    workspace_bytes: int = 0
    packings: Mapping[int, Packing] = field(default_factory=dict[int, Packing])
    parallel: bool = False


@dataclass(frozen=True)
class ChoosingBackend:
    """A backend that chooses kernels, and writes none."""

    machine: Machine
    name: str = "choosing"
    layout: str = LLVMBackend.layout
    families: list[str] = field(default_factory=list[str])
    """Of the kernels that were chosen so far."""

    def compile(self, requests: Sequence[KernelRequest]) -> list[ChosenKernel | Refusal]:
        """A kernel for each request, or why there is none."""
        return [self._chosen(request) for request in requests]

    def _chosen(self, request: KernelRequest) -> ChosenKernel | Refusal:
        chosen = choose(request.program, self.machine, request.constants)
        self.families.append("numpy" if isinstance(chosen, Refusal) else chosen.family)
        return chosen if isinstance(chosen, Refusal) else ChosenKernel(chosen.family)


def broken_promises(module: ModuleOp, machine: str) -> tuple[list[str], list[str]]:
    """Compile a module by cost for a machine: what is slower than planned, in words, and the families of all kernels.

    Args:
        module: The module; it changes.
        machine: Name of the machine.
    """
    backend = ChoosingBackend(find_machine(machine))
    options = CompileOptions(backend=backend, fuse=FuseOpsPass(strategy="cost"), threads=1, specialize=False)
    kernels = compile_program(module, options, in_place=True).kernels
    return [
        f"{each.name} ({', '.join(each.ops)}) is planned as {each.promised}, and is {each.family}: {each.reason}"
        for each in kernels
        if each.promised
    ], backend.families
