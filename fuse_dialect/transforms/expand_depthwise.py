"""`expand-depthwise`: a depthwise convolution with a multiplier becomes one without, whose input has repeated channels.

With a group for each input channel and `m` results of each, result channel `o` reads channel `o // m`: neighbours in
the result are no neighbours in the input, and kernels would pick elements one by one. What the copy of the channels
costs is little beside that. The sums are the same, in the same order.

1. Sizes of channels are known, there is one input channel in a group, and more than one result.
2. Left alone: ops whose `fuse.pattern_kind` says how they fuse. To TVM a multiplier is an attribute of the schedule.

Source: XLA `DepthwiseConvolutionConverter`, xla/service/depthwise_convolution_converter.cc, which goes the other way.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.passes import ModulePass

from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE
from fuse_dialect.dialect.ops.convolution import ConvOp
from fuse_dialect.dialect.ops.replication import RepeatOp
from fuse_dialect.dialect.types import with_shape
from fuse_dialect.transforms.expansion import Expansion
from fuse_dialect.transforms.unfinished import walk_unfinished


@dataclass(frozen=True)
class ExpandDepthwisePass(ModulePass):
    """Give depthwise convolutions with a multiplier as many input channels as results."""

    name = "expand-depthwise"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change those of all functions of the module; linear in the number of ops."""
        for inner in [each for each in walk_unfinished(op) if isinstance(each, ConvOp)]:
            if multiplier(inner) > 1 and PATTERN_KIND_ATTRIBUTE not in inner.attributes:
                _expand(inner, multiplier(inner))


def multiplier(op: ConvOp) -> int:
    """Results of each input channel of a depthwise convolution; 1 for other convolutions, and where it is not known."""
    (_, channels, *_), (outputs, inputs, *_) = op.canonical_shapes()
    groups = op.groups.value.data
    # An open size is negative, and no number of groups.
    return outputs // groups if channels == groups > 1 and inputs == 1 else 1


def _expand(op: ConvOp, times: int) -> None:
    expansion, axis = Expansion(op), op.data_layout.data.index("C")
    shape = list(op.input.type.get_shape())
    shape[axis] *= times
    repeated = expansion.add(
        RepeatOp.create(
            operands=[op.input],
            result_types=[with_shape(op.input.type, shape)],
            properties={"repeats": IntegerAttr(times, 64), "axis": IntegerAttr(axis, 64)},
        )
    )
    wide = op.clone()
    wide.operands[0] = repeated
    wide.properties["groups"] = IntegerAttr(op.groups.value.data * times, 64)
    expansion.finish(expansion.add(wide))
