"""What a kernel of a program is, and the time that it took: data."""

from dataclasses import dataclass

from fuse_dialect.source_names import common_source


@dataclass(frozen=True, slots=True)
class KernelReport:
    """One primitive of a program."""

    name: str
    """The function's name."""
    ops: tuple[str, ...]
    """Its operators in order, without `fuse.`."""
    family: str
    """The generator of its code, or one of these:

    - `numpy`: its NumPy meaning is run;
    - `view`: nothing is run;
    - `settled`: it follows from the sizes of the inputs, and is computed when a plan is made;
    - `move`: elements are put elsewhere, by code that is the same for all sizes.
    """
    reason: str
    """Why NumPy runs it; empty otherwise."""
    calls: int
    """How often a run of the program calls it."""
    bytes: int | None
    """Bytes that one call reads and writes, of the table of a gather what it picks; `None` if sizes are unknown."""
    flops: int | None
    """Arithmetic operations of one call on elements, a multiply-add being two."""
    promised: str = ""
    """The family that the plan has counted on, where the code is of a slower one; empty otherwise."""
    sources: tuple[str, ...] = ()
    """Where it comes from in the program of the user, the path of a module or a line: a text for each call."""

    @property
    def source(self) -> str:
        """The same as one text, `layers.*.fc` for several layers; empty if nothing is known."""
        return common_source(self.sources)


@dataclass(frozen=True, slots=True)
class KernelTiming:
    """Where time went: all calls of one primitive in a run."""

    kernel: KernelReport
    seconds: tuple[float, ...]
    """One number for each run."""
    roofline: float | None
    """Seconds that the machine's limits allow at best for the same bytes and operations."""

    @property
    def median(self) -> float:
        """Seconds of a run."""
        # Imported for measurements alone, since programs from files need none of it.
        from statistics import median

        return median(self.seconds)

    @property
    def minimum(self) -> float:
        """Seconds of the best run."""
        return min(self.seconds)

    @property
    def gigabytes_per_second(self) -> float | None:
        """Rate at which the median run moves arguments and results."""
        return _rate(self.kernel.bytes, self.kernel.calls, self.median)

    @property
    def gigaflops_per_second(self) -> float | None:
        """Rate of the median run's arithmetic."""
        return _rate(self.kernel.flops, self.kernel.calls, self.median)

    @property
    def share(self) -> float | None:
        """Part of the roofline that the median run reaches; above 1 where data stays in a cache."""
        return None if self.roofline is None or not self.median else self.roofline / self.median


def _rate(amount: int | None, calls: int, seconds: float) -> float | None:
    return None if amount is None or not seconds else amount * calls / seconds / 1e9
