"""Plans for sizes that come back: a program of open sizes, compiled again for the sizes that it is called with.

1. The program of open sizes serves the first call with a set of sizes. When the set comes again, the module is compiled
   for it, where that leaves less to NumPy. Compilation takes seconds, so sizes that never come back do not pay for it.
2. One caller compiles. Others go on with what there is, and so does everybody when the sizes cannot be compiled for.
3. At most `MAX_PROGRAMS` sets are kept, and constants of at most `MAX_BYTES` for all but the latest; the set that was
   not called for the longest time goes first.
"""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, Protocol, TypeVar

from xdsl.utils.exceptions import InterpretationError, PassFailedException, VerifyException

from fuse_dialect.backends.types import Shape
from fuse_dialect.diagnostics import FuseError

MAX_PROGRAMS = 8
"""Sets of sizes that have a program of their own."""
MAX_BYTES = 1 << 30
"""Bytes of constants of all programs but the one that was called last."""
MAX_REMEMBERED = 256
"""Sets of sizes of which it is known that they came before."""
Sizes = tuple[Shape, ...]
ProgramT = TypeVar("ProgramT", bound="Held")
REFUSALS = (FuseError, InterpretationError, PassFailedException, VerifyException)
"""What compiling for sizes may raise that contradict the program; running it then says so better."""


class Held(Protocol):
    """What is kept: a program that knows the memory of its constants."""

    @property
    def constant_bytes(self) -> int:
        """Bytes of its constants."""
        ...


class Specializations(Generic[ProgramT]):
    """The programs for sets of sizes; any number of threads may ask."""

    def __init__(self, make: Callable[[Sizes], ProgramT]):
        """Begin without any.

        Args:
            make: Compiles for the shapes of the inputs.
        """
        self._make = make
        self._programs: OrderedDict[Sizes, ProgramT] = OrderedDict()
        self._came: OrderedDict[Sizes, bool] = OrderedDict()
        """Whether sizes that came before may be compiled for."""
        self._lock = Lock()
        self._compiling = Lock()

    def known(self, sizes: Sizes) -> ProgramT | None:
        """The program for these sizes, if there is one."""
        # Without the lock, because every call comes here: one look into a dictionary is one step for all threads.
        found = self._programs.get(sizes)
        if found is not None:
            with self._lock:
                # Another thread may have dropped it since then (condition 3); this caller may still run it.
                if sizes in self._programs:
                    self._programs.move_to_end(sizes)
        return found

    def find(self, sizes: Sizes) -> ProgramT | None:
        """The program for these sizes, if there is one or it is time to make it."""
        with self._lock:
            found = self._programs.get(sizes)
            if found is not None:
                self._programs.move_to_end(sizes)
                return found
            # Condition 1: sizes that come for the first time are remembered, and no more.
            may_be_made = self._came.get(sizes, False)
            self._came.setdefault(sizes, True)
            self._came.move_to_end(sizes)
            # Sizes that never come back must not pile up.
            if len(self._came) > MAX_REMEMBERED:
                self._came.popitem(last=False)
        # Condition 2: nobody waits for a compilation that the program of open sizes makes unnecessary.
        if not may_be_made or not self._compiling.acquire(blocking=False):
            return None
        try:
            with self._lock:  # another caller may have made it since
                found = self._programs.get(sizes)
            return found or self._made(sizes)
        except REFUSALS:
            # Condition 2: these sizes would be refused each time, after seconds of work.
            with self._lock:
                self._came[sizes] = False
            return None
        finally:
            self._compiling.release()

    def make(self, sizes: Sizes) -> ProgramT:
        """The program for these sizes, made now if there is none.

        Raises:
            FuseError: The sizes contradict the program.
        """
        with self._compiling:
            # Whoever compiled until now may have made it.
            with self._lock:
                found = self._programs.get(sizes)
            try:
                return found or self._made(sizes)
            except REFUSALS as error:
                if isinstance(error, FuseError):
                    raise
                raise FuseError(str(error)) from error

    def _made(self, sizes: Sizes) -> ProgramT:
        program = self._make(sizes)
        with self._lock:
            self._programs[sizes] = program
            # Condition 3: the latest stays whatever it takes, since its caller is about to run it.
            while len(self._programs) > 1 and (len(self._programs) > MAX_PROGRAMS or self._held() > MAX_BYTES):
                self._programs.popitem(last=False)
        return program

    def _held(self) -> int:
        """Bytes of constants of all programs but the latest."""
        return sum(program.constant_bytes for program in list(self._programs.values())[:-1])
