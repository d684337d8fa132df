"""A scene as one picture that does not move: for notebooks, documents and mails.

Each kernel is a box with its ops in it, in the colours of their work. An edge to another kernel says why in its title,
and is red with its code where its value is expensive. Of a large model the sections are boxes. The picture has no
script; its style knows light and dark.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from xml.sax.saxutils import escape, quoteattr

from fuse_dialect.pictures.copies import ALONE, copies_of, edges_between
from fuse_dialect.pictures.layers import Layers, layered

MOST_LINES = 12
"""Ops of a kernel that are named; the others are counted."""
MOST_BOXES = 40
"""Boxes that are drawn before sections stay closed."""
_CHAR, _LINE, _PAD, _HEAD = 7.0, 22.0, 10.0, 26.0
_MARGIN = 16.0
_LEGEND = 30.0
_OP, _VALUE, _WORK = 2, 3, 11
_STYLE = """
text{font:12px system-ui,DejaVu Sans,sans-serif;fill:#1c2126}.soft{fill:#565f68}.page{fill:#fbfbfa}
.kernel{fill:#f1f4f6;stroke:#8a949d}.section{fill:#e7ecf0;stroke:#8a949d;stroke-dasharray:5 4}
.edge{fill:none;stroke:#8a949d}.costly{stroke:#b3261e;stroke-width:2.4}.code{fill:#b3261e;font-size:10.5px}
.anchor{stroke-width:2.5}.again{stroke-dasharray:3 3}.op{stroke:#8a949d}.product{fill:#e3d0f5}.convolution{fill:#c9dcfb}
.reduction{fill:#fadfa6}.elementwise{fill:#cdebd1}.move{fill:#d5e9ec}.other{fill:#e2e4e8}
@media(prefers-color-scheme:dark){text{fill:#e9edf0}.soft{fill:#a5afb8}.page{fill:#14181c}.kernel{fill:#22292f}
.section{fill:#2a3239}.costly{stroke:#ff9a8f}.code{fill:#ff9a8f}.product{fill:#55306e}.convolution{fill:#234a80}
.reduction{fill:#664a10}.elementwise{fill:#21502e}.move{fill:#1c474d}.other{fill:#3b4148}}
"""


@dataclass(frozen=True, slots=True)
class _Line:
    """An op in a box."""

    text: str
    work: str
    is_anchor: bool = False
    is_again: bool = False


@dataclass(frozen=True, slots=True)
class _Box:
    """A kernel, an op alone, or a section."""

    title: str
    lines: Sequence[_Line]
    form: str
    """Class in the style."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        longest = max([len(self.title) + 2, *(len(line.text) + 3 for line in self.lines)])
        head = _HEAD if self.title else _PAD / 2
        return max(96.0, longest * _CHAR + 2 * _PAD), head + _LINE * len(self.lines) + _PAD / 2


@dataclass(frozen=True, slots=True)
class _Edge:
    """Values that one box reads of another."""

    source: int
    reader: int
    code: str
    is_costly: bool


def svg_of(scene: Mapping[str, Any], block: int | None = None) -> str:
    """The picture of a block.

    Args:
        scene: The scene.
        block: Number of the block; by default the one with the most kernels.
    """
    blocks: Sequence[Mapping[str, Any]] = scene["blocks"]
    if not blocks:
        return '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>\n'
    number = max(range(len(blocks)), key=lambda each: len(blocks[each]["kernels"])) if block is None else block
    shown = blocks[number]
    boxes, edges = _boxes(scene, shown), _edges(shown)
    places = layered([box.size for box in boxes], [(edge.source, edge.reader) for edge in edges])
    legend = _legend(scene, shown)
    width = max(places.width, legend[1]) + 2 * _MARGIN
    height = places.height + 2 * _MARGIN + _LEGEND
    names = ", ".join(dict.fromkeys([scene["title"], shown["name"]]))
    title = f"{names}: {len(shown['kernels'])} kernels by {scene['pass']}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label={quoteattr(title)}>',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#8a949d"/></marker></defs>',
        f'<rect class="page" width="{width:.0f}" height="{height:.0f}"/>',
        f'<g transform="translate({_MARGIN} {_MARGIN})">{legend[0]}</g>',
        f'<g transform="translate({(width - places.width) / 2:.1f} {_MARGIN + _LEGEND})">',
        *_drawn(boxes, edges, places),
        "</g>",
        "</svg>",
        "",
    ]
    return "\n".join(parts)


def _boxes(scene: Mapping[str, Any], block: Mapping[str, Any]) -> list[_Box]:
    """The outermost boxes of a block in order."""
    again = {(copy.node, copy.kernel) for copy in copies_of(block) if copy.is_again}

    def line(node: int, kernel: int) -> _Line:
        data = block["nodes"][node]
        unit = block["units"].get(node)
        text = f"{data[_OP].partition('.')[2] or data[_OP]}  {data[_VALUE]}" + (f"  @ {unit}" if unit else "")
        own = block["kernels"][kernel] if kernel != ALONE else None
        is_anchor = own is not None and len(own["nodes"]) > 1 and own["lead"] == node
        return _Line(_cut(text, 44), _work(scene, data), is_anchor, (node, kernel) in again)

    def box(entry: Any) -> _Box:
        if isinstance(entry, dict):
            section = cast("Mapping[str, Any]", entry)
            kernels = [each for each in _flat(section) if each >= 0]
            name = f"{_cut(section['name'], 60)}, " if section["name"] else ""
            return _Box(f"{name}{len(kernels)} kernels", [], "section")
        if entry < 0:
            return _Box("", [line(-1 - entry, ALONE)], "page")
        kernel = block["kernels"][entry]
        lines = [line(node, entry) for node in kernel["nodes"][:MOST_LINES]]
        more = len(kernel["nodes"]) - MOST_LINES
        if more > 0:
            lines.append(_Line(f"and {more} more", "other"))
        saved = kernel["before"] - kernel["after"]
        title = f"{_cut(kernel['name'], 40)}" + (f", {_bytes(saved)} saved" if saved else "")
        if "cycles" in kernel:
            title += f", {_bytes(kernel['after'])} moved in {kernel['cycles']:.0f} cycles"
        return _Box(title, lines, "kernel")

    return [box(entry) for entry in shown_boxes(block)]


def shown_boxes(block: Mapping[str, Any]) -> list[Any]:
    """The boxes of a block; sections are taken apart that are open, and such as leave few boxes in the picture.

    Args:
        block: A block of a scene.
    """
    found: list[Any] = list(block["boxes"])
    at = 0
    while at < len(found):
        inside = _taken_apart(found[at], MOST_BOXES - len(found))
        if inside is None:
            at += 1
        else:
            found[at : at + 1] = inside
    return found


def _taken_apart(entry: Any, room: int) -> Sequence[Any] | None:
    """What is drawn in place of a section, if there is room for it."""
    if not isinstance(entry, dict):
        return None
    section = cast("Mapping[str, Any]", entry)
    # A note says that what is inside equals something that is drawn.
    is_shown = not section["note"] and (section["open"] or len(section["boxes"]) <= room)
    return section["boxes"] if is_shown else None


def _work(scene: Mapping[str, Any], node: Sequence[Any]) -> str:
    return scene["work"][node[_WORK]] if len(node) > _WORK else "other"


def _edges(block: Mapping[str, Any]) -> list[_Edge]:
    """Edges between boxes, with the codes of what was refused between them."""
    box_of: dict[int, int] = {}
    for place, entry in enumerate(shown_boxes(block)):
        box_of.update(dict.fromkeys(_flat(entry), place))
    copies = copies_of(block)
    codes: dict[tuple[int, int], dict[str, None]] = {}
    expensive, costly = set(block["costly"]), set[tuple[int, int]]()
    for edge in edges_between(block, copies):
        ends = [
            box_of[copy.kernel if copy.kernel != ALONE else -1 - copy.node]
            for copy in (copies[edge.source], copies[edge.reader])
        ]
        # A row of boxes is in order as far as there are no cycles; what leads up is left to the page.
        if ends[0] < ends[1]:
            known = codes.setdefault((ends[0], ends[1]), {})
            if edge.code and edge.code != "value-escapes":
                known[edge.code] = None
                if copies[edge.source].node in expensive:
                    costly.add((ends[0], ends[1]))
    return [_Edge(*ends, ", ".join(known), ends in costly) for ends, known in codes.items()]


def _flat(entry: Any) -> list[int]:
    """The kernels and single nodes of an entry, which may be a section with sections in it."""
    found: list[int] = []
    pending: list[Any] = [entry]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            pending.extend(reversed(each["boxes"]))  # pyright: ignore[reportUnknownArgumentType]
        else:
            found.append(each)
    return found


def _drawn(boxes: Sequence[_Box], edges: Sequence[_Edge], places: Layers) -> Iterator[str]:
    for edge, route in zip(edges, places.routes, strict=True):
        why = f"<title>not fused: {escape(edge.code)}</title>" if edge.code else ""
        names = "edge costly" if edge.is_costly else "edge"
        yield f'<path class="{names}" marker-end="url(#arrow)" d="{_curve(route)}">{why}</path>'
    # Edges with one code into one box share the word.
    for (x, y), code in dict.fromkeys(
        (route[-1], edge.code) for edge, route in zip(edges, places.routes, strict=True) if edge.is_costly
    ):
        yield f'<text class="code" x="{x + 5:.1f}" y="{y - 8:.1f}">{escape(code)}</text>'
    for box, (x, y) in zip(boxes, places.corners, strict=True):
        yield f'<g transform="translate({x:.1f} {y:.1f})">{"".join(_box(box))}</g>'


def _box(box: _Box) -> Iterator[str]:
    width, height = box.size
    if box.title:
        yield f'<rect class="{box.form}" width="{width:.1f}" height="{height:.1f}" rx="7"/>'
        yield f'<text class="soft" x="{_PAD}" y="17">{escape(box.title)}</text>'
    top = _HEAD if box.title else _PAD / 2
    for line in box.lines:
        names = " ".join(
            ["op", line.work, *(["anchor"] if line.is_anchor else []), *(["again"] if line.is_again else [])]
        )
        yield f'<rect class="{names}" x="{_PAD / 2}" y="{top:.1f}" width="{width - _PAD:.1f}" height="19" rx="4"/>'
        yield f'<text x="{_PAD}" y="{top + 14:.1f}">{escape(line.text + (" ◆" if line.is_anchor else ""))}</text>'
        top += _LINE


def _legend(scene: Mapping[str, Any], block: Mapping[str, Any]) -> tuple[str, float]:
    """The kinds of work that there are, and how wide that is."""
    there = {_work(scene, block["nodes"][copy.node]) for copy in copies_of(block)}
    parts: list[str] = []
    x = 0.0
    for work in (each for each in scene["work"] if each in there):
        width = len(work) * 7.4 + 16
        parts.append(f'<rect class="op {work}" x="{x}" width="{width}" height="18" rx="8"/>')
        parts.append(f'<text x="{x + 7}" y="13">{work}</text>')
        x += width + 6
    parts.append(f'<text class="soft" x="{x + 4}" y="13">◆ anchor</text>')
    return "".join(parts), x + 70


def _curve(route: Sequence[tuple[float, float]]) -> str:
    """A line that leaves and enters boxes, and passes layers, straight down."""
    path = f"M{route[0][0]:.1f} {route[0][1]:.1f}"
    for place, (end, down) in enumerate(route[1:], 1):
        start, top = route[place - 1]
        if start == end:
            path += f"L{end:.1f} {down:.1f}"
        else:
            middle = (top + down) / 2
            path += f"C{start:.1f} {middle:.1f} {end:.1f} {middle:.1f} {end:.1f} {down:.1f}"
    return path


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _bytes(count: int) -> str:
    value, unit = float(count), 0
    while abs(value) >= 1000 and unit < 4:
        value, unit = value / 1000, unit + 1
    return f"{value:.3g} {('B', 'kB', 'MB', 'GB', 'TB')[unit]}"
