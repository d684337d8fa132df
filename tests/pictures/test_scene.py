"""What pictures show, as data."""

import json
import shutil
import subprocess
import sys

import pytest
from pictures_models import EXAMPLES, LIGHT

import fuse_dialect as fd
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.pictures.dot import dot_of, quoted
from fuse_dialect.pictures.page import embedded_json, page_of
from fuse_dialect.pictures.scene import SceneOptions, scene_of
from fuse_dialect.pictures.svg import svg_of


@pytest.fixture(scope="module")
def tiny() -> dict:
    return scene_of(fd.read(EXAMPLES / "tiny_cnn.onnx"), FuseOpsPass(), SceneOptions("tiny"))


def test_scene_has_the_kernels_and_names_of_the_fused_module(tiny):
    module = fd.read(EXAMPLES / "tiny_cnn.onnx")
    plan = fd.plan_fusion(module)
    (block,) = tiny["blocks"]
    fused = fd.fuse_ops(module)
    names = [op.sym_name.data for op in fused.ops if "primitive" in op.attributes]
    assert len(block["kernels"]) == len(plan.groups)
    assert {kernel["name"] for kernel in block["kernels"]} == set(names)
    for kernel in block["kernels"]:
        ops = [block["nodes"][node][2].removeprefix("fuse.") for node in kernel["nodes"]]
        assert kernel["name"].startswith("fused_" + "_".join(ops)[:40])


def test_bytes_of_a_scene_are_those_of_the_statistics(tiny):
    summary = fd.plan_fusion(fd.read(EXAMPLES / "tiny_cnn.onnx")).summary()
    (block,) = tiny["blocks"]
    assert sum(kernel["before"] for kernel in block["kernels"]) == summary.bytes_before
    assert sum(kernel["after"] for kernel in block["kernels"]) == summary.bytes_after
    assert tiny["reasons"] == summary.refusals


def test_place_of_each_op_in_the_text_is_that_op(tiny):
    (block,) = tiny["blocks"]
    spans = [(node[2], node[3], tiny["before"][node[5] : node[6]]) for node in block["nodes"] if len(node) > 6]
    assert len(spans) == 15
    for op, value, text in spans:
        assert text.startswith(f"{value} = {op} ")


def test_merges_lead_from_single_nodes_to_the_kernels(tiny):
    (block,) = tiny["blocks"]
    root = list(range(len(block["nodes"])))
    for _, sink, absorbed, *_ in block["merges"]:
        # A group is as its sink's by then.
        root = [root[sink] if each in [root[node] for node in absorbed] else each for each in root]
    for kernel in block["kernels"]:
        assert len({root[node] for node in kernel["nodes"]}) == 1
    assert len(block["merges"]) == 5


def test_every_op_of_the_block_is_in_one_box(tiny):
    (block,) = tiny["blocks"]
    held = [node for box in block["boxes"] for node in (block["kernels"][box]["nodes"] if box >= 0 else [-1 - box])]
    assert sorted(held) == sorted(map(int, block["stories"]))


def test_times_of_a_profile_stand_beside_kernels():
    seconds = {"fused_conv2d": 0.25}
    scene = scene_of(fd.read(EXAMPLES / "tiny_cnn.onnx"), FuseOpsPass(), SceneOptions(seconds=seconds))
    times = [kernel["seconds"] for kernel in scene["blocks"][0]["kernels"] if "seconds" in kernel]
    assert scene["hasTimes"]
    assert times == [0.25]


def test_hardware_plans_name_units():
    scene = scene_of(fd.read(EXAMPLES / "tiny_cnn.onnx"), FuseOpsHwPass())
    block = scene["blocks"][0]
    convolutions = [number for number, node in enumerate(block["nodes"]) if node[2] == "fuse.conv2d"]
    assert {block["units"][number] for number in convolutions} == {"ipa"}
    assert "unit: ipa" in block["stories"][convolutions[0]]


def test_trips_say_their_cycles_as_the_report_does():
    template = "systolic"
    scene = scene_of(fd.read(EXAMPLES / "residual_block.mlir"), FuseOpsHwPass(template))
    kernels = scene["blocks"][0]["kernels"]
    report = fd.hardware_report(fd.fuse_ops_hw(fd.read(EXAMPLES / "residual_block.mlir"), template=template))
    works = [work for work in report.works if work.cycles is not None]
    assert [(each["after"], each["cycles"]) for each in kernels] == [(work.bytes, work.cycles) for work in works]
    assert "moved in 44 cycles" in svg_of(scene)


def test_module_is_not_changed():
    module = fd.read(EXAMPLES / "tiny_cnn.onnx")
    before = str(module)
    scene_of(module, FuseOpsPass())
    assert str(module) == before


@pytest.mark.parametrize("strategy", ["tvm", "separate"])
def test_same_module_gives_the_same_page(strategy):
    def page() -> str:
        return page_of(scene_of(fd.read(EXAMPLES / "tiny_cnn.onnx"), FuseOpsPass(strategy=strategy)))

    assert page() == page()


