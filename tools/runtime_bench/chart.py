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
LEFT, PLOT, RIGHT, ROW = 130, 560, 210, 26
KEY, KEY_ENTRY, HEADER = 24, 98, 44
"""Heights of the key and of a panel's header, width of an entry of the key."""
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
    top = KEY
    for run in results.runs:
        panels.append(f'<g transform="translate(0 {top:g})">')
        panels += _panel(run, statistic)
        panels.append("</g>")
        top += HEADER + ROW * len(run.workloads)
    names = [
        engine.name
        for engine in ENGINES
        if any(engine.name in each.timings for run in results.runs for each in run.workloads)
    ]
    width, height = max(LEFT + PLOT + RIGHT, 15 + KEY_ENTRY * len(names)), top + 30
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
        x, colour = 15 + index * KEY_ENTRY, COLOURS.get(name, _OTHER_COLOUR)
        if name == OURS:
            yield f'<rect x="{x - 6}" y="9" width="12" height="12" fill="{colour}"/>'
        else:
            yield f'<circle cx="{x}" cy="15" r="5" fill="{colour}"/>'
        yield f'<text x="{x + 9}" y="19">{escape(name)}</text>'


def _panel(run: ThreadsResult, statistic: Statistic) -> Iterator[str]:
    bottom = HEADER + ROW * len(run.workloads)
    title = "1 thread" if run.threads == 1 else f"{run.threads} threads"
    yield f'<text x="10" y="{HEADER - 8}" font-weight="bold">{title}</text>'
    yield f'<text x="{LEFT + PLOT + 20}" y="{HEADER - 8}" fill="#666">ours, to the fastest peer, bar</text>'
    for tick in TICKS:
        x, width = _x(tick), 2 if tick == 1 else 0.5
        yield f'<line x1="{x:.1f}" y1="{HEADER}" x2="{x:.1f}" y2="{bottom}" stroke="#999" stroke-width="{width}"/>'
        label = "fastest peer" if tick == 1 else f"{tick:g}x"
        yield f'<text x="{x:.1f}" y="{HEADER - 8}" text-anchor="middle" fill="#666">{label}</text>'
    for index, result in enumerate(run.workloads):
        yield from _row(result, run, statistic, HEADER + ROW * index + ROW // 2)


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
        start, end = sorted((_x(1.0), _x(statistic.of(ours) / unit)))
        size = f'width="{max(end - start, 2):.1f}" height="16"'
        yield f'<rect x="{start:.1f}" y="{y - 8}" {size} fill="{colour}"/>'
        text = f"{duration(statistic.of(ours))}  {statistic.of(ours) / unit:.2f}x  {verdict.word}"
        yield f'<text x="{LEFT + PLOT + 20}" y="{y + 4}" fill="{colour}">{escape(text)}</text>'
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
