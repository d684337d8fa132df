"""Rows of products, windows, normalizations, and ops whose sizes are computed."""

from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import Attribute

from fuse_dialect.dialect.fields import PropertyValue
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import (
    blockwise,
    convolution,
    dynamic,
    linear_algebra,
    matmul,
    normalization,
    pooling,
    resizing,
    sampling,
    selection,
    sequences,
)
from fuse_dialect.dialect.resampling import COORDINATE_MODES, NEAREST_MODES
from fuse_dialect.dialect.types import element_dtype, integer_type, is_unsigned
from fuzzing.arrays import INTEGERS, elements
from fuzzing.draft import Draft, Known, Proposal, factors
from fuzzing.shape_rows import bound, indices
from fuzzing.table import Rows

ROWS = Rows()
row = ROWS.row
_BYTES = tuple(integer_type(8, unsigned=unsigned) for unsigned in (False, True))


def _matrix(draft: Draft, known: Known) -> Known:
    """The value as a matrix or more."""
    return known if len(known.shape) >= 2 else draft.of_rank(known, 2)


def _rows_of(draft: Draft, size: int, other: int, is_swapped: bool) -> list[int]:
    return [other, size] if is_swapped else [size, other]


def _sums(draft: Draft, subject: Known) -> tuple[Attribute, dict[str, PropertyValue]]:
    """The element type of the other factor, and the property that asks for sums of 32 bits, of bytes alone."""
    if subject.element not in _BYTES or draft.chance(0.3):
        return subject.element, {}
    return draft.random.choice(_BYTES), {"out_dtype": "i32"}


