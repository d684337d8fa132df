"""Sections by module, and layers that repeat."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
from hypothesis import given
from hypothesis import strategies as st
from named_networks import bert, mobilenet
from pictures_models import chain

import fuse_dialect as fd
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.pictures.outline import MOST_WHOLE, Unit, module_path, outline
from fuse_dialect.pictures.scene import scene_of
from fuse_dialect.pictures.sections import MOST_FLAT, Box, Section

PATHS = st.lists(st.sampled_from(["enc", "layer.0", "layer.1", "dense"]), max_size=4).map(tuple)


def _leaves(boxes: tuple[Box, ...]) -> list[int]:
    return [place for box in boxes for place in (_leaves(box.boxes) if isinstance(box, Section) else [box])]


def _sections(boxes: tuple[Box, ...]) -> list[Section]:
    own = [box for box in boxes if isinstance(box, Section)]
    return own + [inner for box in own for inner in _sections(box.boxes)]


def _names(block: Mapping[str, Any], inside: str = "") -> list[str]:
    """The names of the outermost boxes of a block, or of those in the section of this name."""
    pending, boxes = [*block["boxes"]], block["boxes"]
    while inside:
        each = pending.pop()
        if isinstance(each, dict):
            if each["name"] == inside:
                boxes = each["boxes"]
                break
            pending += each["boxes"]
    return [box["name"] if isinstance(box, dict) else block["kernels"][box]["name"] for box in boxes]


def _block(model: onnx.ModelProto, folder: Path) -> Mapping[str, Any]:
    onnx.save(model, folder / "model.onnx")
    (block,) = scene_of(fd.read(folder / "model.onnx"), FuseOpsPass())["blocks"]
    return block


@given(st.lists(st.tuples(st.sampled_from("abc"), PATHS), min_size=1, max_size=400))
def test_boxes_hold_the_row_in_order_and_are_few(drawn: list[tuple[str, tuple[str, ...]]]):
    found = outline([Unit(key, key, path) for key, path in drawn], [])
    assert _leaves(found) == list(range(len(drawn)))
    assert len(found) <= MOST_FLAT
    for section in _sections(found):
        assert section.name
        assert 1 <= len(section.boxes) <= MOST_FLAT
        assert (section.first, section.last) == (_leaves(section.boxes)[0], _leaves(section.boxes)[-1])


@given(st.integers(3, 40), st.integers(1, 8))
def test_equal_layers_are_one_box(times: int, length: int):
    row = [Unit(f"k{place}", f"k{place}") for place in range(length)] * times
    (run,) = outline([*row], [])
    assert isinstance(run, Section)
    assert run.is_open
    assert run.name.startswith(f"{times} x ")
    first, others = run.boxes
    assert len(_leaves((first,))) == length
    assert isinstance(others, Section)
    assert f"{times - 1} more, equal" in (others.note, others.name)


def test_few_kernels_are_drawn_together():
    row = [Unit(f"k{place}", f"k{place}", (f"m{place // 4}",)) for place in range(MOST_WHOLE)]
    assert outline(row, []) == tuple(range(MOST_WHOLE))


def test_modules_come_from_names_of_nodes_and_not_from_files():
    assert module_path("/encoder/layer.0/dense/MatMul") == ("encoder", "layer.0", "dense")
    assert module_path("/Gather_3") == ()
    assert module_path("/home/models/net.py:3:14") == ()
    assert len(module_path("/".join("x" * 1000))) < 20


def test_layers_of_a_named_network_are_sections_with_their_names(tmp_path: Path):
    block = _block(bert(4), tmp_path)
    assert _names(block)[:2] == ["fused_layer_norm", "encoder: 4 x layer"]
    assert _names(block, "encoder: 4 x layer") == ["layer.0", "layer.1 … layer.3"]
    assert _names(block, "layer.1 … layer.3") == ["layer.1", "layer.2", "layer.3"]


def test_blocks_of_a_deep_network_are_folded_stage_by_stage(tmp_path: Path):
    block = _block(mobilenet(20), tmp_path)
    runs = [name for name in _names(block, "features") if " x " in name]
    assert runs == ["5 x features", "4 x features", "4 x features", "4 x features"]


def test_networks_without_names_are_folded_by_what_repeats():
    (block,) = scene_of(fd.parse(chain(65)), FuseOpsPass())["blocks"]
    assert _names(block) == ["65 x [2 kernels: conv2d … add, softmax … add]"]
