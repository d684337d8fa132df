"""The strategy `cost` on IR: what is one kernel, that it means the same, and that its loops are what was promised."""

from dataclasses import replace

import numpy as np
import pytest
from fuzzing.comparing import assert_agrees
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quantized_text import Writer
from random_programs import random_programs
from written_out import WRITTEN_OUT, WrittenOut
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

import fuse_dialect as fd
from fuse_dialect.cost import drafts
from fuse_dialect.cost.by_cost import predicted_seconds, seconds_of
from fuse_dialect.cost.changes import NOTHING
from fuse_dialect.cost.search import CostSearch
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.fusion.core.partition import tvm
from fuse_dialect.fusion.core.separate import separate
from fuse_dialect.fusion.core.strategy import FusionOptions
from fuse_dialect.fusion.core.value_graph import ValueGraph
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.ir.block_graph import build_graph
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.loops.contraction import contraction_of, is_gate
from fuse_dialect.loops.grouping import cut_in_phases, reads_of
from fuse_dialect.loops.iteration_space import without_single_points
from fuse_dialect.loops.program import LoopProgram
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.loops.strip_schedule import strips_of
from fuse_dialect.lowering.loop_program import lower
from fuse_dialect.machines.names import find_machine


def primitives(module: ModuleOp) -> list[func.FuncOp]:
    return [op for op in module.ops if isinstance(op, func.FuncOp) and "primitive" in op.attributes]


def asked(main: func.FuncOp) -> tuple[ValueGraph, FusionOptions]:
    """What the strategy is asked about a function."""
    graph = build_graph(main.body.block)
    return graph.value_graph, FusionOptions(forms=graph.find_forms)


def arguments(module: ModuleOp, seed: int = 0) -> list[np.ndarray]:
    main = next(iter(module.ops))
    assert isinstance(main, func.FuncOp)
    random = np.random.default_rng(seed)
    return [random.standard_normal(type.get_shape()).astype(np.float32) for type in main.function_type.inputs]


@pytest.mark.parametrize(("size", "count"), [(16, 2), (256, 1)])
def test_maps_of_bytes_in_short_rows_run_by_themselves(size: int, count: int) -> None:
    """Row by row two vectors would wait for each other; a map takes several rows side by side."""
    w, shape = Writer(np.random.default_rng(0)), f"512x{size}x"
    bytes, kind, q = f"tensor<{shape}ui8>", f"tensor<{shape}f32>", ""
    value = w.reals("%x", shape, 100, 0.02, "ui8")
    for scale in np.linspace(0.03, 0.05, 12):
        other = w.reals("%y", shape, 100, float(scale), "ui8")
        product = w.op("multiply", (value, other), (kind, kind), kind)
        q = w.quantized(product, shape, 100, float(scale), "ui8")
        value = w.reals(q, shape, 100, float(scale), "ui8")
    total = w.op("sum", (value,), (kind,), "tensor<512xf32>", ", axes = [1]")
    w.lines.append(f"return {q}, {total} : {bytes}, tensor<512xf32>")
    body = "\n".join(w.lines)
    module = fd.parse(f"func.func @main(%x: {bytes}, %y: {bytes}) -> ({bytes}, tensor<512xf32>) {{\n{body}\n}}")
    FuseOpsPass(strategy="cost", machine="haswell").apply(Context(), module)
    assert len(primitives(module)) == count


