"""A model's bytes without its large tensors, which stay in the file.

protobuf copies every tensor that it parses. So the elements of large ones are left out first: a tensor whose `raw_data`
is `LARGE` bytes or more becomes a tensor with external data, in the file at hand, named `EMBEDDED`. The rest of the
reader then knows one kind of large tensor, and parses some KB of a model of GBs.

1. Messages are followed as protobuf's own description says, through the fields that lead to tensors; what is smaller
   than `LARGE` is passed over as a whole.
2. Every length is compared with the end of the message around it. Whatever is not as expected (a length that is too
   long, a group, a message in two parts, nesting beyond `_MAX_NESTING`, more fields than `_MAX_FIELDS`) ends the scan
   without a result; protobuf then reads the whole file, and its verdict counts.
3. A tensor that has external data already, or `raw_data` twice, stays as it is.
4. `EMBEDDED` is a name that no path can have. A model that uses it itself is treated as one that names no file.

Source: protobuf, "Encoding", https://protobuf.dev/programming-guides/encoding.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import onnx

from fuse_dialect.dialect.mapped_file import release
from fuse_dialect.frontends.onnx.external_data import TENSOR_MESSAGE, is_repeated, leads_to_tensors

EMBEDDED = "\0"
"""Location of tensors whose data is in the model's own file."""
LARGE = 1 << 16
"""Bytes."""
_MAX_NESTING = 64
"""Messages in messages; protobuf reads 100."""
_MAX_FIELDS = 1 << 19
"""Half a second; a node that is smaller than `LARGE` is one field."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
"""Wire types; 3 and 4, groups, are not used by ONNX."""

_Pieces: TypeAlias = list[bytes]


class _UnexpectedError(Exception):
    """The bytes are not what a model's are."""


def without_large_tensors(data: memoryview) -> bytes | None:
    """The model's bytes with large tensors as external data; `None` if there are none, or the bytes are no model's."""
    try:
        pieces = _Scan(data).message(0, len(data), onnx.ModelProto.DESCRIPTOR, 0)
    except _UnexpectedError:
        return None
    shortened = None if pieces is None else b"".join(pieces)
    release(data)
    return shortened


class _Scan:
    """One walk over the bytes of a model."""

    def __init__(self, data: memoryview):
        self._data = data
        self._fields_left = _MAX_FIELDS

    def message(self, start: int, end: int, message: Any, depth: int) -> _Pieces | None:
        """The bytes of a message without its large tensors; `None` if it has none."""
        if message.full_name == TENSOR_MESSAGE:
            return self._tensor(start, end)
        if depth > _MAX_NESTING:
            raise _UnexpectedError
        data, inner_messages = self._data, _messages_towards_tensors(message)
        pieces: _Pieces = []
        kept = start
        single: set[int] = set()
        for number, wire_type, field, content, after in self._fields(start, end):
            if number in inner_messages and not inner_messages[number].is_repeated:
                # protobuf merges the parts of a message that is there twice.
                if number in single:
                    raise _UnexpectedError
                single.add(number)
            if wire_type != _BYTES or after - content < LARGE or number not in inner_messages:
                continue
            inner = self.message(content, after, inner_messages[number].message, depth + 1)
            if inner is not None:
                pieces += [bytes(data[kept:field]), _head(number, sum(map(len, inner))), *inner]
                kept = after
                # The system brings in up to some MB around every byte that is read.
                release(data[content:after])
        return [*pieces, bytes(data[kept:end])] if pieces else None

    def _tensor(self, start: int, end: int) -> _Pieces | None:
        raw = onnx.TensorProto.RAW_DATA_FIELD_NUMBER
        places = (onnx.TensorProto.EXTERNAL_DATA_FIELD_NUMBER, onnx.TensorProto.DATA_LOCATION_FIELD_NUMBER)
        found: tuple[int, int, int] | None = None
        for number, wire_type, field, content, after in self._fields(start, end):
            if number in places or (number == raw and (found is not None or wire_type != _BYTES)):
                return None
            if number == raw:
                found = field, content, after
        if found is None or found[2] - found[1] < LARGE:
            return None
        field, content, after = found
        place = onnx.TensorProto(data_location=onnx.TensorProto.EXTERNAL)
        for key, value in (("location", EMBEDDED), ("offset", str(content)), ("length", str(after - content))):
            place.external_data.add(key=key, value=value)
        return [bytes(self._data[start:field]), bytes(self._data[after:end]), place.SerializeToString()]

    def _fields(self, at: int, end: int) -> Iterator[tuple[int, int, int, int, int]]:
        """The fields of a message: number, wire type, and where field, content and what follows begin."""
        while at < end:
            self._fields_left -= 1
            start = at
            key, at = self._varint(at, end)
            number, wire_type = key >> 3, key & 7
            content = at
            if wire_type == _BYTES:
                length, content = self._varint(at, end)
                at = content + length
            elif wire_type == _VARINT:
                _, at = self._varint(at, end)
            elif wire_type in (_FIXED64, _FIXED32):
                at += 8 if wire_type == _FIXED64 else 4
            else:
                raise _UnexpectedError
            if at > end or self._fields_left < 0:
                raise _UnexpectedError
            yield number, wire_type, start, content, at

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        """A number in groups of seven bits, and where it ends."""
        value = 0
        for shift in range(0, 70, 7):
            if at >= end:
                break
            byte = self._data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, at
        raise _UnexpectedError


def _head(number: int, length: int) -> bytes:
    """What stands before the content of a field that holds bytes."""
    head = bytearray()
    for value in (number << 3 | _BYTES, length):
        while value >= 0x80:
            head.append(value & 0x7F | 0x80)
            value >>= 7
        head.append(value)
    return bytes(head)


@dataclass(frozen=True, slots=True)
class _Field:
    """A field that leads to tensors."""

    message: Any
    """What it holds."""
    is_repeated: bool


@cache
def _messages_towards_tensors(message: Any) -> dict[int, _Field]:
    """By number the fields that lead to tensors."""
    return {
        field.number: _Field(field.message_type, is_repeated(field))
        for field in message.fields
        if leads_to_tensors(field)
    }
