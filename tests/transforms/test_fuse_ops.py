"""`fuse-ops` as a whole: what holds for every program."""

from pathlib import Path

import pytest
from xdsl.dialects import func

from fuse_dialect.analysis.fusion_rules import FUSION_RULES
from fuse_dialect.diagnostics import Reason
from fuse_dialect.frontends.mlir import context, parse_mlir
from fuse_dialect.transforms.fuse_ops import FuseOpsPass

FILECHECK = Path(__file__).parents[1] / "filecheck" / "transforms" / "fuse-ops"


@pytest.mark.parametrize("rule", FUSION_RULES, ids=lambda rule: rule.name)
@pytest.mark.parametrize("verdict", ["", "-refused"])
def test_every_rule_has_its_filecheck_files(rule, verdict: str) -> None:
    text = (FILECHECK / f"{rule.name}{verdict}.mlir").read_text()
    assert text.count("func.func @") >= 2
    if verdict:
        assert any(f"// {reason.value}: " in text for reason in Reason)


def decisions(text: str) -> dict[str, Reason]:
    """Reason of the verdict on the op that defines each named value of the function."""
    module = parse_mlir(text, "test.mlir", context())
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    fusion = FuseOpsPass().plan_block(function.body.block)
    return {
        node.op.results[0].name_hint or "": fusion.plan.decisions[number].reason
        for number, node in enumerate(fusion.block_graph.nodes)
        if node.op is not None
    }


def test_plan_keeps_a_verdict_for_every_op() -> None:
    verdicts = decisions(
        """
        func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
          %exp = fuse.exp %x : tensor<4x8xf32>
          %softmax = fuse.softmax %exp : tensor<4x8xf32>
          %sum = fuse.sum %softmax, axes = [1], keepdims = true : (tensor<4x8xf32>) -> tensor<4x1xf32>
          %quotient = fuse.divide %softmax, %sum : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
          %sorted = fuse.sort %quotient : tensor<4x8xf32>
          %relu = fuse.relu %sorted : tensor<4x8xf32>
          %tanh = fuse.tanh %relu : tensor<4x8xf32>
          func.return %tanh : tensor<4x8xf32>
        }
        """
    )
    assert verdicts == {
        "exp": Reason.EDGE_KIND,
        "softmax": Reason.PATH_KIND,
        "sum": Reason.NO_RULE,
        "quotient": Reason.EDGE_KIND,
        "sorted": Reason.OPAQUE,
        "relu": Reason.FUSED,
        "tanh": Reason.VALUE_ESCAPES,
    }
