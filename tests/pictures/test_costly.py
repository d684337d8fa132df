"""What is drawn red, what colour a kernel has, and what a picture is called."""

from collections.abc import Mapping
from typing import Any

import pytest
from pictures_models import EXAMPLES

import fuse_dialect as fd
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.pattern_kind import PatternKind
from fuse_dialect.pictures.anchors import WORK, anchor_of, work_of
from fuse_dialect.pictures.costly import LEAST_RATIO, costly_nodes
from fuse_dialect.pictures.scene import SceneOptions, scene_of


def block_of(text: str) -> Mapping[str, Any]:
    (block,) = scene_of(fd.parse(text), FuseOpsPass())["blocks"]
    return block


def softmaxes(sizes: list[int], last: str) -> str:
    """Softmax of softmax for each size, which never fuse; `last` is returned beside."""
    lines = [
        f"  %{result}{size} = fuse.softmax %{operand}{size} : tensor<{size}xf32>"
        for size in sizes
        for result, operand in ("ax", "ba")
    ]
    inputs = ", ".join(f"%x{size}: tensor<{size}xf32>" for size in sizes)
    results = [f"%b{size}" for size in sizes] + [last]
    types = [f"tensor<{size}xf32>" for size in sizes] + [f"tensor<{last[2:]}xf32>"]
    return "\n".join(
        [
            f"func.func @main({inputs}) -> ({', '.join(types)}) {{",
            *lines,
            f"  return {', '.join(results)} : {', '.join(types)}",
            "}",
        ]
    )


def values(block: Mapping[str, Any]) -> list[str]:
    return [block["nodes"][node][3] for node in block["costly"]]


def test_a_value_of_three_times_the_mean_is_expensive() -> None:
    assert LEAST_RATIO == 3
    # The mean of 4, 5, 6 and 45 is 15.
    assert values(block_of(softmaxes([4, 5, 6, 45], "%b4"))) == ["%a45"]
    assert values(block_of(softmaxes([4, 5, 6, 44], "%b4"))) == []


def test_equal_values_are_not_expensive() -> None:
    assert values(block_of(softmaxes([7], "%b7"))) == []


def test_a_value_that_has_to_be_written_anyway_is_not_expensive() -> None:
    assert values(block_of(softmaxes([4, 5, 6, 45], "%a45"))) == []


def test_sizes_that_are_not_known_are_not_expensive() -> None:
    text = """
    func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
      %a = fuse.softmax %x : tensor<?xf32>
      %b = fuse.softmax %a : tensor<?xf32>
      return %b : tensor<?xf32>
    }"""
    assert values(block_of(text)) == []


def test_expensive_values_of_an_accelerator_are_refused_by_their_readers() -> None:
    (block,) = scene_of(fd.read(EXAMPLES / "tiny_cnn.onnx"), FuseOpsHwPass())["blocks"]
    crossing = {source for source, reader, _ in block["edges"] if reader in block["refusals"]}
    assert set(costly_nodes(block)) <= crossing


@pytest.mark.parametrize(
    ("op", "kind", "work"),
    [
        ("fuse.batch_matmul", PatternKind.OUT_EWISE_FUSABLE, "product"),
        ("fuse.conv2d_transpose", PatternKind.OUT_EWISE_FUSABLE, "convolution"),
        ("fuse.max_pool2d", PatternKind.OUT_EWISE_FUSABLE, "reduction"),
        ("fuse.batch_norm", PatternKind.OUT_EWISE_FUSABLE, "elementwise"),
        ("fuse.sum", PatternKind.COMM_REDUCE, "reduction"),
        ("fuse.softmax", PatternKind.OPAQUE, "reduction"),
        ("stablehlo.dot_general", PatternKind.OPAQUE, "product"),
        ("stablehlo.convert", PatternKind.OPAQUE, "other"),
        ("fuse.add", PatternKind.BROADCAST, "elementwise"),
        ("fuse.broadcast_to", PatternKind.BROADCAST, "move"),
        ("fuse.transpose", PatternKind.INJECTIVE, "move"),
        ("fuse.concatenate", PatternKind.TUPLE, "other"),
        ("foreign", PatternKind.OPAQUE, "other"),
    ],
)
def test_work_of_ops(op: str, kind: PatternKind, work: str) -> None:
    assert WORK[work_of(op, kind)] == work


def test_the_anchor_is_the_first_op_of_the_highest_rank() -> None:
    ranks = [WORK.index(work) for work in ("move", "elementwise", "reduction", "reduction", "elementwise")]
    assert anchor_of(ranks) == 2


def test_kernels_say_what_they_are_for() -> None:
    (block,) = scene_of(fd.read(EXAMPLES / "tiny_cnn.onnx"), FuseOpsPass())["blocks"]
    for kernel in block["kernels"]:
        assert kernel["lead"] in kernel["nodes"]
        assert kernel["work"] == block["nodes"][kernel["lead"]][11]
        assert kernel["work"] == min(block["nodes"][node][11] for node in kernel["nodes"])


def test_a_module_without_a_file_is_called_after_its_largest_function() -> None:
    text = """
    func.func @small(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = fuse.exp %x : tensor<4xf32>
      return %a : tensor<4xf32>
    }
    func.func @large(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = fuse.exp %x : tensor<4xf32>
      %b = fuse.tanh %a : tensor<4xf32>
      return %b : tensor<4xf32>
    }"""
    assert scene_of(fd.parse(text), FuseOpsPass())["title"] == "@large"
    assert scene_of(fd.parse(f"module @net {{ {text} }}"), FuseOpsPass())["title"] == "net"
    assert scene_of(fd.parse(text), FuseOpsPass(), SceneOptions("net.mlir"))["title"] == "net.mlir"
    assert "<title>@large</title>" in fd.plan_fusion(fd.parse(text)).to_html()
