"""What a program is made of, and where its time goes: data, and a table for people."""

from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from fuse_dialect.backends.runtime.kernel_timing import KernelTiming
from fuse_dialect.backends.runtime.profile_picture import profile_html, seconds_text
from fuse_dialect.backends.runtime.roofline import Limits


@dataclass(frozen=True, slots=True)
class Profile:
    """Times of a program, kernel by kernel, and as a whole."""

    kernels: tuple[KernelTiming, ...]
    """In order of their first call."""
    seconds: tuple[float, ...]
    """Of whole runs without any measuring inside."""
    threads: int
    limits: Limits | None = None
    """Rates that the processor reaches at best by the machine's instructions, if they were measured too."""
    machine: str = ""
    """Name of the machine that the code is made for, if that is known."""

    @property
    def median(self) -> float:
        """Seconds of a whole run."""
        return median(self.seconds)

    @property
    def minimum(self) -> float:
        """Seconds of the best whole run."""
        return min(self.seconds)

    def as_json(self) -> dict[str, Any]:
        """Numbers for a file."""
        return {
            "threads": self.threads,
            **({"machine": self.machine} if self.machine else {}),
            "median_seconds": self.median,
            "minimum_seconds": self.minimum,
            **({} if self.limits is None else {"limits": asdict(self.limits)}),
            "kernels": [
                asdict(row.kernel)
                | {
                    "median_seconds": row.median,
                    "minimum_seconds": row.minimum,
                    "gigabytes_per_second": row.gigabytes_per_second,
                    "gigaflops_per_second": row.gigaflops_per_second,
                    "share_of_roofline": row.share,
                }
                for row in self.kernels
            ],
        }

    def to_svg(self, title: str = "program") -> str:
        """The kernels under the roofline of the machine, as a picture."""
        from fuse_dialect.backends.runtime.roofline_picture import roofline_svg

        return roofline_svg(self.kernels, len(self.seconds), self.threads, title, self.limits)

    def _repr_html_(self) -> str:
        """Bars whose widths are shares of the time, and a table: for notebooks."""
        return profile_html(self.kernels, self._head())

    def _head(self) -> str:
        """The whole in a line."""
        threads = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        least = seconds_text(self.minimum)
        return f"median {seconds_text(self.median)}, minimum {least} of {len(self.seconds)} runs, {threads}"

    def __str__(self) -> str:
        """A table."""
        lines = [self._head()]
        total = sum(row.median for row in self.kernels) or 1.0
        rows = [_cells(row, total) for row in self.kernels]
        head = (*_HEAD, "from" if any(row[-1] for row in rows) else "")
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        for cells in (head, *rows):
            first, *numbers, by, source = cells
            middle = "  ".join(cell.rjust(width) for cell, width in zip(numbers, widths[1:-2], strict=True))
            lines.append(f"{first.ljust(widths[0])}  {middle}  {by.ljust(widths[-2])}  {source}".rstrip())
        return "\n".join(lines)


_HEAD = ("kernel", "calls", "median", "minimum", "part", "MB", "MFLOP", "GB/s", "GFLOP/s", "roofline", "by")
"""Of the table, but for the last column."""


def _cells(row: KernelTiming, total: float) -> tuple[str, ...]:
    kernel = row.kernel
    by = f"{kernel.family}: {kernel.reason}" if kernel.reason else kernel.family
    if kernel.promised:
        by = f"{by}, planned as {kernel.promised}"
    return (
        kernel.name,
        str(kernel.calls),
        seconds_text(row.median),
        seconds_text(row.minimum),
        f"{row.median / total:.0%}",
        _number(kernel.bytes, kernel.calls / 1e6),
        _number(kernel.flops, kernel.calls / 1e6),
        _number(row.gigabytes_per_second),
        _number(row.gigaflops_per_second),
        "-" if row.share is None else f"{row.share:.0%}",
        by,
        kernel.source,
    )


def _number(value: float | None, factor: float = 1.0) -> str:
    return "-" if value is None else f"{value * factor:.3g}" if abs(value * factor) < 1000 else f"{value * factor:.0f}"
