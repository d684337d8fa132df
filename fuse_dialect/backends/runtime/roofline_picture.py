"""The roofline as a picture: what each kernel computes for each byte, how fast it is, and what the machine allows.

Both scales are logarithmic. The slope is the memory's rate, the roof that of arithmetic; a kernel under the slope waits
for memory. A circle's area is the kernel's part of the time. Data that stays in a cache may stand above the slope,
and a convolution by Winograd's algorithm above the roof: it needs less arithmetic than is counted.

Source: Williams, Waterman and Patterson, Roofline (doi:10.1145/1498765.1498785).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from fuse_dialect.backends.runtime.kernel_timing import KernelTiming
from fuse_dialect.backends.runtime.roofline import Limits, machine_limits

WIDTH, HEIGHT = 1080, 480
LEFT, TOP, RIGHT, BOTTOM = 70, 48, 400, 56
LIST = WIDTH - RIGHT + 24
"""Where the list of kernels begins."""
MOST_NAMED = 10
"""Kernels in the list, those that take most time."""
MOST_LETTERS = 52
NUMBERED = 8.0
"""Radius of a circle that a number fits into."""
SMALLEST, LARGEST = 3.0, 22.0
"""Radii of circles."""
_STYLE = """
text{font:12px Helvetica,Arial,DejaVu Sans,sans-serif;fill:#1d2430}.dim{fill:#5b6472}.grid{stroke:#d9dde3}
.roof{stroke:#1d2430;fill:none;stroke-width:1.5}.page{fill:#fff}circle{fill:#3b76d6;fill-opacity:.45;stroke:#2456a6}
@media(prefers-color-scheme:dark){text{fill:#e7eaf0}.dim{fill:#a2abba}.grid{stroke:#363d49}.roof{stroke:#e7eaf0}
.page{fill:#14171c}circle{fill:#7aa7f7;stroke:#b4cdfb}}
"""


@dataclass(frozen=True, slots=True)
class _Point:
    """A kernel on the picture."""

    row: KernelTiming
    intensity: float
    """Flop for each byte."""
    rate: float
    """Flop per second."""
    part: float
    """Of the time of all kernels."""


@dataclass(frozen=True, slots=True)
class _Scale:
    """From numbers to places, by powers of ten."""

    low: int
    high: int
    start: float
    end: float

    def at(self, value: float) -> float:
        """Where a number stands."""
        return self.start + (math.log10(value) - self.low) / (self.high - self.low) * (self.end - self.start)


def roofline_svg(
    kernels: Sequence[KernelTiming], runs: int, threads: int, title: str, limits: Limits | None = None
) -> str:
    """The picture as SVG, for light and dark pages.

    Args:
        kernels: Measured kernels; those that compute nothing, or whose sizes are not known, are not shown.
        runs: How often all were measured.
        threads: That they ran on.
        title: What was measured.
        limits: Of the machine; by default as they are measured now.
    """
    limits = limits or machine_limits(threads)
    points = _points(kernels)
    ridge = limits.flops_per_second / limits.bytes_per_second
    x = _scale([ridge, *(point.intensity for point in points)], LEFT, WIDTH - RIGHT)
    y = _scale([limits.flops_per_second, *(point.rate for point in points)], HEIGHT - BOTTOM, TOP)
    on = "1 thread" if threads == 1 else f"{threads} threads"
    hidden = len(kernels) - len(points)
    note = f"; without {hidden} of no arithmetic or no known size" if hidden else ""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            f'role="img" aria-label={quoteattr(f"Roofline of {title}")}>',
            f"<style>{_STYLE}</style>",
            f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
            f'<text x="{LEFT}" y="20">{escape(title)}: median of {runs} runs, {on}</text>',
            f'<text class="dim" x="{LEFT}" y="36">area: part of the time of all kernels{note}</text>',
            *_grid(x, y),
            *_roof(limits, ridge, x, y),
            *_circles(points, x, y),
            "</svg>",
            "",
        ]
    )


def _points(kernels: Sequence[KernelTiming]) -> list[_Point]:
    """Kernels with known numbers, those that take most time first."""
    total = sum(row.median for row in kernels) or 1.0
    points = [
        _Point(row, row.kernel.flops / row.kernel.bytes, row.gigaflops_per_second * 1e9, row.median / total)
        for row in kernels
        if row.kernel.bytes and row.kernel.flops and row.gigaflops_per_second
    ]
    return sorted(points, key=lambda point: -point.part)


def _scale(values: Sequence[float], start: float, end: float) -> _Scale:
    """Powers of ten around all values, one of them free on either side."""
    low, high = math.floor(math.log10(min(values) / 2)), math.ceil(math.log10(max(values) * 2))
    return _Scale(low, max(high, low + 2), start, end)


def _grid(x: _Scale, y: _Scale) -> Iterator[str]:
    for power in range(x.low, x.high + 1):
        place, label = x.at(10.0**power), 10.0**power
        yield f'<line class="grid" x1="{place:.1f}" x2="{place:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        yield f'<text class="dim" x="{place:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{label:g}</text>'
    for power in range(y.low, y.high + 1):
        place, label = y.at(10.0**power), 10.0 ** (power - 9)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{place:.1f}" y2="{place:.1f}"/>'
        yield f'<text class="dim" x="{LEFT - 8}" y="{place + 4:.1f}" text-anchor="end">{label:g}</text>'
    center, middle = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    yield f'<text x="{center}" y="{HEIGHT - 14}" text-anchor="middle">flop for each byte moved</text>'
    yield f'<text x="16" y="{middle}" text-anchor="middle" transform="rotate(-90 16 {middle})">GFLOP/s</text>'


def _roof(limits: Limits, ridge: float, x: _Scale, y: _Scale) -> Iterator[str]:
    """The slope, from where it enters the picture, and the roof."""
    left = max(10.0**x.low, 10.0**y.low / limits.bytes_per_second)
    corners = [(left, left * limits.bytes_per_second), (ridge, limits.flops_per_second)]
    corners.append((10.0**x.high, limits.flops_per_second))
    path = " ".join(f"{x.at(intensity):.1f},{y.at(rate):.1f}" for intensity, rate in corners)
    yield f'<polyline class="roof" points="{path}"/>'
    top = y.at(limits.flops_per_second) - 6
    text = f"{limits.flops_per_second / 1e9:.0f} GFLOP/s, {limits.bytes_per_second / 1e9:.1f} GB/s"
    yield f'<text x="{WIDTH - RIGHT - 4}" y="{top:.1f}" text-anchor="end">{text}</text>'


def _circles(points: Sequence[_Point], x: _Scale, y: _Scale) -> Iterator[str]:
    """Kernels, those that take most time at the bottom, and the names of those in a list on the right."""
    for place, point in enumerate(points):
        kernel, rate = point.row.kernel, point.rate / 1e9
        radius = max(SMALLEST, LARGEST * math.sqrt(point.part))
        across, down = x.at(point.intensity), y.at(point.rate)
        share = "" if point.row.share is None else f", {point.row.share:.0%} of its roofline"
        about = f"{point.part:.0%} of the time, {rate:.3g} GFLOP/s, {point.intensity:.3g} flop/byte{share}"
        circle = f'<circle cx="{across:.1f}" cy="{down:.1f}" r="{radius:.1f}">'
        yield f"{circle}<title>{escape(f'{kernel.name}: {about}')}</title></circle>"
        if place < MOST_NAMED:
            # A number fits into a large circle, and stands beside a small one.
            aside = radius + 6 if radius < NUMBERED else 0
            yield f'<text x="{across + aside:.1f}" y="{down + 4:.1f}" text-anchor="middle">{place + 1}</text>'
            level, name = TOP + 14 + 34 * place, _shortened(kernel.name)
            yield f'<text x="{LIST}" y="{level}">{place + 1}. {escape(name)}</text>'
            yield f'<text class="dim" x="{LIST}" y="{level + 15}">{escape(about)}</text>'
    if len(points) > MOST_NAMED:
        rest = sum(point.part for point in points[MOST_NAMED:])
        text = f"and {len(points) - MOST_NAMED} more: {rest:.0%} of the time"
        yield f'<text class="dim" x="{LIST}" y="{TOP + 14 + 34 * MOST_NAMED}">{text}</text>'


def _shortened(name: str) -> str:
    return name if len(name) <= MOST_LETTERS else name[: MOST_LETTERS - 1] + "…"
