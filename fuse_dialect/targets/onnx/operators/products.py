"""Matrix products and convolutions, as ONNX operators."""

from collections.abc import Callable, Sequence

import numpy as np

from fuse_dialect.dialect.axis_layout import permutation
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import blockwise, convolution, matmul
from fuse_dialect.targets.onnx.graph import GraphWriter, dtype_of, prop, shape_of, static_shape
from fuse_dialect.targets.onnx.operators.shapes import channels_back, channels_first
from fuse_dialect.targets.onnx.table import OpRows

ROWS = OpRows()


def _widened(graph: GraphWriter, op: FuseOp, operands: Sequence[str], write: Callable[[Sequence[str]], str]) -> str:
    """A product; of integers of which ONNX has none in 64 bits, which wrap around in the end."""
    dtype = dtype_of(op.operands[0])
    if dtype.kind == "f" or dtype.itemsize >= 4 or dtype.name == "bfloat16":
        return write(operands)
    return graph.cast(write([graph.cast(operand, np.int64) for operand in operands]), dtype)


@ROWS.row(matmul.DenseOp)
def write_dense(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Gemm` of matrices, else `MatMul` by the transposed weight; `MatMulInteger` with sums of 32 bits."""
    if prop(op, "out_dtype"):
        return graph.emit("MatMulInteger", operands[0], graph.transpose(operands[1], [1, 0]))

    def write(operands: Sequence[str]) -> str:
        if len(shape_of(op.operands[0])) == 2:
            return graph.emit("Gemm", *operands, transB=1)
        return graph.emit("MatMul", operands[0], graph.transpose(operands[1], [1, 0]))

    return _widened(graph, op, operands, write)


@ROWS.row(blockwise.BlockwiseDenseOp)
def write_blockwise_dense(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """The formula, and `MatMul`: `DequantizeLinear` has no zero points that are no integers."""
    x, weight, scale, zero = operands
    (rows, columns), (_, blocks) = static_shape(op, op.operands[1]), static_shape(op, op.operands[2])
    dtype, real = dtype_of(op.operands[1]), np.dtype(np.float32)
    if prop(op, "bits") == 4:
        # ONNX shifts numbers without sign alone: the lower half, and 16 less where its highest bit is set.
        weight = graph.emit("BitwiseAnd", weight, graph.scalar(15, dtype))
        weight = graph.cast(weight, real)
        if dtype.kind == "i":
            above = graph.cast(graph.emit("Greater", weight, graph.scalar(7.0, real)), real)
            weight = graph.emit("Sub", weight, graph.emit("Mul", above, graph.scalar(16.0, real)))
    else:
        weight = graph.cast(weight, real)
    weight = graph.reshape(weight, [rows, blocks, columns // max(blocks, 1)], op)
    if shape_of(op.operands[3]):
        zero = graph.emit("Unsqueeze", zero, graph.integers([2]))
    scale = graph.emit("Unsqueeze", scale, graph.integers([2]))
    weight = graph.emit("Mul", graph.emit("Sub", weight, zero), scale)
    weight = graph.reshape(weight, [rows, columns], op)
    return graph.emit("MatMul", x, graph.transpose(weight, [1, 0]))


@ROWS.row(matmul.MatmulOp, matmul.BatchMatmulOp)
def write_matmul(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`MatMul`; `Gemm` where a matrix is transposed; `MatMulInteger` with sums of 32 bits."""
    swapped = [bool(prop(op, name)) for name in ("transpose_a", "transpose_b")]
    of_integers = bool(prop(op, "out_dtype"))

    def write(operands: Sequence[str]) -> str:
        if isinstance(op, matmul.MatmulOp) and any(swapped) and not of_integers:
            return graph.emit("Gemm", *operands, transA=int(swapped[0]), transB=int(swapped[1]))
        ranks = [len(shape_of(operand)) for operand in op.operands]
        parts = [
            graph.transpose(operand, [*range(rank - 2), rank - 1, rank - 2]) if swap else operand
            for operand, rank, swap in zip(operands, ranks, swapped, strict=True)
        ]
        return graph.emit("MatMulInteger" if of_integers else "MatMul", *parts)

    return write(operands) if of_integers else _widened(graph, op, operands, write)


@ROWS.row(convolution.Conv1dOp, convolution.Conv2dOp, convolution.Conv3dOp)
def write_conv(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Conv`, of channels in front; `ConvInteger` with sums of 32 bits."""
    if not prop(op, "out_dtype"):
        return _convolution(graph, op, operands, "Conv", "OI")
    zero = prop(op, "pad_value")
    if not zero:
        return _convolution(graph, op, operands, "ConvInteger", "OI")
    # ONNX pads with the zero point, and subtracts it from all that it multiplies: that is added again.
    number = graph.scalar(zero, op.operands[0])
    result = _convolution(graph, op, [*operands, number], "ConvInteger", "OI")
    kernel, rank = prop(op, "kernel_layout"), len(shape_of(op.operands[1]))
    plain = graph.transpose(graph.cast(operands[1], np.int32), permutation(kernel, "O" + kernel.replace("O", "")))
    sums = graph.emit("ReduceSum", plain, graph.integers(range(1, rank)), keepdims=0)
    missing = graph.emit("Mul", sums, graph.scalar(zero, np.dtype(np.int32)))
    # Channels are where they were in the layout, all spatial axes or none behind them.
    behind = range(1, rank - prop(op, "data_layout").index("C"))
    if behind:
        missing = graph.emit("Unsqueeze", missing, graph.integers(behind))
    return graph.emit("Add", result, missing)


@ROWS.row(convolution.Conv2dTransposeOp, convolution.Conv3dTransposeOp)
def write_conv_transpose(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`ConvTranspose`, of channels in front."""
    return _convolution(graph, op, operands, "ConvTranspose", "IO", output_padding=prop(op, "output_padding"))


def _convolution(
    graph: GraphWriter, op: FuseOp, operands: Sequence[str], op_type: str, first: str, **attributes: Sequence[int]
) -> str:
    data, kernel = prop(op, "data_layout"), prop(op, "kernel_layout")
    plain = first + "".join(letter for letter in data if letter not in "NC")
    result = graph.emit(
        op_type,
        channels_first(graph, operands[0], data),
        graph.transpose(operands[1], permutation(kernel, plain)),
        *operands[2:],
        strides=prop(op, "strides"),
        pads=prop(op, "padding"),
        dilations=prop(op, "dilation"),
        group=prop(op, "groups"),
        **attributes,
    )
    return channels_back(graph, result, data)
