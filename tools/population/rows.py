"""What was measured of models, as tables and charts: losses first."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

TOLERANCE = 1e-3
"""Greatest difference of right outputs, over the largest element."""
TOLERANCES: Mapping[str, float] = {
    "f16": 2e-2, "int8-dynamic": 0.15, "int8-qdq": 0.15, "dynamic": 0.15, "qdq": 0.15, "qoperator": 0.15
}  # fmt: skip
"""The same of forms whose own steps are that coarse: a sum that is off by its last place may round to the next step."""


PEERS = ("OpenVINO", "Inductor")
"""Engines beside onnxruntime, as a table calls them."""


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured of a model; seconds are of one call."""

    name: str
    ours: float = math.inf
    theirs: float = 0.0
    difference: float = math.inf
    """The greatest, over the largest element of the output."""
    first: float = 0.0
    """Seconds from the file to the first output."""
    their_first: float = 0.0
    kernels: int = 0
    on_numpy: tuple[str, ...] = ()
    """Reasons why kernels run on NumPy."""
    failure: str = ""
    """What we refuse it with, or how the process ended."""
    skipped: str = ""
    """Why there is nothing to compare with."""
    openvino: float = 0.0
    inductor: float = 0.0
    """Seconds of other engines: 0 where one was not measured, or does not take the model."""

    @property
    def is_right(self) -> bool:
        """Whether our outputs are those of the other engine."""
        form = self.name.partition(".")[2]
        return not self.failure and self.difference <= TOLERANCES.get(form, TOLERANCE)

    @property
    def ratio(self) -> float:
        """Our time over theirs; infinite if there is none, or our outputs are wrong."""
        return self.ours / self.theirs if self.is_right and self.theirs else math.inf

    @property
    def ratio_to_best(self) -> float:
        """The same over the best of the other engines."""
        others = (self.theirs, *filter(None, self.peers))
        return self.ours / min(others) if math.isfinite(self.ratio) else math.inf

    @property
    def peers(self) -> tuple[float, ...]:
        """What engines other than onnxruntime take, by `PEERS`."""
        return (self.openvino, self.inductor)


def losses_first(rows: Sequence[Row]) -> list[Row]:
    """Failures, then greatest ratios; without those that the other engine cannot run."""
    return sorted((row for row in rows if not row.skipped), key=lambda row: (-row.ratio, row.name))


def summary(rows: Sequence[Row]) -> str:
    """What the rows are together, in a sentence."""
    right = [row.ratio for row in rows if math.isfinite(row.ratio)]
    if not right:
        return f"{len(rows)} models, none of them right"
    mean = _mean(right)
    counts = [sum(ratio <= limit for ratio in right) for limit in (1.0, 1.2)]
    wrong = sum(not row.failure and not row.is_right and not row.skipped for row in rows)
    failed, skipped = sum(bool(row.failure) for row in rows), sum(bool(row.skipped) for row in rows)
    return (
        f"{len(rows) - skipped} models, geometric mean {mean:.2f}x; {counts[0]} at most 1.0x, {counts[1]} at most "
        f"1.2x, {wrong} wrong, {failed} failed"
        + (f"; onnxruntime cannot run {skipped} others" if skipped else "")
        + _beside_the_best(rows)
    )


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def _beside_the_best(rows: Sequence[Row]) -> str:
    """What the rows are beside the best of all engines; nothing where one was measured."""
    ratios = [row.ratio_to_best for row in rows if any(row.peers) and math.isfinite(row.ratio)]
    if not ratios:
        return ""
    most, names = sum(ratio <= 1.2 for ratio in ratios), " or ".join(_measured_peers(rows).values())
    return f"; of {len(ratios)} that {names} takes, {_mean(ratios):.2f}x of the best engine, {most} at most 1.2x"


