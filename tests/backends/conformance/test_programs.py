"""Whole programs on every backend: what they give fused is what the NumPy interpreter gives unfused."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import pytest
from checking.rounding import assert_near, roundings_of
from fuzzing.comparing import assert_agrees
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from onnx import numpy_helper
from random_programs import random_programs
from recorded_graphs import recorded
from relay_networks import Network
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.backends.backend import Backend
from fuse_dialect.backends.compile import compile_program
from fuse_dialect.backends.options import CompileOptions
from fuse_dialect.dialect.op import Array
from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.frontends.onnx.reader import load_onnx_module
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.loading.array_files import random_inputs

RANDOM_PROGRAMS = int(os.environ.get("FUSE_RANDOM_PROGRAMS", "15"))
"""How many random programs each backend runs; 10,000 take half an hour."""
LIGHT_MODELS = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
SLOW_BACKENDS = {"loops"}
"""Those that interpret every element; they are left out where arrays are large."""
NETWORKS = ("mlp", "se_block", "softmax_manual", "dqn", "dyn_batch_mlp", "yolo_head")
if "FUSE_ALL_NETWORKS" in os.environ:  # takes minutes
    NETWORKS = tuple(dict.fromkeys(case["name"] for records in ("zoo", "handmade") for case in recorded(records)))


def main_of(module: ModuleOp) -> func.FuncOp:
    (function,) = [op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == "main"]
    return function


COMPARES_EQUAL_NUMBERS = """
func.func @main(%x: tensor<7x33xf32>, %w: tensor<7x33xf32>) -> (tensor<7x33xi1>, tensor<7x33xf32>) {
  %p = fuse.softmax %x, axis = 1 : tensor<7x33xf32>
  %s = fuse.sum %p, axes = [1], keepdims = true : (tensor<7x33xf32>) -> tensor<7x1xf32>
  %y = fuse.multiply %x, %s : (tensor<7x33xf32>, tensor<7x1xf32>) -> tensor<7x33xf32>
  %l = fuse.less %x, %y : (tensor<7x33xf32>, tensor<7x33xf32>) -> tensor<7x33xi1>
  return %l, %y : tensor<7x33xi1>, tensor<7x33xf32>
}
"""
"""Rounding decides which of two numbers is less that are equal but for it, and no order of the sum is the right one."""


@example(
    module=parse_mlir(COMPARES_EQUAL_NUMBERS),
    opt_level=2,
    max_depth=256,
    max_function_args=0,
    link_params=False,
    threads=1,
)
@settings(max_examples=RANDOM_PROGRAMS, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    module=random_programs(),
    opt_level=st.sampled_from([0, 2, 2, 2]),
    max_depth=st.sampled_from([256, 1, 3]),
    max_function_args=st.sampled_from([0, 4]),
    link_params=st.booleans(),
    threads=st.integers(1, 3),
)
def test_random_programs(
    backend: Backend,
    module: ModuleOp,
    opt_level: int,
    max_depth: int,
    max_function_args: int,
    link_params: bool,
    threads: int,
) -> None:
    inputs = random_inputs(main_of(module), 1, 2)
    program = compile_program(
        module,
        CompileOptions(
            backend=backend,
            threads=threads,
            fuse=FuseOpsPass(
                opt_level=opt_level, max_depth=max_depth, max_function_args=max_function_args, link_params=link_params
            ),
        ),
    )
    assert_agrees(module, inputs, program(*inputs), reassociates=True)


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(LIGHT_MODELS.glob("light_*.onnx")), ids=lambda path: path.stem)
def test_light_models(backend: Backend, path: Path) -> None:
    if backend.name in SLOW_BACKENDS or (backend.name == "numpy" and path.stem != "light_squeezenet"):
        pytest.skip("too slow, or what the tests of fused models run")
    program = compile_program(load_onnx_module(path), CompileOptions(backend=backend), in_place=True)
    (shape,) = [type.get_shape() for type in program_inputs(path)]
    ramp = (np.arange(np.prod(shape)).reshape(shape) / np.prod(shape)).astype(np.float32)
    recorded_output = numpy_helper.to_array(onnx.load_tensor(str(path.with_name(f"{path.stem}_output_0.pb"))))
    (output,) = program(ramp)
    assert_near(output, recorded_output, roundings_of(load_onnx_module(path)))


def program_inputs(path: Path) -> list:
    return list(main_of(load_onnx_module(path)).function_type.inputs)


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_recorded_networks(backend: Backend, name: str) -> None:
    if backend.name in SLOW_BACKENDS:
        pytest.skip("too slow")
    cases = [case for records in ("zoo", "handmade") for case in recorded(records) if case["name"] == name]
    case = next(case for case in cases if "params" in case["graph"])
    if any("callee" in node for node in case["graph"]["nodes"]):
        pytest.skip("the record calls functions whose bodies it lacks")
    module = Network(case, constant_parameters=True).module
    # Small numbers: the exponentials of these networks overflow for others, and then nothing can be compared.
    inputs = [array * np.asarray(0.1, array.dtype) for array in random_inputs(main_of(module), 0, 3)]
    expected = run_module(module, inputs)
    for threads in (1, 2):
        for actual, array in zip(
            compile_program(module, CompileOptions(backend=backend, threads=threads))(*inputs), expected, strict=True
        ):
            # DCGAN ends in a tanh of numbers up to 1e4: what is left near 0 has lost as many digits.
            assert_near(actual, array, roundings_of(module, inputs) * (1e4**2 if name == "dcgan" else 1))


DYNAMIC = """
func.func @main(%x: tensor<?x8xf32>, %w: tensor<8x5xf32>, %b: tensor<5xf32>) -> (tensor<?x5xf32>, tensor<5xf32>) {
  %p = fuse.matmul %x, %w : (tensor<?x8xf32>, tensor<8x5xf32>)
  %s = fuse.add %p, %b : (tensor<?x5xf32>, tensor<5xf32>)
  %r = fuse.relu %s : tensor<?x5xf32>
  %n = fuse.softmax %r, axis = 1 : tensor<?x5xf32>
  %m = fuse.sum %n, axes = [0] : (tensor<?x5xf32>)
  return %n, %m : tensor<?x5xf32>, tensor<5xf32>
}
"""


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_sizes_that_are_known_when_called(backend: Backend, threads: int) -> None:
    module = parse_mlir(DYNAMIC)
    program = compile_program(module, CompileOptions(backend=backend, threads=threads))
    generator = np.random.default_rng(0)
    weights = [generator.standard_normal((8, 5), np.float32), generator.standard_normal(5, np.float32)]
    for rows in (3, 1, 0, 17, 64, 3):
        inputs = [generator.standard_normal((rows, 8), np.float32), *weights]
        assert_agrees(module, inputs, program(*inputs))


def test_an_open_size_beside_a_size_of_zero(backend: Backend) -> None:
    module = parse_mlir("""func.func @main(%x: tensor<4x3x4xf32>) -> tensor<?x0xf32> {
      %reps = arith.constant dense<[2, 0]> : tensor<2xi64>
      %y = fuse.dyn_tile %x, %reps : (tensor<4x3x4xf32>, tensor<2xi64>) -> tensor<4x?x?xf32>
      %z = fuse.reshape %y : (tensor<4x?x?xf32>) -> tensor<?x0xf32>
      return %z : tensor<?x0xf32>
    }""")
    (result,) = compile_program(module, CompileOptions(backend=backend))(np.zeros((4, 3, 4), np.float32))
    # 4x6x0: nothing says how many rows of nothing there are, so there are none.
    assert result.shape == (0, 0)
    np.testing.assert_array_equal(result, run_module(module, [np.zeros((4, 3, 4), np.float32)])[0])


@pytest.mark.parametrize("rank", range(6))
def test_ranks(backend: Backend, rank: int) -> None:
    shape = (2, 3, 1, 4, 2)[:rank]
    type = f"tensor<{''.join(f'{dim}x' for dim in shape)}f32>"
    module = parse_mlir(f"""
    func.func @main(%x: {type}, %y: {type}) -> ({type}, tensor<f32>) {{
      %a = fuse.multiply %x, %y : {type}
      %b = fuse.tanh %a : {type}
      %s = fuse.sum %b : ({type}) -> tensor<f32>
      return %b, %s : {type}, tensor<f32>
    }}""")
    inputs = random_inputs(main_of(module), 0, 2)
    assert_agrees(module, inputs, compile_program(module, CompileOptions(backend=backend))(*inputs))


@pytest.mark.parametrize("reps", [[3], [2, 3], [0]])
def test_tiles_of_a_single_number(backend: Backend, reps: list[int]) -> None:
    type = f"tensor<{'x'.join(map(str, reps))}xf32>"
    module = parse_mlir(f"""
    func.func @main(%x: tensor<f32>) -> {type} {{
      %t = fuse.tile %x, reps = {reps} : (tensor<f32>) -> {type}
      %y = fuse.negative %t : {type}
      return %y : {type}
    }}""")
    (output,) = compile_program(module, CompileOptions(backend=backend))(np.float32(2))
    np.testing.assert_array_equal(output, np.full(reps, -2, np.float32))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_several_callers_at_once(backend: Backend, threads: int) -> None:
    module = parse_mlir(DYNAMIC)
    program = compile_program(module, CompileOptions(backend=backend, threads=threads, fuse=FuseOpsPass(opt_level=0)))
    generator = np.random.default_rng(0)

    def inputs_for(number: int) -> list[Array]:
        rows = 1 + number % 5
        return [np.full((rows, 8), number / 50, np.float32), weight, bias]

    weight, bias = generator.standard_normal((8, 5), np.float32), generator.standard_normal(5, np.float32)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda number: program(*inputs_for(number)), range(60)))
    for number, result in enumerate(results):
        assert_agrees(module, inputs_for(number), result)


@pytest.mark.parametrize("index", [0, -1, 3, 4, -5, 2**20, -(2**20)])
@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_take_of_indices_out_of_range(backend: Backend, mode: str, index: int) -> None:
    module = parse_mlir(f"""
    func.func @main(%x: tensor<4x3xf32>, %i: tensor<2xi64>) -> tensor<2x3xf32> {{
      %t = fuse.take %x, %i, axis = 0, mode = "{mode}" : (tensor<4x3xf32>, tensor<2xi64>)
      %r = fuse.relu %t : tensor<2x3xf32>
      return %r : tensor<2x3xf32>
    }}""")
    inputs = [np.arange(12, dtype=np.float32).reshape(4, 3), np.array([1, index])]
    np.testing.assert_array_equal(
        compile_program(module, CompileOptions(backend=backend))(*inputs)[0], run_module(module, inputs)[0]
    )
