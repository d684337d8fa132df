"""The backend: a kernel is chosen, written as LLVM IR, and compiled to machine code."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fuse_dialect.backends.assembler.builder import CONTRACT, Module
from fuse_dialect.backends.assembler.engine import Code, MissingFunctionError, compile_object, load
from fuse_dialect.backends.assembler.host import Host
from fuse_dialect.backends.backend import KernelRequest, Packing
from fuse_dialect.backends.llvm.compile_pool import CompilePool
from fuse_dialect.backends.llvm.kernel import checked_name
from fuse_dialect.backends.llvm.processors import target_of
from fuse_dialect.backends.options import Layout
from fuse_dialect.backends.runtime.driver import driver_object
from fuse_dialect.checked import checks_accesses
from fuse_dialect.loops.elements import element_bytes
from fuse_dialect.loops.kernel_schedule import KernelSchedule
from fuse_dialect.loops.program import Refusal, Role
from fuse_dialect.loops.strip_schedule import Strips, by_function, passed_to
from fuse_dialect.machines.machine import Machine, Unit


@dataclass(frozen=True, slots=True)
class EmittedKernel:
    """A kernel as text."""

    ir_text: str
    symbol: str
    """Name of the function in the text."""
    family: str
    workspace_bytes: int
    parallel: bool
    packings: Mapping[int, Packing] = field(default_factory=dict[int, Packing])
    checked: str = ""
    """Name of the function that says whether there was a fault; empty if there can be none."""

    @property
    def symbols(self) -> list[str]:
        """Names of the functions that are called from outside."""
        return [self.symbol, *([self.checked] if self.checked else [])]


@dataclass(frozen=True, slots=True)
class NativeKernel:
    """A kernel as machine code; see `backends.backend.Kernel`."""

    emitted: EmittedKernel
    code: Code
    from_cache: bool = False
    """Whether its code was on disk."""

    @property
    def address(self) -> int:
        """Where the function is."""
        return self.code.addresses[self.emitted.symbol]

    @property
    def checked(self) -> int:
        """Where the function is that says whether there was a fault."""
        return self.code.addresses[self.emitted.checked] if self.emitted.checked else 0

    @property
    def family(self) -> str:
        """Which family wrote it."""
        return self.emitted.family

    @property
    def workspace_bytes(self) -> int:
        """Scratch memory that each part needs."""
        return self.emitted.workspace_bytes

    @property
    def packings(self) -> Mapping[int, Packing]:
        """Arguments that are passed packed."""
        return self.emitted.packings

    @property
    def parallel(self) -> bool:
        """Whether more than one part is of use."""
        return self.emitted.parallel


class LLVMBackend:
    """Machine code for the processor of this process, or for another one as text."""

    name = "llvm"
    layout: Layout = "NHWC"
    """Channels last: side by side for vectors."""

    def __init__(self, *, fast_math: bool = False, target: Host | None = None, families: Sequence[str] = ()):
        """A backend.

        Args:
            fast_math: Whether kernels may ignore nan and infinities, and multiply by reciprocals where they divide.
            target: The processor; by default the one that the environment names, else that of this process.
            families: Names of the families of kernels that may be chosen, of `families.FAMILIES`; by default all.
        """
        self.fast_math = fast_math
        self.target = target or target_of()
        self.families = tuple(families)

    @property
    def machine(self) -> Machine:
        """What kernels are made for."""
        return self.target.machine

    def module(self) -> Module:
        """An empty module for kernels of this backend."""
        units = self.target.machine.units
        return Module(self.target.attributes, Unit.HALVES in units, Unit.NARROWING_STORES in units)

    def emit(self, request: KernelRequest, module: Module | None = None) -> EmittedKernel | Refusal:
        """The text of a kernel, or why there is none.

        Args:
            request: The primitive.
            module: Where the kernel is written, for a text of several; by default a new one.
        """
        from fuse_dialect.backends.llvm.writing import write  # a program whose kernels are all kept writes none
        from fuse_dialect.loops.choosing import choose
        from fuse_dialect.loops.families import FAMILIES

        symbol = re.sub(r"\W", "_", request.program.name, flags=re.ASCII)
        families = self.families or FAMILIES
        schedule = choose(request.program, self.machine, request.constants, families, fast_math=self.fast_math)
        if isinstance(schedule, Refusal):
            return schedule
        target = self.module() if module is None else module
        target.flags = CONTRACT if schedule.contracts else ""
        write(schedule, self.machine, target, symbol, fast_math=self.fast_math)
        text = target.text()
        return EmittedKernel(
            _checked(text, schedule, symbol) if checks_accesses() else text,
            symbol,
            schedule.family,
            schedule.workspace_bytes,
            schedule.is_parallel,
            schedule.packings,
            checked_name(symbol) if schedule.program.finds_faults else "",
        )

    def compile(self, requests: Sequence[KernelRequest]) -> list[NativeKernel | Refusal]:
        """A kernel for each request, or why there is none."""
        with CompilePool(len(requests)) as pool:
            begun = [self._begun(self.emit(request), pool) for request in requests]
            pool.submit(driver_object)  # what runs them all is needed next, and threads have time in the end
            return [finish() for finish in begun]

    def object_code(self, emitted: EmittedKernel) -> bytes:
        """The machine code of a kernel, to be loaded or kept."""
        return compile_object(emitted.ir_text, self.target)

    def _begun(self, emitted: EmittedKernel | Refusal, pool: CompilePool) -> Callable[[], NativeKernel | Refusal]:
        if isinstance(emitted, Refusal):
            return lambda: emitted
        code = pool.submit(lambda: self.object_code(emitted))

        def finish() -> NativeKernel | Refusal:
            try:
                return NativeKernel(emitted, load(code(), emitted.symbols))
            except MissingFunctionError as error:
                return Refusal(str(error))

        return finish


def _checked(text: str, schedule: KernelSchedule, symbol: str) -> str:
    """The text of a kernel that checks its accesses."""
    # Its patterns no other run needs.
    from fuse_dialect.backends.checking.checked_text import Checked, with_access_checks

    arguments = [buffer.name for buffer in schedule.program.buffers if buffer.role is Role.ARGUMENT]
    packed = {arguments[place]: each.size * element_bytes(each.element) for place, each in schedule.packings.items()}
    kernel = Checked(schedule.program, packed, schedule.workspace_bytes)
    if not isinstance(schedule.form, Strips):
        return with_access_checks(text, kernel)
    steps = {
        f"{name}_{number}": Checked(step.program, packed, step.workspace_bytes, passed_to(form, step))
        for name, form in by_function(schedule.form, symbol).items()
        for number, step in enumerate(form.steps)
    }
    return with_access_checks(text, kernel, steps)
