"""Matrix products and convolutions, as ONNX operators."""

from collections.abc import Callable, Sequence

import numpy as np

from fuse_dialect.dialect.axis_layout import permutation
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import convolution, matmul
from fuse_dialect.targets.onnx.graph import GraphWriter, dtype_of, prop, shape_of
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
    """`Gemm` of matrices, else `MatMul` by the transposed weight."""

    def write(operands: Sequence[str]) -> str:
        if len(shape_of(op.operands[0])) == 2:
            return graph.emit("Gemm", *operands, transB=1)
        return graph.emit("MatMul", operands[0], graph.transpose(operands[1], [1, 0]))

    return _widened(graph, op, operands, write)


@ROWS.row(matmul.MatmulOp, matmul.BatchMatmulOp)
def write_matmul(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`MatMul`; `Gemm` where a matrix is transposed."""
    swapped = [bool(prop(op, name)) for name in ("transpose_a", "transpose_b")]

    def write(operands: Sequence[str]) -> str:
        if isinstance(op, matmul.MatmulOp) and any(swapped):
            return graph.emit("Gemm", *operands, transA=int(swapped[0]), transB=int(swapped[1]))
        ranks = [len(shape_of(operand)) for operand in op.operands]
        parts = [
            graph.transpose(operand, [*range(rank - 2), rank - 1, rank - 2]) if swap else operand
            for operand, rank, swap in zip(operands, ranks, swapped, strict=True)
        ]
        return graph.emit("MatMul", *parts)

    return _widened(graph, op, operands, write)


@ROWS.row(convolution.Conv1dOp, convolution.Conv2dOp, convolution.Conv3dOp)
def write_conv(graph: GraphWriter, op: FuseOp, operands: Sequence[str]) -> str:
    """`Conv`, of channels in front."""
    return _convolution(graph, op, operands, "Conv", "OI")


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
        strides=prop(op, "strides"),
        pads=prop(op, "padding"),
        dilations=prop(op, "dilation"),
        group=prop(op, "groups"),
        **attributes,
    )
    return channels_back(graph, result, data)
