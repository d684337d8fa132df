"""`fuse-opt --demo`: what fusion does to a small program, and why one pair of operators was not fused."""

from collections.abc import Iterable
from io import StringIO

from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.frontends.mlir.reader import context, parse_mlir
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.remarks.fusion import fusion_remarks
from fuse_dialect.remarks.wording import FusionRemark
from fuse_dialect.targets.mlir import FuseMLIRTarget

PROGRAM = """\
func.func @main(%x: tensor<8x16xf32>, %w: tensor<32x16xf32>, %bias: tensor<32xf32>) -> tensor<8xf32> {
  %dense = fuse.dense %x, %w : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
  %biased = fuse.add %dense, %bias : (tensor<8x32xf32>, tensor<32xf32>) -> tensor<8x32xf32>
  %active = fuse.relu %biased : tensor<8x32xf32>
  %total = fuse.sum %active, axes = [1] : (tensor<8x32xf32>) -> tensor<8xf32>
  return %total : tensor<8xf32>
}
"""
"""A dense layer and a sum: the matrix product takes in what follows element by element, and stops at the reduction."""


def demo_text() -> str:
    """The demonstration."""
    ctx = context()
    module = parse_mlir(PROGRAM, "<demo>", ctx)
    module.verify()
    fuse_ops = FuseOpsPass()
    reasons = _reasons(remark for remark in fusion_remarks(module, fuse_ops) if remark.sink is not None)
    fuse_ops.apply(ctx, module)
    module.verify()
    parts = (
        "// Before:\n",
        PROGRAM,
        "\n// After --fuse-ops: each @fused_... is one kernel.\n",
        _printed(module),
        "\n// Why one pair was not fused:\n",
        reasons,
        "\n// Try it: save the first program as demo.mlir, and run fuse-opt --fuse-ops --fusion-remarks demo.mlir\n",
    )
    return "".join(parts)


def _printed(module: ModuleOp) -> str:
    output = StringIO()
    FuseMLIRTarget().emit(context(), module, output)
    return output.getvalue()


def _reasons(remarks: Iterable[FusionRemark]) -> str:
    """Two lines for each remark."""
    return "".join(f"//   {remark.message}\n//   {remark.explanation}\n" for remark in remarks)
