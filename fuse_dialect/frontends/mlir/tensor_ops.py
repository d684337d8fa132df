"""Ops of MLIR's tensor dialect that xDSL 0.74 lacks, in the form in which mlir-opt prints them."""

from xdsl.dialects.builtin import DenseArrayBase, IndexType, TensorType, UnitAttr, i64
from xdsl.dialects.tensor import ExpandShapeOp
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class GenerateOp(IRDLOperation):
    """A tensor whose elements the region computes from their indices."""

    name = "tensor.generate"

    dynamic_extents = var_operand_def(IndexType)
    body = region_def("single_block")
    result = result_def(TensorType)

    assembly_format = "$dynamic_extents $body attr-dict `:` type($result)"


@irdl_op_definition
class RankOp(IRDLOperation):
    """The number of axes."""

    name = "tensor.rank"

    tensor = operand_def(TensorType)
    result = result_def(IndexType)

    assembly_format = "$tensor attr-dict `:` type($tensor)"
    traits = traits_def(Pure())


@irdl_op_definition
class BitcastOp(IRDLOperation):
    """The same bits as elements of another type."""

    name = "tensor.bitcast"

    source = operand_def(TensorType)
    dest = result_def(TensorType)

    assembly_format = "$source attr-dict `:` type($source) `to` type($dest)"
    traits = traits_def(Pure())


class UpstreamExpandShapeOp(ExpandShapeOp):
    """A tensor with more axes; one without any becomes one of axes of size 1, and has no groups to name."""

    def verify_(self) -> None:
        """Check the shapes.

        Raises:
            VerifyException: The result has other elements, or the groups do not say its axes.
        """
        source, result = self.src.type, self.result.type
        if not isinstance(source, TensorType) or source.get_num_dims():
            super().verify_()
        elif self.reassociation.data or any(size != 1 for size in result.get_shape()):
            raise VerifyException(f"expects axes of size 1 and no groups for {source}, got {result}")


@irdl_op_definition
class GatherOp(IRDLOperation):
    """Slices of a tensor at given indices."""

    name = "tensor.gather"

    source = operand_def(TensorType)
    indices = operand_def(TensorType)
    gather_dims = prop_def(DenseArrayBase.constr(i64))
    unique = opt_prop_def(UnitAttr)
    result = result_def(TensorType)

    assembly_format = (
        "$source `[` $indices `]` `gather_dims` `(` $gather_dims `)` (`unique` $unique^)? attr-dict `:` "
        "functional-type(operands, results)"
    )
    traits = traits_def(Pure())


@irdl_op_definition
class ScatterOp(IRDLOperation):
    """A tensor with slices written at given indices."""

    name = "tensor.scatter"

    source = operand_def(TensorType)
    dest = operand_def(TensorType)
    indices = operand_def(TensorType)
    scatter_dims = prop_def(DenseArrayBase.constr(i64))
    unique = opt_prop_def(UnitAttr)
    result = result_def(TensorType)

    assembly_format = (
        "$source `into` $dest `[` $indices `]` `scatter_dims` `(` $scatter_dims `)` (`unique` $unique^)? attr-dict `:` "
        "functional-type(operands, results)"
    )
    traits = traits_def(Pure())
