"""Plans for sizes that come back: a program of open sizes, compiled again for the sizes that it is called with.

1. The program of open sizes serves the first call with a set of sizes. When the set comes again, the module is compiled
   for it, where that leaves less to NumPy; where it leaves nothing as it is, when the set has come often. Compilation
   takes seconds, so sizes that never come back do not pay for it.
2. No call compiles. A thread beside the calls does, one set after the other, the one that was asked for last first; it
   ends when nothing waits. Calls go on with what there is, for ever where the sizes cannot be compiled for, or where
   the program for them leaves more to NumPy.
3. At most `MAX_PROGRAMS` sets are kept, and constants of at most `MAX_BYTES` for all but the latest; the set that was
   not called for the longest time goes first.
4. The thread works for at most `MAX_SECONDS` for one program: sets that drive each other out would keep it busy.
5. A child of a fork has no such thread and no such waiting; it begins anew with the programs that there are.
"""

import atexit
import os
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock, Thread, main_thread
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar
from warnings import warn
from weakref import WeakSet

from xdsl.utils.exceptions import InterpretationError, PassFailedException, VerifyException

from fuse_dialect.backends.types import Shape
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.logs import SIZES, heard

MAX_PROGRAMS = 64
"""Sets of sizes that have a program of their own."""
MAX_BYTES = 1 << 30
"""Bytes of constants of all programs but the one that was called last."""
MAX_SECONDS = 120.0
"""Seconds that are spent on compiling beside the calls of one program; `make` does not count."""
_REFUSED = -1
"""Sizes that cannot be compiled for."""
MAX_REMEMBERED = 1024
"""Sets of sizes of which it is known that they came before, and sets that wait."""
LAST_SECONDS = 5.0
"""Seconds for which the end of the process waits for the thread: it must not be stopped in the middle of LLVM."""
_ENDING = "interpreter shutdown"
"""What Python says of threads and tasks that begin when the process ends: pools end before its first thread does."""
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

    def __init__(self, make: Callable[[Sizes], ProgramT], is_gain: Callable[[Sizes, ProgramT], bool]):
        """Begin without any.

        Args:
            make: Compiles for the shapes of the inputs.
            is_gain: Whether calls should run what was made for them.
        """
        self._make, self._is_gain = make, is_gain
        self._programs: OrderedDict[Sizes, ProgramT] = OrderedDict()
        self._came: OrderedDict[Sizes, int] = OrderedDict()
        """How often sizes came, or `_REFUSED`."""
        self._latest: ProgramT | None = None
        """The program at the end, if a call has put it there."""
        self._seconds = 0.0
        """Spent by the thread."""
        self.begin_anew()
        _ALL.add(self)

    def begin_anew(self) -> None:
        """Forget the thread and what it was to do (5)."""
        self._waiting: OrderedDict[Sizes, None] = OrderedDict()
        self._thread: Thread | None = None
        self._lock = Lock()
        self._compiling = Lock()

    def __bool__(self) -> bool:
        """Whether there is a program."""
        return bool(self._programs)

    def __len__(self) -> int:
        """How many programs are kept."""
        return len(self._programs)

    @property
    def seconds(self) -> float:
        """What the thread beside the calls has taken."""
        return self._seconds

    @property
    def constant_bytes(self) -> int:
        """Bytes of the constants of all programs that are kept."""
        with self._lock:
            return sum(program.constant_bytes for program in self._programs.values())

    def known(self, sizes: Sizes) -> ProgramT | None:
        """The program for these sizes, if there is one."""
        # Without the lock, because every call comes here: one look into a dictionary is one step for all threads.
        found = self._programs.get(sizes)
        if found is not None and found is not self._latest:
            with self._lock:
                self._latest = found
                # Another thread may have dropped it since then (condition 3); this caller may still run it.
                if sizes in self._programs:
                    self._programs.move_to_end(sizes)
        return found

    def find(self, sizes: Sizes, often: int = 2) -> ProgramT | None:
        """The program for these sizes, if there is one; if it is time to make it, it is made beside the calls.

        Args:
            sizes: Those of a call.
            often: With which call of the same sizes it is time.
        """
        with self._lock:
            found = self._programs.get(sizes)
            if found is not None:
                self._latest = found
                self._programs.move_to_end(sizes)
                return found
            # Condition 1: sizes that come for the first time are remembered, and no more.
            came = self._came.get(sizes, 0)
            self._came[sizes] = came if came == _REFUSED else came + 1
            self._came.move_to_end(sizes)
            # Sizes that never come back must not pile up.
            if len(self._came) > MAX_REMEMBERED:
                self._came.popitem(last=False)
            if came + 1 >= often and came != _REFUSED and self._seconds < MAX_SECONDS:
                self._ask(sizes)
        return None

    def make(self, sizes: Sizes) -> ProgramT:
        """The program for these sizes, made now if there is none.

        Raises:
            FuseError: The sizes contradict the program.
        """
        with self._compiling:
            try:
                return self._made(sizes)
            except REFUSALS as error:
                if isinstance(error, FuseError):
                    raise
                raise FuseError(str(error)) from error

    def finish(self, seconds: float | None = None) -> bool:
        """Wait until nothing is compiled beside the calls.

        Args:
            seconds: How long at most; `None` for as long as it takes.

        Returns:
            Whether it is done.
        """
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(seconds)
        with self._lock:
            return self._thread is None

    def stop(self) -> None:
        """Let the thread end with what it is doing; sizes that come again start another one."""
        with self._lock:
            self._waiting.clear()

    def _ask(self, sizes: Sizes) -> None:
        """Let the thread make the program for these sizes next (2); the lock is held."""
        self._waiting[sizes] = None
        self._waiting.move_to_end(sizes)
        if len(self._waiting) > MAX_REMEMBERED:
            self._waiting.popitem(last=False)
        if self._thread is None:
            self._thread = Thread(target=self._work, name="fuse-specialize", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        """What the thread does."""
        while True:
            with self._lock:
                if self._seconds >= MAX_SECONDS:  # condition 4
                    self._waiting.clear()
                if not self._waiting:
                    self._thread = None
                    return
                sizes, _ = self._waiting.popitem()
            start = monotonic()
            can_be_made = True
            try:
                with self._compiling:
                    program = self._made(sizes)
                if not self._is_gain(sizes, program):
                    raise FuseError("the program leaves more to NumPy than the one for all sizes")
            except REFUSALS as error:
                can_be_made = False
                if (log := heard(SIZES)) is not None:
                    log.info("inputs of %s cannot be compiled for: %s", _texts(sizes), error)
            except Exception as error:
                can_be_made = False
                if not main_thread().is_alive() or _ENDING in str(error):
                    return  # the process ends, and takes with it what compilation needs
                # Whoever called has gone on: nobody else would hear of it.
                warn(f"compiling for sizes that came back failed, a bug: {type(error).__name__}: {error}", stacklevel=1)
            with self._lock:
                self._seconds += monotonic() - start
                if not can_be_made:
                    # Condition 2: these sizes would be refused each time, after seconds of work.
                    self._came[sizes] = _REFUSED
                    self._programs.pop(sizes, None)

    def _made(self, sizes: Sizes) -> ProgramT:
        """The program for these sizes, made if nobody has; whoever calls holds `_compiling`."""
        with self._lock:
            found = self._programs.get(sizes)
        if found is not None:
            return found
        start = monotonic()
        program = self._make(sizes)
        if (log := heard(SIZES)) is not None:
            log.info("a program for inputs of %s was made in %.3f s", _texts(sizes), monotonic() - start)
        with self._lock:
            self._programs[sizes], self._latest = program, None
            # Condition 3: the latest stays whatever it takes, since its caller is about to run it.
            while len(self._programs) > 1 and (len(self._programs) > MAX_PROGRAMS or self._held() > MAX_BYTES):
                self._programs.popitem(last=False)
        return program

    def _held(self) -> int:
        """Bytes of constants of all programs but the latest."""
        return sum(program.constant_bytes for program in list(self._programs.values())[:-1])


def _texts(sizes: Sizes) -> str:
    """Shapes as people write them: `2x3, 4`; a scalar is `scalar`."""
    return ", ".join("x".join(map(str, shape)) or "scalar" for shape in sizes)


_ALL: "WeakSet[Specializations[Any]]" = WeakSet()


def _begin_anew() -> None:
    for each in list(_ALL):
        each.begin_anew()


def _end() -> None:
    end = monotonic() + LAST_SECONDS
    for each in list(_ALL):
        each.stop()
        each.finish(max(end - monotonic(), 0.0))


os.register_at_fork(after_in_child=_begin_anew)  # condition 5
atexit.register(_end)
