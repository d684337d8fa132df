"""Arrays in the format of safetensors, each at a multiple of 64 bytes: what a saved program has its constants in.

The format has no gaps between tensors. So what fills them up is a tensor, too, under a name of its own.

Source: https://huggingface.co/docs/safetensors, "Format".
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fuse_dialect.backends.stored.archive import ALIGNMENT

if TYPE_CHECKING:
    from fuse_dialect.dialect.op import Array

_NAMES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "bool": "BOOL",
    **{f"int{8 * size}": f"I{8 * size}" for size in (1, 2, 4, 8)},
    **{f"uint{8 * size}": f"U{8 * size}" for size in (1, 2, 4, 8)},
}  # fmt: skip
_DTYPES = {name: np.dtype(dtype) for dtype, name in _NAMES.items() if dtype != "bfloat16"}
_BYTES, _PADDING = "U8", ".padding"


@dataclass(slots=True)
class TensorMember:
    """Arrays that are to be written."""

    _entries: dict[str, Any] = field(default_factory=dict[str, Any])
    _pieces: "list[bytes | memoryview]" = field(default_factory=list["bytes | memoryview"])
    _end: int = 0

    def add(self, array: "Array") -> str:
        """Add an array that lies row by row; its name."""
        stored, shape = _NAMES.get(array.dtype.name), list(array.shape)
        name = f"c{len(self._entries)}"
        flat = memoryview(cast(Any, array.reshape(-1).view(np.uint8)))
        self._add(name, stored or _BYTES, shape if stored else [len(flat)], flat)
        if pad := -self._end % ALIGNMENT:
            self._add(f"{name}{_PADDING}", _BYTES, [pad], bytes(pad))
        return name

    def offset_of(self, name: str) -> int:
        """Where an array begins, from the start of all of them."""
        return self._entries[name]["data_offsets"][0]

    def _add(self, name: str, dtype: str, shape: list[int], data: "bytes | memoryview") -> None:
        size = len(data)
        self._entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [self._end, self._end + size]}
        self._pieces.append(data)
        self._end += size

    def arrays(self) -> "Iterator[tuple[int, bytes | memoryview]]":
        """Where each array begins, and its bytes."""
        for (name, entry), piece in zip(self._entries.items(), self._pieces, strict=True):
            if not name.endswith(_PADDING):
                yield entry["data_offsets"][0], piece

    def pieces(self) -> "list[bytes | memoryview]":
        """The file, piece by piece."""
        text = json.dumps(self._entries, separators=(",", ":")).encode()
        text += b" " * (-(8 + len(text)) % ALIGNMENT)
        return [len(text).to_bytes(8, "little") + text, *self._pieces]


def read_tensors(data: memoryview, start: memoryview) -> "Mapping[str, Array]":
    """The arrays of a member by name, as views of it; those of types that NumPy does not have are bytes.

    Args:
        data: The member.
        start: The bytes of its tensors.

    Raises:
        ValueError: It is not as `TensorMember` writes it.
    """
    try:
        entries = json.loads(bytes(data[8 : len(data) - len(start)]))
        return {name: _array(entry, start) for name, entry in entries.items()}
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"the head of the tensors is damaged: {error}") from error


def _array(entry: Mapping[str, Any], data: memoryview) -> "Array":
    first, end = entry["data_offsets"]
    shape = entry["shape"]
    if not all(size.__class__ is int and size >= 0 for size in (first, end, *shape)) or not first <= end <= len(data):
        raise ValueError("a tensor is not in its member")
    dtype = _DTYPES.get(entry["dtype"], np.dtype(np.uint8))
    if entry["dtype"] not in _DTYPES:
        shape = [end - first]
    if prod(shape) * dtype.itemsize != end - first:
        raise ValueError("a tensor does not have the size of its shape")
    return np.frombuffer(data[first:end], dtype).reshape(shape)