@pytest.mark.parametrize("written", WRITTEN_OUT.values(), ids=WRITTEN_OUT)
def test_what_is_written_out_is_one_kernel(written: WrittenOut) -> None:
    module = fd.parse(written.text())
    inputs = arguments(module)
    before = run_module(module, inputs)
    fd.fuse_ops(module, strategy="cost")
    module.verify()
    computing = [each for each in primitives(module) if "fuse.reshape_only" not in each.attributes]
    assert len(computing) == 1
    np.testing.assert_array_equal(run_module(module, inputs)[0], before[0])
    program = simplify(_loops(computing[0]))
    assert len(cut_in_phases([without_single_points(stage) for stage in program.stages])) == 1


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random_programs())
def test_by_its_model_no_plan_is_behind_tvms_rules(module: ModuleOp) -> None:
    main = next(iter(module.ops))
    assert isinstance(main, func.FuncOp)
    graph, options = asked(main)
    assert predicted_seconds(graph, options) <= seconds_of(graph, options, tvm(graph, options)) + NOTHING


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(module=random_programs(), merges=st.integers(0, 12))
def test_what_is_known_of_a_candidate_is_what_judging_it_anew_says(module: ModuleOp, merges: int) -> None:
    main = next(iter(module.ops))
    assert isinstance(main, func.FuncOp)
    graph, options = asked(main)
    search = CostSearch(graph, replace(options, most_merges=merges))
    search.run()
    search.left = 1
    anew = search.copy()
    for change, one, other in list(search.changes()):
        assert search.judge(change, one, other) == anew.judge(change, one, other)


def test_a_plan_of_single_operators_takes_what_they_take() -> None:
    main = next(iter(fd.parse(ATTENTION).ops))
    assert isinstance(main, func.FuncOp)
    graph, options = asked(main)
    alone = seconds_of(graph, options, separate(graph, options))
    assert alone == pytest.approx(predicted_seconds(graph, replace(options, most_merges=0)), rel=0.05)
    assert predicted_seconds(graph, options) < alone


def _loops(function: func.FuncOp) -> LoopProgram:
    program = lower(function)
    assert isinstance(program, LoopProgram)
    return program


ATTENTION = """
func.func @main(%x: tensor<128x64xf32>, %q: tensor<64x64xf32>, %k: tensor<64x64xf32>, %v: tensor<64x64xf32>)
    -> tensor<1x4x128x16xf32> {
  %a = fuse.matmul %x, %q : (tensor<128x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
  %b = fuse.matmul %x, %k : (tensor<128x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
  %c = fuse.matmul %x, %v : (tensor<128x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
  %d = fuse.reshape %a : (tensor<128x64xf32>) -> tensor<1x128x4x16xf32>
  %e = fuse.reshape %b : (tensor<128x64xf32>) -> tensor<1x128x4x16xf32>
  %f = fuse.reshape %c : (tensor<128x64xf32>) -> tensor<1x128x4x16xf32>
  %g = fuse.transpose %d, permutation = [0, 2, 1, 3] : (tensor<1x128x4x16xf32>) -> tensor<1x4x128x16xf32>
  %h = fuse.transpose %e, permutation = [0, 2, 3, 1] : (tensor<1x128x4x16xf32>) -> tensor<1x4x16x128xf32>
  %i = fuse.transpose %f, permutation = [0, 2, 1, 3] : (tensor<1x128x4x16xf32>) -> tensor<1x4x128x16xf32>
  %s = fuse.batch_matmul %g, %h : (tensor<1x4x128x16xf32>, tensor<1x4x16x128xf32>) -> tensor<1x4x128x128xf32>
  %t = arith.constant dense<2.5e-01> : tensor<f32>
  %u = fuse.multiply %s, %t : (tensor<1x4x128x128xf32>, tensor<f32>) -> tensor<1x4x128x128xf32>
  %p = fuse.softmax %u : tensor<1x4x128x128xf32>
  %y = fuse.batch_matmul %p, %i : (tensor<1x4x128x128xf32>, tensor<1x4x128x16xf32>) -> tensor<1x4x128x16xf32>
  return %y : tensor<1x4x128x16xf32>
}
"""


def test_attention_is_two_kernels() -> None:
    """Three products side by side, then attention in strips; heads are moved where they are read."""
    module = fd.parse(ATTENTION)
    inputs = arguments(module)
    (before,) = run_module(module, inputs)
    text = str(fd.fuse_ops(module.clone(), strategy="cost"))
    calls = [line for line in text.splitlines() if "func.call" in line]
    assert len(calls) == 2
    assert calls[0].count("tensor<128x64xf32>") == 4  # one input, three results
    program = fd.compile(module, strategy="cost", cache=False)
    assert [kernel.family for kernel in program.kernels] == ["contraction", "strips"]
    assert_agrees(module, inputs, program(*inputs))
    np.testing.assert_array_equal(run_module(fd.parse(text), inputs)[0], before)


