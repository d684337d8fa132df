"""Networks of `trip_networks` in 8 bits: values are rounded between the least and the greatest that they have once."""

import numpy as np
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Block, SSAValue

from fuse_dialect.dialect.constants import constant, constant_array
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops import activation, broadcast, conversion, elementwise
from fuse_dialect.dialect.ops.convolution import Conv2dOp
from fuse_dialect.dialect.ops.matmul import DenseOp
from fuse_dialect.dialect.types import integer_type, tensor_type, with_element
from fuse_dialect.interpreters.numpy import evaluate


def quantized(module: ModuleOp, *inputs: Array) -> ModuleOp:
    """A module with quantizations and dequantizations around every value, as quantizers write them (QDQ).

    Weights have a scale for each result channel and no zero point, biases are multiples of both scales.
    """
    copy = module.clone()
    function = copy.body.block.first_op
    assert isinstance(function, func.FuncOp)
    block = function.body.block
    made = [op for op in block.ops if isinstance(op, FuseOp)]
    values: dict[SSAValue, Array] = dict(zip(block.args, inputs, strict=True))
    for argument in block.args:
        first = block.first_op
        assert first is not None
        _round_trip(block, argument, values[argument], before=first)
    for op in list(block.ops):
        if isinstance(op, arith.ConstantOp):
            values[op.result] = constant_array(op.value)
        elif isinstance(op, FuseOp) and all(operand in values for operand in op.operands):
            results = evaluate(op, [values[operand] for operand in op.operands])
            values.update(zip(op.results, results, strict=True))
    for op in made:
        # What only an activation reads is rounded behind it.
        readers = [use.operation for use in op.results[0].uses]
        if any(not isinstance(each, broadcast.BiasAddOp | activation.ReluOp | activation.ClipOp) for each in readers):
            following = op.next_op
            assert following is not None
            _round_trip(block, op.results[0], values[op.results[0]], before=following)
    for op in made:
        if isinstance(op, Conv2dOp | DenseOp):
            _round_weights(block, op)
    copy.verify()
    return copy


def _round_weights(block: Block, op: Conv2dOp | DenseOp) -> None:
    weights = op.operands[1]
    owner = weights.owner
    assert isinstance(owner, arith.ConstantOp)
    array = constant_array(owner.value)
    axes = tuple(range(1, array.ndim))
    scale = (np.abs(array).max(axis=axes, keepdims=True) / 127 + 1e-8).astype(np.float32)
    integers = constant(np.clip(np.rint(array / scale), -127, 127).astype(np.int8))
    wide = conversion.CastOp(integers, result_types=[with_element(tensor_type(weights), i32)])
    real = conversion.CastOp(wide, result_types=[weights.type])
    scales = constant(scale)
    product = broadcast.MultiplyOp(real, scales)
    block.insert_ops_before([integers, wide, real, scales, product], op)
    op.operands = [op.operands[0], product.result, *op.operands[2:]]
    (use,) = op.results[0].uses
    multiply = op.operands[0].owner
    if isinstance(use.operation, broadcast.BiasAddOp) and isinstance(multiply, broadcast.MultiplyOp):
        # A bias is a multiple of both scales, as 32 bits hold it.
        bias = use.operation.bias.owner
        assert isinstance(bias, arith.ConstantOp)
        unit = constant_array(multiply.rhs.owner.value) * scale.reshape(-1)
        rounded = constant((np.rint(constant_array(bias.value) / unit) * unit).astype(np.float32))
        block.insert_ops_before([rounded], use.operation)
        use.operation.operands = [use.operation.input, rounded.result]


def _round_trip(block: Block, value: SSAValue, array: Array, before: object) -> None:
    """Let everything that reads the value read it rounded to integers without sign and back."""
    least, most = min(0.0, float(array.min())), max(0.0, float(array.max()))
    scale = np.float32(max(most - least, 1e-3) / 255)
    zero = int(np.clip(round(-least / float(scale)), 0, 255))
    type, byte = tensor_type(value), integer_type(8, unsigned=True)
    ops: list[FuseOp | arith.ConstantOp] = []
    readers = list(value.uses)

    def add(op: FuseOp | arith.ConstantOp) -> SSAValue:
        ops.append(op)
        return op.results[0]

    scales, zeros = add(constant(np.array(scale))), add(constant(np.array(zero, np.float32)))
    shifted = add(broadcast.AddOp(add(elementwise.RoundOp(add(broadcast.DivideOp(value, scales)))), zeros))
    q = add(
        conversion.CastOp(add(activation.ClipOp(shifted, min=0.0, max=255.0)), result_types=[with_element(type, byte)])
    )
    wide = add(conversion.CastOp(q, result_types=[with_element(type, i32)]))
    centered = add(broadcast.SubtractOp(wide, add(constant(np.array(zero, np.int32)))))
    real = add(conversion.CastOp(centered, result_types=[type]))
    result = add(broadcast.MultiplyOp(real, scales))
    for use in readers:
        operands = list(use.operation.operands)
        operands[use.index] = result
        use.operation.operands = operands
    block.insert_ops_before(ops, before)
