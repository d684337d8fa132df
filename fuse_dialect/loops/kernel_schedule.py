"""Which kernel a program becomes, as data: everything that is decided before code is written.

A writer of code, an explanation and a cost model read the same schedule. Nothing in it depends on who writes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from fuse_dialect.loops.convolution_schedule import ConvolutionPlan
from fuse_dialect.loops.loop_nests import LoopNests
from fuse_dialect.loops.matrix_schedule import Matrices
from fuse_dialect.loops.packing import Packing
from fuse_dialect.loops.program import LoopProgram
from fuse_dialect.loops.strip_schedule import Strips
from fuse_dialect.loops.window_schedule import WindowPlan
from fuse_dialect.loops.winograd_schedule import WinogradPlan

StagePlan: TypeAlias = Matrices | ConvolutionPlan | WinogradPlan | WindowPlan
"""How one stage of sums runs; each has the program of that stage alone, in the form that it is computed in."""


@dataclass(frozen=True, slots=True)
class StageKernel:
    """How one stage of a kernel of sums runs."""

    plan: StagePlan
    packings: Mapping[int, Packing]
    """Arguments of the kernel, by position, that must be passed packed."""

    @property
    def workspace_bytes(self) -> int:
        """Of each part."""
        return 0 if isinstance(self.plan, WindowPlan) else self.plan.workspace_bytes


@dataclass(frozen=True, slots=True)
class Gate:
    """What the first of two products passes on to the end of the second."""

    buffer: str
    bytes: int
    """Of the workspace, at its start."""
    is_shared: bool
    """Whether parts need what they have computed themselves alone, so that they may share the work."""


@dataclass(frozen=True, slots=True)
class Sums:
    """A kernel of products and windows: stages that share their work each by itself."""

    stages: tuple[StageKernel, ...]
    gate: Gate | None = None

    @property
    def workspace_bytes(self) -> int:
        """Of each part."""
        passed = 0 if self.gate is None else self.gate.bytes
        return passed + max((stage.workspace_bytes for stage in self.stages), default=0)

    @property
    def is_parallel(self) -> bool:
        """Whether parts share the work."""
        return self.gate is None or self.gate.is_shared

    @property
    def packings(self) -> dict[int, Packing]:
        """Arguments, by position, that must be passed packed."""
        return {place: packing for stage in self.stages for place, packing in stage.packings.items()}


@dataclass(frozen=True, slots=True)
class KernelSchedule:
    """The kernel of a program."""

    program: LoopProgram
    """In the form for the machine, see `for_machine`."""
    family: str
    """How reports call this kind of kernel; one of `families.FAMILIES`."""
    form: LoopNests | Sums | Strips
    contracts: bool
    """Whether a product and a sum may be one instruction, which rounds once."""

    @property
    def workspace_bytes(self) -> int:
        """Scratch memory that each part needs, aligned to `local_places.ALIGNMENT`."""
        return self.form.workspace_bytes

    @property
    def is_parallel(self) -> bool:
        """Whether more than one part is of use."""
        return self.form.is_parallel

    @property
    def packings(self) -> dict[int, Packing]:
        """Arguments, by position, that must be passed packed."""
        return {} if isinstance(self.form, LoopNests) else self.form.packings
