"""Other pictures than the page: one SVG, a graph of Model Explorer, two plans side by side; any plan in all of them."""

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, get_args, get_origin, get_type_hints
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures_models import EXAMPLES, chain
from random_plans import random_plan

import fuse_dialect as fd
from fuse_dialect.fusion.core.plan import FusionPlan, plan_of_nodes
from fuse_dialect.fusion.core.strategy import FusionOptions
from fuse_dialect.fusion.core.value_graph import NodeRole, ValueGraph
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.pictures.copies import copies_of, edges_between
from fuse_dialect.pictures.dot import dot_of
from fuse_dialect.pictures.layers import layered
from fuse_dialect.pictures.model_explorer import NODE_DATA, model_explorer_of, node_data_of
from fuse_dialect.pictures.report import report_json
from fuse_dialect.pictures.scene import SceneOptions, scene_of
from fuse_dialect.pictures.side_by_side import marked
from fuse_dialect.pictures.svg import shown_boxes, svg_of
from fuse_dialect.targets.pictures import PICTURES
from fuse_dialect.tools.fuse_opt import main
from fuse_dialect.tools.opt_help import PICTURES as PICTURE_NAMES

TINY = str(EXAMPLES / "tiny_cnn.onnx")
SHARED = """
func.func @main(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>) {
  %e = fuse.exp %x : tensor<4x8xf32>
  %a = fuse.tanh %e : tensor<4x8xf32>
  %b = fuse.add %e, %y : (tensor<4x8xf32>, tensor<8xf32>)
  %s = fuse.sum %e, axes = [1] : (tensor<4x8xf32>)
  return %a, %b, %s : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>
}"""


def two_kernels(graph: ValueGraph, options: FusionOptions) -> FusionPlan:
    """`exp` with two readers as a kernel of two results, and once more with the third."""
    exp, tanh, add, sum = (node for node, role in enumerate(graph.roles) if role is NodeRole.OPERATOR)
    return plan_of_nodes(graph, [{exp, tanh, add}, {exp, sum}])


@pytest.fixture(scope="module")
def shared() -> dict[str, Any]:
    return scene_of(fd.parse(SHARED), FuseOpsPass().using(strategy=two_kernels), SceneOptions("shared"))


@pytest.fixture(scope="module")
def tiny() -> dict[str, Any]:
    return scene_of(fd.read(TINY), FuseOpsPass(), SceneOptions("tiny"))


def test_an_op_of_two_kernels_stands_in_both_and_reads_where_it_stands(shared: dict[str, Any]):
    (block,) = shared["blocks"]
    assert [kernel["results"] for kernel in block["kernels"]] == [2, 1]
    copies = copies_of(block)
    values = [(block["nodes"][copy.node][3], copy.kernel, copy.is_again) for copy in copies]
    assert ("%e", 0, False) in values
    assert ("%e", 1, True) in values
    for edge in edges_between(block, copies):
        assert copies[edge.source].kernel == copies[edge.reader].kernel
        assert edge.code == ""


def test_an_op_of_two_kernels_is_in_every_form(shared: dict[str, Any]):
    dot = dot_of(shared)
    assert dot.count('label="fuse.exp') == 2
    assert dot.count("dashed") == 1
    svg = ElementTree.fromstring(svg_of(shared))
    assert "".join(svg.itertext()).count("exp  %e") == 2
    assert sum("again" in each.get("class", "") for each in svg.iter()) == 1
    (graph,) = json.loads(model_explorer_of(shared))["graphs"]
    exps = [node for node in graph["nodes"] if node["label"] == "fuse.exp"]
    assert [node["namespace"] for node in exps] == ["1. fused_exp_tanh_add", "2. fused_exp_sum"]
    (block,) = json.loads(report_json(shared))["blocks"]
    assert [kernel["names"] for kernel in block["kernels"]] == [["%e", "%a", "%b"], ["%e", "%s"]]


def test_the_story_of_an_op_of_two_kernels_names_both():
    from fuse_dialect.remarks.explaining import explain

    story = explain(fd.parse(SHARED), FuseOpsPass().using(strategy=two_kernels), "%e")
    assert "kernel: 1 of 2: exp + tanh + add" in story
    assert "kernel: 2 of 2: exp + sum" in story


sizes = st.lists(st.tuples(st.integers(20, 300), st.integers(20, 200)), min_size=1, max_size=14)


