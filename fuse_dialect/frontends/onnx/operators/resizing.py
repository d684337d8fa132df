"""ONNX Resize and Upsample: `resize2d`, for one or two spatial axes at a time."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.fields import PropertyValue
from fuse_dialect.dialect.ops.resizing import Resize2dOp
from fuse_dialect.dialect.types import normalize_axis
from fuse_dialect.frontends.onnx.node import OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.layout import reshape
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import Value

OPERATORS = OperatorTable()


@dataclass(frozen=True, slots=True)
class _Sampling:
    """How pixels are sampled, whatever the sizes."""

    mode: str
    coordinates: str
    rounding: str
    properties: Mapping[str, PropertyValue] = field(default_factory=dict[str, PropertyValue])
    """Further properties of `resize2d`."""
    regions: Mapping[int, tuple[float, float]] = field(default_factory=dict[int, tuple[float, float]])
    """For `tf_crop_and_resize` the part of each axis that is taken."""


@OPERATORS.operator("Upsample")
def import_upsample(node: OnnxNode) -> Value:
    """`resize2d` by the scales that operand 1, or the attribute of opset 7, gives."""
    scales = node.reals("scales") if node.has("scales") else node.constant_reals(1)
    shape = node.static_shape(node.operand(0))
    sizes = _scaled(shape, scales)
    return _resize(node, sizes, scales, _Sampling(node.string("mode", "nearest"), "asymmetric", "floor"))


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
        return _resize(node, sizes, scales, _Sampling(node.string("mode", "nearest"), "asymmetric", "floor"))
    sizes, scales = _target(node, shape)
    coordinates = node.string("coordinate_transformation_mode", "half_pixel")
    properties: dict[str, PropertyValue] = {name: True for name in ("antialias", "exclude_outside") if node.flag(name)}
    if node.string("mode", "nearest") == "cubic":
        properties["cubic_alpha"] = node.real("cubic_coeff_a", -0.75)
    sampling = _Sampling(
        node.string("mode", "nearest"), coordinates, node.string("nearest_mode", "round_prefer_floor"), properties
    )
    if coordinates == "tf_crop_and_resize":
        properties["extrapolation_value"] = node.real("extrapolation_value", 0.0)
        sampling = replace(sampling, regions=_regions(node, len(shape)))
    return _resize(node, sizes, scales, sampling)


def _regions(node: OnnxNode, rank: int) -> dict[int, tuple[float, float]]:
    """The part of each axis that operand 1 says: all beginnings, then all ends."""
    axes = [normalize_axis(axis, rank) for axis in node.integers("axes", list(range(rank)))]
    numbers = node.constant_reals(1)
    if len(numbers) != 2 * len(axes):
        raise FuseError(f"expects {2 * len(axes)} numbers in 'roi', got {len(numbers)}")
    parts = zip(axes, numbers[: len(axes)], numbers[len(axes) :], strict=True)
    return {axis: (start, end) for axis, start, end in parts if (start, end) != (0.0, 1.0)}


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


def _resize(node: OnnxNode, sizes: list[int], scales: list[float], sampling: _Sampling) -> Value:
    """Resize the axes that change, two neighbours at a time; the others are batch and channels of `resize2d`."""
    x = node.operand(0)
    if len(sizes) == 1:
        x, sizes, scales = reshape(node, x, [1, *node.static_shape(x)]), [1, *sizes], [1.0, *scales]
        sampling = replace(sampling, regions={axis + 1: part for axis, part in sampling.regions.items()})
    shape, rank = node.static_shape(x), len(sizes)
    changed = [
        axis for axis, size in enumerate(shape) if size != sizes[axis] or scales[axis] != 1 or axis in sampling.regions
    ]
    if len(changed) > 2 and (sampling.regions or sampling.mode not in ("nearest", "linear", "cubic")):
        raise UnsupportedFormError(f"resizing axes {changed} with '{sampling.coordinates}' is not supported")
    while changed:
        first = 2 if rank == 4 and changed[0] >= 2 else min(changed[0], rank - 2)
        x = _resize_plane(node, x, first, sizes, scales, sampling)
        changed = [axis for axis in changed if axis > first + 1]
    final = sizes[-node.rank(node.operand(0)) :]
    return reshape(node, x, final)


def _resize_plane(
    node: OnnxNode, x: Value, first: int, sizes: list[int], scales: list[float], sampling: _Sampling
) -> Value:
    """Resize axis `first` and the one behind it."""
    shape = list(node.static_shape(x))
    before, after = math.prod(shape[:first]), math.prod(shape[first + 2 :])
    plane = shape[first : first + 2]
    layout, source = ("NCHW", [1, before, *plane]) if after == 1 else ("NHWC", [before, *plane, after])
    if len(shape) == 4 and first == 2:
        source = shape
    properties = dict(sampling.properties)
    if sampling.coordinates == "tf_crop_and_resize":
        parts = [sampling.regions.get(axis, (0.0, 1.0)) for axis in (first, first + 1)]
        properties["roi"] = [*(start for start, _ in parts), *(end for _, end in parts)]
    resized = node.emit(
        Resize2dOp,
        reshape(node, x, source),
        type=None,
        size=sizes[first : first + 2],
        layout=layout,
        method=sampling.mode,
        coordinate_transformation_mode=sampling.coordinates,
        nearest_mode=sampling.rounding,
        scales=scales[first : first + 2],
        **properties,
    )
    return reshape(node, resized, [*shape[:first], *sizes[first : first + 2], *shape[first + 2 :]])
