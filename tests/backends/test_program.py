"""Programs on kernels that are Python functions: what the runtime does around kernels, whatever makes them."""

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from callback_backend import program_of
from fuzzing.comparing import assert_agrees
from hypothesis import given, settings
from random_programs import random_programs
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd
from fuse_dialect.backends.runtime.program import Program
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.fusion.core.plan import FusionPlan
from fuse_dialect.fusion.core.strategy import FusionOptions, find_strategy
from fuse_dialect.fusion.core.value_graph import ValueGraph
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.entry import function_named
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.transforms.compile_pipeline import CompilePipelinePass

CHAIN = """
func.func @main(%x: tensor<3x4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<12xf32>) {
  %w = arith.constant dense<[[1.0], [2.0], [3.0]]> : tensor<3x1xf32>
  %a = fuse.exp %x : tensor<3x4xf32>
  %b = fuse.sum %a, axes = [0] : (tensor<3x4xf32>)
  %c = fuse.multiply %b, %y : tensor<4xf32>
  %d = fuse.sum %c, axes = [0], keepdims = true : (tensor<4xf32>)
  %e = fuse.add %d, %y : (tensor<1xf32>, tensor<4xf32>)
  %f = fuse.multiply %a, %w : (tensor<3x4xf32>, tensor<3x1xf32>)
  %g = fuse.reshape %f : (tensor<3x4xf32>) -> tensor<12xf32>
  return %e, %g : tensor<4xf32>, tensor<12xf32>
}
"""
DYNAMIC_CHAIN = """
func.func @main(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %a = fuse.add %x, %y : tensor<?x4xf32>
  %b = fuse.sum %a, axes = [0], keepdims = true : (tensor<?x4xf32>)
  %c = fuse.multiply %a, %b : (tensor<?x4xf32>, tensor<1x4xf32>)
  return %c : tensor<?x4xf32>
}
"""


def fused(text: str, **options: int) -> ModuleOp:
    module = parse_mlir(text)
    FuseOpsPass(**options).apply(Context(), module)
    return module


def chain_inputs() -> list[np.ndarray]:
    return [np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4), np.arange(4, dtype=np.float32)]


def primitive_names(program: Program) -> list[str]:
    return [kernel.name for kernel in program.kernels]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("opt_level", [0, 2])
@pytest.mark.parametrize("packs", [False, True])
def test_native_and_numpy_steps_mix(threads: int, opt_level: int, packs: bool) -> None:
    module, inputs = fused(CHAIN, opt_level=opt_level), chain_inputs()
    expected = run_module(module, inputs)
    names = primitive_names(program_of(module))
    for hidden in ((), names[:1], names[1:2], names[-1:], names[::2], names):
        program = program_of(module, threads=threads, numpy=hidden, packs=packs)
        for _ in range(2):
            for got, want in zip(program(*inputs), expected, strict=True):
                np.testing.assert_array_equal(got, want)


@settings(max_examples=60)
@given(random_programs())
def test_random_programs_give_what_the_interpreter_gives(module: ModuleOp) -> None:
    written = module.clone()
    FuseOpsPass().apply(Context(), module)
    generator = np.random.default_rng(0)
    (function,) = [op for op in module.ops if op.sym_name.data == "main"]
    inputs = [generator.standard_normal(type.get_shape(), np.float32) for type in function.function_type.inputs]
    names = primitive_names(program_of(module))
    program = program_of(module, numpy=names[::3])
    # The same NumPy functions, but on operands that lie otherwise in memory: matrix products are rounded by that.
    assert_agrees(written, inputs, program(*inputs))


def test_outputs_are_fresh_arrays() -> None:
    program, inputs = program_of(fused(CHAIN)), chain_inputs()
    first, second = program(*inputs), program(*inputs)
    for one, other in zip(first, second, strict=True):
        assert not np.shares_memory(one, other)
    first[0][:] = 7
    np.testing.assert_array_equal(second[0], program(*inputs)[0])


