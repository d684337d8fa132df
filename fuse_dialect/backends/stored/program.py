"""A program from the cache: it runs by its image alone, and is compiled once more when somebody asks for its IR."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from fuse_dialect.backends.runtime.arrays import address_of
from fuse_dialect.backends.runtime.driver import driver_at, native_driver
from fuse_dialect.backends.runtime.program import Program
from fuse_dialect.backends.runtime.walk import Frame, Table, Walk
from fuse_dialect.backends.stored.image import NOWHERE, Image
from fuse_dialect.backends.stored.machine_code import MachineCode

if TYPE_CHECKING:
    from fuse_dialect.backends.runtime.compilation import Compilation
    from fuse_dialect.backends.runtime.kernel_timing import KernelReport
    from fuse_dialect.backends.runtime.report import Profile
    from fuse_dialect.backends.runtime.trace import Trace
    from fuse_dialect.backends.stored.saved_file import SavedFile
    from fuse_dialect.dialect.op import Array
    from fuse_dialect.machines.machine import Machine


class _EndedError(Exception):
    """A loop or a kernel has ended a run; its reason is known to a program with IR."""


class _StoredWalk(Walk):
    """A walk over the code of an image."""

    def __init__(self, table: Table, owners: Any, saved: "SavedFile"):
        super().__init__(table)
        self._owners = owners
        self._saved = saved

    def _run(self, frame: Frame, inputs: "Sequence[Array]", outputs: "Sequence[Array]") -> "dict[int, Array]":
        held = super()._run(frame, inputs, outputs)
        # Constants may have been pages of zeros: what comes of them is not handed out.
        self._saved.check_whole()
        return held

    def end_run(self, frame: Frame, row: int, ended: int) -> None:
        """See `Walk.end_run`."""
        raise _EndedError


class StoredProgram(Program):
    """A program whose machine code, table and constants come from the cache."""

    _says_later = (*Program._says_later, _EndedError)

    def __init__(self, image: Image, backend: str, make_whole: Callable[[], Program], saved: "SavedFile"):
        """Bring an image into memory.

        Args:
            image: What was stored.
            backend: Name of the backend, for reports.
            make_whole: Compiles the same program from its file, for what an image does not have.
            saved: What the image is from.

        Raises:
            CannotRunError: Machine code cannot be brought into memory here.
        """
        self._begin(image.interface, backend, image.table.threads)
        self._compilation = None
        self._image = image
        self._make_whole = make_whole
        self.saved = saved
        """The file, of which constants are a part."""
        self._made: list[Program] = []
        self._making = Lock()
        code = MachineCode(image.code, image.imports, image.inside)
        # One driver serves the process: this one if there is none yet, so that nothing has to be compiled for it.
        native_driver.supply(driver_at({name: code.address + at for name, at in image.driver.items()}, code))
        constants = np.frombuffer(image.constants[0], np.uint8)
        words = np.array(image.table.words, np.int64)
        words[image.in_constants[:, 0]] = address_of(constants) + image.in_constants[:, 1]
        rows = np.array(image.table.rows, np.int64)
        rows[:, 0] = np.where(rows[:, 0] == NOWHERE, 0, rows[:, 0] + code.address)
        self._static = _StoredWalk(replace(image.table, words=words, rows=rows), (code, constants), saved)

    @property
    def whole(self) -> Program:
        """The same program with its IR, compiled when somebody asks first.

        Raises:
            FuseError: Its file cannot be read any more, or has changed.
        """
        if not self._made:
            with self._making:
                if not self._made:
                    self._made.append(self._make_whole())
        return self._made[0]

    @property
    def kernels(self) -> "tuple[KernelReport, ...]":
        """See `Program.kernels`."""
        return tuple(self._image.kernels)

    @property
    def constant_bytes(self) -> int:
        """See `Program.constant_bytes`."""
        return self._image.constant_bytes

    @property
    def machine(self) -> "Machine | None":
        """See `Program.machine`."""
        return self.whole.machine

    def profile(self, *inputs: Any, repeat: int = 20) -> "Profile":
        """See `Program.profile`; the program that is measured has the same kernels."""
        return self.whole.profile(*inputs, repeat=repeat)

    def trace(self, *inputs: Any, repeat: int = 3) -> "Trace":
        """See `Program.trace`."""
        return self.whole.trace(*inputs, repeat=repeat)

    def _repr_html_(self) -> str | None:
        return self.whole._repr_html_()

    def _repr_svg_(self) -> str | None:
        return self.whole._repr_svg_()

    def _made_of(self) -> "Compilation":
        return self.whole._made_of()

    def _run(self, executable: Walk, arrays: "Sequence[Array]", targets: Sequence[Any]) -> "Sequence[Array]":
        try:
            return super()._run(executable, arrays, targets)
        except _EndedError:
            # Only the ops know what to say of these values: the whole program meets the same fault, and says it.
            return self.whole._call(arrays)
