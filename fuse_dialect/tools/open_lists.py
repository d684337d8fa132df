"""Verifying lists of sizes and positions, some of which are operands, where xDSL's verifiers do not.

Such a list is a property and a group of operands. In the property, the least integer of its width stands for the next
operand (MLIR, `DynamicIndexList` in `mlir/include/mlir/Interfaces/ViewLikeInterface.td`). With more of these than
operands, xDSL's printer fails; with fewer, it leaves operands out, so that the text says something else.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.dialects.utils.dynamic_index_list import verify_dynamic_index_list
from xdsl.ir import Operation
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


def verify_open_lists(op: Operation) -> None:
    """Verify that an op has one operand for each place that its lists leave open; linear in the lists.

    Raises:
        VerifyException: It has more, or fewer.
    """
    for row in OPEN_LISTS[op.name]:
        integers = op.properties.get(row.property)
        values, marker = (), 0
        if isa(integers, DenseArrayBase[IntegerType]):
            values, marker = integers.get_values(), -(1 << (integers.elt_type.width.data - 1))
        verify_dynamic_index_list(values, getattr(op, row.operands), marker, f" in '{row.property}'")
