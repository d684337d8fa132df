"""Quotients have the bits of NumPy's: on every kind of target, whatever shape the operands have."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from native_run import HOSTS, Native
from onnx import TensorProto, helper

import fuse_dialect as fd
from fuse_dialect.frontends.onnx.reader import import_model
from fuse_dialect.loops.elements import dtype_named
from fuse_dialect.loops.program import LoopProgram
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower

SHAPES = {"equal": (9, 300), "a column": (9, 1), "a row": (300,), "a number": ()}


@pytest.mark.parametrize("target", HOSTS)
@pytest.mark.parametrize("element", ["f32", "f64", "f16", "bf16"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_divide_has_the_bits_of_numpy(target: str, element: str, shape: tuple[int, ...]) -> None:
    types = [f"tensor<{''.join(f'{size}x' for size in each)}{element}>" for each in ((9, 300), shape)]
    module = fd.parse(f"""func.func @main(%x: {types[0]}, %s: {types[1]}) -> {types[0]} {{
      %y = fuse.divide %x, %s : ({types[0]}, {types[1]}) -> {types[0]}
      return %y : {types[0]}
    }}""")
    random = np.random.default_rng(0)
    x, s = (random.uniform(0.5, 2, each).astype(dtype_named(element)) for each in ((9, 300), shape))
    (expected,) = fd.run(module, x, s)
    program = lower(next(iter(module.ops)))
    assert isinstance(program, LoopProgram)
    (actual,) = Native(simplify(program), HOSTS[target])(x, s, parts=2)
    assert actual.tobytes() == expected.tobytes()


def test_a_row_by_its_maximum_has_the_bits_of_numpy() -> None:
    module = fd.parse("""func.func @main(%x: tensor<9x300xf32>) -> tensor<9x300xf32> {
      %a = fuse.abs %x : tensor<9x300xf32>
      %m = fuse.max %a, axes = [1], keepdims = true : (tensor<9x300xf32>) -> tensor<9x1xf32>
      %y = fuse.divide %x, %m : (tensor<9x300xf32>, tensor<9x1xf32>) -> tensor<9x300xf32>
      return %y : tensor<9x300xf32>
    }""")
    x = np.random.default_rng(0).standard_normal((9, 300)).astype(np.float32)
    for strategy in ("tvm", "cost"):
        (actual,) = fd.compile(module, strategy=strategy, cache=False)(x)
        assert actual.tobytes() == fd.run(module, x)[0].tobytes()


def test_fast_math_lets_quotients_be_rough() -> None:
    module = fd.parse("""func.func @main(%x: tensor<9x300xf32>, %s: tensor<9x1xf32>) -> tensor<9x300xf32> {
      %y = fuse.divide %x, %s : (tensor<9x300xf32>, tensor<9x1xf32>) -> tensor<9x300xf32>
      return %y : tensor<9x300xf32>
    }""")
    random = np.random.default_rng(0)
    x, s = (random.uniform(1, 2, shape).astype(np.float32) for shape in ((9, 300), (9, 1)))
    exact, (fast,) = fd.run(module, x, s)[0], fd.compile(module, fast_math=True, cache=False)(x, s)
    off = np.abs(fast.astype(np.float64) - exact) / np.spacing(exact)
    assert 0 < off.max() <= 2


@pytest.mark.parametrize("cpu", [None, "haswell", "x86-64-v2"])
def test_numbers_halfway_are_quantized_as_numpy_does(cpu: str | None) -> None:
    """Scales of 1/8: every other number lies halfway between two integers, up to the last bit of the quotient."""
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero"])
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [13, 75])]
    outputs = [
        helper.make_tensor_value_info("y", TensorProto.UINT8, [13, 75]),
        helper.make_tensor_value_info("scale", TensorProto.FLOAT, []),
        helper.make_tensor_value_info("zero", TensorProto.UINT8, []),
    ]
    graph = helper.make_graph([node], "g", ports, outputs)
    module = import_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    for seed in range(8):
        random = np.random.default_rng(seed)
        x = (random.integers(-255, 256, (13, 75)) / 2).astype(np.float32)
        x.flat[:2] = -127.5 * 0.7, 127.5
        x *= np.float32(random.uniform(0.1, 2))
        for actual, expected in zip(fd.compile(module, target_cpu=cpu, cache=False)(x), fd.run(module, x), strict=True):
            np.testing.assert_array_equal(actual, expected)
