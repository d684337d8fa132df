"""Results as an SVG chart: for each workload the time of every engine over that of the fastest peer.

The scale is logarithmic, left is faster. Ours is a bar that begins at the fastest peer, others are dots; a mark at the
edge is a time beyond it.
"""

import math
from collections.abc import Iterator
from xml.sax.saxutils import escape

from .engines import ENGINES
from .report import duration
from .results import Results, ThreadsResult, WorkloadResult
from .verdict import OURS, PEERS, Statistic, fastest, judge
from .workloads import workload_named

LOW, HIGH = 0.25, 16.0
"""Ends of the scale."""
TICKS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
LEFT, PLOT, RIGHT, ROW, TOP, LEGEND = 140, 560, 190, 26, 64, 112
COLOURS = {
    "ours": "#1b7837",
    "ours-unfused": "#a6dba0",
    "numpy": "#7f7f7f",
    "onnxruntime": "#1f77b4",
    "openvino": "#17becf",
    "jax": "#9467bd",
    "torch": "#ffbb78",
    "torch-compile": "#d62728",
    "iree": "#e377c2",
    "tvm": "#bcbd22",
}
_OTHER_COLOUR, _MISS_COLOUR = "#333333", "#b35806"


def chart(results: Results, statistic: Statistic) -> str:
    """The SVG document: one panel for each number of threads."""
    panels: list[str] = []
    top = 0.0
    for run in results.runs:
        height = TOP + ROW * len(run.workloads) + 30
        panels.append(f'<g transform="translate(0 {top:g})">')
        panels += _panel(run, statistic)
        panels.append("</g>")
        top += height
    names = [
        engine.name
        for engine in ENGINES
        if any(engine.name in each.timings for run in results.runs for each in run.workloads)
    ]
    width, height = LEFT + PLOT + RIGHT, top + 24
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:g}" width="{width}"'
            f' height="{height:g}" font-family="Helvetica, Arial, DejaVu Sans, sans-serif" font-size="12">',
            f'<rect width="{width}" height="{height:g}" fill="white"/>',
            *_legend(names),
            *panels,
            f'<text x="10" y="{height - 10:g}" fill="#666" font-size="11">'
            f"{escape(f'{results.date}, {results.machine}; {statistic} of the rounds')}</text>",
            "</svg>",
            "",
        ]
    )


def _legend(names: list[str]) -> Iterator[str]:
    for index, name in enumerate(names):
        x, y = 14 + index * LEGEND % (LEGEND * 8), 14 + index // 8 * 16
        yield f'<circle cx="{x}" cy="{y}" r="5" fill="{COLOURS.get(name, _OTHER_COLOUR)}"/>'
        yield f'<text x="{x + 9}" y="{y + 4}">{escape(name)}</text>'


def _panel(run: ThreadsResult, statistic: Statistic) -> Iterator[str]:
    bottom = TOP + ROW * len(run.workloads)
    title = "1 thread" if run.threads == 1 else f"{run.threads} threads"
    yield f'<text x="10" y="{TOP - 10}" font-weight="bold">{title}</text>'
    yield f'<text x="{LEFT + PLOT + 14}" y="{TOP - 10}" fill="#666">{OURS}, and its bar</text>'
    for tick in TICKS:
        x, width = _x(tick), 2 if tick == 1 else 0.5
        yield f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}" stroke="#999" stroke-width="{width}"/>'
        label = "fastest peer" if tick == 1 else f"{tick:g}x"
        yield f'<text x="{x:.1f}" y="{TOP - 10}" text-anchor="middle" fill="#666">{label}</text>'
    for index, result in enumerate(run.workloads):
        yield from _row(result, run, statistic, TOP + ROW * index + ROW // 2)


def _row(result: WorkloadResult, run: ThreadsResult, statistic: Statistic, y: int) -> Iterator[str]:
    yield f'<text x="10" y="{y + 4}">{escape(result.name)}</text>'
    yield f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + PLOT}" y2="{y}" stroke="#eee"/>'
    best = fastest(result, PEERS, statistic)
    if best is None:
        return
    unit = statistic.of(result.timings[best])
    ours = result.timings.get(OURS)
    verdict = judge(workload_named(result.name).bar, result, run.limits, statistic)
    if ours is not None:
        colour = _MISS_COLOUR if verdict.word == "MISS" else COLOURS[OURS]
        ends = sorted((_x(1.0), _x(statistic.of(ours) / unit)))
        yield f'<rect x="{ends[0]:.1f}" y="{y - 8}" width="{max(ends[1] - ends[0], 2):.1f}" height="16" fill="{colour}"/>'
        text = f"{duration(statistic.of(ours))}  {statistic.of(ours) / unit:.2f}x  {verdict.word}"
        yield f'<text x="{LEFT + PLOT + 14}" y="{y + 4}" fill="{colour}">{escape(text)}</text>'
    for name, timing in result.timings.items():
        if name != OURS:
            ratio = statistic.of(timing) / unit
            beyond = not LOW <= ratio <= HIGH
            shape = f'cx="{_x(ratio):.1f}" cy="{y}" r="{3 if beyond else 5}"'
            title = escape(f"{name}: {duration(statistic.of(timing))}, {ratio:.2f}x the fastest peer")
            yield f'<circle {shape} fill="{COLOURS.get(name, _OTHER_COLOUR)}"><title>{title}</title></circle>'


def _x(ratio: float) -> float:
    """Where a ratio lies on the scale."""
    inside = min(max(ratio, LOW), HIGH)
    return LEFT + PLOT * math.log2(inside / LOW) / math.log2(HIGH / LOW)
