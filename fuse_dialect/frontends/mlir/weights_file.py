"""Elements of constants from a safetensors file: `dense_resource<name>` in the text names a tensor of the file.

1. The file is named by whoever runs the tool. The text names tensors, never files, so it cannot lead anywhere else.
2. The library `safetensors` reads the file's head and checks it: every tensor lies in the file, none overlaps another,
   and nothing is left over. A truncated file, or one that is none, is an error before anything is made of it.
3. A tensor must have the element type and the shape that the constant says. Nothing is converted.
4. Elements stay in the file until somebody reads them, see `mapped_file`.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyDenseElement,
    BFloat16Type,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    ModuleOp,
    TensorType,
    f16,
    f32,
    f64,
    i1,
)
from xdsl.ir import Attribute, Operation

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.dialect.constants import LAZY_BYTES
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.mapped_file import map_file
from fuse_dialect.dialect.types import ElementType, integer_type, is_tensor, shape_text
from fuse_dialect.extras import install_hint

STORED_TYPES: Mapping[str, tuple[ElementType, int]] = {
    "F64": (f64, 8),
    "F32": (f32, 4),
    "F16": (f16, 2),
    "BF16": (BFloat16Type(), 2),
    "BOOL": (i1, 1),
    **{f"I{8 * size}": (integer_type(8 * size), size) for size in (1, 2, 4, 8)},
    **{f"U{8 * size}": (integer_type(8 * size, unsigned=True), size) for size in (1, 2, 4, 8)},
}
"""By the format's name the element types that the dialect has too, and the bytes of an element."""


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor in a weights file."""

    type: str
    """The format's name of the element type."""
    shape: tuple[int, ...]
    data: memoryview
    """A view of the file."""


@dataclass(frozen=True, slots=True)
class WeightsFile:
    """The tensors of a safetensors file, by name."""

    path: str
    tensors: Mapping[str, StoredTensor]


def open_weights(path: str) -> WeightsFile:
    """The tensors in a file.

    Raises:
        FuseError: The file cannot be read, is no safetensors file, or the library is not installed.
    """
    place = SourceLocation(path)
    try:
        data = map_file(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FuseError(f"cannot read the weights: {reason.lower()}", place) from error
    if data is None:
        raise FuseError("cannot read the weights: the file is empty, or no regular file", place)
    try:
        import safetensors
    except ModuleNotFoundError:
        hint = install_hint("weights")
        raise FuseError("reading weights needs the 'weights' extra", place, hint=hint) from None
    library: Any = safetensors
    try:
        with library.safe_open(path, framework="np") as file:
            return WeightsFile(path, dict(_tensors(file, data)))
    except (safetensors.SafetensorError, OSError, ValueError) as error:
        reason = (str(error).strip().splitlines() or ["no reason given"])[0]
        message = "cannot read the weights: it is no safetensors file, or it is truncated"
        raise FuseError(message, place, notes=(f"safetensors says: {reason}",)) from error


def _tensors(file: Any, data: memoryview) -> Iterator[tuple[str, StoredTensor]]:
    """The tensors in the order of their data, which begins behind the head and has no gaps."""
    head, start = _head(data)
    at = start
    for name in file.offset_keys():
        part = file.get_slice(name)
        shape, stored = tuple(part.get_shape()), str(part.get_dtype())
        if stored not in STORED_TYPES:
            raise ValueError(f"tensor '{name}' has the element type {stored}, which is not supported")
        size = math.prod(shape) * STORED_TYPES[stored][1]
        # The library has opened the file again: under its name there may be another one by then.
        said = head.get(name, {})
        wanted = stored, [*shape], [at - start, at - start + size]
        if (said.get("dtype"), said.get("shape"), said.get("data_offsets")) != wanted:
            raise ValueError("another file has taken its name meanwhile")
        if at + size > len(data):
            raise ValueError(f"tensor '{name}' ends behind the end of the file")
        yield name, StoredTensor(stored, shape, data[at : at + size])
        at += size


def _head(data: memoryview) -> tuple[dict[str, dict[str, Any]], int]:
    """What the head of a mapped file says of each tensor, and where the tensors begin.

    Raises:
        ValueError: There is no such head.
    """
    size = int.from_bytes(data[:8], "little")
    try:
        found = json.loads(bytes(data[8 : 8 + size]))
    except RecursionError:
        found = None
    if not isinstance(found, dict):
        raise ValueError("its head is no table")
    table = cast("dict[str, Any]", found)
    return {name: cast("dict[str, Any]", each) for name, each in table.items() if isinstance(each, dict)}, 8 + size


def resolve_weights(module: ModuleOp, weights: WeightsFile) -> None:
    """Give every constant that is a `dense_resource` the elements of the tensor of its name.

    Args:
        module: Changed in place, or not at all.
        weights: May hold more tensors than the module names.

    Raises:
        OpError: A tensor is missing, or of another type than the constant says.
    """
    found = [
        (items, key, _elements(op, value, weights))
        for op in module.walk()
        for items in (op.properties, op.attributes)
        for key, value in items.items()
        if isinstance(value, DenseResourceAttr)
    ]
    for items, key, value in found:
        items[key] = value


def _elements(op: Operation, resource: DenseResourceAttr, weights: WeightsFile) -> DenseIntOrFPElementsAttr:
    name, type = resource.resource_handle.data, cast(Attribute, resource.type)
    tensor = weights.tensors.get(name)
    if tensor is None:
        hint = "the weights file must be the one that was written with the module"
        raise OpError(op, f"needs the tensor '{name}', which '{weights.path}' does not hold", hint)
    element, _ = STORED_TYPES[tensor.type]
    if not is_tensor(type) or type.element_type != element or tuple(type.get_shape()) != tensor.shape:
        stored = f"{shape_text(tensor.shape)} of {tensor.type}" if tensor.shape else f"a scalar of {tensor.type}"
        raise OpError(op, f"expects the tensor '{name}' to be a {type}, but '{weights.path}' holds {stored}")
    data: bytes | memoryview = tensor.data if len(tensor.data) >= LAZY_BYTES else bytes(tensor.data)
    if element == i1:
        # xDSL stores a true element as a byte whose bits are all set, the file as 1.
        data = ((np.frombuffer(data, np.uint8) != 0) * np.uint8(0xFF)).tobytes()
    stored_type = cast("TensorType[AnyDenseElement]", type)
    return DenseIntOrFPElementsAttr(stored_type, BytesAttr(cast(bytes, data)))
