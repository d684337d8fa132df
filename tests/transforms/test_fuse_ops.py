"""`fuse-ops` as a whole: what holds for every program."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from own_strategies import OWN_STRATEGIES
from random_programs import SHAPE, random_programs
from random_rules import random_rules
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from fuse_dialect.diagnostics import Reason
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.tuples import GetTupleElementOp, TupleOp
from fuse_dialect.frontends.mlir.reader import context, parse_mlir
from fuse_dialect.fusion.core.rules import PATH_LIMIT, FusionRule, RuleTable
from fuse_dialect.fusion.core.tvm_rules import TVM_RULES
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.loading.pipeline import option_fields, option_name
from fuse_dialect.pattern_kind import PatternKind

FILECHECK = Path(__file__).parents[1] / "filecheck" / "transforms" / "fuse-ops"
TUPLE_OPS = (TupleOp, GetTupleElementOp)


@pytest.mark.parametrize("rule", TVM_RULES.rows, ids=lambda rule: rule.name)
@pytest.mark.parametrize("verdict", ["", "-refused"])
def test_every_rule_has_its_filecheck_files(rule: FusionRule, verdict: str) -> None:
    text = (FILECHECK / f"{rule.name}{verdict}.mlir").read_text()
    assert text.count("func.func @") >= 2
    if verdict:
        stated = re.findall(r"^// ([a-z-]+): ", text, re.MULTILINE)
        assert len(stated) == text.count("\nfunc.func @")
        assert set(stated) <= {reason.value for reason in Reason}
        assert re.findall(r"^  // WHY: .*: remark: .*: ([a-z-]+)$", text, re.MULTILINE) == stated


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


@pytest.mark.slow
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


@pytest.mark.parametrize("name", [*OWN_STRATEGIES, "separate", "cost"])
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=random_programs(), link_params=st.booleans())
def test_random_programs_mean_the_same_after_any_strategy(name: str, program: ModuleOp, link_params: bool) -> None:
    fuse_ops = FuseOpsPass(link_params=link_params)
    fuse_ops = (
        fuse_ops.using(strategy=OWN_STRATEGIES[name]) if name in OWN_STRATEGIES else replace(fuse_ops, strategy=name)
    )
    assert_same_meaning(program, fuse_ops)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=random_programs(), table=st.builds(random_rules, st.randoms(use_true_random=False)))
def test_random_programs_mean_the_same_after_any_rules(program: ModuleOp, table: RuleTable) -> None:
    assert_same_meaning(program, FuseOpsPass().using(rules=table))


def assert_same_meaning(program: ModuleOp, fuse_ops: FuseOpsPass) -> None:
    inputs = [np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32) for _ in range(2)]
    before = run_module(program, inputs)
    fuse_ops.apply(Context(), program)
    program.verify()
    for one, other in zip(before, run_module(program, inputs), strict=True):
        np.testing.assert_array_equal(one, other)


LOG_OF_SUM = """
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x1xf32> {
  %exp = fuse.exp %x : tensor<4x8xf32>
  %sum = fuse.sum %exp, axes = [1], keepdims = true : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %log = fuse.log %sum : tensor<4x1xf32>
  func.return %log : tensor<4x1xf32>
}
"""


def kernels(fuse_ops: FuseOpsPass) -> list[str]:
    """Names of the primitives that the pass makes of `LOG_OF_SUM`."""
    module = parse_mlir(LOG_OF_SUM, "test.mlir", context())
    fuse_ops.apply(Context(), module)
    return [op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp) and "primitive" in op.attributes]


def test_rules_from_outside_reach_the_pass_and_a_subclass_may_have_its_own() -> None:
    epilogue = FusionRule(
        name="reduction-epilogue",
        phases=(0,),
        sources=frozenset({PatternKind.COMM_REDUCE}),
        edges=frozenset({PatternKind.ELEMWISE}),
        path_limit=PATH_LIMIT,
        sinks=frozenset({PatternKind.ELEMWISE}),
    )
    table = RuleTable((*TVM_RULES.rows, epilogue))

    class MyFuseOpsPass(FuseOpsPass):
        name = "my-fuse-ops"
        rules = table

    assert kernels(FuseOpsPass()) == ["fused_exp_sum", "fused_log"]
    assert kernels(FuseOpsPass().using(rules=table)) == ["fused_exp_sum_log"]
    assert kernels(MyFuseOpsPass()) == ["fused_exp_sum_log"]
    assert kernels(FuseOpsPass(opt_level=0).using(rules=table)) == ["fused_exp", "fused_sum", "fused_log"]


def test_rules_and_own_strategies_are_no_textual_options() -> None:
    options = FuseOpsPass().using(rules=RuleTable(TVM_RULES.rows[:1]), strategy=OWN_STRATEGIES["alone"])
    assert str(options.pipeline_pass_spec()) == "fuse-ops"
    assert {"rules", "own-strategy"}.isdisjoint(map(option_name, (each.name for each in option_fields(FuseOpsPass))))


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
