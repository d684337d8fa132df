"""A table of the kernels of a scene: Markdown, JSON, or HTML."""

import html
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

_HEAD = ("kernel", "ops", "anchor", "arguments", "bytes unfused", "bytes fused", "saved", "flop", "flop/byte")
_KEYS = ("kernel", "ops", "anchor", "arguments", "bytes-before", "bytes-after", "saved", "flops", "intensity")
"""The same for programs."""
_TIMES = {"roofline": "roofline", "seconds": "measured"}
"""Columns of seconds, where a profile was given: at best by its machine's limits, and as measured; with their heads."""
_STYLE = "body{font:14px sans-serif}table{border-collapse:collapse}td,th{border:1px solid #999;padding:2px 8px}"


def report_json(scene: Mapping[str, Any]) -> str:
    """An object with `title`, `pass` and `blocks`; each block has its `kernels` and a `total`."""
    blocks: list[dict[str, Any]] = []
    for block in scene["blocks"]:
        *rows, total = _rows(block)
        keys = (*_KEYS, *_times(scene))
        kernels = [{key: row[key] for key in (*keys, "names")} for row in rows]
        blocks.append({"name": block["name"], "kernels": kernels, "total": {key: total[key] for key in keys}})
    return json.dumps({"title": scene["title"], "pass": scene["pass"], "blocks": blocks}, indent=1) + "\n"


def report_markdown(scene: Mapping[str, Any]) -> str:
    """A table for each block."""
    lines = [f"# Fusion of {_plain(scene['title'])} by {_plain(scene['pass'])}"]
    for block in scene["blocks"]:
        head = _head(scene)
        lines += ["", f"## {_plain(block['name'])}", "", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
        lines += (f"| {' | '.join(_plain(cell) for cell in _cells(scene, row))} |" for row in _rows(block))
    return "\n".join(lines) + "\n"


def report_html(scene: Mapping[str, Any]) -> str:
    """A page with a table for each block, and nothing else."""
    parts = [
        '<!doctype html><html lang="en"><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{html.escape(scene['title'])}</title><style>{_STYLE}</style>",
        f"<h1>Fusion of {html.escape(scene['title'])} by {html.escape(scene['pass'])}</h1>",
    ]
    for block in scene["blocks"]:
        head = "".join(f'<th scope="col">{each}</th>' for each in _head(scene))
        parts.append(f"<h2>{html.escape(block['name'])}</h2><table><tr>{head}</tr>")
        for row in _rows(block):
            parts.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(scene, row)) + "</tr>")
        parts.append("</table>")
    return "\n".join(parts) + "\n</html>\n"


REPORTS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    ".md": report_markdown,
    ".json": report_json,
    ".html": report_html,
}
"""What writes a report, by the extension of its file."""


def _times(scene: Mapping[str, Any]) -> list[str]:
    """The columns of seconds that there are."""
    kernels = [kernel for block in scene["blocks"] for kernel in block["kernels"]]
    return [key for key in _TIMES if any(key in kernel for kernel in kernels)]


def _head(scene: Mapping[str, Any]) -> list[str]:
    return [*_HEAD, *(_TIMES[key] for key in _times(scene))]


def _rows(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A row for each kernel, then their sum."""
    nodes, kernels = block["nodes"], block["kernels"]
    for kernel in kernels:
        anchor = "" if kernel["anchor"] < 0 else nodes[kernel["anchor"]][2]
        names = [nodes[node][3] for node in kernel["nodes"]]
        yield _row(kernel["name"], len(kernel["nodes"]), anchor, kernel["arguments"], kernel) | {"names": names}
    total: dict[str, Any] = {key: sum(kernel[key] for kernel in kernels) for key in ("before", "after")}
    flops = [kernel["flops"] for kernel in kernels]
    known: Sequence[int] = [each for each in flops if isinstance(each, int)]
    total["flops"] = sum(known) if len(known) == len(flops) else "?"
    for key in _TIMES:
        if any(key in kernel for kernel in kernels):
            total[key] = sum(kernel.get(key, 0.0) for kernel in kernels)
    yield _row(f"all {len(kernels)}", sum(len(kernel["nodes"]) for kernel in kernels), "", "", total)


def _row(name: str, ops: int, anchor: str, arguments: int | str, cost: Mapping[str, Any]) -> dict[str, Any]:
    flops, after = cost["flops"], cost["after"]
    intensity = round(flops / after, 2) if isinstance(flops, int) and after else ""
    cells = (name, ops, anchor, arguments, cost["before"], after, cost["before"] - after, flops, intensity)
    return dict(zip(_KEYS, cells, strict=True)) | {key: cost.get(key, "") for key in _TIMES}


def _cells(scene: Mapping[str, Any], row: Mapping[str, Any]) -> list[str]:
    times = ["" if row[key] == "" else f"{row[key] * 1e6:.2f} us" for key in _times(scene)]
    return [*(str(row[key]) for key in _KEYS), *times]


def _plain(text: str) -> str:
    """Text of a model in a cell of Markdown: no mark-up, no line break, no end of the cell."""
    escaped = "".join(f"\\{char}" if char in "\\`*[]<>|#" else char for char in text)
    return "".join(char if char.isprintable() else " " for char in escaped)