@pytest.mark.parametrize("native", [True, False])
def test_an_input_or_a_constant_that_is_an_output_is_copied(native: bool) -> None:
    text = """
    func.func @main(%x: tensor<4xf32>)
        -> (tensor<4xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>) {
      %k = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
      %r = fuse.reshape %x : (tensor<4xf32>) -> tensor<2x2xf32>
      %e = fuse.exp %x : tensor<4xf32>
      return %x, %r, %k, %e, %e : tensor<4xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>
    }"""
    module = fused(text)
    program = program_of(module, numpy=() if native else ["fused_exp"])
    x = np.arange(4, dtype=np.float32)
    results = program(x)
    for got, want in zip(results, run_module(module, [x]), strict=True):
        np.testing.assert_array_equal(got, want)
        got[...] = -1
    np.testing.assert_array_equal(x, np.arange(4))
    np.testing.assert_array_equal(program(x)[2], [1, 2])


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_part_runs_or_one_part_runs_alone(threads: int) -> None:
    program = program_of(fused(WIDE), threads=threads)
    (kernel,) = [compiled.kernel for compiled in program._primitives]
    x = np.ones((512, 512), np.float32)
    for _ in range(20):
        kernel.calls.clear()
        np.testing.assert_array_equal(program(x)[0], x + x)
        (parts,) = {parts for _, parts in kernel.calls}
        assert sorted(part for part, _ in kernel.calls) == list(range(parts))
        assert 1 <= parts <= threads


def test_a_kernel_that_cannot_be_split_is_called_once() -> None:
    program = program_of(fused(WIDE), threads=3, parallel=False)
    (kernel,) = [compiled.kernel for compiled in program._primitives]
    program(np.ones((512, 512), np.float32))
    assert kernel.calls == [(0, 1)]


WIDE = """
func.func @main(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %y = fuse.add %x, %x : tensor<512x512xf32>
  return %y : tensor<512x512xf32>
}
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_several_threads_may_call_at_once(threads: int) -> None:
    module = fused(CHAIN, opt_level=0)
    program = program_of(module, threads=threads, numpy=primitive_names(program_of(module))[::4])
    generator = np.random.default_rng(0)
    inputs = [[generator.random((3, 4), np.float32), generator.random(4, np.float32)] for _ in range(40)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda pair: program(*pair), inputs))
    for pair, got in zip(inputs, results, strict=True):
        for one, other in zip(got, run_module(module, pair), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize("hidden", [(), ("fused_sum",), ("fused_add",)])
def test_dynamic_sizes(rows: int, hidden: tuple[str, ...]) -> None:
    module = fused(DYNAMIC_CHAIN, opt_level=0)
    program = program_of(module, numpy=hidden)
    assert program.peak_bytes is None
    x = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)
    for _ in range(2):
        np.testing.assert_array_equal(program(x, x)[0], run_module(module, [x, x])[0])


def test_sizes_that_broadcast_where_a_kernel_cannot_are_left_to_numpy() -> None:
    module = fused(DYNAMIC_CHAIN, opt_level=0)
    program = program_of(module)
    x, row = np.arange(12, dtype=np.float32).reshape(3, 4), np.ones((1, 4), np.float32)
    np.testing.assert_array_equal(program(x, row)[0], run_module(module, [x, row])[0])
    np.testing.assert_array_equal(program(x, x)[0], run_module(module, [x, x])[0])


def test_more_sets_of_sizes_than_plans_are_kept() -> None:
    program = program_of(fused(DYNAMIC_CHAIN))
    for rows in [*range(1, 80), 1, 2]:
        x = np.ones((rows, 4), np.float32)
        np.testing.assert_array_equal(program(x, x)[0], np.full((rows, 4), 4 * rows, np.float32))


def test_tensors_without_elements() -> None:
    text = """
    func.func @main(%x: tensor<0x4xf32>) -> (tensor<0x4xf32>, tensor<4xf32>) {
      %a = fuse.exp %x : tensor<0x4xf32>
      %b = fuse.sum %a, axes = [0] : (tensor<0x4xf32>)
      return %a, %b : tensor<0x4xf32>, tensor<4xf32>
    }"""
    results = program_of(fused(text))(np.empty((0, 4), np.float32))
    assert results[0].shape == (0, 4)
    np.testing.assert_array_equal(results[1], np.zeros(4))


def test_an_error_of_numpy_names_the_op_and_the_program_goes_on() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
      %a = fuse.gather %x, %i, axis = 0 : (tensor<4xf32>, tensor<2xi64>)
      return %a : tensor<2xf32>
    }"""
    program = program_of(fused(text), numpy=["fused_gather"])
    x = np.arange(4, dtype=np.float32)
    for _ in range(2):
        with pytest.raises(FuseError, match=r"'fuse.gather' op cannot be run: index 9"):
            program(x, np.array([1, 9]))
        np.testing.assert_array_equal(program(x, np.array([1, 3]))[0], [1, 3])


