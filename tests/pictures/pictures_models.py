"""Models that pictures are taken of, and their pages."""

from pathlib import Path
from typing import Any

import onnx
from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.pictures.page import page_of
from fuse_dialect.pictures.scene import SceneOptions, scene_of
from fuse_dialect.pictures.sections import Box, Section, cut, passing

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def chain(blocks: int) -> str:
    """A module of residual blocks of ten ops each."""
    type = "tensor<1x8x8x8xf32>"
    lines = [f"func.func @main(%x: {type}, %w: tensor<8x8x3x3xf32>) -> {type} {{"]
    last = "%x"
    for block in range(blocks):
        operands = f"({type}, tensor<8x8x3x3xf32>) -> {type}"
        lines += [
            f"  %c{block} = fuse.conv2d {last}, %w, padding = [1, 1, 1, 1] : {operands}",
            f"  %r{block} = fuse.relu %c{block} : {type}",
            f"  %t{block} = fuse.tanh %r{block} : {type}",
            f"  %e{block} = fuse.exp %t{block} : {type}",
            f"  %s{block} = fuse.sigmoid {last} : {type}",
            f"  %n{block} = fuse.negative %s{block} : {type}",
            f"  %a{block} = fuse.add %e{block}, %n{block} : {type}",
            f"  %p{block} = fuse.softmax %a{block}, axis = 1 : {type}",
            f"  %q{block} = fuse.relu %p{block} : {type}",
            f"  %y{block} = fuse.add %q{block}, {last} : {type}",
        ]
        last = f"%y{block}"
    return "\n".join([*lines, f"  return {last} : {type}", "}"])


def repeated(scene: dict[str, Any], times: int) -> dict[str, Any]:
    """The scene of a module whose one block comes several times, one after the other; its edges stay within."""
    (block,) = scene["blocks"]
    nodes, kernels = len(block["nodes"]), len(block["kernels"])

    def moved(value: Any, by: int) -> Any:
        if isinstance(value, list):
            return [moved(each, by) for each in value]
        return value + by if value >= 0 else value

    parts = [place * nodes for place in range(times)]
    many = {
        "nodes": block["nodes"] * times,
        "edges": [[source + by, reader + by, kind] for by in parts for source, reader, kind in block["edges"]],
        "ipdom": [moved(sink, by) for by in parts for sink in block["ipdom"]],
        "edgeKinds": block["edgeKinds"] * times,
        "refusals": {int(node) + by: code for by in parts for node, code in block["refusals"].items()},
        "stories": {int(node) + by: story for by in parts for node, story in block["stories"].items()},
        "kernels": [
            each
            | {
                "nodes": moved(each["nodes"], by),
                "anchor": moved(each["anchor"], by),
                "stores": moved(each["stores"], by),
            }
            for by in parts
            for each in block["kernels"]
        ],
        "merges": [[*moved(merge[:3], by), *merge[3:]] for by in parts for merge in block["merges"]],
        "boxes": [_plain(box) for box in cut(range(kernels * times), passing(kernels * times, []), lambda each: each)],
    }
    return scene | {"blocks": [block | many]}


def _plain(box: Box) -> Any:
    if isinstance(box, Section):
        return {"name": f"from {box.first}", "note": "", "open": False, "boxes": [_plain(each) for each in box.boxes]}
    return box


def write_page(module: ModuleOp, path: Path) -> Path:
    """The page of a module, as a file."""
    path.write_text(page_of(scene_of(module, FuseOpsPass(), SceneOptions(path.stem))), "utf-8")
    return path
