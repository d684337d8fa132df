"""Plans of several results and ops that are computed again, as IR: the program stays the same, and comes back."""

import os
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from random_plans import random_plan
from random_programs import SHAPE, random_programs
from ssa_form import ssa_form
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.fusion.core.plan import FusionKernel, FusionPlan, plan_of_nodes
from fuse_dialect.fusion.core.strategy import FusionOptions, Strategy
from fuse_dialect.fusion.core.value_graph import NodeRole, ValueGraph
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.loading.verification import verify_module
from fuse_dialect.transforms.defuse_ops import DefuseOpsPass

EXAMPLES = int(os.environ.get("FUSE_RANDOM_PROGRAMS", "300"))
RANDOM = settings(
    max_examples=EXAMPLES,
    phases=(Phase.generate,),
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def strategy_of(seed: int) -> Strategy:
    """A strategy that chooses at random, the same every time."""

    def random(graph: ValueGraph, options: FusionOptions) -> FusionPlan:
        rng = Random(seed)
        return random_plan(rng, graph, rng.randrange(40))

    return random


@pytest.mark.slow
@RANDOM
@given(program=random_programs(max_ops=12), seed=st.integers(0, 2**32), dedup=st.booleans(), link_params=st.booleans())
def test_outlined_plans_equal_the_program_and_come_back(
    program: ModuleOp, seed: int, dedup: bool, link_params: bool
) -> None:
    random = np.random.default_rng(seed)
    inputs = [random.random(SHAPE, np.float32) for _ in range(2)]
    expected, before = run_module(program, inputs), ssa_form(program)
    fused = FuseOpsPass(dedup=dedup, link_params=link_params).using(strategy=strategy_of(seed))
    fused.apply(Context(), program)
    verify_module(program)
    for got, want in zip(run_module(program, inputs), expected, strict=True):
        np.testing.assert_array_equal(got, want)
    again = fd.parse(str(program))  # what is printed is what was made, marks of copies included
    DefuseOpsPass().apply(Context(), again)
    verify_module(again)
    assert ssa_form(again) == before


def two_ways_out(graph: ValueGraph, options: FusionOptions) -> FusionPlan:
    """All operators as one kernel."""
    return plan_of_nodes(graph, [[node for node, role in enumerate(graph.roles) if role is NodeRole.OPERATOR]])


def computed_in_each(graph: ValueGraph, options: FusionOptions) -> FusionPlan:
    """Each operator that has no reader, with all that it needs."""
    kernels: list[list[int]] = []
    for node, role in enumerate(graph.roles):
        if role is NodeRole.OPERATOR and graph.facts.values[graph.first_value[node]].escapes:
            needed, pending = {node}, [node]
            while pending:
                for value in graph.facts.reads[pending.pop()]:
                    producer = graph.facts.values[value].producer
                    if graph.roles[producer].may_move and producer not in needed:
                        needed.add(producer)
                        pending.append(producer)
            kernels.append(sorted(needed))
    return plan_of_nodes(graph, kernels)


TWO = """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %half = arith.constant dense<0.5> : tensor<f32>
  %e = fuse.exp %x : tensor<4xf32>
  %a = fuse.multiply %e, %half : (tensor<4xf32>, tensor<f32>)
  %b = fuse.add %e, %y : tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}"""


def functions(module: ModuleOp) -> dict[str, list[str]]:
    return {
        op.sym_name.data: [inner.name for inner in op.body.block.ops]
        for op in module.ops
        if isinstance(op, func.FuncOp)
    }


def test_a_kernel_of_several_results_is_one_call() -> None:
    module = fd.fuse_ops(fd.parse(TWO), strategy=two_ways_out)
    assert functions(module) == {
        "main": ["arith.constant", "func.call", "func.return"],
        "fused_exp_multiply_add": ["fuse.exp", "fuse.multiply", "fuse.add", "func.return"],
    }


def test_what_is_computed_again_stands_in_each_kernel() -> None:
    module = fd.fuse_ops(fd.parse(TWO), strategy=computed_in_each)
    assert functions(module) == {
        "main": ["func.call", "func.call", "func.return"],
        "fused_exp_multiply": ["arith.constant", "fuse.exp", "fuse.multiply", "func.return"],
        "fused_exp_add": ["fuse.exp", "fuse.add", "func.return"],
    }
    DefuseOpsPass().apply(Context(), module)
    assert ssa_form(module) == ssa_form(fd.parse(TWO))


def test_copies_that_another_pass_has_changed_stay_apart() -> None:
    text = str(fd.fuse_ops(fd.parse(TWO), strategy=computed_in_each))
    first = text.index("fuse.exp", text.index("private @fused_exp_add"))
    module = fd.parse(text[:first] + text[first:].replace("fuse.exp", "fuse.tanh", 1))
    DefuseOpsPass().apply(Context(), module)
    verify_module(module)
    assert functions(module)["main"] == [
        *("arith.constant", "fuse.exp", "fuse.multiply", "fuse.tanh", "fuse.add", "func.return")
    ]


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("strategy", [two_ways_out, computed_in_each])
def test_backends_run_them(backend: str, strategy: Strategy) -> None:
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    program = fd.compile(fd.parse(TWO), backend=backend, strategy=strategy, cache=False)
    x, y = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    for got, want in zip(program(x, y), fd.run(fd.parse(TWO), x, y), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_plans_of_several_results_print() -> None:
    assert str(fd.plan_fusion(fd.parse(TWO), strategy=two_ways_out)).splitlines()[:2] == [
        "@main: 1 group",
        "  exp + multiply + add -> %a, %b",
    ]


def test_a_strategy_that_makes_no_plan_is_an_error() -> None:
    def wrong(graph: ValueGraph, options: FusionOptions) -> FusionPlan:
        return FusionPlan([FusionKernel((0, 1), ())], ())

    with pytest.raises(FuseError, match="the strategy of your own makes no plan: kernel 0 holds node 0"):
        fd.fuse_ops(fd.parse(TWO), strategy=wrong)


def test_facts_of_a_block() -> None:
    graphs: list[ValueGraph] = []

    def look(graph: ValueGraph, options: FusionOptions) -> FusionPlan:
        graphs.append(graph)
        return plan_of_nodes(graph, [])

    text = """
    func.func @main(%x: tensor<?x4xf32> {fuse.sizes = ["batch", ""]}) -> (tensor<?x4xf32>, tensor<?xf32>) {
      %e = fuse.exp %x : tensor<?x4xf32> loc("exp_node")
      "test.unknown"(%e) : (tensor<?x4xf32>) -> ()
      "test.unknown"() : () -> ()
      %s = fuse.sum %e, axes = [1] : (tensor<?x4xf32>)
      return %e, %s : tensor<?x4xf32>, tensor<?xf32>
    }"""
    fd.fuse_ops(fd.parse(text, allow_unregistered=True), strategy=look)
    (graph,) = graphs
    facts = graph.facts
    assert facts.labels[:3] == ["%x", "'fuse.exp' %e", "'fuse.sum' %s"]
    assert facts.sources[1] == "exp_node"
    assert str(facts.values[1].bytes) == "16 * batch"
    assert str(facts.flops[1]) == "4 * batch"
    assert facts.values[1].readers == (2, 3)
    assert [value.escapes for value in facts.values] == [True, True, True]
    unknown = [node for node, role in enumerate(graph.roles) if role is NodeRole.IN_PLACE]
    assert [facts.after[node] for node in unknown] == [(), (unknown[0],)]
    assert all(one < other for one, other in pairwise(graph.first_value[:-1])) or graph.num_values == 3


def test_a_view_goes_with_what_reads_it() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
      %c = fuse.concatenate %x, %y, axis = 0 : (tensor<4xf32>, tensor<4xf32>)
      %e = fuse.exp %x : tensor<4xf32>
      return %c, %e : tensor<8xf32>, tensor<4xf32>
    }"""

    def wrong(graph: ValueGraph, options: FusionOptions) -> FusionPlan:
        exp = graph.facts.labels.index("'fuse.exp' %e")
        return plan_of_nodes(graph, [[graph.roles.index(NodeRole.OPERAND_TUPLE), exp]])

    with pytest.raises(FuseError, match="a view that nothing in it reads or gives"):
        fd.fuse_ops(fd.parse(text), strategy=wrong)
