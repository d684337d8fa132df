"""Resize and Upsample along any number of axes, against ONNX's reference implementation.

Sampling is separable: what one axis does is independent of the others. So a crop, which the reference implementation
reads from scales that it has rounded, is compared with the same axes resized by one node each.
"""

import itertools
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import fuse_dialect as fd
from fuse_dialect.dialect.op import Array
from fuse_dialect.frontends.onnx.reader import import_model

MODES: list[dict[str, Any]] = [
    {"mode": "nearest"},
    {"mode": "nearest", "nearest_mode": "floor"},
    {"mode": "nearest", "nearest_mode": "ceil"},
    {"mode": "nearest", "nearest_mode": "round_prefer_ceil"},
    {"mode": "linear"},
    {"mode": "linear", "antialias": 1},
    {"mode": "linear", "exclude_outside": 1},
    {"mode": "cubic"},
    {"mode": "cubic", "antialias": 1},
    {"mode": "cubic", "cubic_coeff_a": -0.5, "exclude_outside": 1},
]
COORDINATES = ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric"]
AXES = [
    ((1, 1, 2, 2, 4), (2, 3, 4)),
    ((2, 3, 2, 4), (1, 2, 3)),
    ((3, 2, 4, 2), (0, 1, 2, 3)),
    ((2, 3, 4), (0, 1, 2)),
    ((2, 3, 2, 4, 2, 3), (0, 2, 3, 5)),
    ((2, 3, 2, 2, 4), (1, 2, 4)),
    ((2, 3, 4, 3), (1, 3)),
    ((2, 3, 2, 4, 3), (1, 3)),
]
"""A shape, and the axes that change."""
SCALES = (2.0, 1.5, 0.5, 3.0)
"""No axis gets a single pixel: with `pytorch_half_pixel` that is at 0, and for the reference implementation at -0.5."""


def resize(shape: tuple[int, ...], inputs: dict[str, Array], opset: int = 19, **attributes: Any) -> onnx.ModelProto:
    """A model of one Resize."""
    names = ["x", *(name if name in inputs else "" for name in ("roi", "scales", "sizes"))]
    while not names[-1]:
        names.pop()
    node = helper.make_node("Resize", names, ["y"], **attributes)
    tensors = [numpy_helper.from_array(array, name) for name, array in inputs.items()]
    return _model(node, shape, tensors, opset)


def _model(
    node: onnx.NodeProto, shape: tuple[int, ...], tensors: list[onnx.TensorProto], opset: int
) -> onnx.ModelProto:
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    graph = helper.make_graph([node], "g", ports, [helper.make_value_info("y", onnx.TypeProto())], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def elements(shape: tuple[int, ...]) -> Array:
    """Numbers between -1 and 1."""
    return np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)


def check(model: onnx.ModelProto, x: Array, expected: Array) -> None:
    """Compare both ways to run a model with what it gives."""
    module = import_model(model)
    # At most 4 weights an axis, whose absolute sum is below 2, and as many roundings.
    for (got,) in (fd.run(module, x), fd.compile(module, cache=False)(x)):
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=0, atol=2 ** len(x.shape) * 8 * np.finfo(np.float32).eps)


# The reference implementation is slow: all pairs of a mode and coordinates, and of a mode and a shape.
@pytest.mark.parametrize(
    ("mode", "coordinates", "shape", "axes"),
    [
        (mode, COORDINATES[(number + step) % len(COORDINATES)], *AXES[step])
        for number, mode in enumerate(MODES)
        for step in range(len(AXES))
    ],
    ids=str,
)
def test_axes_are_resized_once(mode: dict, coordinates: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    scales = np.array(SCALES[: len(axes)], np.float32)
    model = resize(shape, {"scales": scales}, axes=axes, coordinate_transformation_mode=coordinates, **mode)
    x = elements(shape)
    check(model, x, ReferenceEvaluator(model).run(None, {"x": x})[0])


@pytest.mark.parametrize(("shape", "axes"), AXES)
@pytest.mark.parametrize("mode", [{"mode": "nearest"}, {"mode": "linear"}, {"mode": "cubic"}], ids=str)
def test_a_crop_of_many_axes_is_one_of_each(shape: tuple[int, ...], axes: tuple[int, ...], mode: dict) -> None:
    crop = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.5, **mode}
    sizes = [round(shape[axis] * scale) for axis, scale in zip(axes, SCALES, strict=False)]
    parts = list(itertools.islice(zip((-0.15, 0.05, 0.13, -0.07), (0.93, 1.17, 0.81, 0.97), strict=True), len(axes)))
    x = elements(shape)
    expected = x
    for axis, size, part in zip(axes, sizes, parts, strict=True):
        inputs = {"roi": np.array(part, np.float32), "sizes": np.array([size])}
        one = import_model(resize(expected.shape, inputs, axes=[axis], **crop))
        (expected,) = fd.run(one, expected)
    starts, ends = zip(*parts, strict=True)
    inputs = {"roi": np.array([*starts, *ends], np.float32), "sizes": np.array(sizes)}
    check(resize(shape, inputs, axes=axes, **crop), x, expected)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_upsample_of_volumes(mode: str) -> None:
    shape, scales = (1, 2, 2, 3, 2), np.array([1, 1, 2, 2, 3], np.float32)
    node = helper.make_node("Upsample", ["x", "scales"], ["y"], mode=mode)
    model = _model(node, shape, [numpy_helper.from_array(scales, "scales")], opset=9)
    same = resize(
        shape, {"scales": scales}, mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode="floor"
    )
    x = elements(shape)
    check(model, x, ReferenceEvaluator(same).run(None, {"x": x})[0])


@pytest.mark.parametrize(
    ("scale", "columns"), [(0.6, [0, 2, 4]), (0.4, [0, 3]), (1.0, [0, 1, 2, 3, 4]), (1.4, [0, 0, 1, 2, 2, 3, 4])]
)
def test_the_first_resize_takes_the_pixel_behind_where_it_shrinks(scale: float, columns: list[int]) -> None:
    """Opset 10 has no `nearest_mode`; the pixels are those of onnxruntime."""
    node = helper.make_node("Resize", ["x", "scales"], ["y"], mode="nearest")
    scales = numpy_helper.from_array(np.array([1, 1, 2, scale], np.float32), "scales")
    model = _model(node, (1, 1, 2, 5), [scales], opset=10)
    x = np.arange(10, dtype=np.float32).reshape(1, 1, 2, 5)
    check(model, x, x[:, :, [0, 0, 1, 1]][..., columns])


@pytest.mark.parametrize("opset", [10, 11, 19])
@pytest.mark.parametrize("size", [10, "n"])
@pytest.mark.parametrize(("scale", "expected"), [(1.3, 13), (0.7, 7), (1.4, 14), (2.8, 28), (0.25, 2), (1.95, 19)])
def test_sizes_are_multiplied_in_32_bits(opset: int, size: int | str, scale: float, expected: int) -> None:
    """As by onnxruntime and PyTorch; in 64 bits the scale of 1.3, which is a little less in 32, makes twelve of ten."""
    inputs = ["x", "scales"] if opset == 10 else ["x", "", "scales"]
    node = helper.make_node("Resize", inputs, ["y"], mode="nearest")
    scales = numpy_helper.from_array(np.array([1, 1, 1, scale], np.float32), "scales")
    module = import_model(_model(node, (1, 1, 1, size), [scales], opset))
    x = np.arange(10, dtype=np.float32).reshape(1, 1, 1, 10)
    for (got,) in (fd.run(module, x), fd.compile(module, cache=False)(x)):
        assert got.shape == (1, 1, 1, expected)