@pytest.mark.parametrize(
    ("option", "kernels"),
    [("horizontal", 4), ("multi_output", 2), ("recompute", 2)],
)
def test_options_forbid_what_they_name(option: str, kernels: int) -> None:
    module = fd.fuse_ops(fd.parse(ATTENTION), strategy="cost", **{option: False})
    assert str(module).count("func.call") == kernels


TWO_READERS = """
func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64xf32>) {
  %a = fuse.add %x, %w : tensor<64x64xf32>
  %b = fuse.exp %a : tensor<64x64xf32>
  %s = fuse.sum %b, axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  return %b, %s : tensor<64x64xf32>, tensor<64xf32>
}
"""


@pytest.mark.parametrize(("multi_output", "kernels"), [(True, 1), (False, 2)])
def test_a_value_that_is_returned_and_read_is_stored_on_the_way(multi_output: bool, kernels: int) -> None:
    module = fd.parse(TWO_READERS)
    inputs = arguments(module)
    program = fd.compile(module, strategy="cost", multi_output=multi_output, cache=False)
    assert sum(kernel.calls for kernel in program.kernels) == kernels
    assert_agrees(module, inputs, program(*inputs))


GATE = """
func.func @main(%x: tensor<{m}x{k}xf32>, %g: tensor<{k}x{n}xf32>, %u: tensor<{k}x{n}xf32>) -> tensor<{m}x{n}xf32> {{
  %a = fuse.matmul %x, %g : (tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %s = fuse.sigmoid %a : tensor<{m}x{n}xf32>
  %h = fuse.multiply %a, %s : tensor<{m}x{n}xf32>
  %b = fuse.matmul %{factor}, %u : (tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %r = fuse.multiply %h, %b : tensor<{m}x{n}xf32>
  return %r : tensor<{m}x{n}xf32>
}}
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("m", "n", "k"), [(64, 160, 48), (5, 7, 3), (1, 64, 32), (33, 100, 17), (2, 1500, 4), (9, 33, 900)]
)
def test_a_gate_and_what_it_opens_are_one_kernel(m: int, n: int, k: int, threads: int) -> None:
    module = fd.parse(GATE.format(m=m, n=n, k=k, factor="x"))
    inputs = arguments(module)
    program = fd.compile(module, strategy="cost", threads=threads, cache=False)
    assert [kernel.family for kernel in program.kernels] == ["contraction"]
    for _ in range(4):
        assert_agrees(module, inputs, program(*inputs))


def test_a_gate_may_multiply_other_operands() -> None:
    text = GATE.format(m=8, n=16, k=4, factor="y").replace("(%x", "(%y: tensor<8x4xf32>, %x")
    module = fd.parse(text)
    inputs = arguments(module)
    program = fd.compile(module, strategy="cost", cache=False)
    assert [kernel.family for kernel in program.kernels] == ["contraction"]
    assert_agrees(module, inputs, program(*inputs))


def test_a_gate_of_open_size_is_two_kernels() -> None:
    module = fd.parse(GATE.format(m="?", n=16, k=4, factor="x"))
    fd.fuse_ops(module, strategy="cost")
    assert len(primitives(module)) == 2


HEADS = """
func.func @main(%x: tensor<4x8x16x{type}>, %w: tensor<64x32x{type}>) -> tensor<8x32x{sum}> {{
  %t = fuse.transpose %x, permutation = [1, 0, 2] : (tensor<4x8x16x{type}>) -> tensor<8x4x16x{type}>
  %r = fuse.reshape %t : (tensor<8x4x16x{type}>) -> tensor<8x64x{type}>
  %y = fuse.matmul %r, %w{out} : (tensor<8x64x{type}>, tensor<64x32x{type}>) -> tensor<8x32x{sum}>
  return %y : tensor<8x32x{sum}>
}}
"""


@pytest.mark.parametrize(
    ("type", "sum", "out", "kernels"), [("f32", "f32", "", 1), ("i8", "i32", ', out_dtype = "i32"', 2)]
)
def test_rows_of_bytes_are_not_moved_by_products(type: str, sum: str, out: str, kernels: int) -> None:
    module = fd.parse(HEADS.format(type=type, sum=sum, out=out))
    fd.fuse_ops(module, strategy="cost")
    assert len([each for each in primitives(module) if "fuse.reshape_only" not in each.attributes]) == kernels


SHUFFLE = """
func.func @main(%x: tensor<2x9x9x8xf32>, %w: tensor<3x3x8x8xf32>) -> tensor<2x7x7x8xf32> {
  %s = fuse.reshape %x : (tensor<2x9x9x8xf32>) -> tensor<2x9x9x2x4xf32>
  %t = fuse.transpose %s, permutation = [0, 1, 2, 4, 3] : (tensor<2x9x9x2x4xf32>) -> tensor<2x9x9x4x2xf32>
  %r = fuse.reshape %t : (tensor<2x9x9x4x2xf32>) -> tensor<2x9x9x8xf32>
  %y = fuse.conv2d %r, %w, data_layout = "NHWC", kernel_layout = "HWIO"
    : (tensor<2x9x9x8xf32>, tensor<3x3x8x8xf32>) -> tensor<2x7x7x8xf32>
  return %y : tensor<2x7x7x8xf32>
}
"""


def test_a_view_joins_what_windows_cannot_move() -> None:
    module = fd.parse(SHUFFLE)
    fd.fuse_ops(module, strategy="cost")
    ops = [[op.name for op in each.body.block.ops if isinstance(op, FuseOp)] for each in primitives(module)]
    assert ops == [["fuse.reshape", "fuse.transpose", "fuse.reshape"], ["fuse.conv2d"]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"open_size": 0}, "option 'open-size' expects 1 or more, got 0"),
        ({"machine": "none"}, "unknown machine 'none'"),
        ({"machine": "none.toml"}, "cannot read machine 'none.toml'"),
    ],
)
def test_wrong_options_are_errors(options: dict[str, object], message: str) -> None:
    with pytest.raises((fd.FuseError, PassFailedException), match=message):
        fd.fuse_ops(fd.parse(TWO_READERS), strategy="cost", **options)  # pyright: ignore[reportArgumentType]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(module=random_programs())
def test_what_drafts_allow_lowers_to_one_kernel(module: ModuleOp) -> None:
    """Loops of a kernel share their rows, or multiply; nothing that a phase reads was written by another one."""
    alone = module.clone()
    FuseOpsPass(strategy="separate", dedup=False).apply(Context(), alone)
    single = {_first(each).name for each in primitives(alone) if not _is_one_kernel(each)}
    small, drafts.SMALL = drafts.SMALL, 0.0
    try:
        FuseOpsPass(strategy="cost").apply(Context(), module)
    finally:
        drafts.SMALL = small
    for function in primitives(module):
        ops = [op for op in function.body.block.ops if isinstance(op, FuseOp)]
        if len(ops) > 1 and single.isdisjoint(op.name for op in ops):
            assert _is_one_kernel(function), str(function)


SIBLINGS_APART = """
func.func @main(%a: tensor<3x4x4xf32>, %b: tensor<3x4x4xf32>) -> (tensor<3x4x4xf32>, tensor<3x4x4xf32>) {
  %s = fuse.sum %b, axes = [0], keepdims = true : (tensor<3x4x4xf32>) -> tensor<1x4x4xf32>
  %y = fuse.add %a, %s : (tensor<3x4x4xf32>, tensor<1x4x4xf32>) -> tensor<3x4x4xf32>
  %e = fuse.exp %b : tensor<3x4x4xf32>
  return %e, %y : tensor<3x4x4xf32>, tensor<3x4x4xf32>
}
"""


def test_siblings_without_rows_are_not_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "SMALL", 0.0)
    module = fd.parse(SIBLINGS_APART)
    fd.fuse_ops(module, strategy="cost")
    assert all(_is_one_kernel(each) for each in primitives(module))


def _first(function: func.FuncOp) -> FuseOp:
    return next(op for op in function.body.block.ops if isinstance(op, FuseOp))


def _is_one_kernel(function: func.FuncOp) -> bool:
    program = lower(function)
    if not isinstance(program, LoopProgram):
        return False
    program = simplify(program)
    written = {stage.buffer for stage in program.stages}
    products = [stage for stage in program.stages if contraction_of(program, stage) is not None]
    if products:
        reads = {read.buffer for stage in program.stages for read in reads_of(stage)}
        is_alone = len(products) == len(program.stages) and (written.isdisjoint(reads) or is_gate(program))
        return is_alone or strips_of(program, find_machine("cpu-avx512"), frozenset()) is not None
    earlier: set[str] = set()
    for stages, _ in cut_in_phases([without_single_points(stage) for stage in program.stages]):
        if any(read.buffer in earlier for stage in stages for read in reads_of(stage)):
            return False
        earlier |= {stage.buffer for stage in stages}
    return True


def test_ops_that_keep_their_order_keep_kernels_apart() -> None:
    """The second foreign op follows the first one, though nodes are numbered from the results: it has a lower number.

    So the exponential runs before the first, and the sum after the second; they read one value and are no kernel.
    """
    module = fd.parse(
        """func.func @main(%x: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>) {
          %p = fuse.exp %x : tensor<512x512xf32>
          %a = "foreign.first"(%p) : (tensor<512x512xf32>) -> tensor<512x512xf32>
          %b = "foreign.second"(%x) : (tensor<512x512xf32>) -> tensor<512x512xf32>
          %q = fuse.add %x, %b : tensor<512x512xf32>
          return %q, %a : tensor<512x512xf32>, tensor<512x512xf32>
        }""",
        allow_unregistered=True,
    )
    fd.fuse_ops(module, strategy="cost")
    module.verify()
    assert [op.sym_name.data for op in module.body.block.ops] == ["main", "fused_exp", "fused_add"]


def test_lines_of_no_elements_are_planned():
    module = fd.parse("""func.func @main(%x: tensor<1x4x1x0xi64>) -> tensor<1x1x2x0xi64> {
      %y = fuse.depth_to_space %x, block_size = 2 : (tensor<1x4x1x0xi64>) -> tensor<1x1x2x0xi64>
      return %y : tensor<1x1x2x0xi64>
    }""")
    plan = fd.plan_fusion(module, strategy="cost")
    assert len(plan.groups) == 1


OPEN_GROUPS = """func.func @main(%q: tensor<8x?x16xf32>, %k: tensor<4x?x16xf32>) -> tensor<4x2x?x16xf32> {
  %g = fuse.reshape %q : (tensor<8x?x16xf32>) -> tensor<4x2x?x16xf32>
  %h = fuse.reshape %k : (tensor<4x?x16xf32>) -> tensor<4x1x?x16xf32>
  %s = fuse.batch_matmul %g, %h, transpose_b = true
    : (tensor<4x2x?x16xf32>, tensor<4x1x?x16xf32>) -> tensor<4x2x?x?xf32>
  %p = fuse.softmax %s : tensor<4x2x?x?xf32>
  %y = fuse.batch_matmul %p, %h : (tensor<4x2x?x?xf32>, tensor<4x1x?x16xf32>) -> tensor<4x2x?x16xf32>
  return %y : tensor<4x2x?x16xf32>
}"""


def test_a_view_of_open_length_moves_nothing() -> None:
    """Heads that share keys are rows that a reshape gives: it reads each element once, whatever the length is."""
    program = fd.compile(fd.parse(OPEN_GROUPS), strategy="cost", cache=False)
    assert [kernel.family for kernel in program.kernels] == ["strips"]
