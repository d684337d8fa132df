"""ONNX Resize and Upsample: `resize2d`, for one or two spatial axes."""

import math
from collections.abc import Sequence

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.indexing import Resize2dOp
from fuse_dialect.dialect.types import normalize_axis
from fuse_dialect.frontends.onnx_node import OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx_operators.layout import reshape
from fuse_dialect.frontends.onnx_operators.table import OperatorTable
from fuse_dialect.frontends.onnx_values import Value

OPERATORS = OperatorTable()

_COORDINATES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")


@OPERATORS.operator("Upsample")
def import_upsample(node: OnnxNode) -> Value:
    """`resize2d` by the scales that operand 1, or the attribute of opset 7, gives."""
    scales = node.reals("scales") if node.has("scales") else [float(item) for item in node.constant(1).reshape(-1)]
    shape = node.static_shape(node.operand(0))
    sizes = [math.floor(size * scale) for size, scale in zip(shape, scales, strict=True)]
    return _resize(node, sizes, scales, node.string("mode", "nearest"), "asymmetric", "floor")


@OPERATORS.operator("Resize")
def import_resize(node: OnnxNode) -> Value:
    """`resize2d`."""
    shape = node.static_shape(node.operand(0))
    if node.opset < 11:
        scales = [float(item) for item in node.constant(1).reshape(-1)]
        sizes = [math.floor(size * scale) for size, scale in zip(shape, scales, strict=True)]
        return _resize(node, sizes, scales, node.string("mode", "nearest"), "asymmetric", "floor")
    for name in ("antialias", "exclude_outside"):
        if node.flag(name):
            raise UnsupportedFormError(f"the attribute '{name}' is not supported")
    sizes, scales = _target(node, shape)
    coordinates = node.string("coordinate_transformation_mode", "half_pixel")
    rounding = node.string("nearest_mode", "round_prefer_floor")
    return _resize(node, sizes, scales, node.string("mode", "nearest"), coordinates, rounding)


def _target(node: OnnxNode, shape: Sequence[int]) -> tuple[list[int], list[float]]:
    """Sizes and scales for all axes."""
    axes = [normalize_axis(axis, len(shape)) for axis in node.integers("axes", list(range(len(shape))))]
    given = node.optional(2)
    by_scale = given is not None and node.shape(given) != (0,)
    numbers = [float(item) for item in node.constant(2 if by_scale else 3).reshape(-1)]
    if len(numbers) != len(axes) or 0 in shape or any(number < 0 for number in numbers):
        raise FuseError(f"expects a scale or a size for each of {len(axes)} axes, got {numbers}")
    policy = node.string("keep_aspect_ratio_policy", "stretch")
    if not by_scale and policy != "stretch":
        ratios = [number / shape[axis] for number, axis in zip(numbers, axes, strict=True)]
        ratio = min(ratios) if policy == "not_larger" else max(ratios)
        # ONNX rounds half up here.
        numbers = [math.floor(ratio * shape[axis] + 0.5) for axis in axes]
        by_ratio = dict.fromkeys(axes, ratio)
    else:
        by_ratio: dict[int, float] = {}
    sizes, scales = list(shape), [1.0] * len(shape)
    for axis, number in zip(axes, numbers, strict=True):
        sizes[axis] = math.floor(shape[axis] * number) if by_scale else int(number)
        scales[axis] = float(number) if by_scale else by_ratio.get(axis, sizes[axis] / shape[axis])
    return sizes, scales


def _resize(node: OnnxNode, sizes: list[int], scales: list[float], mode: str, coordinates: str, rounding: str) -> Value:
    """Resize the axes whose scale is not 1: at most two neighbouring ones."""
    x = node.operand(0)
    shape = node.static_shape(x)
    if mode not in ("nearest", "linear") or coordinates not in _COORDINATES:
        raise UnsupportedFormError(f"the mode '{mode}' with '{coordinates}' is not supported")
    changed = [
        axis for axis, (size, scale) in enumerate(zip(sizes, scales, strict=True)) if scale != 1 or size != shape[axis]
    ]
    if not changed:
        return x
    first, last = (changed[0], changed[-1]) if len(changed) > 1 else (changed[0] - 1, changed[0])
    if last - first > 1 or len(changed) > 2:
        raise UnsupportedFormError(f"resizing axes {changed} is not supported")
    height = shape[first] if first >= 0 else 1
    planes = [1, math.prod(shape[: max(first, 0)]), height, shape[last]]
    after = math.prod(shape[last + 1 :])
    layout = "NCHW" if after == 1 else "NHWC"
    source = planes if after == 1 else [planes[1], height, shape[last], after]
    if first == 0 or (last - first == 1 and len(shape) == 4 and first == 2):
        source = list(shape) if len(shape) == 4 and first == 2 else source
    target = [sizes[first] if first >= 0 else 1, sizes[last]]
    resized = node.emit(
        Resize2dOp,
        reshape(node, x, source),
        size=target,
        layout=layout,
        method=mode,
        coordinate_transformation_mode=coordinates,
        nearest_mode=rounding,
        scales=[scales[first] if first >= 0 else 1.0, scales[last]],
    )
    return reshape(node, resized, sizes)
