"""What a value is to the op that reads it: the kind of an edge, and the weight of an argument."""

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from fuse_dialect.dialect.types import DYNAMIC, is_tensor
from fuse_dialect.pattern_kind import PatternKind


def edge_kind(kind: PatternKind, operand: SSAValue, result_type: Attribute) -> PatternKind:
    """Kind of the edge into an op of kind `kind`: a broadcast between equal shapes is elementwise."""
    if kind is not PatternKind.BROADCAST:
        return kind
    type = operand.type
    if type is result_type:
        return PatternKind.ELEMWISE
    if isinstance(type, TensorType) and isinstance(result_type, TensorType) and type.shape == result_type.shape:
        return PatternKind.ELEMWISE
    return kind


def argument_weight(type: Attribute) -> int:
    """Arguments that a value of the type costs a kernel: itself, and one for each dynamic dimension.

    Source: TVM `CountArgs_`, src/relay/analysis/graph_partitioner.cc.
    """
    return 1 + type.get_shape().count(DYNAMIC) if is_tensor(type) else 1
