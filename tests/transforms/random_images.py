"""Random programs on images, in both layouts: what convolutional networks are made of, and what may stand between."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.ops import (
    activation,
    broadcast,
    concatenation,
    convolution,
    elementwise,
    indexing,
    layout,
    normalization,
    opaque,
    pooling,
    reduction,
    replication,
    resizing,
    sequences,
)
from fuse_dialect.dialect.types import DYNAMIC, is_tensor, tensor

LAYOUTS = ("NCHW", "NHWC")


class ImageProgram:
    """A program under construction; all values hold f64."""

    def __init__(self, draw: st.DrawFn):
        self.draw = draw
        self.random = np.random.default_rng(draw(st.integers(0, 2**16)))
        self.ops: list[Operation] = []
        self.inputs = [self.random.standard_normal((1 + draw(st.integers(0, 1)), 4, 3, 5)) for _ in range(2)]
        types = [tensor(array.shape, f64) for array in self.inputs]
        self.function = FuncOp("main", (types, []))
        self.values: list[SSAValue] = list(self.function.body.block.args)

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def one_of(self, items: Sequence[Any]) -> Any:
        return items[self.number(0, len(items) - 1)]

    def pick(self) -> SSAValue:
        """Some value, recent ones more often."""
        return self.values[self.number(max(0, len(self.values) - 3) if self.number(0, 2) else 0, len(self.values) - 1)]

    def constant(self, *shape: int) -> SSAValue:
        op = constant(self.random.uniform(0.5, 1.5, shape))
        self.ops.append(op)
        return op.result

    def add(self, op: Operation) -> None:
        self.ops.append(op)
        for result in op.results:
            if is_tensor(result.type) and result.type.element_type == f64 and 0 not in shape_of(result):
                self.values.append(result)

    def step(self) -> None:
        """One op on some value; nothing where the op does not fit it."""
        x = self.pick()
        with suppress(VerifyException):
            _MAKERS[self.number(0, len(_MAKERS) - 1)](self, x)

    def module(self) -> ModuleOp:
        returned = [self.values[-1], *(self.pick() for _ in range(self.number(0, 2)))]
        self.function.body.block.add_ops([*self.ops, ReturnOp(*returned)])
        self.function.update_function_type()
        return ModuleOp([self.function])


def shape_of(x: SSAValue) -> tuple[int, ...]:
    assert is_tensor(x.type)
    return tuple(x.type.get_shape())


def _axis(p: ImageProgram, x: SSAValue) -> int:
    rank = len(shape_of(x))
    return p.number(-rank, rank - 1) if rank else 0


def _convolve(p: ImageProgram, x: SSAValue) -> None:
    data, kernel = p.one_of(LAYOUTS), p.one_of(["OIHW", "HWIO"])
    shape = shape_of(x)
    if len(shape) != 4 or max(shape) > 64:
        return
    channels = shape[data.index("C")]
    groups = p.one_of([1, channels])
    sizes = {"O": 4, "I": channels // groups, "H": p.number(1, 3), "W": p.number(1, 2)}
    if p.number(0, 3) == 0:
        weight = p.constant(channels, 4 // groups if groups in (1, 2, 4) else 1, sizes["H"], sizes["W"])
        p.add(convolution.Conv2dTransposeOp(x, weight, groups=groups, data_layout=data))
        return
    sizes["O"] = groups if groups > 1 else 4
    weight = p.constant(*(sizes[letter] for letter in kernel))
    layouts = {"data_layout": data, "kernel_layout": kernel}
    p.add(convolution.Conv2dOp(x, weight, groups=groups, padding=[1, 0, 1, 1], **layouts))


def _convolve_line(p: ImageProgram, x: SSAValue) -> None:
    data = p.one_of(["NCW", "NWC"])
    shape = shape_of(x)
    if len(shape) == 3:
        p.add(convolution.Conv1dOp(x, p.constant(3, shape[data.index("C")], 1), data_layout=data))


def _pool(p: ImageProgram, x: SSAValue) -> None:
    data = p.one_of(LAYOUTS)
    windows: dict[str, Any] = {"pool_size": [2, 2], "padding": [0, 1, 1, 0], "strides": [1, 2], "layout": data}
    p.add(
        p.one_of(
            [
                lambda: pooling.MaxPool2dOp(x, **windows),
                lambda: pooling.AvgPool2dOp(x, **windows),
                lambda: pooling.GlobalAvgPool2dOp(x, layout=data),
                lambda: pooling.GlobalMaxPool2dOp(x, layout=data),
                lambda: pooling.AdaptiveAvgPool2dOp(x, output_size=[2, 1], layout=data),
                lambda: resizing.Resize2dOp(x, size=[4, 3], layout=data, method=p.one_of(["nearest", "linear"])),
                lambda: layout.SpaceToDepthOp(x, block_size=1, layout=data),
                lambda: layout.DepthToSpaceOp(x, block_size=2, layout=data, mode=p.one_of(["DCR", "CRD"])),
            ]
        )()
    )


def _unary(p: ImageProgram, x: SSAValue) -> None:
    classes = [activation.ReluOp, activation.SigmoidOp, elementwise.NegativeOp, opaque.DropoutOp, opaque.StopFusionOp]
    p.add(p.one_of(classes)(x))


def _binary(p: ImageProgram, x: SSAValue) -> None:
    kind = p.one_of([broadcast.AddOp, broadcast.MaximumOp, broadcast.SubtractOp])
    same = [value for value in p.values if shape_of(value) == shape_of(x)]
    near = [value for value in p.values if len(shape_of(value)) <= len(shape_of(x))]
    y = p.one_of([same, near][p.number(0, 1)])
    p.add(kind(*((x, y) if p.number(0, 1) else (y, x))))


def _with_constant(p: ImageProgram, x: SSAValue) -> None:
    shape = shape_of(x)
    kept = p.number(0, len(shape))
    own = [size if p.number(0, 1) else 1 for size in shape[kept:]]
    p.add(p.one_of([broadcast.AddOp, broadcast.MultiplyOp])(x, p.constant(*own)))


def _channels(p: ImageProgram, x: SSAValue) -> None:
    axis = _axis(p, x)
    if not shape_of(x):
        return
    size = shape_of(x)[axis]
    vectors = [p.constant(size) for _ in range(4)]
    makers: list[Callable[[], Operation]] = [
        lambda: broadcast.BiasAddOp(x, vectors[0], axis=axis),
        lambda: broadcast.PreluOp(x, vectors[0], axis=axis),
        lambda: normalization.BatchNormOp(x, *vectors, axis=axis),
        lambda: normalization.LayerNormOp(x, *vectors[:2], axis=axis),
        lambda: normalization.InstanceNormOp(x, *vectors[:2], axis=axis),
        lambda: normalization.GroupNormOp(x, *vectors[:2], axis=axis, num_groups=2 if size % 2 == 0 else 1),
    ]
    p.add(p.one_of(makers)())


def _along_axis(p: ImageProgram, x: SSAValue) -> None:
    axis, shape = _axis(p, x), shape_of(x)
    if not shape:
        return
    makers: list[Callable[[], Operation]] = [
        lambda: normalization.SoftmaxOp(x, axis=axis),
        lambda: concatenation.ConcatenateOp(x, x, axis=axis),
        lambda: concatenation.SplitOp(x, axis=axis, sizes=[1, shape[axis] - 1]),
        lambda: sequences.CumsumOp(x, axis=axis),
        lambda: opaque.SortOp(x, axis=axis),
        lambda: opaque.LrnOp(x, axis=axis),
        lambda: opaque.TopkOp(x, axis=axis, k=1),
        lambda: replication.RepeatOp(x, axis=axis, repeats=2),
        lambda: replication.ExpandDimsOp(x, axis=axis),
        lambda: layout.ReverseOp(x, axes=[axis]),
        lambda: indexing.StridedSliceOp(x, begin=[0], end=[2], axes=[axis]),
        lambda: indexing.StridedSliceOp(x, begin=[0, 1], end=[9, 3]),
        lambda: indexing.PadOp(x, p.constant(), low=p.one_of([[1] * len(shape), range(len(shape))]), high=shape),
        lambda: replication.TileOp(x, reps=range(1, len(shape) + 1)),
    ]
    if np.prod(shape) < 2000:
        p.add(p.one_of(makers)())


def _reduce(p: ImageProgram, x: SSAValue) -> None:
    rank = len(shape_of(x))
    axes = [axis - rank * p.number(0, 1) for axis in range(rank) if p.number(0, 1)]
    kind = p.one_of([reduction.MeanOp, reduction.MaxOp, reduction.SumOp, reduction.ArgmaxOp])
    p.add(kind(x, axes=axes, keepdims=p.one_of([True, False])))


def _rearrange(p: ImageProgram, x: SSAValue) -> None:
    shape = shape_of(x)
    rank, at = len(shape), p.number(0, max(0, len(shape) - 2))
    split = (*shape[:at], 2, shape[at] // 2, *shape[at + 1 :]) if rank and shape[at] % 2 == 0 else shape
    joined = (*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :]) if rank > 1 else shape
    orders = {4: [(0, 2, 3, 1), (0, 3, 1, 2), (0, 2, 1, 3)], 5: [(0, 2, 1, 3, 4)], 3: [(0, 2, 1)]}.get(rank, [])
    ones = [axis for axis, size in enumerate(shape) if size == 1]

    def reshape(target: Sequence[int]) -> Operation:
        return layout.ReshapeOp(x, result_types=[tensor(target, f64)])

    makers: list[Callable[[], Operation]] = [
        lambda: reshape(split),
        lambda: reshape(joined),
        lambda: reshape((*shape, 1)),
        lambda: reshape((*shape[:1], -1 if not shape else int(np.prod(shape[1:])))),
        lambda: reshape((DYNAMIC, *shape[1:])),
        lambda: layout.BatchFlattenOp(x),
        lambda: layout.SqueezeOp(x, axes=ones),
        *(lambda order=order: layout.TransposeOp(x, permutation=order) for order in orders),
        lambda: layout.TransposeOp(x, permutation=p.random.permutation(rank).tolist()),
        lambda: layout.LayoutTransformOp(x, src_layout="NCHW", dst_layout=p.one_of(["NHWC", "NCHW2c"])),
    ]
    op = p.one_of(makers)()
    op.verify()
    if not any(DYNAMIC in shape_of(result) for result in op.results):
        p.add(op)


_MAKERS: Sequence[Callable[[ImageProgram, SSAValue], None]] = (
    *(_convolve, _convolve, _convolve, _convolve_line, _pool, _pool),
    *(_unary, _binary, _with_constant, _channels, _along_axis, _reduce, _rearrange, _rearrange),
)


@st.composite
def image_programs(draw: st.DrawFn, max_ops: int = 14) -> tuple[ModuleOp, list[Any]]:
    """A module with one function of two images, and the images."""
    program = ImageProgram(draw)
    for _ in range(draw(st.integers(1, max_ops))):
        program.step()
    # Ops that did not fit still count as users of their operands; a copy has no such users.
    return program.module().clone(), program.inputs
