"""Constants that are written beside a module's text: in a safetensors file, under names that the text refers to.

A constant of more than `SMALLEST` elements that are not all equal becomes a tensor of the file, and the text says
`dense_resource<name>`, as MLIR does for elements that are kept elsewhere. Names come from the names of the values.

The file is written tensor by tensor, and the memory of each is given back; the library's own writer takes all tensors
at once, and has touched all of their pages at its end. Tensors begin at multiples of the size of an element.

Source: https://huggingface.co/docs/safetensors, "Format".
"""

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, ModuleOp, i1
from xdsl.ir import Attribute

from fuse_dialect.dialect.constants import is_splat, stored_data
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.mapped_file import release
from fuse_dialect.frontends.mlir.weights_file import STORED_TYPES
from fuse_dialect.fusion.ir.constants import is_constant

SMALLEST = 100
"""Elements; a constant of so many or fewer is readable, and stays in the text."""
_CHUNK = 1 << 22
"""Bytes that are written at a time."""
_NAMES: Mapping[Attribute, str] = {element: name for name, (element, _) in STORED_TYPES.items()}


@dataclass(frozen=True, slots=True)
class Weight:
    """A constant in the weights file."""

    name: str
    type: str
    """The format's name of the element type."""
    value: DenseIntOrFPElementsAttr

    @property
    def element_size(self) -> int:
        """Bytes of an element."""
        return STORED_TYPES[self.type][1]

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return len(stored_data(self.value))


@dataclass(frozen=True, slots=True)
class Weights:
    """The constants of a module that go to a file; a constant is kept once, however many ops hold it."""

    tensors: tuple[Weight, ...]
    """In the order of their data."""
    by_identity: Mapping[int, Weight]
    """By the identity of the constant's attribute."""

    def name_of(self, attribute: Attribute) -> str | None:
        """The tensor that holds the elements of a constant, or `None` if they stay in the text."""
        weight = self.by_identity.get(id(attribute))
        return None if weight is None else weight.name

    def names(self) -> list[str]:
        """The names of the tensors, in the order of their data."""
        return [weight.name for weight in self.tensors]

    def offsets(self) -> tuple[bytes, list[int]]:
        """The head of the file, and where in the file the data of each tensor begins."""
        entries: dict[str, object] = {}
        starts, at = list[int](), 0
        for weight in self.tensors:
            starts.append(at)
            entries[weight.name] = {
                "dtype": weight.type,
                "shape": list(weight.value.get_shape()),
                "data_offsets": [at, at + weight.size],
            }
            at += weight.size
        text = json.dumps(entries, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        head = struct.pack("<Q", len(text)) + text
        return head, [len(head) + start for start in starts]

    def write(self, stream: BinaryIO) -> None:
        """Write the file."""
        stream.write(self.offsets()[0])
        for weight in self.tensors:
            for chunk in chunks_of(weight.value):
                stream.write(chunk)


def chunks_of(value: DenseIntOrFPElementsAttr) -> Iterator[bytes | memoryview]:
    """The bytes of a constant as other formats store them, little-endian, a boolean as 0 or 1; piece by piece."""
    data = memoryview(stored_data(value))
    for start in range(0, len(data), _CHUNK):
        chunk = data[start : start + _CHUNK]
        yield (np.frombuffer(chunk, np.uint8) != 0).tobytes() if value.get_element_type() == i1 else chunk
        release(chunk)


def collect_weights(module: ModuleOp) -> Weights:
    """The constants of a module that are to be written beside its text.

    Raises:
        OpError: Of a constant only the name is known: the elements are in another file.
    """
    weights: dict[int, Weight] = {}
    by_place: dict[tuple[int, Attribute], Weight] = {}
    names: dict[str, int] = {}
    for op in module.walk():
        if not is_constant(op):
            continue
        for value in (*op.properties.values(), *op.attributes.values()):
            if isinstance(value, DenseResourceAttr):
                name = value.resource_handle.data
                hint = "weights= (--input-weights) of what reads the module names the file that holds them"
                raise OpError(op, f"refers to elements that are elsewhere, under the name '{name}'", hint)
            identity = id(value)
            if identity in weights or not isinstance(value, DenseIntOrFPElementsAttr):
                continue
            dense = cast(DenseIntOrFPElementsAttr, value)
            if not _is_weight(dense):
                continue
            place = (_address(dense), cast(Attribute, dense.type))
            if place not in by_place:
                name = _unique(_identifier(op.results[0].name_hint), names)
                by_place[place] = Weight(name, _NAMES[dense.get_element_type()], dense)
            weights[identity] = by_place[place]
    ordered = sorted(by_place.values(), key=lambda weight: -weight.element_size)
    return Weights(tuple(ordered), weights)


def _is_weight(value: DenseIntOrFPElementsAttr) -> bool:
    element, data = value.get_element_type(), stored_data(value)
    size = STORED_TYPES[_NAMES[element]][1] if element in _NAMES else 0
    if not size or len(data) <= SMALLEST * size:
        return False
    is_uniform = is_splat(data, size)
    release(data)
    return not is_uniform


def _address(value: DenseIntOrFPElementsAttr) -> int:
    """Where the first byte is: one place is one tensor."""
    return cast(int, np.frombuffer(stored_data(value), np.uint8).__array_interface__["data"][0])


def _identifier(hint: str | None) -> str:
    """A name that MLIR reads without quotes: letters, digits, `_`, `$` and `.`, not beginning with the last three."""
    text = "".join(c if c.isascii() and (c.isalnum() or c in "_$.") else "_" for c in hint or "weight")
    return text if text[0].isalpha() else f"weight{text}"


def _unique(name: str, taken: dict[str, int]) -> str:
    """The name, or the name and a number."""
    new = name
    while new in taken:
        taken[name] += 1
        new = f"{name}_{taken[name]}"
    taken[new] = 1
    return new
