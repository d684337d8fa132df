"""Products: the ops whose channels an accelerator may want aligned."""

import pytest
from xdsl.dialects import func

from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.frontends.mlir.reader import context, parse_mlir
from fuse_dialect.hardware.block_graph import build_hardware_graph
from fuse_dialect.pattern_kind import PatternKind
from fuse_dialect.templates.template import HardwareTemplate, links, mapped, units

OPS = ["fuse.conv2d", "fuse.dense", "tosa.conv2d", "fuse.softmax", "fuse.relu", "stablehlo.convolution"]
TEMPLATE = HardwareTemplate(
    name="any",
    source="in",
    units=units(("in", "in"), ("unit", "unit")),
    links=links(("in", "unit")),
    mappings=mapped("unit", OPS),
)


def test_products_are_anchors_with_weights() -> None:
    products = {op.name for op in ALL_OPS if issubclass(op, FuseOp) and op.IS_PRODUCT}
    assert products == {
        "fuse.conv1d",
        "fuse.conv2d",
        "fuse.conv3d",
        "fuse.conv2d_transpose",
        "fuse.conv3d_transpose",
        "fuse.deformable_conv2d",
        "fuse.dense",
        "fuse.matmul",
        "fuse.batch_matmul",
        "fuse.blockwise_dense",
    }
    kinds = {trait.kind for op in ALL_OPS if op.name in products for trait in [op.get_trait(OpPatternKind)] if trait}
    assert kinds == {PatternKind.OUT_EWISE_FUSABLE}


@pytest.mark.parametrize(
    ("line", "channels"),
    [
        ("fuse.conv2d %x, %w : (tensor<1x3x8x8xf32>, tensor<6x3x1x1xf32>) -> tensor<1x6x8x8xf32>", 6),
        (
            'fuse.conv2d %x, %w, data_layout = "NHWC", kernel_layout = "HWIO" '
            ": (tensor<1x3x8x8xf32>, tensor<6x3x1x1xf32>) -> tensor<1x3x8x1xf32>",
            1,
        ),
        ('"tosa.conv2d"(%x, %w) : (tensor<1x3x8x8xf32>, tensor<6x3x1x1xf32>) -> tensor<1x3x8x6xf32>', 6),
        ('"tosa.conv2d"(%x, %w) : (tensor<1x3x8x8xf32>, tensor<6x3x1x1xf32>) -> tensor<1x3x8x?xf32>', None),
        ('"stablehlo.convolution"(%x, %w) : (tensor<1x3x8x8xf32>, tensor<6x3x1x1xf32>) -> tensor<1x6x8x8xf32>', 0),
        ("fuse.relu %x : tensor<1x3x8x8xf32>", 0),
    ],
)
def test_channels_of_products_are_known(line: str, channels: int | None) -> None:
    text = f"func.func @f(%x: tensor<1x3x8x8xf32>, %w: tensor<6x3x1x1xf32>) {{\n %y = {line}\n"
    text += ' "test.op"(%y) : (' + line.rsplit("->" if "->" in line else ":", 1)[1].strip() + ") -> ()\n return }"
    module = parse_mlir(text, "test.mlir", context(allow_unregistered=True))
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    graph = build_hardware_graph(function.body.block, TEMPLATE).graph
    assert [node.channels for node in graph.nodes if node.kinds] == [channels]
