"""The dialects linalg, tensor and TOSA with what MLIR prints and xDSL 0.74 cannot read."""

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.linalg import Linalg
from xdsl.dialects.tensor import Tensor
from xdsl.dialects.tosa import TOSA
from xdsl.ir import Attribute, Dialect, Operation

from fuse_dialect.frontends.mlir import structured_linalg, tensor_ops, tosa_ops
from fuse_dialect.frontends.mlir.named_linalg import NAMED_OPS


def _extended(dialect: Dialect, ops: Sequence[type[Operation]], attributes: Sequence[type[Attribute]]) -> Dialect:
    """The dialect with more ops and attributes; one of a name that it has takes its place."""
    all_ops = {op.name: op for op in (*dialect.operations, *ops)}
    all_attributes = {attribute.name: attribute for attribute in (*dialect.attributes, *attributes)}
    return Dialect(dialect.name, list(all_ops.values()), list(all_attributes.values()))


def _linalg() -> Dialect:
    # MLIR prints `indexing_maps` on `matmul`, of which xDSL knows nothing.
    known = {op.name for op in Linalg.operations} - {"linalg.matmul"}
    # Passes of xDSL know its own classes, which stay wherever they read what MLIR prints.
    named = [op for op in NAMED_OPS.values() if op.name not in known]
    structured = (
        structured_linalg.UpstreamGenericOp,
        structured_linalg.UpstreamReduceOp,
        structured_linalg.MapOp,
        structured_linalg.ContractOp,
        structured_linalg.ElementwiseOp,
        structured_linalg.SoftmaxOp,
        structured_linalg.PackOp,
        structured_linalg.UnpackOp,
    )
    return _extended(
        Linalg, [*named, *structured], [structured_linalg.TypeFunctionAttr, structured_linalg.ElementwiseKindAttr]
    )


def _tensor() -> Dialect:
    ops = (
        tensor_ops.GenerateOp,
        tensor_ops.RankOp,
        tensor_ops.BitcastOp,
        tensor_ops.GatherOp,
        tensor_ops.ScatterOp,
    )
    return _extended(Tensor, ops, [])


def _tosa() -> Dialect:
    attributes = (
        tosa_ops.NanModeAttr,
        tosa_ops.ResizeModeAttr,
        tosa_ops.RoundingModeAttr,
        tosa_ops.ShapeType,
    )
    return _extended(TOSA, tosa_ops.TOSA_OPS, attributes)


UPSTREAM: Mapping[str, Callable[[], Dialect]] = {"linalg": _linalg, "tensor": _tensor, "tosa": _tosa}
"""Dialects by name."""
