"""Arrays at the border: what a caller gives becomes what a kernel may read, or a diagnosed error.

Kernels read dense row-major arrays, aligned to their element, in the machine's byte order. Whatever is strided,
reversed, misaligned or in the other byte order is copied; another dtype or shape is an error, because a silent
conversion would hide a mistake.
"""

from collections.abc import Callable, Mapping, Sequence
from ctypes import addressof, c_char
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fuse_dialect.backends.runtime.tensors import array_of, is_torch_tensor
from fuse_dialect.backends.types import OPEN, Shape, TensorType
from fuse_dialect.diagnostics import FuseError

if TYPE_CHECKING:
    from fuse_dialect.dialect.op import Array

_DENSE = 0x0001 | 0x0100
"""NumPy's flags for row-major and aligned: NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_ALIGNED."""
TREES = "a program takes the arrays of a tree one by one: program(*jax.tree.leaves(args)); fuse_dialect.jit takes trees"
"""Hint for who gives a dictionary where an array is expected."""
_from_buffer = cast("Callable[[Array], c_char]", c_char.from_buffer)
_ADDRESS_OF_NOTHING = 64
"""Address of an array without elements; nobody reads it."""


@dataclass(frozen=True, slots=True)
class Port:
    """An argument or a result of a program."""

    label: str
    """For messages: `input 'x'`, `output 0`."""
    type: TensorType

    def fits(self, shape: Shape) -> bool:
        """Whether an array of this shape is one of the type."""
        expected = self.type.shape
        if len(shape) != len(expected):
            return False
        for dim, size in zip(expected, shape, strict=True):  # noqa: SIM110  # a generator takes twice as long
            if dim not in (size, OPEN):
                return False
        return True

    def mismatch(self, got: str, hint: str | None = None) -> FuseError:
        """The error for a value that is none of the type."""
        from fuse_dialect.dialect.types import element_type_of, tensor  # the IR is for errors alone

        expected = tensor(self.type.shape, element_type_of(self.type.dtype))
        return FuseError(f"{self.label} expects a value of type {expected}, got {got}", hint=hint)


def is_dense(array: "Array") -> bool:
    """Whether a kernel may read the array where it is, apart from its dtype."""
    return array.flags.num & _DENSE == _DENSE


def address_of(array: "Array") -> int:
    """Where the first element is."""
    try:
        return addressof(_from_buffer(array))
    except (TypeError, ValueError, BufferError):  # read-only, empty, or of a dtype that has no buffer
        return cast(int, array.__array_interface__["data"][0]) or _ADDRESS_OF_NOTHING


def aligned_bytes(size: int, alignment: int = 64) -> "Array":
    """Memory without content whose first byte is aligned, by default as arenas are (`arena.ALIGNMENT`)."""
    memory = np.empty(size + alignment, np.uint8)
    start = -address_of(memory) % alignment
    return memory[start : start + size]


def as_input(port: Port, value: Any) -> "Array":
    """The value as an array that a kernel may read; the caller's own memory where that serves.

    Raises:
        FuseError: The value is no array, or one of another dtype or shape.
    """
    array = _as_array(port, value)
    expected = port.type.dtype
    if array.dtype != expected:
        if array.dtype.newbyteorder("=") != expected:
            raise port.mismatch(_form(array), _conversion(port, value, array))
        array = array.astype(expected)
    if not port.fits(array.shape):
        raise port.mismatch(_form(array))
    return array if is_dense(array) else np.array(array, order="C", copy=True)


def _conversion(port: Port, value: Any, array: "Array") -> str:
    """How to make a value of another dtype one of the port's."""
    is_tensor = is_torch_tensor(value)
    if array.dtype.kind == "c" and port.type.dtype.kind != "c":
        # PyTorch exports a complex input as its parts along a last axis of 2.
        if port.fits((*array.shape, 2)):
            parts = "torch.view_as_real(value)" if is_tensor else "numpy.stack([value.real, value.imag], -1)"
            return f"inputs are real; give both parts along the last axis: {parts}"
        return "inputs are real; give the part that is wanted: value.real, value.imag or abs(value)"
    if is_tensor:
        return f"convert it: value.to(torch.{port.type.dtype.name})"
    return f"convert it: value.astype('{port.type.dtype}')"


