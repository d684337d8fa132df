"""`fuse-opt --demo`: what fusion does to a small program, and why one pair of operators was not fused."""

from io import StringIO

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.analysis.fusion_rules import FUSION_RULES, FusionDecision
from fuse_dialect.dialect.pattern_kinds import op_name
from fuse_dialect.frontends.mlir import context, parse_mlir
from fuse_dialect.targets.mlir import FuseMLIRTarget
from fuse_dialect.transforms.fuse_ops import BlockFusion, FuseOpsPass, fusible_blocks

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
    (function,) = (op for op in module.walk() if isinstance(op, func.FuncOp))
    reasons = "".join(_reasons(fuse_ops.plan_block(block)) for block in fusible_blocks(function))
    fuse_ops.apply(ctx, module)
    module.verify()
    parts = (
        "// Before:\n",
        PROGRAM,
        "\n// After --fuse-ops: each @fused_... is one kernel.\n",
        _printed(module),
        "\n// Why one pair was not fused:\n",
        reasons,
        "\n// Try it: save the first program as demo.mlir, and run fuse-opt --fuse-ops demo.mlir\n",
    )
    return "".join(parts)


def _printed(module: ModuleOp) -> str:
    output = StringIO()
    FuseMLIRTarget().emit(context(), module, output)
    return output.getvalue()


def _reasons(fusion: BlockFusion) -> str:
    """A line for each refused decision between two operators."""
    refused = (decision for decision in fusion.plan.decisions if not decision and decision.sink is not None)
    return "".join(_reason(decision, fusion) for decision in refused if _is_operator(decision, fusion))


def _is_operator(decision: FusionDecision, fusion: BlockFusion) -> bool:
    return fusion.block_graph.nodes[decision.source].op is not None


def _reason(decision: FusionDecision, fusion: BlockFusion) -> str:
    def name(node: int) -> str:
        op = fusion.block_graph.nodes[node].op
        return "a value from outside" if op is None else f"'{op_name(op)}'"

    source, sink = decision.source, decision.sink
    assert sink is not None, "the caller asks only about decisions that have a sink"
    lines = [f"{name(source)} into {name(sink)}: {decision.reason.value}"]
    group = next(group for group in fusion.plan.groups if source in group.members)
    rule = next((rule for rule in FUSION_RULES if rule.name == decision.rule), None)
    if rule is not None and decision.kind is not None:
        allowed = " or ".join(sorted(kind.keyword for kind in rule.edges))
        members = ", ".join(name(member) for member in group.members)
        lines.append(f"The last rule that was tried for the group {members} is {rule.name}.")
        lines.append(f"It follows edges of kind {allowed}; this one is {decision.kind.keyword}.")
    return "".join(f"//   {line}\n" for line in lines)
