"""What a backend is to the runtime: something that turns loop programs into native functions, or says why not.

A native function has the form `void kernel(ptr slots, i64 part, i64 parts)`.

1. `slots` is an array of i64: addresses of the arguments in order, of the results in order, of the workspace of this
   part, and then the values of the program's symbolic sizes in the order of `symbols_of`.
2. Buffers are dense and row-major, and aligned to their element at least. No result overlaps anything else.
3. `part` counts from 0 to `parts` - 1. The shares of the parts are disjoint and together everything.
4. It may be called by several threads at once, each call with slots of its own.

A program that may find a fault has another function, `i64 checked(ptr slots)`, which runs everything and gives 1, or
`STOP` if there was one. Then results mean nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy.typing as npt

from fuse_dialect.backends.types import STOP as STOP
from fuse_dialect.loops.program import LoopProgram
from fuse_dialect.loops.program import Refusal as Refusal


@dataclass(frozen=True, slots=True)
class KernelRequest:
    """A primitive to compile."""

    program: LoopProgram
    constants: frozenset[int] = frozenset()
    """Positions of arguments whose values are known before the first call, so that they may be packed once."""


class Packing(Protocol):
    """How a constant argument is laid out for a kernel. Equal packings give equal arrays."""

    def apply(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The array as the kernel reads it: dense and row-major."""
        ...


class Kernel(Protocol):
    """A native function."""

    @property
    def address(self) -> int:
        """Where the function is; it stays there as long as the kernel is referenced."""
        ...

    @property
    def checked(self) -> int:
        """Where the function is that also says whether there was a fault; 0 if there can be none."""
        ...

    @property
    def family(self) -> str:
        """Which generator made it, for reports: `map`, `rows`, `contraction`."""
        ...

    @property
    def workspace_bytes(self) -> int:
        """Scratch memory that each part needs, aligned to 64 bytes."""
        ...

    @property
    def packings(self) -> Mapping[int, Packing]:
        """Arguments that are passed packed, by position; only positions of `KernelRequest.constants`."""
        ...

    @property
    def parallel(self) -> bool:
        """Whether more than one part is of use; otherwise the function is called with part 0 of 1."""
        ...


@dataclass(frozen=True, slots=True)
class NativeFunction:
    """A kernel that is a function for one part, which reads its arguments as they are."""

    address: int
    family: str
    owner: Any = field(repr=False)
    """Keeps the machine code."""
    checked: int = 0
    workspace_bytes: int = 0

    @property
    def packings(self) -> Mapping[int, Packing]:
        """None."""
        return {}

    @property
    def parallel(self) -> bool:
        """One part does it; libraries have threads of their own."""
        return False


class Backend(Protocol):
    """A way to run primitives."""

    @property
    def name(self) -> str:
        """How command lines and reports call it."""
        ...

    def compile(self, requests: Sequence[KernelRequest]) -> Sequence[Kernel | Refusal]:
        """A kernel for each request, or why there is none."""
        ...


def symbols_of(program: LoopProgram) -> tuple[str, ...]:
    """The symbolic sizes of a program, in the order in which its buffers' shapes first name them."""
    return tuple(dict.fromkeys(size for buffer in program.buffers for size in buffer.shape if isinstance(size, str)))
