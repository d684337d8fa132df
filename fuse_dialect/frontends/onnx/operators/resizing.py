"""ONNX Resize and Upsample: `resize2d`, for one or two spatial axes."""

import math
from collections.abc import Sequence

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.resizing import Resize2dOp
from fuse_dialect.dialect.types import normalize_axis
from fuse_dialect.frontends.onnx.node import OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.layout import reshape
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Value

OPERATORS = OperatorTable()

_COORDINATES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")


@OPERATORS.operator("Upsample")
def import_upsample(node: OnnxNode) -> Value:
    """`resize2d` by the scales that operand 1, or the attribute of opset 7, gives."""
    scales = node.reals("scales") if node.has("scales") else node.constant_reals(1)
    shape = node.static_shape(node.operand(0))
    sizes = _scaled(shape, scales)
    return _resize(node, sizes, scales, node.string("mode", "nearest"), "asymmetric", "floor")


def _scaled(shape: Sequence[int], scales: Sequence[float]) -> list[int]:
    """Each size times its scale."""
    if len(scales) != len(shape) or not all(math.isfinite(scale) and scale > 0 for scale in scales):
        raise FuseError(f"expects {len(shape)} positive scales, got {list(scales)}")
    return [math.floor(size * scale) for size, scale in zip(shape, scales, strict=True)]


@OPERATORS.operator("Resize")
def import_resize(node: OnnxNode) -> Value:
    """`resize2d`."""
    shape = node.static_shape(node.operand(0))
    if node.opset < 11:
        scales = node.constant_reals(1)
        sizes = _scaled(shape, scales)
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
    numbers = node.constant_reals(2 if by_scale else 3)
    if len(numbers) != len(axes) or 0 in shape or not all(0 <= number < math.inf for number in numbers):
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
    """Resize the axes that change: one, or two neighbours; the others are the batch and the channels of `resize2d`."""
    x = node.operand(0)
    if mode not in ("nearest", "linear") or coordinates not in _COORDINATES:
        raise UnsupportedFormError(f"the mode '{mode}' with '{coordinates}' is not supported")
    shape, target, factors = list(node.static_shape(x)), list(sizes), list(scales)
    if len(shape) == 1:
        shape, target, factors = [1, *shape], [1, *target], [1.0, *factors]
    changed = [axis for axis, size in enumerate(shape) if size != target[axis] or factors[axis] != 1]
    if not changed:
        return x
    first = 2 if len(shape) == 4 and changed[0] >= 2 else min(changed[0], len(shape) - 2)
    if changed[-1] > first + 1:
        raise UnsupportedFormError(f"resizing axes {changed} is not supported")
    plane = shape[first : first + 2]
    before, after = math.prod(shape[:first]), math.prod(shape[first + 2 :])
    layout, source = ("NCHW", [1, before, *plane]) if after == 1 else ("NHWC", [before, *plane, after])
    if len(shape) == 4 and first == 2:
        source = shape
    resized = node.emit(
        Resize2dOp,
        reshape(node, x, source),
        size=target[first : first + 2],
        layout=layout,
        method=mode,
        coordinate_transformation_mode=coordinates,
        nearest_mode=rounding,
        scales=factors[first : first + 2],
    )
    return reshape(node, resized, sizes)
