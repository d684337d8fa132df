"""Elements of constants that the text of a module keeps at its end: `dense_resource<key>` and `dialect_resources`."""

from typing import cast

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IntegerType,
    ModuleOp,
    TensorType,
)
from xdsl.utils.exceptions import VerifyException

_ALIGNMENT_BYTES = 4
"""A blob begins with its alignment, a little-endian integer."""


def embed_resources(module: ModuleOp, ctx: Context) -> None:
    """Replace each `dense_resource` constant whose elements `ctx` knows by a `dense` one.

    Args:
        module: A module that was parsed with `ctx`.
        ctx: Its builtin dialect keeps the resources of what it parsed.
    """
    interface = ctx.get_dialect("builtin").get_interface(OpAsmDialectInterface)
    if interface is None:
        return
    for op in module.walk():
        if isinstance(op, arith.ConstantOp) and isinstance(op.value, DenseResourceAttr):
            dense = _embedded(op.value, interface)
            if dense is not None:
                op.properties["value"] = dense


def _embedded(resource: DenseResourceAttr, interface: OpAsmDialectInterface) -> DenseIntOrFPElementsAttr | None:
    """The elements of a resource, or `None` when the text has left them out."""
    blob = interface.lookup(resource.resource_handle.data)
    if not blob or not isinstance(resource.type, TensorType):
        return None
    try:
        data = bytes.fromhex(blob.removeprefix("0x"))[_ALIGNMENT_BYTES:]
        type = cast("TensorType[IntegerType | AnyFloat]", resource.type)
        return DenseIntOrFPElementsAttr(type, BytesAttr(data)) if data else None
    except (ValueError, VerifyException):
        return None
