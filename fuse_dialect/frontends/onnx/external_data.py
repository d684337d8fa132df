"""Where the tensors of a model may lie: in the model, or in regular files in its folder or below.

A model is untrusted, and the `location` of an external tensor is a path. A tensor can stand in many places of a model:
attributes, defaults of functions, sparse tensors, subgraphs, training info. No list of places is kept here. Protobuf's
own description of the messages says which fields can lead to a tensor, and all of those are followed, so that a place
that a later version of ONNX adds is followed too.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePath, PureWindowsPath
from typing import Any

import onnx

from fuse_dialect.diagnostics import FuseError

_HINT = "external data is read only from regular files in the model's folder or below"
TENSOR_MESSAGE = onnx.TensorProto.DESCRIPTOR.full_name
"""What protobuf calls the message of a tensor."""


def check_external_tensors(model: onnx.ModelProto, folder: Path | None, own_location: str | None = None) -> int:
    """Check every external tensor of a model, wherever it stands.

    Args:
        model: Any model, before anything is made of it.
        folder: Where the model's file is; `None` for a model in memory, which must not name files.
        own_location: What stands for the model's own file, if it may be named.

    Returns:
        Bytes of all the files that the tensors name, the model's own not counted.

    Raises:
        FuseError: See `check_location`.
    """
    sizes: dict[str, int] = {}
    for tensor in external_tensors(model):
        location = next((entry.value for entry in tensor.external_data if entry.key == "location"), "")
        if location not in sizes and location != own_location:
            sizes[location] = check_location(tensor.name or "constant", location, folder).stat().st_size
    return sum(sizes.values())


def external_tensors(message: Any) -> Iterator[onnx.TensorProto]:
    """All tensors in a message that lie in files; without recursion."""
    pending: list[Any] = [message]
    while pending:
        inner = pending.pop()
        if isinstance(inner, onnx.TensorProto):
            if inner.data_location == onnx.TensorProto.EXTERNAL:
                yield inner
            continue
        for name, is_repeated in _fields_towards_tensors(inner.DESCRIPTOR):
            if is_repeated:
                pending.extend(getattr(inner, name))
            elif inner.HasField(name):
                pending.append(getattr(inner, name))


@cache
def _fields_towards_tensors(message: Any) -> tuple[tuple[str, bool], ...]:
    """The fields of a kind of message through which a tensor can be reached, and whether they are repeated."""
    return tuple((field.name, is_repeated(field)) for field in message.fields if leads_to_tensors(field))


def is_repeated(field: Any) -> bool:
    """Whether a field may be there more than once, as protobuf's description says in one of two ways."""
    return field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED


def leads_to_tensors(field: Any) -> bool:
    """Whether a tensor can be reached through a field of a message."""
    return field.message_type is not None and TENSOR_MESSAGE in _reachable(field.message_type)


@cache
def _reachable(message: Any) -> frozenset[str]:
    """Full names of the kinds of messages that a message of this kind can hold, itself included."""
    found = {message.full_name}
    pending = [message]
    while pending:
        for field in pending.pop().fields:
            inner = field.message_type
            if inner is not None and inner.full_name not in found:
                found.add(inner.full_name)
                pending.append(inner)
    return frozenset(found)


def check_location(name: str, location: str, folder: Path | None) -> Path:
    """The file in which a tensor lies.

    Args:
        name: Of the tensor, for messages.
        location: The path in the model.
        folder: Where the model's file is, or `None`.

    Raises:
        FuseError: There is no folder, or the path leads to anything but a regular file inside the folder: it is
            absolute, has a drive or a `..`, passes a symbolic link that leads out, names a device or a pipe.
    """
    if folder is None:
        raise FuseError(f"tensor '{name}' lies in the file '{location}', but the model is not read from a file")
    if not location or "\0" in location:
        raise FuseError(f"tensor '{name}' lies in a file without a valid name", hint=_HINT)
    pure, windows = PurePath(location), PureWindowsPath(location)
    outside = f"tensor '{name}' lies in '{location}', outside the model's folder"
    if pure.is_absolute() or windows.drive or windows.root or ".." in (*pure.parts, *windows.parts):
        raise FuseError(outside, hint=_HINT)
    try:
        target = (folder / pure).resolve()
        if not target.is_relative_to(folder.resolve()):
            raise FuseError(outside, hint=_HINT)
        if not target.is_file():
            raise FuseError(f"tensor '{name}' lies in '{location}', which is not a regular file", hint=_HINT)
    except (OSError, RuntimeError, ValueError) as error:
        raise FuseError(f"tensor '{name}' lies in '{location}', which cannot be read", hint=_HINT) from error
    return target
