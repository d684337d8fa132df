"""What passing a value to a kernel counts as: the weight of an argument."""

from xdsl.ir import Attribute

from fuse_dialect.dialect.types import DYNAMIC, is_tensor


def argument_weight(type: Attribute) -> int:
    """Arguments that a value of the type costs a kernel: itself, and one for each dynamic dimension.

    Source: TVM `CountArgs_`, src/relay/analysis/graph_partitioner.cc.
    """
    return 1 + type.get_shape().count(DYNAMIC) if is_tensor(type) else 1
