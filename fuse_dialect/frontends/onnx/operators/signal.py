"""ONNX operators of signal processing: Fourier transforms, and the weights of the mel scale.

The windows (Hann, Hamming, Blackman) are expanded from ONNX's own definitions.
"""

import math

import numpy as np
import onnx_ir as ir

from fuse_dialect.analysis.sizes import add, divide
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.broadcast import AddOp, MultiplyOp
from fuse_dialect.dialect.ops.indexing import TakeOp
from fuse_dialect.dialect.ops.sequences import DftOp
from fuse_dialect.frontends.onnx.node import OnnxNode
from fuse_dialect.frontends.onnx.operators.constants import counted
from fuse_dialect.frontends.onnx.operators.layout import expand_dims
from fuse_dialect.frontends.onnx.operators.table import OperatorTable
from fuse_dialect.frontends.onnx.tensors import dtype_of
from fuse_dialect.frontends.onnx.values import Constant, Value

OPERATORS = OperatorTable()


@OPERATORS.operator("DFT")
def import_dft(node: OnnxNode) -> Value:
    """`dft`; before opset 20 the axis is an attribute."""
    if node.opset < 20:
        axis = node.integer("axis", 1)
    else:
        axis = -2 if node.optional(2) is None else int(node.constant_scalar(2))
    length = None if node.optional(1) is None else int(node.constant_scalar(1))
    inverse, onesided = node.flag("inverse"), node.flag("onesided")
    return node.emit(DftOp, node.operand(0), axis=axis, length=length, inverse=inverse, onesided=onesided)


@OPERATORS.operator("STFT")
def import_stft(node: OnnxNode) -> Value:
    """Frames taken from the signal, times the window, and `dft` of each."""
    signal, window = node.operand(0), node.optional(2)
    if node.rank(signal) == 2:
        signal = expand_dims(node, signal, [2])
    length, step = node.sizes(signal)[1], int(node.constant_scalar(1))
    if node.optional(3) is not None:
        frame = int(node.constant_scalar(3))
    else:
        frame = node.static_shape(signal if window is None else window)[1 if window is None else 0]
    if step < 1 or frame < 1 or (isinstance(length, int) and frame > length):
        raise FuseError(f"expects frames of 1 to {length} elements and a positive step, got {frame} and {step}")
    if isinstance(length, int):
        count = (length - frame) // step + 1
        node.builder.budget.spend("the list of frames", bytes=8 * count * frame)
        places: Value = Constant(np.arange(count)[:, None] * step + np.arange(frame))
    else:
        count = divide(add(length, step - frame), step)  # none of a signal shorter than a frame
        first = node.emit(MultiplyOp, expand_dims(node, counted(node, count, 0), [1]), Constant(np.array(step)))
        places = node.emit(AddOp, first, Constant(np.arange(frame)))
    frames = node.emit(TakeOp, signal, places, axis=1)
    if window is not None:
        frames = node.emit(MultiplyOp, frames, expand_dims(node, window, [1]))
    return node.emit(DftOp, frames, axis=2, onesided=node.flag("onesided", True))


@OPERATORS.operator("MelWeightMatrix")
def import_mel_weight_matrix(node: OnnxNode) -> Value:
    """A constant: a triangle for each band of the mel scale, mel(f) = 2595 * log10(1 + f / 700).

    Source: ONNX MelWeightMatrix (opset 17).
    """
    bands, length, rate = (int(node.constant_scalar(index)) for index in range(3))
    lower, upper = (float(node.constant_scalar(index)) for index in (3, 4))
    if bands < 1 or length < 1 or rate < 1 or not 0 <= lower < upper < math.inf:
        raise FuseError("expects positive numbers of bands, elements and samples, and a lower edge below the upper one")
    dtype = dtype_of(ir.DataType(node.integer("output_datatype", ir.DataType.FLOAT.value)))
    bins = length // 2 + 1
    node.builder.budget.spend("the weights of the mel scale", bytes=8 * bins * bands)
    low, high = (2595 * math.log10(1 + edge / 700) for edge in (lower, upper))
    edges = low + np.arange(bands + 2) * (high - low) / (bands + 2)
    centres = np.floor((length + 1) * 700 * (10 ** (edges / 2595) - 1) / rate)
    place = np.arange(bins)[:, None]
    first, middle, last = centres[:-2], centres[1:-1], centres[2:]
    with np.errstate(divide="ignore", invalid="ignore"):
        rising = np.where(middle > first, (place - first) / (middle - first), 1.0)
        falling = (last - place) / (last - middle)
    weights = np.where((place >= first) & (place <= middle), rising, 0.0)
    weights = np.where((place > middle) & (place < last), falling, weights)
    return Constant(weights.astype(dtype))
