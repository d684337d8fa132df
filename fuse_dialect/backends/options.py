"""What a caller may ask of compiling: one set of options for Python, the command line and stored programs.

A program that is stored is found by them without the pass that fuses, and without any IR.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from fuse_dialect.budget import Limits

if TYPE_CHECKING:
    from fuse_dialect.backends.backend import Backend
    from fuse_dialect.fusion.fuse_ops import FuseOpsPass


Layout: TypeAlias = Literal["NHWC", "NCHW", "keep"]
"""Of images while a function runs: channels last, channels first, or that which the model has."""


@dataclass(frozen=True, slots=True)
class BackendSettings:
    """What the user asks of a backend; one that has no such thing ignores it."""

    cache: bool = True
    """Keep machine code on disk, and use what is there."""
    target_cpu: str | None = None
    """Name of the machine whose instructions may be used; by default the environment's, or the one at hand."""
    fast_math: bool = False
    """Whether quotients may be off in their last place, and nan and infinities need not survive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileOptions(BackendSettings):
    """How a function of a module becomes a program."""

    backend: "str | Backend" = "llvm"
    """`llvm` for machine code, `numpy` for the meaning alone, the name of one that another package adds, or an object
    that is one."""
    threads: int = 1
    """Most threads that a call uses; more than there are processors are not used, with a `RuntimeWarning`."""
    entry: str = "main"
    """Name of the function; where there is no `main`, the only public function."""
    layout: Layout | None = None
    """Of images while the function runs; by default that which the backend is fastest on."""
    limits: Limits = field(default_factory=Limits)
    """How large a value may be whose size is known only when the program runs, and how many ops loops may run."""
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    """Numbers for open sizes of arguments, by the names that they have."""
    fuse: "FuseOpsPass | None" = None
    """How operators are grouped: by `cost` if it names no strategy. `cost` plans for what code is made for, unless
    `machine` names another."""
    specialize: bool = True
    """Whether to compile again for sizes of arguments that are open here and come back in calls."""
