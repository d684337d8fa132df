"""Two plans beside each other in one page; kernels that one of them has alone are marked in both.

Kernels are the same if they hold the same ops, known by name and value, in blocks of the same name. Each plan is the
page that it would be by itself, in a frame; the policy of the page around it allows the same scripts and nothing else.
"""

import html
from collections.abc import Mapping, Sequence
from typing import Any

from fuse_dialect.pictures.page import page_of, page_parts, policy_of, resource

_OP, _VALUE = 2, 3


def marked(scenes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Scenes whose blocks say in `alone` which of their kernels no other scene has.

    Example:
        >>> nodes = [["", 0, "fuse.exp", "%a"], ["", 0, "fuse.abs", "%b"]]
        >>> scene = {"blocks": [{"name": "@main", "nodes": nodes, "kernels": [{"nodes": [0, 1]}]}]}
        >>> other = {"blocks": [{"name": "@main", "nodes": nodes, "kernels": [{"nodes": [0]}, {"nodes": [1]}]}]}
        >>> [each["blocks"][0]["alone"] for each in marked([scene, other])]
        [[0], [0, 1]]
    """
    known = [{key for block in scene["blocks"] for key in _keys(block)} for scene in scenes]
    found: list[dict[str, Any]] = []
    for place, scene in enumerate(scenes):
        others = {key for at, keys in enumerate(known) if at != place for key in keys}
        blocks = [
            block | {"alone": [number for number, key in enumerate(_keys(block)) if key not in others]}
            for block in scene["blocks"]
        ]
        found.append({**scene, "blocks": blocks})
    return found


def _keys(block: Mapping[str, Any]) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """What makes each kernel of a block the same as another: its block, and its ops."""
    nodes = block["nodes"]
    return [
        (block["name"], tuple(sorted((nodes[node][_OP], nodes[node][_VALUE]) for node in kernel["nodes"])))
        for kernel in block["kernels"]
    ]


def side_by_side(title: str, scenes: Sequence[Mapping[str, Any]]) -> str:
    """The page.

    Args:
        title: What is fused in several ways.
        scenes: What each of the ways does to it; `title` says how it is spelled.
    """
    scenes = marked(scenes)
    scripts, style = page_parts()
    own_style = resource("assets/side_by_side.css")
    rows = "".join(_row(scene) for scene in scenes)
    head = "<tr><th></th><th>kernels</th><th>here alone</th><th>read and written unfused</th><th>fused</th></tr>"
    frames = "".join(
        f'<iframe sandbox="allow-scripts" title="{html.escape(scene["title"])}" srcdoc="{html.escape(page_of(scene))}">'
        "</iframe>"
        for scene in scenes
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy_of([style, own_style], scripts)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{own_style}</style></head>\n"
        f"<body><header><h1>{html.escape(title)}</h1><table><thead>{head}</thead><tbody>{rows}</tbody></table></header>\n"
        f"<main>{frames}</main></body></html>\n"
    )


def _row(scene: Mapping[str, Any]) -> str:
    kernels = [kernel for block in scene["blocks"] for kernel in block["kernels"]]
    alone = sum(len(block["alone"]) for block in scene["blocks"])
    numbers = (len(kernels), alone, *(f"{sum(kernel[key] for kernel in kernels):,} B" for key in ("before", "after")))
    cells = "".join(f"<td>{number}</td>" for number in numbers)
    return f'<tr><th scope="row">{html.escape(scene["title"])}</th>{cells}</tr>'