@given(sizes=sizes, data=st.data())
def test_boxes_in_layers_do_not_overlap_and_edges_lead_down(sizes: list[tuple[float, float]], data: st.DataObject):
    pairs = st.tuples(st.integers(0, len(sizes) - 1), st.integers(0, len(sizes) - 1))
    drawn = data.draw(st.lists(pairs, max_size=25))
    edges = sorted({(one, two) for one, two in drawn if one < two})
    found = layered(sizes, edges)
    boxes = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(found.corners, sizes, strict=True)]
    for place, (left, top, right, bottom) in enumerate(boxes):
        assert left >= -0.01
        assert right <= found.width + 0.01
        assert 0 <= top < bottom <= found.height + 0.01
        for other in boxes[:place]:
            apart = other[2] <= left + 0.01 or right <= other[0] + 0.01 or other[3] <= top or bottom <= other[1]
            assert apart
    for (source, reader), route in zip(edges, found.routes, strict=True):
        assert route[0][1] == pytest.approx(boxes[source][3])
        assert route[-1][1] == pytest.approx(boxes[reader][1])
        assert all(one[1] <= two[1] for one, two in pairwise(route))


@pytest.mark.parametrize("seed", range(4))
def test_any_plan_is_one_picture_with_every_op(seed: int):
    fuse_ops = FuseOpsPass().using(strategy=lambda graph, options: random_plan(Random(seed), graph, 12))
    scene = scene_of(fd.read(TINY), fuse_ops)
    (block,) = scene["blocks"]
    texts = list(ElementTree.fromstring(svg_of(scene)).itertext())
    for copy in copies_of(block):
        _, _, op, value, *_ = block["nodes"][copy.node]
        assert any(text.startswith(f"{op.removeprefix('fuse.')}  {value}") for text in texts)
    assert any("not-chosen" in text for text in texts) or not block["refusals"]


def test_a_large_model_is_a_picture_of_sections():
    scene = scene_of(fd.parse(chain(65)), FuseOpsPass())
    texts = "".join(ElementTree.fromstring(svg_of(scene)).itertext())
    (block,) = scene["blocks"]
    held = sum(int(count) for count in re.findall(r"(\d+) kernels(?! by)", texts))
    drawn = [box for box in shown_boxes(block) if isinstance(box, int)]
    assert len(drawn) + held == len(block["kernels"]) > held > 0


def test_names_of_strangers_are_text():
    hostile = '</text><script>alert(1)</script>"&<b>'
    module = fd.parse(SHARED)
    scene = scene_of(module, FuseOpsPass(), SceneOptions(hostile))
    scene["blocks"][0]["kernels"][0]["name"] = hostile
    root = ElementTree.fromstring(svg_of(scene))
    assert not [each for each in root.iter() if each.tag.endswith("script")]
    assert hostile in "".join(root.itertext())
    assert json.loads(model_explorer_of(scene))["label"] == hostile


def test_graph_of_model_explorer_is_whole(tiny: dict[str, Any]):
    (graph,) = json.loads(model_explorer_of(tiny))["graphs"]
    (block,) = tiny["blocks"]
    ids = [node["id"] for node in graph["nodes"]]
    assert len(set(ids)) == len(ids) == len(block["stories"])
    edges = [(edge["sourceNodeId"], node["id"]) for node in graph["nodes"] for edge in node["incomingEdges"]]
    assert len(edges) == len(block["edges"])
    assert {end for edge in edges for end in edge} <= set(ids)
    layers = {node["namespace"] for node in graph["nodes"]} - {""}
    assert layers == set(graph["groupNodeAttributes"]) - {""}
    ((overlay,),) = [each["overlays"] for each in graph["tasksData"]["edgeOverlaysDataListLeftPane"]]
    assert overlay["edges"]
    assert {edge[end] for edge in overlay["edges"] for end in ("sourceNodeId", "targetNodeId")} <= set(ids)


@pytest.mark.parametrize("what", NODE_DATA)
def test_node_data_are_numbers_of_nodes(what: str):
    scene = scene_of(fd.read(TINY), FuseOpsPass(), SceneOptions(seconds={"fused_conv2d": 0.5}))
    (graph,) = json.loads(model_explorer_of(scene))["graphs"]
    (data,) = json.loads(node_data_of(scene, what)).values()
    assert set(data["results"]) <= {node["id"] for node in graph["nodes"]}
    assert all(isinstance(each["value"], int | float) for each in data["results"].values())
    total = sum(each["value"] for each in data["results"].values())
    assert total == (0.5 if what == "seconds" else pytest.approx(total))
    assert total > 0


