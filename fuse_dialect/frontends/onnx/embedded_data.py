"""A model's bytes without its large tensors, which stay in the file.

protobuf copies every tensor that it parses. So the elements of large ones are left out first: a tensor whose `raw_data`
is `LARGE` bytes or more becomes a tensor with external data, in the file at hand, named `EMBEDDED`. The rest of the
reader then knows one kind of large tensor, and parses some KB of a model of GBs.

1. Messages are followed as protobuf's own description says, through the fields that lead to tensors; what is smaller
   than `LARGE` is passed over as a whole.
2. Every length is compared with the end of the message around it. Whatever is not as expected (a length that is too
   long, a group, nesting beyond `_MAX_NESTING`) ends the scan without a result; protobuf then reads the whole file,
   and its verdict counts.
3. A tensor that has external data already, or `raw_data` twice, stays as it is.
4. `EMBEDDED` is a name that no path can have. A model that uses it itself is treated as one that names no file.

Source: protobuf, "Encoding", https://protobuf.dev/programming-guides/encoding.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, TypeAlias

import onnx

from fuse_dialect.dialect.mapped_file import release
from fuse_dialect.frontends.onnx.external_data import TENSOR_MESSAGE, leads_to_tensors

EMBEDDED = "\0"
"""Location of tensors whose data is in the model's own file."""
LARGE = 1 << 16
"""Bytes."""
_MAX_NESTING = 64
"""Messages in messages; protobuf reads 100."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
"""Wire types; 3 and 4, groups, are not used by ONNX."""

_Pieces: TypeAlias = list[bytes]


class _UnexpectedError(Exception):
    """The bytes are not what a model's are."""


def without_large_tensors(data: memoryview) -> bytes | None:
    """The model's bytes with large tensors as external data; `None` if there are none, or the bytes are no model's."""
    try:
        pieces = _shortened(data, 0, len(data), onnx.ModelProto.DESCRIPTOR, 0)
    except _UnexpectedError:
        return None
    shortened = None if pieces is None else b"".join(pieces)
    release(data)
    return shortened


def _fields(data: memoryview, at: int, end: int) -> Iterator[tuple[int, int, int, int, int]]:
    """The fields of a message: number, wire type, and where field, content and what follows begin."""
    while at < end:
        start = at
        key, at = _varint(data, at, end)
        number, wire_type = key >> 3, key & 7
        content = at
        if wire_type == _BYTES:
            length, content = _varint(data, at, end)
            at = content + length
        elif wire_type == _VARINT:
            _, at = _varint(data, at, end)
        elif wire_type in (_FIXED64, _FIXED32):
            at += 8 if wire_type == _FIXED64 else 4
        else:
            raise _UnexpectedError
        if at > end:
            raise _UnexpectedError
        yield number, wire_type, start, content, at


def _varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    """A number in groups of seven bits, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= end:
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise _UnexpectedError


def _shortened(data: memoryview, start: int, end: int, message: Any, depth: int) -> _Pieces | None:
    """The bytes of a message without its large tensors; `None` if it has none."""
    if message.full_name == TENSOR_MESSAGE:
        return _shortened_tensor(data, start, end)
    if depth > _MAX_NESTING:
        raise _UnexpectedError
    inner_messages = _messages_towards_tensors(message)
    pieces: _Pieces = []
    kept = start
    for number, wire_type, field, content, after in _fields(data, start, end):
        if wire_type != _BYTES or after - content < LARGE or number not in inner_messages:
            continue
        inner = _shortened(data, content, after, inner_messages[number], depth + 1)
        if inner is not None:
            pieces += [bytes(data[kept:field]), _head(number, sum(map(len, inner))), *inner]
            kept = after
            # The system brings in up to some MB around every byte that is read.
            release(data[content:after])
    return [*pieces, bytes(data[kept:end])] if pieces else None


def _shortened_tensor(data: memoryview, start: int, end: int) -> _Pieces | None:
    raw = onnx.TensorProto.RAW_DATA_FIELD_NUMBER
    places = (onnx.TensorProto.EXTERNAL_DATA_FIELD_NUMBER, onnx.TensorProto.DATA_LOCATION_FIELD_NUMBER)
    found: tuple[int, int, int] | None = None
    for number, wire_type, field, content, after in _fields(data, start, end):
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
    return [bytes(data[start:field]), bytes(data[after:end]), place.SerializeToString()]


def _head(number: int, length: int) -> bytes:
    """What stands before the content of a field that holds bytes."""
    head = bytearray()
    for value in (number << 3 | _BYTES, length):
        while value >= 0x80:
            head.append(value & 0x7F | 0x80)
            value >>= 7
        head.append(value)
    return bytes(head)


@cache
def _messages_towards_tensors(message: Any) -> dict[int, Any]:
    """By number the fields that lead to tensors, with the messages that they hold."""
    return {field.number: field.message_type for field in message.fields if leads_to_tensors(field)}
