"""Tensors of an ONNX model as NumPy arrays: sizes checked before memory is taken, files only from the model's folder.

A model is untrusted. Its tensors claim a shape and carry data in one of seven fields or in another file, and nothing
forces the two to agree; `tensor_array` is the only reader, and compares them first. Data in files, the model's own
included (see `embedded_data`), is mapped and read when somebody needs it.
"""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from fuse_dialect.budget import Budget
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.mapped_file import map_file, release
from fuse_dialect.frontends.onnx.embedded_data import EMBEDDED, LARGE
from fuse_dialect.frontends.onnx.external_data import check_location

if TYPE_CHECKING:
    from collections.abc import Iterator

Array: TypeAlias = npt.NDArray[Any]
"""A NumPy array of any element type."""

_PART = 1 << 16
"""Elements that are compared at a time."""
_ELEMENT_TYPES: frozenset[ir.DataType] = frozenset(
    {
        ir.DataType.FLOAT16,
        ir.DataType.BFLOAT16,
        ir.DataType.FLOAT,
        ir.DataType.DOUBLE,
        ir.DataType.BOOL,
        ir.DataType.INT8,
        ir.DataType.INT16,
        ir.DataType.INT32,
        ir.DataType.INT64,
        ir.DataType.UINT8,
        ir.DataType.UINT16,
        ir.DataType.UINT32,
        ir.DataType.UINT64,
        ir.DataType.FLOAT8E4M3FN,
        ir.DataType.FLOAT8E4M3FNUZ,
        ir.DataType.FLOAT8E5M2,
        ir.DataType.FLOAT8E5M2FNUZ,
        ir.DataType.FLOAT8E8M0,
        ir.DataType.FLOAT4E2M1,
        ir.DataType.INT4,
        ir.DataType.UINT4,
        ir.DataType.INT2,
        ir.DataType.UINT2,
    }
)
"""ONNX element types that the dialect has too."""


def dtype_of(data_type: ir.DataType | None) -> np.dtype[Any]:
    """NumPy type of an ONNX element type.

    Raises:
        FuseError: The dialect has no such element type: strings, complex numbers, floats of 6 bits.
    """
    if data_type is None or data_type not in _ELEMENT_TYPES:
        raise FuseError(f"elements of type {data_type.name if data_type is not None else 'unknown'} are not supported")
    return np.dtype(data_type.numpy())


