"""What a program has done for the sizes that it was called with."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SizesReport:
    """Counts since the program was compiled; `str` tells them in a few lines."""

    by_formulas: int
    """Sets of sizes that were new, and for which formulas have said everything."""
    call_by_call: int
    """New sets for which the sizes of each call were found: the first of its kind."""
    step_by_step: int
    """New sets with which the program runs step by step, since some sizes are known only then."""
    tables: int
    """How often the table of kernels was laid out: for the first sizes, and for such as had no room."""
    compiled_in_calls: int
    """Modules that LLVM has compiled in a call; none, unless a test says otherwise."""
    specialized: int
    """Programs for given sizes that are kept, compiled beside the calls or by `Program.specialize`."""
    specializing_seconds: float
    """What the thread beside the calls has taken for them."""
    specialized_bytes: int
    """Of their constants."""
    stretches: "tuple[SizesReport, ...]" = ()
    """The parts of a function whose sizes the data decide, in order: each knows its sizes when it is reached."""

    def __str__(self) -> str:
        """The report for people."""
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        new = self.by_formulas + self.call_by_call + self.step_by_step
        lines = [
            f"new sets of sizes: {new} ({self.by_formulas} by formulas, {self.call_by_call} call by call, "
            f"{self.step_by_step} step by step)",
            f"tables laid out: {self.tables}",
            f"compiled in calls: {self.compiled_in_calls}",
            f"programs for given sizes: {self.specialized}, {self.specializing_seconds:.1f} s beside the calls, "
            f"{self.specialized_bytes} bytes of constants",
        ]
        for number, part in enumerate(self.stretches):
            lines += [f"stretch {number}:", *(f"  {line}" for line in part._lines()[:3])]
        return lines