def test_memory_of_a_result_is_used_again_only_when_nothing_shows_it() -> None:
    program = program_of(fused(WIDE))
    x = np.ones((512, 512), np.float32)
    (first,) = program(x)
    row, address = first[7, ::2], first.__array_interface__["data"][0]
    raw = memoryview(first)
    del first
    for value in (2, 3):
        (other,) = program(value * x)
        np.testing.assert_array_equal(other, 2 * value * x)
        np.testing.assert_array_equal(row, 2)
        assert raw[511, 511] == 2
    assert other.__array_interface__["data"][0] != address
    del row, raw, other
    again = [program(x)[0] for _ in range(3)]
    assert address in [array.__array_interface__["data"][0] for array in again]


def test_a_result_outlives_its_program() -> None:
    (result,) = program_of(fused(WIDE))(np.ones((512, 512), np.float32))
    gc.collect()
    np.testing.assert_array_equal(result, np.full((512, 512), 2))
    result[:] = 1


@pytest.mark.parametrize("repeat", [0, -1, True, 2.5, 10**9, "3"])
def test_a_number_of_runs_that_is_none_is_refused(repeat: object) -> None:
    program = program_of(fused(CHAIN))
    with pytest.raises(FuseError, match="expected 1 to 100000 runs to measure"):
        program.profile(*chain_inputs(), repeat=repeat)


@pytest.mark.parametrize("threads", [0, -1, True, 2.5, 10**9, "2", None])
def test_a_number_of_threads_that_is_none_is_refused(threads: object) -> None:
    with pytest.raises(FuseError, match="expected 1 to 256 threads"):
        fd.compile(fused(CHAIN), backend="numpy", threads=threads)


STABLEHLO = """
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
    %c = stablehlo.constant dense<2.0> : tensor<f32>
    %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %1 = stablehlo.multiply %0, %b : tensor<4x8xf32>
    %2 = stablehlo.tanh %1 : tensor<4x8xf32>
    return %2 : tensor<4x8xf32>
  }
}
"""


def test_a_program_shows_what_it_was_made_of() -> None:
    program = fd.compile(fd.parse(STABLEHLO), backend="numpy")
    text = str(program.module)
    assert "primitive" in text
    assert "stablehlo" not in text
    assert [group.root.name for group in program.plan.groups] == ["fuse.tanh"]
    assert len(program.plan.groups) == len(program.kernels)
    module = fd.parse(STABLEHLO)
    CompilePipelinePass(layout="keep").apply(Context(), module)
    assert str(module) == text


def test_the_plan_of_a_program_is_the_one_that_ran_and_no_strategy_is_asked_again() -> None:
    graphs: list[ValueGraph] = []

    def fuses_once(graph: ValueGraph, options: FusionOptions) -> FusionPlan:
        """All in one kernel when it is asked first, then every operator by itself."""
        graphs.append(graph)
        return find_strategy("tvm" if len(graphs) == 1 else "separate")(graph, options)

    program = fd.compile(fd.parse(CHAIN), backend="numpy", strategy=fuses_once)
    assert len(graphs) == 1
    plan = program.plan
    kernels = sum(kernel.calls for kernel in program.kernels)
    assert len(plan.groups) == kernels
    assert plan.summary().groups == kernels
    expected = fd.plan_fusion(fd.parse(CHAIN))
    assert str(program.plan) == str(expected)
    assert len(graphs) == 1
    # Pictures and stories ask what is tried, and still tell of the plan that ran.
    assert plan.to_svg() == expected.to_svg()
    assert [line for line in plan.explain("%a").splitlines() if "kernel" in line] == [
        line for line in expected.explain("%a").splitlines() if "kernel" in line
    ]


def test_the_plan_of_a_program_knows_the_barriers_that_fusion_has_removed() -> None:
    barrier = """
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %a = fuse.exp %x : tensor<8xf32>
      %b = fuse.stop_fusion %a : tensor<8xf32>
      %c = fuse.tanh %b : tensor<8xf32>
      return %c : tensor<8xf32>
    }"""
    program = fd.compile(fd.parse(barrier), backend="numpy")
    assert len(program.kernels) == 2
    assert [group.root.name for group in program.plan.groups] == ["fuse.exp", "fuse.tanh"]


