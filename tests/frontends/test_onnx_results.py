"""Results that onnxruntime 1.32 gives, recorded: what the text of an operator leaves open, or is read wrongly.

The numbers stand here so that the tests need no onnxruntime.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import fuse_dialect as fd
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.op import Array
from fuse_dialect.frontends.onnx.reader import import_model
from fuse_dialect.targets.onnx.model import onnx_model

LEAST = -(2**63)


def one_node(
    op_type: str,
    shape: Sequence[int | str],
    constants: Mapping[str, Array] | None = None,
    inputs: Mapping[str, Sequence[int]] | None = None,
    opset: int = 18,
    outputs: Sequence[str] = ("y",),
    **attributes: Any,
) -> onnx.ModelProto:
    """A model of one node on `x`, then constants and inputs of i64."""
    constants, inputs = constants or {}, inputs or {}
    node = helper.make_node(op_type, ["x", *inputs, *constants], list(outputs), **attributes)
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    ports += [helper.make_tensor_value_info(name, TensorProto.INT64, sizes) for name, sizes in inputs.items()]
    results = [helper.make_value_info(name, onnx.TypeProto()) for name in outputs]
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph([node], "g", ports, results, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


SLICES = [
    # start, end, step: of [0, 1, 2, 3, 4]
    (-100, LEAST, -1, [0]),
    (-6, LEAST, -1, [0]),
    (-6, -6, -2, [0]),
    (-5, LEAST, -1, [0]),
    (-6, 0, -1, []),
    (-2, LEAST, -2, [3, 1]),
    (-1, -100, -1, [4, 3, 2, 1, 0]),
    (100, -4, -1, [4, 3, 2]),
    (-100, 2, 1, [0, 1]),
    (2, 100, 2, [2, 4]),
]


@pytest.mark.parametrize("size", [5, "n"])
@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize(("start", "end", "step", "expected"), SLICES)
def test_slices(start: int, end: int, step: int, expected: list[int], size: int | str, computed: bool) -> None:
    x = np.arange(5, dtype=np.float32)
    numbers = {"starts": np.array([start]), "ends": np.array([end]), "axes": np.array([0]), "steps": np.array([step])}
    if computed:
        node = helper.make_node("Slice", ["x", "starts", "ends", "axes", "steps"], ["y"])
        ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [size])]
        ports += [helper.make_tensor_value_info(name, TensorProto.INT64, [1]) for name in ("starts", "ends", "steps")]
        graph = helper.make_graph(
            [node],
            "g",
            ports,
            [helper.make_value_info("y", onnx.TypeProto())],
            [numpy_helper.from_array(numbers["axes"], "axes")],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
        arrays = [x, numbers["starts"], numbers["ends"], numbers["steps"]]
    else:
        model, arrays = one_node("Slice", [size], numbers), [x]
    module = import_model(model)
    np.testing.assert_array_equal(fd.run(module, *arrays)[0], np.array(expected, np.float32))
    # What is written means the same again.
    written = onnx_model(module)
    onnx.checker.check_model(written, full_check=True)
    np.testing.assert_array_equal(fd.run(import_model(written), *arrays)[0], np.array(expected, np.float32))


def test_slices_of_shapes() -> None:
    shape = helper.make_node("Shape", ["x"], ["s"])
    cut = helper.make_node("Slice", ["s", "starts", "ends", "axes", "steps"], ["y"])
    numbers = {"starts": [-9], "ends": [LEAST], "axes": [0], "steps": [-1]}
    tensors = [numpy_helper.from_array(np.array(number), name) for name, number in numbers.items()]
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])]
    results = [helper.make_tensor_value_info("y", TensorProto.INT64, None)]
    graph = helper.make_graph([shape, cut], "g", ports, results, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    np.testing.assert_array_equal(fd.run(import_model(model), np.zeros((3, 4), np.float32))[0], [3])


SAME_POOLS = [
    # operator, auto_pad, size, window, stride: of [1, 2, ...]
    ("AveragePool", "SAME_UPPER", 3, 1, 3, [2]),
    ("AveragePool", "SAME_LOWER", 3, 1, 3, [1]),
    ("AveragePool", "SAME_UPPER", 4, 1, 4, [2]),
    ("AveragePool", "SAME_LOWER", 4, 1, 4, [2]),
    ("AveragePool", "SAME_UPPER", 5, 1, 5, [3]),
    ("AveragePool", "SAME_LOWER", 5, 1, 5, [2]),
    ("AveragePool", "SAME_UPPER", 8, 2, 4, [2.5, 6.5]),
    ("AveragePool", "SAME_LOWER", 8, 2, 4, [1.5, 5.5]),
    ("AveragePool", "SAME_UPPER", 2, 1, 2, [1]),
    ("AveragePool", "SAME_UPPER", 3, 2, 2, [1.5, 3]),
    ("AveragePool", "SAME_LOWER", 3, 2, 2, [1, 2.5]),
    ("LpPool", "SAME_UPPER", 9, 1, 5, [2, 7]),
    ("LpPool", "SAME_LOWER", 9, 1, 5, [2, 7]),
    ("LpPool", "SAME_LOWER", 8, 1, 5, [1, 6]),
    ("MaxPool", "SAME_UPPER", 8, 3, 5, [3, 8]),
    ("MaxPool", "SAME_LOWER", 8, 3, 5, [3, 8]),
]


@pytest.mark.parametrize(("op_type", "auto_pad", "size", "window", "stride", "expected"), SAME_POOLS)
def test_pools_whose_strides_are_longer_than_their_windows(
    op_type: str, auto_pad: str, size: int, window: int, stride: int, expected: list[float]
) -> None:
    model = one_node(op_type, [1, 1, size], opset=22, auto_pad=auto_pad, kernel_shape=[window], strides=[stride])
    x = np.arange(1, size + 1, dtype=np.float32).reshape(1, 1, size)
    np.testing.assert_array_equal(fd.run(import_model(model), x)[0].ravel(), np.array(expected, np.float32))


def test_places_in_a_cropped_image_are_refused() -> None:
    attributes = {"auto_pad": "SAME_UPPER", "kernel_shape": [1], "strides": [3]}
    import_model(one_node("MaxPool", [1, 1, 6], **attributes))
    with pytest.raises(FuseError, match="'Indices' with strides longer than windows"):
        import_model(one_node("MaxPool", [1, 1, 6], outputs=("y", "places"), **attributes))


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
def test_convolutions_start_at_the_first_element_however_long_the_strides_are(auto_pad: str) -> None:
    weight = {"w": np.ones((1, 1, 1), np.float32)}
    model = one_node("Conv", [1, 1, 6], weight, auto_pad=auto_pad, strides=[3])
    x = np.arange(1, 7, dtype=np.float32).reshape(1, 1, 6)
    np.testing.assert_array_equal(fd.run(import_model(model), x)[0].ravel(), [1, 4])


INF = np.inf
ROWS = [
    ([-INF, -INF, -INF], -INF),
    ([INF, 1, 2], INF),
    ([INF, -INF, 0], INF),
    ([1, -INF, 2], 2.3132617),
    ([np.nan, 1, 2], np.nan),
    ([1e30, 1, 2], 1e30),
    ([200, -200, 1], 200),
]


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_logarithms_of_sums_of_exponentials_of_infinite_rows(backend: str, keepdims: int) -> None:
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    x, expected = np.array([row for row, _ in ROWS], np.float32), np.array([sum for _, sum in ROWS], np.float32)
    model = one_node("ReduceLogSumExp", list(x.shape), {"axes": np.array([1])}, keepdims=keepdims)
    (got,) = fd.compile(import_model(model), backend=backend)(x)
    np.testing.assert_allclose(got.ravel(), expected, rtol=1e-6)
    assert got.ndim == 1 + keepdims


@pytest.mark.parametrize(
    ("aligned", "expected"),
    [
        (0, [1.0, 0.9999996423721313, 5.203125, 25.31640625, 25.0, 25.0]),
        (1, [1.0, 0.6759989261627197, 5.759995460510254, 25.864002227783203, 25.216001510620117, 25.0]),
    ],
)
def test_cubic_samples_beyond_the_border(aligned: int, expected: list[float]) -> None:
    x = np.arange(1, 6, dtype=np.float32).reshape(1, 1, 1, 5) ** 2
    grid = np.array([[[[place, 0] for place in (-1.5, -1.2, -0.3, 1.1, 1.4, 3)]]], np.float32)
    node = helper.make_node(
        "GridSample", ["x", "grid"], ["y"], mode="cubic", padding_mode="border", align_corners=aligned
    )
    arrays = {"x": x, "grid": grid}
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in arrays.items()]
    graph = helper.make_graph([node], "g", ports, [helper.make_value_info("y", onnx.TypeProto())])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    np.testing.assert_allclose(fd.run(import_model(model), x, grid)[0].ravel(), expected, rtol=1e-6)


def test_what_remains_of_a_size_and_a_factor_is_no_size_of_the_operand() -> None:
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["z"]), helper.make_node("Shape", ["z"], ["y"])]
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 6])]
    results = [helper.make_tensor_value_info("y", TensorProto.INT64, None)]
    graph = helper.make_graph(nodes, "g", ports, results, [numpy_helper.from_array(np.array([3, -1]), "shape")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    np.testing.assert_array_equal(fd.run(import_model(model), np.zeros((5, 6), np.float32))[0], [3, 10])


def test_statistics_of_narrow_floats_are_formed_in_32_bits() -> None:
    node = helper.make_node("LayerNormalization", ["x", "scale"], ["y", "mean"], axis=1)
    scale = numpy_helper.from_array(np.ones((2, 3), np.float16), "scale")
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT16, [1, 2, 3])]
    results = [
        helper.make_tensor_value_info("y", TensorProto.FLOAT16, [1, 2, 3]),
        helper.make_tensor_value_info("mean", TensorProto.FLOAT, [1, 1, 1]),
    ]
    graph = helper.make_graph([node], "g", ports, results, [scale])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    x = np.array([[[1000, 2000, 3000], [4000, 5000, 6001]]], np.float16)
    y, mean = fd.run(import_model(model), x)
    assert (y.dtype, mean.dtype) == (np.float16, np.float32)
    np.testing.assert_allclose(mean.ravel(), x.astype(np.float32).mean(), rtol=1e-6)


def test_each_block_has_its_own_scale_and_the_last_may_be_short() -> None:
    scales = np.array([[1, 2], [4, 0.5]], np.float32)
    model = one_node("QuantizeLinear", [2, 5], {"scale": scales}, opset=21, axis=1, block_size=3)
    (got,) = fd.run(import_model(model), np.full((2, 5), 8, np.float32))
    np.testing.assert_array_equal(got, [[8, 8, 8, 4, 4], [2, 2, 2, 16, 16]])


@pytest.mark.parametrize("zero", [np.int8(0), np.int8(5), np.uint8(0), np.uint8(7), np.int16(3)], ids=repr)
def test_nan_is_quantized_to_the_least_integer_everywhere(zero: np.generic) -> None:
    model = one_node("QuantizeLinear", [6], {"s": np.array(0.1, np.float32), "z": np.array(zero)}, opset=21)
    x = np.array([np.nan, np.inf, -np.inf, 1.05, -1e30, 0.25], np.float32)
    (got,) = fd.run(import_model(model), x)
    limits = np.iinfo(zero.dtype)
    assert (got[0], got[1], got[2], got[4]) == (limits.min, limits.max, limits.min, limits.min)
    pytest.importorskip("llvmlite")
    np.testing.assert_array_equal(fd.compile(import_model(model), cache=False)(x)[0], got)


@pytest.mark.parametrize("auto", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(
    ("kernel", "strides"), [((2, 1), (3, 3)), ((1, 1), (2, 2)), ((2, 2), (5, 4)), ((4, 5), (3, 3))]
)
def test_same_padding_makes_as_many_pixels_as_strides_say(
    auto: str, kernel: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    """As onnxruntime gives them where `output_shape` asks for that many; for `auto_pad` alone it stops earlier."""
    weight = {"w": np.arange(1, 1 + kernel[0] * kernel[1], dtype=np.float32).reshape(1, 1, *kernel)}
    x = np.arange(28, dtype=np.float32).reshape(1, 1, 4, 7)
    shape = [4 * strides[0], 7 * strides[1]]
    model, asked = (
        one_node("ConvTranspose", [1, 1, 4, 7], weight, opset=22, auto_pad=auto, strides=strides, **more)
        for more in ({}, {"output_shape": shape})
    )
    (got,) = fd.run(import_model(model), x)
    assert got.shape == (1, 1, *shape)
    np.testing.assert_array_equal(got, fd.run(import_model(asked), x)[0])
    if kernel[0] <= strides[0] and kernel[1] <= strides[1]:
        # No two kernels overlap: each pixel makes a kernel of its own, and zeros between and behind.
        blocks = np.zeros((4, strides[0], 7, strides[1]), np.float32)
        blocks[:, : kernel[0], :, : kernel[1]] = np.einsum("yx,ij->yixj", x[0, 0], weight["w"][0, 0])
        np.testing.assert_array_equal(got[0, 0], blocks.reshape(shape))


def test_a_negative_alpha_of_celu_bends_negative_elements_too() -> None:
    x = np.array([-2, -0.5, 0, 1.5, np.inf, -np.inf, np.nan], np.float32)
    module = import_model(one_node("Celu", [7], alpha=-0.5))
    expected = [-26.799074, -0.8591409, 0, 1.5, np.inf, -np.inf, np.nan]
    for (got,) in (fd.run(module, x), fd.compile(module, cache=False)(x)):
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_global_pools_of_powers() -> None:
    x = np.array([[[3, -4], [0, 1]]], np.float32)
    np.testing.assert_allclose(fd.run(import_model(one_node("GlobalLpPool", [1, 2, 2])), x)[0], [[[5], [1]]])
    np.testing.assert_allclose(fd.run(import_model(one_node("GlobalLpPool", [1, 2, 2], p=1)), x)[0], [[[7], [1]]])


def test_groups_of_channels_that_are_not_known_are_refused_in_words() -> None:
    """The number that stands for an open size was part of the message."""
    constants = {"scale": np.ones(2, np.float32), "bias": np.ones(2, np.float32)}
    model = one_node("GroupNormalization", ["n", "c", 3], constants, num_groups=2)
    with pytest.raises(FuseError, match="needs a known number of channels"):
        import_model(model)


@pytest.mark.parametrize("bounds", [{}, {"min": -2.0}, {"max": 2.0}])
def test_early_clips_cut_infinities(bounds: dict[str, float]) -> None:
    largest = np.finfo(np.float32).max
    low, high = bounds.get("min", -largest), bounds.get("max", largest)
    module = import_model(one_node("Clip", [4], opset=10, **bounds))
    x = np.array([-np.inf, np.inf, np.nan, 1.5], np.float32)
    for (got,) in (fd.run(module, x), fd.compile(module, cache=False)(x)):
        np.testing.assert_array_equal(got, np.array([low, high, np.nan, 1.5], np.float32))