def tensor_array(tensor: ir.TensorProtocol, budget: Budget) -> Array:
    """The elements of a tensor, read-only; equal elements take the memory of one (strides of zero).

    Args:
        tensor: Any tensor of the model.
        budget: What is read from files is taken from it: many tensors may name the same bytes.

    Raises:
        FuseError: The element type is not supported, or the data does not have the size that the shape claims.
    """
    name = tensor.name or "constant"
    if (dtype := _checked_dtype(tensor, name)) is None:
        raise FuseError(f"tensor '{name}': elements of type {_type_name(tensor)} are not supported")
    shape = _checked_shape(tensor, name)
    count = math.prod(shape)
    bits = min(8, tensor.dtype.bitwidth)
    # Elements of less than a byte lie packed in the model, the first in the lowest bits.
    size = -(-count * bits // 8) if bits < 8 else count * dtype.itemsize
    data = _tensor_bytes(tensor, name, size, budget)
    if len(data) != size:
        raise FuseError(
            f"tensor '{name}' holds {len(data)} bytes, but its type "
            f"{'x'.join(map(str, (*shape, _type_name(tensor))))} needs {size}"
        )
    if bits < 8:
        return compress_splat(_unpacked(data, bits, count).view(dtype).reshape(shape))
    stored = np.dtype(np.uint8) if dtype == np.bool_ else dtype.newbyteorder("<")
    flat = np.frombuffer(data, stored)
    if dtype == np.bool_:
        flat = flat != 0
    array = compress_splat(flat.astype(dtype, copy=False).reshape(shape))
    release(data)
    return array


def _unpacked(data: bytes | memoryview, bits: int, count: int) -> Array:
    """The elements of `bits` bits each, in a byte of their own."""
    packed = np.frombuffer(data, np.uint8)[:, None]
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return ((packed >> shifts) & np.uint8((1 << bits) - 1)).reshape(-1)[:count]


def compress_splat(array: Array) -> Array:
    """The array; as a broadcast scalar when it has more than one element and all have the same bits."""
    if array.size < 2 or not any(array.strides):
        return array
    if not _holds_one_pattern(array.flat[:16]) or not _holds_one_pattern(array):
        return array
    return np.broadcast_to(array.reshape(-1)[0].copy(), array.shape)


def _holds_one_pattern(array: Array) -> bool:
    """Whether all elements have the same bits."""
    bits = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(-1)
    # In parts, because an embedding may begin with a row of zeros, and the rest of it need not be read.
    return all(bool((bits[part : part + _PART] == bits[0]).all()) for part in range(0, len(bits), _PART))


def _checked_dtype(tensor: ir.TensorProtocol, name: str) -> np.dtype[Any] | None:
    try:
        data_type = tensor.dtype
    except ValueError as error:
        raise FuseError(f"tensor '{name}' has an unknown element type") from error
    return np.dtype(data_type.numpy()) if data_type in _ELEMENT_TYPES else None


def _type_name(tensor: ir.TensorProtocol) -> str:
    return tensor.dtype.name.lower()


def _checked_shape(tensor: ir.TensorProtocol, name: str) -> tuple[int, ...]:
    shape = tuple(dim if isinstance(dim, int) else -1 for dim in tensor.shape)
    if min(shape, default=0) < 0:
        raise FuseError(f"tensor '{name}' has the shape {list(tensor.shape)}, which no constant can have")
    return shape


def _tensor_bytes(tensor: ir.TensorProtocol, name: str, expected: int, budget: Budget) -> bytes | memoryview:
    """Little-endian bytes of the elements, as many as the model holds."""
    if isinstance(tensor, ir.ExternalTensor):
        return _external_bytes(tensor, name, expected, budget)
    try:
        return tensor.tobytes()
    except (ValueError, TypeError, AssertionError, OverflowError) as error:
        raise FuseError(f"tensor '{name}' cannot be read: its data field does not fit its element type") from error


def _external_bytes(tensor: ir.ExternalTensor, name: str, expected: int, budget: Budget) -> bytes | memoryview:
    if expected == 0:
        return b""
    untyped: Any = tensor
    file: memoryview | None = untyped.raw
    if file is None:
        # `bind_external_data` has mapped the files of all tensors that have a folder.
        check_location(name, _location(tensor), None)
        raise FuseError(f"tensor '{name}' cannot be read from '{_location(tensor)}'")
    offset = tensor.offset or 0
    length = tensor.length if tensor.length is not None else expected
    if length != expected or offset < 0 or offset + length > len(file):
        place = "the model's file" if _location(tensor) == EMBEDDED else f"'{_location(tensor)}'"
        raise FuseError(
            f"tensor '{name}' needs {expected} bytes from {place}, "
            f"which has {len(file)} bytes; the model claims {length} from byte {offset}"
        )
    budget.spend(f"tensor '{name}'", bytes=expected)
    data = file[offset : offset + length]
    return data if length >= LARGE else bytes(data)


def _first_line(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return (text.splitlines() or [type(error).__name__])[0].rstrip(".").lower()


def bind_external_data(model: ir.Model, folder: Path | None, own_bytes: memoryview | None = None) -> None:
    """Map the files of every external tensor that can be read, in the graph, its subgraphs and functions.

    Args:
        model: Changed in place.
        folder: Where the model's file is; `None` for a model in memory, which must not name files.
        own_bytes: The model's file, for tensors that `embedded_data` has left there.

    Raises:
        FuseError: A file cannot be read, or see `check_location`.
    """
    files: dict[Path, memoryview] = {}
    for tensor in _external_tensors(model):
        untyped: Any = tensor
        if own_bytes is not None and _location(tensor) == EMBEDDED:
            untyped.raw = own_bytes
            continue
        path = check_location(tensor.name or "constant", _location(tensor), folder)
        assert folder is not None, "without a folder no location passes"
        tensor.base_dir = str(folder.resolve())
        if path not in files:
            files[path] = _mapped(path, folder, tensor)
        untyped.raw = files[path]


def _mapped(path: Path, folder: Path, tensor: ir.ExternalTensor) -> memoryview:
    try:
        return map_file(path, named=folder / _location(tensor)) or memoryview(b"")
    except (OSError, ValueError) as error:
        name, place = tensor.name or "constant", _location(tensor)
        raise FuseError(f"tensor '{name}' cannot be read from '{place}': {_first_line(error)}") from error


def _location(tensor: ir.ExternalTensor) -> str:
    """The path in the model, relative to the model's folder."""
    untyped: Any = tensor  # its annotation, a path without parameter, is no type to a strict checker
    return str(untyped.location)


def _external_tensors(model: ir.Model) -> "Iterator[ir.ExternalTensor]":
    graphs: list[ir.Graph] = [model.graph, *(function.graph for function in model.functions.values())]
    while graphs:
        graph = graphs.pop()
        for value in graph.initializers.values():
            if isinstance(value.const_value, ir.ExternalTensor):
                yield value.const_value
        for node in graph:
            for attribute in node.attributes.values():
                if attribute.is_ref():
                    continue
                match attribute.type:
                    case ir.AttributeType.GRAPH:
                        graphs.append(attribute.as_graph())
                    case ir.AttributeType.GRAPHS:
                        graphs.extend(attribute.as_graphs())
                    case ir.AttributeType.TENSOR:
                        yield from _if_external(attribute.as_tensor())
                    case ir.AttributeType.TENSORS:
                        for tensor in attribute.as_tensors():
                            yield from _if_external(tensor)
                    case _:
                        pass


def _if_external(tensor: ir.TensorProtocol) -> "Iterator[ir.ExternalTensor]":
    if isinstance(tensor, ir.ExternalTensor):
        yield tensor