def test_loops_and_branches_are_blocks_of_their_own():
    text = """
    func.func @main(%n: index, %x: tensor<4xf32>) -> tensor<4xf32> {
      %a = fuse.exp %x : tensor<4xf32>
      %b = fuse.relu %a : tensor<4xf32>
      %c = arith.constant true
      %r = "scf.if"(%c) ({
        %t = fuse.tanh %b : tensor<4xf32>
        %u = fuse.exp %t : tensor<4xf32>
        "scf.yield"(%u) : (tensor<4xf32>) -> ()
      }, {
        "scf.yield"(%b) : (tensor<4xf32>) -> ()
      }) : (i1) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }"""
    scene = scene_of(fd.parse(text), FuseOpsPass())
    assert [(block["name"], len(block["kernels"])) for block in scene["blocks"]] == [
        ("@main", 1),
        ("@main, block 2", 1),
    ]


def test_dot_is_drawn_by_graphviz(tiny):
    if shutil.which("dot") is None:
        pytest.skip("needs Graphviz")
    for scene in (tiny, scene_of(fd.read(LIGHT / "light_inception_v1.onnx"), FuseOpsPass())):
        drawn = subprocess.run(["dot", "-Tplain"], input=dot_of(scene), capture_output=True, text=True, check=True)
        nodes = [line for line in drawn.stdout.splitlines() if line.startswith("node ")]
        assert len(nodes) == len(scene["blocks"][0]["stories"])
        assert drawn.stderr == ""


def test_quotes_of_dot_hold_any_text():
    assert quoted('a"b\\c\nd\x1b') == '"a\\"b\\\\c\\nd\\\\u001b"'


@pytest.mark.parametrize(
    "text", ["</script><script>alert(1)</script>", "<!--", "]]>", "\u2028", "\ud800", '"', "\\", "&lt;"]
)
def test_embedded_json_holds_no_markup_and_loses_nothing(text):
    embedded = embedded_json({text: [text]})
    assert not set("<>&") & set(embedded)
    assert embedded.isascii()
    assert json.loads(embedded) == {text: [text]}


def test_page_of_resnet50_is_small():
    page = page_of(scene_of(fd.read(LIGHT / "light_resnet50.onnx"), FuseOpsPass()))
    assert len(page.encode()) <= 1_500_000


def test_plain_pass_imports_no_pictures():
    code = (
        "import sys; from fuse_dialect.tools.fuse_opt import main;"
        f"main(['--fuse-ops', {str(EXAMPLES / 'diamond.mlir')!r}, '-o', '/dev/null']);"
        "print([name for name in sys.modules if 'pictures' in name or 'story' in name or 'printed_ir' in name"
        " or name in ('webbrowser', 'html')])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_vendored_library_is_the_release():
    import vendor_dagre

    for name in vendor_dagre.FILES.values():
        assert vendor_dagre.digest((vendor_dagre.FOLDER / name).read_bytes()) == vendor_dagre.SHA256[name]


def test_plans_and_programs_show_themselves(tmp_path, monkeypatch):
    import webbrowser

    opened = list[str]()
    monkeypatch.setattr(webbrowser, "open", opened.append)
    plan = fd.plan_fusion(fd.read(EXAMPLES / "tiny_cnn.onnx"))
    program = fd.compile(EXAMPLES / "tiny_cnn.onnx", backend="numpy")
    for shown in (plan, program):
        framed = shown._repr_html_()
        assert framed.startswith('<iframe sandbox="allow-scripts" srcdoc="&lt;!doctype html&gt;')
        assert framed.count("<") == 2
        assert shown.show(tmp_path / "page.html") == str(tmp_path / "page.html")
        assert (tmp_path / "page.html").read_text("utf-8").startswith("<!doctype html>")
    assert opened == [(tmp_path / "page.html").as_uri()] * 2


def test_page_that_cannot_be_written_is_an_error(tmp_path):
    plan = fd.plan_fusion(fd.read(EXAMPLES / "tiny_cnn.onnx"))
    with pytest.raises(fd.FuseError, match="cannot write the page: no such file or directory"):
        plan.show(tmp_path / "nowhere" / "page.html")


@pytest.mark.parametrize("seed", range(6))
def test_plans_with_copies_and_several_results_are_drawn(seed):
    from random import Random

    from random_plans import random_plan

    from fuse_dialect.fusion.core.plan import FusionPlan
    from fuse_dialect.fusion.core.strategy import FusionOptions
    from fuse_dialect.fusion.core.value_graph import ValueGraph

    def strategy(graph: ValueGraph, options: FusionOptions) -> FusionPlan:
        return random_plan(Random(seed), graph, 12)

    fuse_ops = FuseOpsPass().using(strategy=strategy)
    scene = scene_of(fd.read(EXAMPLES / "tiny_cnn.onnx"), fuse_ops)
    (block,) = scene["blocks"]
    assert {node for kernel in block["kernels"] for node in kernel["nodes"]} == set(map(int, block["stories"]))
    assert all(kernel["name"].startswith("fused_") for kernel in block["kernels"])
    assert dot_of(scene).count("fillcolor") >= len(block["stories"])