def built(form: Any, value: Any) -> Any:
    """A value of JSON as the package's dataclass, with no field that it lacks."""
    if is_dataclass(form):
        hints = get_type_hints(form)
        assert set(value) <= {field.name for field in fields(form)}
        return form(**{name: built(hints[name], each) for name, each in value.items()})
    if get_origin(form) is list:
        return [built(get_args(form)[0], each) for each in value]
    wanted = [each for each in get_args(form) if is_dataclass(each)]
    return built(wanted[0], value) if wanted and isinstance(value, Mapping) else value


def test_python_package_of_model_explorer_takes_the_graph(tiny: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    package = find_spec("model_explorer")
    if package is None or package.origin is None:
        pytest.skip("needs ai-edge-model-explorer")
    spec = spec_from_file_location("graph_builder", Path(package.origin).parent / "graph_builder.py")
    assert spec is not None
    assert spec.loader is not None
    builder = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "graph_builder", builder)
    spec.loader.exec_module(builder)
    collection = built(builder.GraphCollection, json.loads(model_explorer_of(tiny)))
    assert len(collection.graphs[0].nodes) == len(tiny["blocks"][0]["stories"])


def test_kernels_that_one_plan_has_alone_are_marked():
    module = fd.read(TINY)
    whole, first = (scene_of(module, FuseOpsPass(fusion_limit=limit)) for limit in (None, 2))
    left, right = (each["blocks"][0] for each in marked([whole, first]))
    held = [{tuple(kernel["nodes"]) for kernel in block["kernels"]} for block in (left, right)]
    for block, other in ((left, held[1]), (right, held[0])):
        alone = {tuple(block["kernels"][number]["nodes"]) for number in block["alone"]}
        assert alone == {tuple(kernel["nodes"]) for kernel in block["kernels"]} - other
        assert alone


def test_every_form_is_written_by_the_tool(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert tuple(PICTURES) == PICTURE_NAMES
    starts = {
        "html": "<!doctype html>",
        "svg": "<svg ",
        "dot": "digraph",
        "model-explorer": '{\n "label": "tiny_cnn.onnx"',
    }
    for form, start in starts.items():
        path = tmp_path / form
        assert main(["-t", form, TINY, "-o", str(path)]) == 0
        assert path.read_text().startswith(start)
    assert main(["-t", "model-explorer{data=flops}", TINY]) == 0
    assert json.loads(capsys.readouterr().out)["@main"]["name"] == "flops"
    assert main(["-t", "model-explorer{data=weight}", TINY]) == 1
    assert "error: target 'model-explorer': incompatible types" in capsys.readouterr().err


def test_report_has_times_where_there_is_a_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    profile = {
        "limits": {"bytes_per_second": 1e9, "flops_per_second": 1e10},
        "kernels": [{"name": "fused_conv2d", "median_seconds": 3e-6}],
    }
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(profile))
    command = ["--fuse-ops", "--fusion-report", str(tmp_path / "report.json"), "--profile", str(path), TINY]
    assert main([*command, "-o", "/dev/null"]) == 0
    (block,) = json.loads((tmp_path / "report.json").read_text())["blocks"]
    for kernel in block["kernels"]:
        at_best = max(kernel["bytes-after"] / 1e9, kernel["flops"] / 1e10)
        assert kernel["roofline"] == pytest.approx(at_best)
        assert (kernel["seconds"] == 3e-6) == (kernel["kernel"] == "fused_conv2d")
    assert block["total"]["roofline"] == pytest.approx(sum(kernel["roofline"] for kernel in block["kernels"]))
    path.write_text(json.dumps(profile | {"limits": {"bytes_per_second": 0, "flops_per_second": 1}}))
    assert main([*command, "-o", "/dev/null"]) == 1
    assert "this is no profile of kernels" in capsys.readouterr().err


def test_plans_and_programs_are_pictures_in_notebooks():
    plan = fd.plan_fusion(fd.read(TINY))
    program = fd.compile(TINY, backend="numpy")
    assert plan._repr_svg_() == plan.to_svg()
    for shown in (plan, program):
        assert ElementTree.fromstring(shown._repr_svg_()).tag.endswith("svg")