def test_the_plan_of_a_program_leaves_primitives_of_the_source_alone() -> None:
    program = fd.compile(fused(CHAIN), backend="numpy")
    assert program.kernels
    assert not program.plan.groups


@pytest.mark.parametrize("strategy", ["tvm", "cost"])
@settings(max_examples=20)
@given(module=random_programs())
def test_plans_of_programs_have_a_group_for_each_kernel_that_is_called(strategy: str, module: ModuleOp) -> None:
    program = fd.compile(module, backend="numpy", strategy=strategy)
    main = function_named(program.module, "main")
    called = [[str(value.type) for value in op.results] for op in main.walk() if isinstance(op, func.CallOp)]
    planned = [[str(value.type) for value in group.results] for group in program.plan.groups]
    assert sorted(planned) == sorted(called)


def test_large_constants_of_a_program_are_elided() -> None:
    numbers = ", ".join(map(str, range(20)))
    program = fd.compile(
        fd.parse(f"""
        func.func @main(%x: tensor<20xf32>) -> tensor<20xf32> {{
          %c = arith.constant dense<[{numbers}]> : tensor<20xf32>
          %h = arith.constant dense<0.5> : tensor<f32>
          %y = fuse.add %x, %c : tensor<20xf32>
          %z = fuse.multiply %y, %h : (tensor<20xf32>, tensor<f32>)
          return %z : tensor<20xf32>
        }}"""),
        backend="numpy",
    )
    assert "dense_resource<__elided__>" in str(program.module)
    assert "5.000000e-01" in str(program.module)
    assert len(program.plan.groups) == 1
    np.testing.assert_array_equal(program(np.ones(20, np.float32))[0], (1 + np.arange(20)) / 2)


def test_a_program_made_by_hand_shows_nothing() -> None:
    program = program_of(fused(WIDE))
    with pytest.raises(FuseError, match="was not made from a module"):
        _ = program.module


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ("stablehlo.custom_call @lapack_spotrf_ffi(%x) {api_version = 4 : i32} :", "op of 'lapack_spotrf_ffi' has no"),
        ("stablehlo.fft %x, type = FFT, length = [8] :", "'stablehlo.fft' op has no meaning"),
    ],
)
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_what_has_no_meaning_is_refused_by_its_name(op: str, message: str, backend: str) -> None:
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    text = f"""
    func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {{
      %0 = {op} (tensor<8x8xf32>) -> tensor<8x8xf32>
      return %0 : tensor<8x8xf32>
    }}"""
    with pytest.raises(FuseError, match=message):
        fd.compile(fd.parse(text), backend=backend)
    with pytest.raises(FuseError, match=message):
        fd.run(fd.parse(text), np.ones((8, 8), np.float32))


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_a_view_of_computed_sizes_is_refused_where_they_do_not_fit(backend: str) -> None:
    module = fd.parse("""func.func @main(%x: tensor<1x1xf32>) -> tensor<7x7xf32> {
      %n = arith.constant dense<7> : tensor<2xi64>
      %y = fuse.dyn_reshape %x, %n : (tensor<1x1xf32>, tensor<2xi64>) -> tensor<7x7xf32>
      return %y : tensor<7x7xf32>
    }""")
    with pytest.raises(FuseError, match="expects a result of 1 elements"):
        fd.compile(module, backend=backend)(np.zeros((1, 1), np.float32))


def test_memory_is_not_given_away_while_a_view_of_it_is_read() -> None:
    flat, square = "tensor<64xf32>", "tensor<8x8xf32>"
    module = fd.parse(f"""func.func @main(%x: {flat}) -> ({flat}, {square}) {{
      %a = fuse.exp %x : {flat}
      %v = fuse.reshape %a : ({flat}) -> {square}
      %b = fuse.tanh %x : {flat}
      %c = fuse.negative %b : {flat}
      %d = fuse.relu %v : {square}
      return %c, %d : {flat}, {square}
    }}""")
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    program = fd.compile(module, strategy="separate", cache=False)
    for got, want in zip(program(x), fd.run(module, x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)
