"""ONNX Resize and Upsample: `resize2d` and `dyn_resize2d`, for one or two axes at a time."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fuse_dialect.analysis.sizes import Size, integers_of, product_of, scaled
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.fields import PropertyValue
from fuse_dialect.dialect.ops.dynamic import DynResize2dOp
from fuse_dialect.dialect.ops.resizing import Resize2dOp
from fuse_dialect.dialect.types import normalize_axis
from fuse_dialect.frontends.onnx.node import DynamicShapeError, OnnxNode
from fuse_dialect.frontends.onnx.operators.arithmetic import cast_to
from fuse_dialect.frontends.onnx.operators.layout import reshape_to_sizes
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.values import SizeVector, Value, size_vector

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
    sizes = _scaled(node, scales)
    return _resize(node, sizes, scales, _Sampling(node.string("mode", "nearest"), "asymmetric", "floor"))


def resize_to_multiples(node: OnnxNode, scales: Sequence[int], *, mode: str, coordinates: str) -> Value:
    """The first operand with every axis so many times as long."""
    factors = [float(scale) for scale in scales]
    return _resize(node, _scaled(node, factors), factors, _Sampling(mode, coordinates, "floor"))


def _scaled(node: OnnxNode, scales: Sequence[float]) -> list[int | Size]:
    """Each size times its scale."""
    sizes = node.sizes(node.operand(0))
    if len(scales) != len(sizes) or not all(math.isfinite(scale) and scale > 0 for scale in scales):
        raise FuseError(f"expects {len(sizes)} positive scales, got {list(scales)}")
    return [scaled(size, scale) for size, scale in zip(sizes, scales, strict=True)]


@OPERATORS.operator("Resize")
def import_resize(node: OnnxNode) -> Value:
    """`resize2d`, or `dyn_resize2d` to a size that depends on the input of the model.

    Between integers, numbers are cut off after they were computed in f32, as by onnxruntime.
    """
    x = node.operand(0)
    if node.string("mode", "nearest") != "nearest" and node.dtype(x).kind in "iu":
        real = cast_to(node, x, np.dtype(np.float32))
        return cast_to(node, import_resize(replace(node, operands=(real, *node.operands[1:]))), node.dtype(x))
    if node.opset < 11:
        return _by_early_scales(node)
    coordinates = node.string("coordinate_transformation_mode", "half_pixel")
    properties: dict[str, PropertyValue] = {name: True for name in ("antialias", "exclude_outside") if node.flag(name)}
    if node.string("mode", "nearest") == "cubic":
        properties["cubic_alpha"] = node.real("cubic_coeff_a", -0.75)
    sampling = _Sampling(
        node.string("mode", "nearest"), coordinates, node.string("nearest_mode", "round_prefer_floor"), properties
    )
    if coordinates == "tf_crop_and_resize":
        properties["extrapolation_value"] = node.real("extrapolation_value", 0.0)
        sampling = replace(sampling, regions=_regions(node, node.rank(node.operand(0))))
    scales = node.optional(2)
    if (scales is None or node.shape(scales) == (0,)) and node.known_elements(3) is None:
        return _resize_to_computed(node, sampling)
    sizes, factors = _target(node)
    return _resize(node, sizes, factors, sampling)


def _by_early_scales(node: OnnxNode) -> Value:
    """Resize of opset 10: the nearest pixel is the one behind a place where an axis shrinks, else the one before it.

    Source: ONNX's case of a shrunk image in opset 10, and onnxruntime.
    """
    scales, mode = node.constant_reals(1), node.string("mode", "nearest")
    shrunk = [min(scale, 1.0) for scale in scales]
    if mode == "nearest" and any(scale < 1 for scale in scales):
        # Axes are independent of each other, so that those that shrink can be first.
        x = _resize(node, _scaled(node, shrunk), shrunk, _Sampling(mode, "asymmetric", "ceil"))
        node, scales = replace(node, operands=(x, *node.operands[1:])), [max(scale, 1.0) for scale in scales]
    return _resize(node, _scaled(node, scales), scales, _Sampling(mode, "asymmetric", "floor"))


def _regions(node: OnnxNode, rank: int) -> dict[int, tuple[float, float]]:
    """The part of each axis that operand 1 says: all beginnings, then all ends."""
    axes = [normalize_axis(axis, rank) for axis in node.integers("axes", list(range(rank)))]
    numbers = node.constant_reals(1)
    if len(numbers) != 2 * len(axes):
        raise FuseError(f"expects {2 * len(axes)} numbers in 'roi', got {len(numbers)}")
    parts = zip(axes, numbers[: len(axes)], numbers[len(axes) :], strict=True)
    return {axis: (start, end) for axis, start, end in parts if (start, end) != (0.0, 1.0)}


def _target(node: OnnxNode) -> tuple[list[int | Size], list[float | None]]:
    """Sizes and scales for all axes; no scale where it is the quotient of two sizes that the running model knows."""
    shape = node.sizes(node.operand(0))
    axes = [normalize_axis(axis, len(shape)) for axis in node.integers("axes", list(range(len(shape))))]
    given = node.optional(2)
    by_scale = given is not None and node.shape(given) != (0,)
    numbers = node.constant_reals(2) if by_scale else _wanted_sizes(node)
    if (
        len(numbers) != len(axes)
        or not all(isinstance(number, Size) or 0 <= number < math.inf for number in numbers)
        # An axis of no elements has none to make others of; to no elements it is not changed.
        or (not by_scale and any(shape[axis] == 0 != number for axis, number in zip(axes, numbers, strict=True)))
    ):
        raise FuseError(f"expects a scale or a size for each of {len(axes)} axes, got {numbers}")
    policy = node.string("keep_aspect_ratio_policy", "stretch")
    by_ratio: dict[int, float] = {}
    if not by_scale and policy != "stretch":
        ratios = [_ratio(number, shape[axis]) for number, axis in zip(numbers, axes, strict=True)]
        known = [ratio for ratio in ratios if ratio is not None]
        if len(known) < len(axes):
            raise DynamicShapeError(f"the policy '{policy}' needs static sizes")
        ratio = min(known) if policy == "not_larger" else max(known)
        # ONNX rounds half up here.
        numbers = [math.floor(ratio * size + 0.5) for axis in axes if not isinstance(size := shape[axis], Size)]
        by_ratio = dict.fromkeys(axes, ratio)
    sizes, factors = list(shape), list[float | None]([1.0] * len(shape))
    for axis, number in zip(axes, numbers, strict=True):
        if by_scale and not isinstance(number, Size):
            sizes[axis], factors[axis] = scaled(shape[axis], number), float(number)
        else:
            sizes[axis] = number if isinstance(number, Size) else int(number)
            factors[axis] = by_ratio.get(axis, _ratio(number, shape[axis]))
    return sizes, factors


def _resize_to_computed(node: OnnxNode, sampling: _Sampling) -> Value:
    """`dyn_resize2d` to sizes of the spatial axes that the running model computes."""
    x = node.operand(0)
    axes, policy = node.integers("axes", []), node.string("keep_aspect_ratio_policy", "stretch")
    if node.rank(x) != 4 or axes != [2, 3] or policy != "stretch" or sampling.regions:
        node.constant(3)  # only the spatial axes of images are resized to sizes that are not known
    return node.emit(
        DynResize2dOp,
        x,
        node.integer_list(3),
        type=None,
        method=sampling.mode,
        coordinate_transformation_mode=sampling.coordinates,
        nearest_mode=sampling.rounding,
        **sampling.properties,
    )


def _wanted_sizes(node: OnnxNode) -> list[int | float | Size]:
    if isinstance(node.operand(3), SizeVector):
        return list(node.elements(3).reshape(-1))
    return list(node.constant_reals(3))


def _ratio(size: float | Size, source: int | Size) -> float | None:
    """The scale between two sizes, or `None` when one is not known."""
    if size == source:
        return 1.0
    return None if isinstance(size, Size) or isinstance(source, Size) else int(size) / source


def _resize(node: OnnxNode, sizes: Sequence[int | Size], scales: Sequence[float | None], sampling: _Sampling) -> Value:
    """Resize the axes that change, two neighbours at a time; the others are batch and channels of `resize2d`.

    Each axis is resized once: sampling is separable, but not idempotent.
    """
    x = node.operand(0)
    if len(sizes) == 1:
        x, sizes, scales = reshape_to_sizes(node, x, [1, *node.sizes(x)]), [1, *sizes], [1.0, *scales]
        sampling = replace(sampling, regions={axis + 1: part for axis, part in sampling.regions.items()})
    shape, rank = node.sizes(x), len(sizes)
    changed = [
        axis for axis, size in enumerate(shape) if size != sizes[axis] or scales[axis] != 1 or axis in sampling.regions
    ]
    while changed:
        axis = changed[-1]
        if rank == 4 and axis >= 2:
            first, count = 2, 2  # an image as it is; from the end no axis behind this one has been resized
        else:
            count = 2 if axis - 1 in changed else 1
            first = axis + 1 - count
        x = _resize_plane(node, x, first, count, sizes, scales, sampling)
        changed = [axis for axis in changed if axis < first]
    return reshape_to_sizes(node, x, sizes[-node.rank(node.operand(0)) :])


def _resize_plane(
    node: OnnxNode,
    x: Value,
    first: int,
    count: int,
    sizes: Sequence[int | Size],
    scales: Sequence[float | None],
    sampling: _Sampling,
) -> Value:
    """Resize `count` axes from `first` on: two, or one as lines of an image of height 1."""
    shape, end = list(node.sizes(x)), first + count
    before, after = product_of(shape[:first]), product_of(shape[end:])
    height: list[int | Size] = [1] * (2 - count)
    plane = [*height, *shape[first:end]]
    layout, source = ("NCHW", [1, before, *plane]) if after == 1 else ("NHWC", [before, *plane, after])
    if len(shape) == 4 and first == 2:
        source = shape
    properties: dict[str, PropertyValue] = {
        "layout": layout,
        "method": sampling.mode,
        "coordinate_transformation_mode": sampling.coordinates,
        "nearest_mode": sampling.rounding,
        "scales": _known_scales([*[1.0] * (2 - count), *scales[first:end]]),
        **sampling.properties,
    }
    if sampling.coordinates == "tf_crop_and_resize":
        whole = (0.0, 1.0)
        parts = [*[whole] * (2 - count), *(sampling.regions.get(axis, whole) for axis in range(first, end))]
        properties["roi"] = [*(start for start, _ in parts), *(end for _, end in parts)]
    image, size = reshape_to_sizes(node, x, source), [*height, *sizes[first:end]]
    if any(isinstance(each, Size) for each in size):
        resized = node.emit(DynResize2dOp, image, size_vector(size), type=None, **properties)
    else:
        resized = node.emit(Resize2dOp, image, type=None, size=integers_of(size), **properties)
    wanted = dict(zip(layout, source, strict=True)) | dict(zip("HW", size, strict=True))
    node.builder.name_sizes(resized, [wanted[letter] for letter in layout])
    return reshape_to_sizes(node, resized, [*shape[:first], *sizes[first:end], *shape[end:]])


def _known_scales(factors: Sequence[float | None]) -> list[float] | None:
    known = [factor for factor in factors if factor is not None]
    return known if len(known) == len(factors) else None