@row(matmul.DenseOp)
def _dense(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    subject = subject if subject.shape else draft.of_rank(subject, 2)
    element, sums = _sums(draft, subject)
    return Proposal([subject, draft.fresh([draft.size(), subject.shape[-1]], element)], sums)


@row(blockwise.BlockwiseDenseOp)
def _blockwise(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    x = subject if subject.shape and subject.element == f32 else draft.fresh([draft.size(), draft.size()], f32)
    inner, rows = x.shape[-1], draft.size()
    blocks = draft.random.choice([count for count in range(1, inner + 1) if inner % count == 0] or [1])
    zero = draft.fresh([rows, blocks] if draft.chance(0.5) else [], f32)
    operands = [x, draft.fresh([rows, inner], draft.random.choice(_BYTES)), draft.fresh([rows, blocks], f32), zero]
    return Proposal(operands, {"bits": draft.random.choice((4, 8))})


@row(matmul.MatmulOp, matmul.BatchMatmulOp)
def _product(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    is_batch = op_class is matmul.BatchMatmulOp
    first = _matrix(draft, subject) if is_batch else draft.of_rank(subject, 2)
    a, b = draft.chance(0.3), draft.chance(0.3)
    inner = first.shape[-2] if a else first.shape[-1]
    batch = [size if draft.chance(0.7) else draft.random.choice((1, size)) for size in first.shape[:-2]]
    batch = batch[draft.random.choice((0, 0, 1)) :] if is_batch else []
    if is_batch and len(first.shape) == 2:
        batch = list(draft.shape(draft.random.randint(1, 2)))
    shape = [*batch, *_rows_of(draft, inner, draft.size(), b)]
    element, sums = _sums(draft, first)
    second = draft.find(lambda known: list(known.shape) == shape and known.element == element)
    if second is None or draft.chance(0.5):
        second = draft.fresh(shape, element)
    return Proposal([first, second], {"transpose_a": a, "transpose_b": b, **sums})


_EQUATIONS = (
    "ij,jk->ik",
    "bij,bjk->bik",
    "ij->ji",
    "ij->i",
    "ii->i",
    "ii",
    "i,j->ij",
    "i,i->",
    "...i,ij->...j",
    "ij,j",
    "ijk,ik->ij",
    "ab,bc,cd->ad",
    "...ij,...jk->...ik",
    "ij,ij->",
    "i->",
    "aab->b",
    "...->...",
)


@row(linear_algebra.EinsumOp)
def _einsum(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    equation = draft.random.choice(_EQUATIONS)
    terms = equation.partition("->")[0].split(",")
    sizes: dict[str, int] = {}
    dots = list(draft.shape(draft.random.randint(0, 2)))
    operands: list[Known] = []
    for place, term in enumerate(terms):
        letters = term.replace("...", "")
        rank = len(subject.shape)
        if (
            place == 0
            and len(set(letters)) == len(letters)
            and (rank == len(letters) or ("..." in term and rank >= len(letters)))
        ):
            operands.append(subject)
            dots = list(subject.shape[: rank - len(letters)])
            sizes.update(zip(letters, subject.shape[rank - len(letters) :], strict=True))
            continue
        for letter in letters:
            sizes.setdefault(letter, draft.size())
        lead = [size if draft.chance(0.8) else 1 for size in dots] if "..." in term else []
        shape = [*lead, *(sizes[letter] for letter in letters)]
        operands.append(draft.fresh([min(size, 9) if False else size for size in shape], subject.element))
    return Proposal(operands, {"equation": equation})


@row(linear_algebra.DetOp)
def _det(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    if len(subject.shape) < 2 or subject.shape[-1] != subject.shape[-2]:
        size = draft.random.choice((0, 1, 2, 3, 4))
        subject = draft.fresh([*draft.shape(draft.random.randint(0, 2)), size, size], subject.element)
    return Proposal([subject])


@row(linear_algebra.Col2imOp)
def _col2im(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    rank = draft.random.randint(1, 2)
    image = [draft.random.randint(1, 6) for _ in range(rank)]
    block = [draft.random.randint(1, 3) for _ in range(rank)]
    strides, dilation = ([draft.random.choice((1, 1, 2)) for _ in range(rank)] for _ in range(2))
    padding = [draft.random.choice((0, 0, 1)) for _ in range(2 * rank)]
    counts = [
        (size + low + high - (extent - 1) * step - 1) // stride + 1
        for size, low, high, extent, step, stride in zip(
            image, padding[:rank], padding[rank:], block, dilation, strides, strict=True
        )
    ]
    shape = [draft.random.choice((0, 1, 1, 2)), draft.random.randint(1, 3) * prod(block), max(prod(counts), 0)]
    x = draft.fresh(shape, subject.element)
    if draft.chance(0.5):
        # Hardly any op makes such a shape by itself.
        x = draft.reshaped(draft.fresh([prod(shape)], subject.element), shape) or x
    return Proposal(
        [x], {"image_shape": image, "block_shape": block, "strides": strides, "padding": padding, "dilation": dilation}
    )


def _windows(draft: Draft, rank: int) -> dict[str, Any]:
    """Strides, padding and dilation; each is left out at times."""
    numbers: dict[str, Any] = {}
    if draft.chance(0.5):
        numbers["strides"] = [draft.random.choice((1, 1, 2, 3)) for _ in range(rank)]
    if draft.chance(0.5):
        numbers["padding"] = [draft.random.choice((0, 1, 1, 2)) for _ in range(2 * rank)]
    if draft.chance(0.3):
        numbers["dilation"] = [draft.random.choice((1, 1, 2)) for _ in range(rank)]
    return numbers


_CONVOLUTIONS = (convolution.Conv1dOp, convolution.Conv2dOp, convolution.Conv3dOp)
_TRANSPOSED = (convolution.Conv2dTransposeOp, convolution.Conv3dTransposeOp)


@row(*_CONVOLUTIONS, *_TRANSPOSED)
def _convolution(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    layouts = cast(Any, op_class)
    data = draft.random.choice((layouts.DATA_LAYOUTS[0], *layouts.DATA_LAYOUTS))
    kernel = draft.random.choice((layouts.KERNEL_LAYOUTS[0], *layouts.KERNEL_LAYOUTS))
    rank = len(data) - 2
    is_transposed = op_class in _TRANSPOSED
    if len(subject.shape) != len(data):
        found = draft.find(lambda known: len(known.shape) == len(data) and known.element == subject.element)
        if found is None:
            shape = [draft.random.randint(1, 3), draft.random.randint(1, 4), *[draft.random.randint(1, 7)] * rank]
            shape[0] = 0 if draft.chance(0.1) else shape[0]
            if prod(factors(draft.random, subject.array.size, len(data))) and draft.chance(0.5):
                shape = factors(draft.random, subject.array.size, len(data))
                found = draft.reshaped(subject, shape)
            found = found or draft.fresh(shape, subject.element)
        subject = found
    sizes = dict(zip(data, subject.shape, strict=True))
    channels = sizes["C"]
    groups = draft.random.choice([1, 1, 1, channels, *[d for d in (2, 3) if channels % d == 0]]) or 1
    outputs = groups * draft.random.choice((1, 1, 2, 3, 5))
    extent = {
        letter: draft.random.randint(1, max(1, min(3, sizes[letter] + 1))) for letter in data if letter not in "NC"
    }
    extent |= {"O": outputs, "I": channels // groups}
    if is_transposed:
        extent |= {"I": channels, "O": outputs // groups}
    element, sums = (subject.element, {}) if is_transposed else _sums(draft, subject)
    weight = draft.fresh([extent[letter] for letter in kernel], element)
    options = {**_windows(draft, rank), **sums}
    if sums and draft.chance(0.5):
        options["pad_value"] = draft.random.choice((1, 100, 127, 255 if is_unsigned(subject.tensor) else -128))
    if is_transposed and draft.chance(0.3):
        options["output_padding"] = [draft.random.choice((0, 1)) for _ in range(rank)]
    return Proposal([subject, weight], {"groups": groups, "data_layout": data, "kernel_layout": kernel, **options})


@row(sampling.DeformableConv2dOp)
def _deformable(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    x = draft.of_rank(subject, 4, least=1)
    if draft.chance(0.1):
        x = draft.fresh((0, *x.shape[1:]), x.element)
    n, c, h, w = x.shape
    groups = draft.random.choice([1, *[d for d in (2, c) if c and c % d == 0]])
    moved = draft.random.choice([1, *[d for d in (2, c) if c and c % d == 0]])
    kh, kw = (draft.random.randint(1, max(1, min(2, size))) for size in (h, w))
    options = _windows(draft, 2)
    stride, pad = options.get("strides", [1, 1]), options.get("padding", [0] * 4)
    dilation = options.get("dilation", [1, 1])
    out = [
        max(0, (size + pad[i] + pad[i + 2] - (k - 1) * dilation[i] - 1) // stride[i] + 1)
        for i, (size, k) in enumerate(zip((h, w), (kh, kw), strict=True))
    ]
    offset = draft.fresh([n, 2 * moved * kh * kw, *out], x.element)
    mask = draft.fresh([n, moved * kh * kw, *out], x.element)
    weight = draft.fresh([groups * draft.random.randint(1, 2), c // groups, kh, kw], x.element)
    return Proposal([x, offset, mask, weight], {"groups": groups, "deformable_groups": moved, **options})


def _image(draft: Draft, subject: Known) -> tuple[Known, str]:
    """A value of four axes, and a layout."""
    return draft.of_rank(subject, 4, least=0 if draft.chance(0.4) else 1), draft.random.choice(("NCHW", "NHWC"))


@row(pooling.MaxPool2dOp, pooling.MaxPool2dIndicesOp, pooling.AvgPool2dOp)
def _pool(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    image, layout = _image(draft, subject)
    options = _windows(draft, 2)
    options |= {"ceil_mode": draft.chance(0.4), "layout": layout}
    if op_class is pooling.AvgPool2dOp:
        options["count_include_pad"] = draft.chance(0.5)
    return Proposal([image], {"pool_size": [draft.random.randint(1, 3) for _ in range(2)], **options})


@row(pooling.GlobalMaxPool2dOp, pooling.GlobalAvgPool2dOp)
def _global_pool(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    image, layout = _image(draft, subject)
    return Proposal([image], {"layout": layout})


@row(pooling.AdaptiveAvgPool2dOp)
def _adaptive_pool(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    image, layout = _image(draft, subject)
    return Proposal([image], {"output_size": [draft.random.randint(1, 6) for _ in range(2)], "layout": layout})


def _sampling(draft: Draft, layout: str, image: Known) -> dict[str, Any]:
    """How an image is resampled; only floats are interpolated."""
    methods = ("nearest",) if image.array.dtype.kind in "biu" else ("nearest", "nearest", "linear", "cubic")
    return {
        "layout": layout,
        "method": draft.random.choice(methods),
        "coordinate_transformation_mode": draft.random.choice(COORDINATE_MODES),
        "nearest_mode": draft.random.choice(NEAREST_MODES),
        "scales": [draft.random.choice((0.5, 1.0, 1.5, 2.0)) for _ in range(2)] if draft.chance(0.1) else None,
        "exclude_outside": draft.chance(0.2),
        "antialias": draft.chance(0.2),
        # ONNX models hold these in 32 bits: others would round, and where two elements are as near take the other.
        "roi": [0.125, 0.25, 0.8125, 0.875] if draft.chance(0.3) else None,
        "extrapolation_value": draft.random.choice((0.0, 1.5)),
    }


@row(resizing.Resize2dOp)
def _resize(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    image, layout = _image(draft, subject)
    return Proposal(
        [image], {"size": [draft.random.randint(1, 9) for _ in range(2)], **_sampling(draft, layout, image)}
    )


@row(dynamic.DynResize2dOp)
def _dyn_resize(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    image, layout = _image(draft, subject)
    return Proposal(
        [image, _numbers(draft, [draft.random.randint(1, 6) for _ in range(2)])], _sampling(draft, layout, image)
    )


@row(sampling.GridSampleOp)
def _grid_sample(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    rank = draft.random.choice((1, 2, 2, 3))
    x = draft.of_rank(subject, rank + 2, least=0 if draft.chance(0.3) else 1)
    out = [draft.random.randint(1, 4) for _ in range(rank)]
    grid = draft.arrays.uniform(-1.3, 1.3, [x.shape[0], *out, rank]).astype(x.array.dtype)
    return Proposal(
        [x, draft.fresh(grid.shape, x.element, array=grid)],
        {
            "mode": draft.random.choice(("nearest", "linear", "cubic")),
            "padding_mode": draft.random.choice(("zeros", "border", "reflection")),
            "align_corners": draft.chance(0.5),
        },
    )


@row(sampling.RoiAlignOp)
def _roi_align(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    x = draft.of_rank(subject, 4, least=1)
    count = draft.random.randint(0, 3)
    corners = np.sort(draft.arrays.uniform(-1, 8, [count, 2, 2]), axis=1).reshape(count, 4).astype(x.array.dtype)
    samples = indices(draft, [count], x.shape[0], draft.random.choice((i32, i64)))
    return Proposal(
        [x, draft.fresh(corners.shape, x.element, array=corners), samples],
        {
            "pooled_size": [draft.random.randint(1, 3) for _ in range(2)],
            "spatial_scale": draft.random.choice((1.0, 0.5)),
            "sampling_ratio": draft.random.randint(0, 2),
            "mode": draft.random.choice(("avg", "max")),
            "aligned": draft.chance(0.5),
        },
    )


@row(normalization.BatchNormOp, normalization.LayerNormOp, normalization.InstanceNormOp, normalization.GroupNormOp)
def _norm(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal | None:
    least = 1 if op_class in (normalization.BatchNormOp, normalization.LayerNormOp) else 2
    subject = subject if len(subject.shape) >= least else draft.of_rank(subject, draft.random.randint(least, 4))
    axis = draft.axis(len(subject.shape))
    size = subject.shape[axis]
    count = len(op_class.get_irdl_definition().operands) - 1
    vectors = [draft.fresh([size], subject.element) for _ in range(count)]
    if count == 4 and vectors[3].array.dtype.kind not in "iub" and draft.chance(0.8):
        vectors[3] = draft.fresh([size], subject.element, array=np.abs(vectors[3].array))
    options: dict[str, Any] = {"axis": axis, "epsilon": draft.random.choice((1e-5, 1e-3, 0.5))}
    if op_class is normalization.GroupNormOp:
        options["num_groups"] = draft.random.choice([1, *[d for d in (2, 3, size) if size and size % d == 0]])
    return Proposal([subject, *vectors], options)


@row(normalization.OneHotOp)
def _one_hot(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    depth = draft.random.choice((0, 1, 2, 3, 5, 9))
    index, values = _hot(draft, subject, depth)
    return Proposal([index, *values], {"depth": depth, "axis": _new_axis(draft, index)})


@row(dynamic.DynOneHotOp)
def _dyn_one_hot(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    depth = draft.random.choice((0, 1, 2, 3, 5))
    index, values = _hot(draft, subject, depth)
    return Proposal(
        [index, *values, draft.number(depth, draft.random.choice((i32, i64)))], {"axis": _new_axis(draft, index)}
    )


def _new_axis(draft: Draft, index: Known) -> int:
    rank = len(index.shape) + 1
    return draft.random.randrange(-rank, rank)


def _hot(draft: Draft, subject: Known, depth: int) -> tuple[Known, list[Known]]:
    """Indices and the two values; the subject is one of them if it can be."""
    is_index = subject.array.dtype.kind in "iu"
    index = (
        subject
        if is_index and draft.chance(0.7)
        else indices(draft, list(draft.shape(draft.random.randint(0, 2))), depth)
    )
    element = subject.element if not is_index or draft.chance(0.5) else draft.element
    values = [draft.fresh((), element) for _ in range(2)]
    if not is_index and draft.chance(0.8):
        values[draft.random.randrange(2)] = subject if not subject.shape else draft.of_rank(subject, 0)
    return index, values


def _numbers(draft: Draft, numbers: list[int], element: Attribute | None = None) -> Known:
    """A list of numbers that is known only when the program runs, or a constant."""
    element = draft.random.choice((i64, i64, i32)) if element is None else element
    limits = np.iinfo(np.dtype(element_dtype(element).name))
    return draft.integers([int(np.clip(number, limits.min, limits.max)) for number in numbers], element)


@row(dynamic.DynBroadcastToOp)
def _dyn_broadcast_to(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    sizes = [draft.random.choice((1, 2, 3)) if size == 1 else draft.random.choice((1, size)) for size in subject.shape]
    added = [draft.random.randint(0, 3) for _ in range(draft.random.randint(0, 1))]
    return Proposal([subject, _numbers(draft, [*added, *sizes])])


@row(dynamic.DynReshapeOp)
def _dyn_reshape(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    shape = factors(draft.random, subject.array.size, draft.random.randint(0 if subject.array.size == 1 else 1, 4))
    if shape and draft.chance(0.4):
        shape[draft.random.randrange(len(shape))] = -1
    return Proposal([subject, _numbers(draft, shape)], {"allowzero": draft.chance(0.5)})


@row(dynamic.DynFullOp)
def _dyn_full(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    fill = draft.of_rank(subject, 0)
    return Proposal([fill, _numbers(draft, list(draft.shape(draft.random.randint(0, 3))))])


@row(dynamic.DynStridedSliceOp)
def _dyn_slice(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    rank = len(subject.shape)
    axes = draft.axes(rank) if draft.chance(0.5) else None
    over = list(range(draft.random.randint(0, rank))) if axes is None else axes
    element = draft.random.choice((i32, i64))
    lists = [[bound(draft, subject.shape[axis]) for axis in over] for _ in range(2)]
    strides = [draft.random.choice((1, 1, 2, -1, -2)) for _ in over]
    return Proposal([subject, *(_numbers(draft, each, element) for each in (*lists, strides))], {"axes": axes})


@row(dynamic.DynTileOp)
def _dyn_tile(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    count = draft.random.randint(0, len(subject.shape) + 1)
    return Proposal([subject, _numbers(draft, [draft.random.choice((0, 1, 1, 2)) for _ in range(count)])])


@row(dynamic.DynPadOp)
def _dyn_pad(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    element = draft.random.choice((i32, i64))
    widths = [[draft.random.choice((0, 0, 1, 2, -1)) for _ in subject.shape] for _ in range(2)]
    mode = draft.random.choice(("constant", "constant", "edge", "reflect", "wrap"))
    return Proposal(
        [subject, draft.fresh((), subject.element), *(_numbers(draft, each, element) for each in widths)],
        {"mode": mode},
    )


@row(dynamic.DynArangeOp)
def _dyn_arange(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    start, step = draft.random.choice((0, 1, 3)), draft.random.choice((1, 2))
    count = draft.random.choice((0, 1, 3, 7, 17))
    numbers = [draft.number(number, subject.element) for number in (start, start + count * step, step)]
    if not subject.shape and draft.chance(0.5):
        numbers[draft.random.randrange(3)] = subject
    return Proposal(numbers)


@row(dynamic.DynTopkOp)
def _dyn_topk(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal | None:
    if not subject.shape:
        return None
    axis = draft.axis(len(subject.shape))
    k = draft.number(draft.random.randint(0, subject.shape[axis]), draft.random.choice((i32, i64)))
    return Proposal([subject, k], {"axis": axis, "is_ascend": draft.chance(0.5)})


@row(sequences.DftOp)
def _dft(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    parts = draft.random.choice((1, 2))
    x = subject
    if len(x.shape) < 2 or x.shape[-1] not in (1, 2):
        lead = [max(1, size) for size in draft.shape(draft.random.randint(1, 2))]
        x = draft.fresh([0 if draft.chance(0.05) else lead[0], *lead[1:], parts], subject.element)
    parts = x.shape[-1]
    axis = draft.random.randrange(len(x.shape) - 1) - len(x.shape) * draft.chance(0.3)
    is_inverse = draft.chance(0.4)
    onesided = draft.chance(0.3) and (parts == 2) == is_inverse
    length = draft.random.randint(1, 9) if draft.chance(0.3) else None
    return Proposal([x], {"axis": axis, "length": length, "inverse": is_inverse, "onesided": onesided})


@row(selection.NonMaxSuppressionOp)
def _suppression(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    images, classes, count = (
        draft.random.randint(1, 2),
        draft.random.randint(1, 2),
        draft.random.choice((0, 1, 2, 3, 5, 17)),
    )
    element: Any = subject.element
    boxes = draft.fresh([images, count, 4], element)
    if subject.array.size == images * classes * count and count:
        scores = draft.reshaped(subject, [images, classes, count]) or draft.fresh([images, classes, count], element)
    else:
        scores = draft.fresh([images, classes, count], element)
    limit = draft.number(draft.random.randint(0, 4), draft.random.choice((i64, i32, *INTEGERS)))
    plain = [elements(draft.arrays, (), element, "plain") for _ in range(2)]
    thresholds = [draft.fresh((), element, array=abs(array)) for array in plain]
    return Proposal([boxes, scores, limit, *thresholds], {"center_point_box": draft.chance(0.5)})
