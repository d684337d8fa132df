"""`fuse-ops` as a whole: what holds for every program."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_programs import SHAPE, random_programs
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from fuse_dialect.diagnostics import Reason
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.tuples import GetTupleElementOp, TupleOp
from fuse_dialect.frontends.mlir.reader import context, parse_mlir
from fuse_dialect.fusion.rules import FusionRule
from fuse_dialect.fusion.tvm_rules import TVM_RULES
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.transforms.fuse_ops import FuseOpsPass

FILECHECK = Path(__file__).parents[1] / "filecheck" / "transforms" / "fuse-ops"
TUPLE_OPS = (TupleOp, GetTupleElementOp)


@pytest.mark.parametrize("rule", TVM_RULES.rows, ids=lambda rule: rule.name)
@pytest.mark.parametrize("verdict", ["", "-refused"])
def test_every_rule_has_its_filecheck_files(rule: FusionRule, verdict: str) -> None:
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
        "softmax": Reason.EDGE_KIND,
        "sum": Reason.NO_RULE,
        "quotient": Reason.EDGE_KIND,
        "sorted": Reason.OPAQUE,
        "relu": Reason.FUSED,
        "tanh": Reason.VALUE_ESCAPES,
    }


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    program=random_programs(),
    opt_level=st.sampled_from([0, 2]),
    max_depth=st.sampled_from([1, 2, 5, 256]),
    max_function_args=st.sampled_from([0, 3, 8]),
    link_params=st.booleans(),
    dedup=st.booleans(),
)
def test_random_programs_mean_the_same_after_fusion(program: ModuleOp, **options: Any) -> None:
    program.verify()
    generator = np.random.default_rng(0)
    inputs = [generator.standard_normal(SHAPE).astype(np.float32) for _ in range(2)]
    before = run_module(program, inputs)
    FuseOpsPass(**options).apply(Context(), program)
    program.verify()
    after = run_module(program, inputs)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
    main, *primitives = program.ops
    assert isinstance(main, func.FuncOp)
    assert all("primitive" in primitive.attributes for primitive in primitives)
    assert not any(isinstance(op, FuseOp) and not isinstance(op, TUPLE_OPS) for op in main.body.block.ops)
    check_argument_limit(primitives, options["max_function_args"])


def check_argument_limit(primitives: Sequence[Operation], limit: int) -> None:
    """A primitive that was merged from several operators takes no more arguments and results than the limit."""
    for primitive in primitives:
        assert isinstance(primitive, func.FuncOp)
        type = primitive.function_type
        operators = [op for op in primitive.body.block.ops if isinstance(op, FuseOp)]
        if limit and len(operators) > 1:
            assert len(type.inputs) + len(type.outputs) <= limit


def test_pass_is_idempotent() -> None:
    module = parse_mlir((FILECHECK / "outlining.mlir").read_text(), "test.mlir", context())
    FuseOpsPass().apply(Context(), module)
    once = str(module)
    FuseOpsPass().apply(Context(), module)
    assert str(module) == once