def _measured_peers(rows: Sequence[Row]) -> dict[int, str]:
    """The engines beside onnxruntime that any row has, by place."""
    return {place: name for place, name in enumerate(PEERS) if any(row.peers[place] for row in rows)}


def table(rows: Sequence[Row]) -> str:
    """The rows in Markdown, and their summary."""
    peers = _measured_peers(rows)
    more = (*peers.values(), "ratio to the best") if peers else ()
    head = ("model", "ours", "onnxruntime", "ratio", "difference", "on NumPy", *more)
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in losses_first(rows):
        if row.failure:
            lines.append(f"| {row.name} | | | failed | | {row.failure.replace('|', '/')} |{' |' * len(more)}")
            continue
        ratio = f"{row.ratio:.2f}x" if math.isfinite(row.ratio) else "wrong"
        times = (f"{row.ours * 1e3:.3f} ms", f"{row.theirs * 1e3:.3f} ms")
        reasons = "; ".join(row.on_numpy).replace("|", "/")
        cells = [row.name, *times, ratio, f"{row.difference:.0e}", reasons]
        if more:
            cells += [f"{row.peers[place] * 1e3:.3f} ms" if row.peers[place] else "" for place in peers]
            cells.append(f"{row.ratio_to_best:.2f}x" if any(row.peers) else "")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", summary(rows), ""])


LEFT, PLOT, RIGHT, LINE, TOP = 210, 520, 90, 13, 40
LOW, HIGH = 0.0625, 4.0
TICKS = (0.0625, 0.125, 0.25, 0.5, 1.0, 1.2, 2.0, 4.0)
_LOSS, _WIN, _FAILED = "#b35806", "#1b7837", "#7f0000"


def chart(rows: Sequence[Row], title: str) -> str:
    """An SVG document: a bar for each model, from 1 to its ratio, on a logarithmic scale."""
    ordered = losses_first(rows)
    width, height = LEFT + PLOT + RIGHT, TOP + LINE * len(ordered) + 30
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' font-family="Helvetica, Arial, DejaVu Sans, sans-serif" font-size="10">',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            f'<text x="10" y="15" font-size="12" font-weight="bold">{escape(title)}</text>',
            *_ticks(TOP + LINE * len(ordered)),
            *(line for place, row in enumerate(ordered) for line in _bar(row, TOP + LINE * place)),
            f'<text x="10" y="{height - 10}" fill="#666">{escape(summary(rows))}</text>',
            "</svg>",
            "",
        ]
    )


def _ticks(bottom: int) -> Iterator[str]:
    for tick in TICKS:
        x, wide = _x(tick), 1.5 if tick == 1 else 0.5
        yield f'<line x1="{x:.1f}" y1="{TOP - 4}" x2="{x:.1f}" y2="{bottom}" stroke="#999" stroke-width="{wide}"/>'
        yield f'<text x="{x:.1f}" y="{TOP - 8}" text-anchor="middle" fill="#666">{tick:g}</text>'


def _bar(row: Row, y: int) -> Iterator[str]:
    start, end = sorted((_x(1.0), _x(row.ratio)))
    colour = _FAILED if math.isinf(row.ratio) else _LOSS if row.ratio > 1 else _WIN
    label = f"{row.ratio:.2f}x" if math.isfinite(row.ratio) else "failed" if row.failure else "wrong"
    yield f'<text x="{LEFT - 6}" y="{y + 10}" text-anchor="end">{escape(row.name)}</text>'
    yield f'<rect x="{start:.1f}" y="{y + 2}" width="{max(end - start, 1):.1f}" height="{LINE - 3}" fill="{colour}"/>'
    yield f'<text x="{LEFT + PLOT + 8}" y="{y + 10}" fill="{colour}">{label}</text>'


def _x(ratio: float) -> float:
    """Where a ratio lies on the scale."""
    return LEFT + PLOT * math.log2(min(max(ratio, LOW), HIGH) / LOW) / math.log2(HIGH / LOW)
