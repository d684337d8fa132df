"""What the printed forms of xDSL's ops rely on, and its verifiers do not check.

1. A list of sizes or positions, some of which are operands, is a property and a group of operands. In the property, the
   least integer of its width stands for the next operand (MLIR, `DynamicIndexList` in
   `mlir/include/mlir/Interfaces/ViewLikeInterface.td`). With more of these than operands, xDSL's printer fails; with
   fewer, it leaves operands out, so that the text says something else.
2. The region of a named op of linalg is not printed. It is made anew from the inputs, as many as the name wants (MLIR,
   `mlir/include/mlir/Dialect/Linalg/IR/LinalgNamedStructuredOps.yaml`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.dialects.utils.dynamic_index_list import verify_dynamic_index_list
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa


class OpenList(NamedTuple):
    """The names of a property and of the operands that it leaves open."""

    property: str
    operands: str


_ROOT = OpenList("root", "root_dynamic")

OPEN_LISTS: Mapping[str, Sequence[OpenList]] = {
    "llvm.getelementptr": [OpenList("rawConstantIndices", "ssa_indices")],
    "memref.expand_shape": [OpenList("static_output_shape", "output_shape")],
    "shard.broadcast": [_ROOT],
    "shard.gather": [_ROOT],
    "shard.recv": [OpenList("source", "source_dynamic")],
    "shard.reduce": [_ROOT],
    "shard.scatter": [_ROOT],
    "shard.send": [OpenList("destination", "destination_dynamic")],
    "shard.sharding": [
        OpenList("static_halo_sizes", "dynamic_halo_sizes"),
        OpenList("static_sharded_dims_offsets", "dynamic_sharded_dims_offsets"),
    ],
    "tensor.expand_shape": [OpenList("static_output_shape", "dynamic_output_shape")],
    "tensor.pad": [OpenList("static_low", "low"), OpenList("static_high", "high")],
}
"""By name of op; other ops of xDSL with such lists verify them."""


_INPUTS: Mapping[int, Sequence[str]] = {
    1: ("copy", "exp", "fill", "log", "sqrt"),
    2: (
        *("add", "matmul", "max", "min", "mul", "pooling_nchw_max", "sub"),
        *("conv_2d_nchw_fchw", "conv_2d_ngchw_fgchw", "conv_2d_ngchw_gfchw"),
        *("conv_2d_nhwc_fhwc", "conv_2d_nhwc_hwcf", "conv_2d_nhwgc_gfhwc"),
    ),
    3: ("select",),
    4: ("quantized_matmul",),
}
INPUTS: Mapping[str, int] = {f"linalg.{name}": count for count, names in _INPUTS.items() for name in names}
"""How many inputs the named ops of xDSL have; each has one output."""


def _verify_open_lists(op: Operation) -> None:
    for row in OPEN_LISTS[op.name]:
        integers = op.properties.get(row.property)
        values, marker = (), 0
        if isa(integers, DenseArrayBase[IntegerType]):
            values, marker = integers.get_values(), -(1 << (integers.elt_type.width.data - 1))
        verify_dynamic_index_list(values, getattr(op, row.operands), marker, f" in '{row.property}'")


def _verify_inputs(op: Operation) -> None:
    sizes = op.properties.get("operandSegmentSizes")
    expected = INPUTS[op.name], 1
    if not isa(sizes, DenseArrayBase[IntegerType]) or tuple(sizes.get_values()) != expected:
        raise VerifyException(f"expects {expected[0]} operands in 'ins' and 1 in 'outs'")


PRINTED_FORMS: Mapping[str, Callable[[Operation], None]] = {
    **dict.fromkeys(OPEN_LISTS, _verify_open_lists),
    **dict.fromkeys(INPUTS, _verify_inputs),
}
"""Checks by name of op; each raises `VerifyException`."""
