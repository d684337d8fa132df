"""A profile for notebooks: bars whose widths are shares of the time, and a table of kernels.

The bars stand in three rows: all kernels, the families of their code, and each primitive. Layers that are equal call
the same primitives, so a row of the table, or a bar, is all of their calls together. Shares are rounded so that what is
printed adds up to 100 %.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from fuse_dialect.backends.runtime.kernel_timing import KernelTiming

MOST_ROWS = 40
"""Kernels in the table; the others are one row."""
_WIDTH, _HEIGHT, _GAP = 1000.0, 30.0, 2.0
_CHAR = 7.0
"""Width of a letter."""
_LEAST = 0.5
"""Width below which a bar is left out: nobody could see it."""
_FAMILIES = ("#c9dcfb", "#fadfa6", "#cdebd1", "#e3d0f5", "#d5e9ec", "#f3d5d0", "#e2e4e8")
"""Fills, light enough for black letters in any theme."""
_STYLE = """.fuse-profile,.fuse-profile table{font:13px system-ui,sans-serif;max-width:1000px}
.fuse-profile svg{width:100%;height:auto;display:block}
.fuse-profile svg text{font:12px system-ui,DejaVu Sans,sans-serif;fill:#1c2126}
.fuse-profile table{border-collapse:collapse;width:100%}
.fuse-profile th,.fuse-profile td{text-align:right;padding:2px 8px}
.fuse-profile th:first-child,.fuse-profile td:first-child{text-align:left;overflow-wrap:anywhere}
.fuse-profile tr{border-bottom:1px solid #8a949d66}"""


@dataclass(frozen=True, slots=True)
class _Bar:
    """A part of a row, as parts of the whole."""

    start: float
    share: float
    label: str
    title: str
    fill: str


def profile_html(kernels: Sequence[KernelTiming], head: str) -> str:
    """The bars and the table of a profile.

    Args:
        kernels: What was measured, each primitive once.
        head: What there is to say of the whole.

    Complexity: O(n log n) for n kernels.
    """
    order = sorted(range(len(kernels)), key=lambda place: (-kernels[place].median, place))
    rows = [kernels[place] for place in order]
    return (
        f'<div class="fuse-profile"><style>{_STYLE}</style><p>{escape(head)}</p>'
        f"{_picture(rows)}<table><thead>{_HEAD}</thead><tbody>{''.join(_rows(rows))}</tbody></table></div>"
    )


def tenths(amounts: Sequence[float]) -> list[int]:
    """Shares of a sum in tenths of a percent that add up to 1,000: the largest remainders are rounded up.

    Args:
        amounts: Numbers that are not negative.

    Returns:
        A share for each; zeros if all amounts are zero.

    Source: the method of Hamilton, as for seats of a parliament.

    Example:
        >>> tenths([1, 1, 1]), tenths([0, 0])
        ([334, 333, 333], [0, 0])
    """
    total = sum(amounts)
    if not total:
        return [0] * len(amounts)
    exact = [1000 * amount / total for amount in amounts]
    shares = [int(each) for each in exact]
    order = sorted(range(len(exact)), key=lambda place: (shares[place] - exact[place], place))
    for place in order[: 1000 - sum(shares)]:
        shares[place] += 1
    return shares


def seconds_text(seconds: float) -> str:
    """A time for people."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.2f} us"
    return f"{seconds * 1e3:.3f} ms" if seconds < 1 else f"{seconds:.3f} s"


_HEAD = "<tr>" + "".join(
    f'<th scope="col">{name}</th>' for name in ("kernel", "calls", "time", "share", "GB/s", "GFLOP/s", "by")
)


def _rows(rows: Sequence[KernelTiming]) -> Iterator[str]:
    shown, others = rows[:MOST_ROWS], rows[MOST_ROWS:]
    parts = [row.median for row in shown] + ([sum(row.median for row in others)] if others else [])
    shares = tenths(parts)
    for row, share in zip(shown, shares, strict=False):
        rates = (row.gigabytes_per_second, row.gigaflops_per_second)
        numbers = ["-" if rate is None else f"{rate:.3g}" for rate in rates]
        yield _row(row.kernel.name, row.kernel.calls, row.median, share, *numbers, row.kernel.family)
    if others:
        calls = sum(row.kernel.calls for row in others)
        yield _row(f"{len(others)} more", calls, parts[-1], shares[-1], "", "", "")


def _row(name: str, calls: int, seconds: float, share: int, *others: str) -> str:
    cells = (name, str(calls), seconds_text(seconds), f"{share / 10:.1f} %", *others)
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _picture(rows: Sequence[KernelTiming]) -> str:
    """The bars; nothing if no time was measured."""
    total = sum(row.median for row in rows)
    if not total:
        return ""
    families: dict[str, list[KernelTiming]] = {}
    for row in rows:
        families.setdefault(row.kernel.family, []).append(row)
    whole = [_Bar(0.0, 1.0, f"{len(rows)} kernels, {seconds_text(total)}", "", _FAMILIES[-1])]
    groups: list[_Bar] = []
    bars: list[_Bar] = []
    start = 0.0
    for number, (family, own) in enumerate(families.items()):
        fill = _FAMILIES[number % (len(_FAMILIES) - 1)]
        share = sum(row.median for row in own) / total
        groups.append(_Bar(start, share, family, f"{family}: {len(own)} kernels", fill))
        for row in own:
            part, kernel = row.median / total, row.kernel
            calls = f"{kernel.calls} call{'' if kernel.calls == 1 else 's'}"
            bars.append(_Bar(start, part, kernel.name, f"{kernel.name}: {calls}, {seconds_text(row.median)}", fill))
            start += part
    height = 3 * _HEIGHT
    drawn = "".join(
        text for level, row in enumerate((whole, groups, bars)) for bar in row for text in _drawn(bar, level)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {height:.0f}" role="img" '
        f'aria-label="Shares of the time: all kernels, families of code, kernels">{drawn}</svg>'
    )


def _drawn(bar: _Bar, level: int) -> Iterator[str]:
    x, width, y = bar.start * _WIDTH, bar.share * _WIDTH, level * _HEIGHT
    if width < _LEAST:
        return
    title = f"<title>{escape(bar.title)}, {bar.share:.1%}</title>" if bar.title else ""
    yield (
        f'<g>{title}<rect x="{x:.2f}" y="{y:.0f}" width="{width:.2f}" height="{_HEIGHT - _GAP:.0f}" fill="{bar.fill}" '
        'stroke="#8a949d" stroke-width="0.5"/>'
    )
    letters = int((width - 8) / _CHAR)
    if letters >= 3:
        label = bar.label if len(bar.label) <= letters else bar.label[: letters - 1] + "…"
        yield f'<text x="{x + 4:.2f}" y="{y + 19:.0f}">{escape(label)}</text>'
    yield "</g>"