def _as_array(port: Port, value: Any) -> "Array":
    if type(value) is not np.ndarray and isinstance(value, np.ma.MaskedArray):  # asking imports `numpy.ma`
        raise port.mismatch("a masked array", "fill it: value.filled(0)")
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(cast("Array", value))
    if is_torch_tensor(value):
        try:
            return array_of(value)
        except (TypeError, RuntimeError, ImportError) as error:
            raise port.mismatch(_kind(value), f"torch says: {_first_line(error)}") from error
    if isinstance(value, Mapping):
        raise port.mismatch(_kind(cast(object, value)), TREES)
    if hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (BufferError, TypeError, ValueError, RuntimeError, AttributeError, NotImplementedError) as error:
            if not hasattr(value, "__array__"):
                raise port.mismatch(_kind(value), f"from_dlpack says: {_first_line(error)}") from error
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise port.mismatch(_kind(value), f"numpy says: {_first_line(error)}") from error
    if array.dtype.kind not in "biuf" and array.dtype != port.type.dtype and array.dtype.name != "bfloat16":
        hint = _conversion(port, array, array) if array.dtype.kind == "c" else None
        raise port.mismatch(_kind(value), hint)
    has_dtype = hasattr(value, "dtype") or hasattr(value, "__array_interface__")
    if has_dtype or array.dtype == port.type.dtype or not _may_become(value, array, port):
        return array
    return array.astype(port.type.dtype)


def _may_become(value: Any, array: "Array", port: Port) -> bool:
    """Whether numbers in lists, which have no dtype of their own, keep their values in the port's dtype."""
    with np.errstate(all="ignore"):
        if not np.can_cast(array.dtype, port.type.dtype, "same_kind") and array.dtype.kind not in "iu":
            return False
        if port.type.dtype.kind in "iub":
            return bool((array.astype(port.type.dtype) == array).all())
    return True


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"


def _form(array: "Array") -> str:
    return _described(array.dtype, array.shape)


def _described(dtype: "np.dtype[Any]", shape: Shape) -> str:
    from fuse_dialect.dialect.types import shape_text  # as above

    return f"{dtype} of shape {shape_text(shape)}"


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def check_output(port: Port, array: Any, shape: Shape) -> "Array":
    """The array, if a result of the shape can be written to it.

    Raises:
        FuseError: It cannot.
    """
    if not isinstance(array, np.ndarray):
        raise port.mismatch(_kind(array), "results are written to NumPy arrays")
    found = cast("Array", array)
    if found.dtype != port.type.dtype or found.shape != shape:
        raise FuseError(f"{port.label} expects {_described(port.type.dtype, shape)}, got {_form(found)}")
    if not found.flags.writeable:
        raise FuseError(f"{port.label} is read-only")
    return found


def shares_memory(array: "Array", others: "Sequence[Array]") -> bool:
    """Whether the array may have bytes in common with one of the others."""
    if not is_dense(array):
        return any(np.may_share_memory(array, other) for other in others)
    start = address_of(array)
    end = start + array.nbytes
    for other in others:
        if not is_dense(other):
            if np.may_share_memory(array, other):
                return True
        elif start < (place := address_of(other)) + other.nbytes and place < end:
            return True
    return False


def own_arrays(results: "Sequence[Array]", arguments: "Sequence[Array]") -> "list[Array]":
    """Each result as `own_array`; one array that is two results becomes two."""
    own: list[Array] = []
    for result in results:
        own.append(own_array(result, [*arguments, *own]))
    return own


def own_array(result: "Array", arguments: "Sequence[Array]") -> "Array":
    """The result as a dense array with memory of its own, which nothing else shows."""
    is_own = result.flags.owndata and result.flags.writeable and is_dense(result)
    if is_own and not any(result is argument for argument in arguments):
        return result
    return np.array(result, order="C", copy=True)
