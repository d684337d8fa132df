"""Convolutions of 3x3 taps by tiles of 2x2 results: what NumPy gives, also where values are not finite."""

import numpy as np
import pytest
from checking.rounding import assert_near, assert_sums, roundings_of
from guarded_memory import GuardedMemory
from native_run import HOSTS
from onnx import TensorProto, helper, numpy_helper

from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.compile import compile_program
from fuse_dialect.backends.llvm import LLVMBackend
from fuse_dialect.backends.options import CompileOptions
from fuse_dialect.frontends.onnx.reader import import_model
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.loops.packing import Packing, Strided

SHAPES = {
    "batch": (2, 8, 12, 32, 64),
    "whole blocks": (1, 8, 28, 64, 32),
    "strips of unequal height": (1, 14, 14, 384, 32),
    "odd height": (1, 9, 8, 32, 32),
    "odd width": (2, 8, 9, 32, 32),
    "odd sizes": (1, 27, 13, 128, 64),
    "odd sizes, no padding": (1, 15, 17, 64, 32, 1, 0),
    "one row of tiles": (1, 6, 131, 64, 32),
    "channels that fill no vector": (1, 8, 10, 13, 41),
    "one vector, partly": (2, 5, 5, 8, 9),
    "groups": (2, 6, 7, 24, 24, 1, 1, 3),
    "groups of several panels": (1, 9, 6, 96, 96, 1, 1, 2),
    "taps apart": (1, 16, 12, 32, 32, 1, 2, 1, 2),
    "taps apart, tiles not full": (2, 14, 13, 40, 32, 1, 4, 1, 4),
    "taps apart, several strips": (1, 39, 40, 200, 16, 1, 3, 1, 3),
}


class Backend(LLVMBackend):
    """Remembers which kernels multiply points."""

    def __init__(self, **options):
        super().__init__(**options)
        self.with_points: list[bool] = []

    def compile(self, requests: list[KernelRequest]):
        self.with_points += ["_product(" in self.emit(request).ir_text for request in requests]
        return super().compile(requests)


def model(
    batch: int,
    height: int,
    width: int,
    channels: int,
    outputs: int,
    stride: int = 1,
    padding: int = 1,
    groups: int = 1,
    apart: int = 1,
):
    """Two convolutions with biases, the second one with a residual."""
    random = np.random.default_rng(0)
    first = random.standard_normal((outputs, channels // groups, 3, 3), np.float32) / np.sqrt(9 * channels)
    second = random.standard_normal((outputs, outputs // groups, 3, 3), np.float32) / np.sqrt(9 * outputs)
    constants = {"w": first.astype(np.float32), "v": second.astype(np.float32)}
    constants["b"] = constants["v"][:, 0, 0, 0].copy()
    common = {"strides": [stride] * 2, "group": groups}
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[padding] * 4, dilations=[apart] * 2, **common),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("Conv", ["d", "v", "b"], ["e"], pads=[1] * 4, group=groups),
        helper.make_node("Add", ["e", "d"], ["f"]),
        helper.make_node("Relu", ["f"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "two",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, channels, height, width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    module = import_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    return module, random.standard_normal((batch, channels, height, width), np.float32)


@pytest.mark.parametrize("target", HOSTS.values(), ids=HOSTS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_results_are_those_of_numpy(shape: tuple[int, ...], target) -> None:
    module, x = model(*shape)
    inputs = [x.copy(), x.copy(), x.copy()]
    inputs[1][-1, 3, 3, 4] = np.inf
    inputs[1][0, 2, -1, -1] = -np.inf
    inputs[2][0, 1, 0, 3] = np.nan
    expected = [run_module(module, [each])[0] for each in inputs]
    for threads in (1, 2, 3):
        backend = Backend(target=target)
        program = compile_program(module, CompileOptions(backend=backend, threads=threads))
        assert backend.with_points.count(True) == 2
        for each, array in zip(inputs, expected, strict=True):
            with GuardedMemory() as memory:
                output = memory.empty(array.shape, array.dtype, at_end=threads != 2)
                program.run_into([memory.copy(each, at_end=threads == 2)], [output])
                assert_near(output, array, roundings_of(module))
                del output


@pytest.mark.parametrize(
    "shape",
    [(1, 8, 8, 7, 7), (1, 12, 12, 32, 32, 3), (1, 4, 4, 32, 32), (1, 1, 40, 32, 32)],
    ids=["few channels", "stride 3", "few tiles", "a line"],
)
def test_other_convolutions_are_left_alone(shape: tuple[int, ...]) -> None:
    module, x = model(*shape)
    backend = Backend()
    (actual,) = compile_program(module, CompileOptions(backend=backend))(x)
    assert not any(backend.with_points)
    assert_near(actual, run_module(module, [x])[0], roundings_of(module))


def test_points_stand_in_front_of_taps() -> None:
    taps = np.random.default_rng(0).standard_normal((3, 3, 2, 8), np.float32)
    axes = (Strided(3, 48), Strided(3, 16), Strided(2, 8))
    packing = Packing("f32", 0, (), Strided(8, 1), axes, 4, has_points=True)
    packed = packing.apply(taps)
    assert packed.size == packing.size
    assert packing.points_size == 16 * 2 * 2 * 4
    plain = Packing("f32", 0, (), Strided(8, 1), axes, 4).apply(taps)
    np.testing.assert_array_equal(packed[packing.points_size :], plain)
    matrix = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
    points = np.einsum("ai,bj,ijcpw->abpcw", matrix, matrix, taps.reshape(3, 3, 2, 2, 4))
    # Three taps along each axis, of which a point is a sum with shares of 1 at most.
    assert_sums(packed[: packing.points_size].reshape(points.shape), points, 9, np.abs(taps).max() * 9)
