"""Dialects of MLIR with what MLIR prints and xDSL 0.74 cannot read, and what tests of IREE add.

Each imports its ops when it is asked for: making 150 classes takes longer than reading a small file.
"""

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects.arith import Arith
from xdsl.dialects.linalg import Linalg
from xdsl.dialects.math import Math
from xdsl.dialects.tensor import Tensor
from xdsl.dialects.tosa import TOSA
from xdsl.ir import Attribute, Dialect, Operation


def _extended(dialect: Dialect, ops: Sequence[type[Operation]], attributes: Sequence[type[Attribute]]) -> Dialect:
    """The dialect with more ops and attributes; one of a name that it has takes its place."""
    all_ops = {op.name: op for op in (*dialect.operations, *ops)}
    all_attributes = {attribute.name: attribute for attribute in (*dialect.attributes, *attributes)}
    constants = dialect.get_interface(ConstantMaterializationInterface)
    return Dialect(
        dialect.name,
        list(all_ops.values()),
        list(all_attributes.values()),
        [] if constants is None else [constants],
    )


def _linalg() -> Dialect:
    from fuse_dialect.frontends.mlir import structured_linalg
    from fuse_dialect.frontends.mlir.linalg_forms import FORMS
    from fuse_dialect.frontends.mlir.named_linalg import NAMED_OPS

    # Of products and windows xDSL's regions differ from MLIR's; passes of xDSL know its other classes, which stay.
    known = {op.name for op in Linalg.operations}
    named = [op for name, op in NAMED_OPS.items() if name in FORMS or op.name not in known]
    structured = (
        structured_linalg.UpstreamGenericOp,
        structured_linalg.ReduceOp,
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
    from fuse_dialect.frontends.mlir import tensor_ops

    ops = (
        tensor_ops.GenerateOp,
        tensor_ops.RankOp,
        tensor_ops.UpstreamExpandShapeOp,
        tensor_ops.BitcastOp,
        tensor_ops.GatherOp,
        tensor_ops.ScatterOp,
    )
    return _extended(Tensor, ops, [])


def _tosa() -> Dialect:
    from fuse_dialect.frontends.mlir import tosa_ops
    from fuse_dialect.frontends.mlir.tosa_regions import TOSA_REGIONS

    attributes = (
        tosa_ops.BlockSizeAttr,
        tosa_ops.NanModeAttr,
        tosa_ops.ResizeModeAttr,
        tosa_ops.RoundingModeAttr,
        tosa_ops.ShapeType,
    )
    return _extended(TOSA, (*tosa_ops.TOSA_OPS, *TOSA_REGIONS), attributes)


def _arith() -> Dialect:
    from fuse_dialect.frontends.mlir.scalar_ops import ARITH_OPS

    return _extended(Arith, ARITH_OPS, [])


def _math() -> Dialect:
    from fuse_dialect.frontends.mlir.scalar_ops import MATH_OPS

    return _extended(Math, MATH_OPS, [])


def _check() -> Dialect:
    from fuse_dialect.frontends.mlir.check_ops import CHECK

    return CHECK


def _flow() -> Dialect:
    from fuse_dialect.frontends.mlir.iree_ops import FLOW

    return FLOW


def _util() -> Dialect:
    from fuse_dialect.frontends.mlir.iree_ops import UTIL

    return UTIL


UPSTREAM: Mapping[str, Callable[[], Dialect]] = {
    "arith": _arith,
    "check": _check,
    "flow": _flow,
    "linalg": _linalg,
    "math": _math,
    "tensor": _tensor,
    "tosa": _tosa,
    "util": _util,
}
"""Dialects by name."""
