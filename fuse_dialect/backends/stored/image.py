"""A compiled program as data: what an entry of the cache holds, and how it is read back.

1. The header is JSON: how callers see the program, reports, the layout of the driver's table, offsets of functions and
   of parts of the payload. There are no addresses in it.
2. The payload is parts, each at a multiple of `ALIGNMENT` bytes: machine code, words and rows of the table. Constants,
   as kernels read them, are beside it: they are the weights of the program, too.
3. What is read is checked like any input: numbers are numbers, and what is pointed at is inside. The cache has compared
   the bytes with their hash, and knows whose they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from fuse_dialect.backends.runtime.kernel_timing import KernelReport
from fuse_dialect.backends.runtime.program import InputForm, Interface
from fuse_dialect.backends.runtime.walk import Segment, Table
from fuse_dialect.backends.types import OPEN, TensorType

if TYPE_CHECKING:
    from fuse_dialect.dialect.op import Array

ALIGNMENT = 64
NOWHERE = -1
"""The function of a row that nobody walks."""
_CODE, _WORDS, _IN_ARENA, _IN_SLOTS, _IN_CONSTANTS, _ROWS = (
    "code", "words", "in_arena", "in_slots", "in_constants", "rows",
)  # fmt: skip
_PARTS = (_CODE, _WORDS, _IN_ARENA, _IN_SLOTS, _IN_CONSTANTS, _ROWS)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Image:
    """A program of one set of sizes all of whose steps are native."""

    interface: Interface
    kernels: Sequence[KernelReport]
    constant_bytes: int
    code: "bytes | memoryview"
    """See `linking.Linked`, as `imports` and `inside`."""
    imports: Mapping[str, int]
    inside: Mapping[int, int]
    driver: Mapping[str, int]
    """Offsets of the driver's functions."""
    table: Table
    """Rows have offsets of functions, or `NOWHERE`; words of constants are 0."""
    in_constants: "Array"
    """Words of constants, each with the offset of its constant: two columns."""
    constants: "Sequence[bytes | memoryview]"
    """One after the other, each at a multiple of `ALIGNMENT`; a single one when it was read."""


def encoded(image: Image) -> "tuple[dict[str, Any], list[bytes | memoryview]]":
    """The header and the payload of an image, without its constants."""
    table = image.table
    arrays: dict[str, Sequence[bytes | memoryview]] = {
        _CODE: [image.code],
        _WORDS: [_bytes_of(table.words)],
        _IN_ARENA: [_bytes_of(table.in_arena)],
        _IN_SLOTS: [_bytes_of(table.in_slots)],
        _IN_CONSTANTS: [_bytes_of(image.in_constants)],
        _ROWS: [_bytes_of(table.rows)],
    }
    payload: list[bytes | memoryview] = []
    places: dict[str, tuple[int, int]] = {}
    end = 0
    for name, parts in arrays.items():
        size = sum(memoryview(part).nbytes for part in parts)
        places[name] = (end, size)
        payload += [*parts, bytes(-size % ALIGNMENT)]
        end += size + -size % ALIGNMENT
    header = {
        "interface": _interface(image.interface),
        "kernels": [asdict(kernel) for kernel in image.kernels],
        "constant_bytes": image.constant_bytes,
        "imports": dict(image.imports),
        "inside": list(image.inside.items()),
        "driver": dict(image.driver),
        "segments": [[segment.first, segment.row, segment.rows, segment.is_shared] for segment in table.segments],
        "inputs": [[number, list(words)] for number, words in table.inputs],
        "outputs": [[number, list(words)] for number, words in table.outputs],
        "memory_bytes": table.memory_bytes,
        "threads": table.threads,
        "left": table.left,
        "most_ops": table.most_ops,
        "work": table.work,
        "parts": places,
    }
    return header, payload


def decoded(header: Mapping[str, Any], payload: "bytes | memoryview", constants: "bytes | memoryview") -> Image | None:
    """The image that a header, a payload and constants say; `None` for what `encoded` has not written."""
    try:
        return _image(header, memoryview(payload), memoryview(constants))
    except (KeyError, TypeError, ValueError, IndexError):
        return None


def _image(header: Mapping[str, Any], payload: memoryview, constants: memoryview) -> Image:
    parts = {name: _part(header["parts"][name], payload) for name in _PARTS}
    interface = _read_interface(header["interface"])
    words = _numbers(parts[_WORDS])
    in_constants = _numbers(parts[_IN_CONSTANTS]).reshape(-1, 2)
    rows = _numbers(parts[_ROWS]).reshape(-1, 3)
    threads = _natural(header["threads"])
    left = header["left"]
    segments = [_segment(each) for each in header["segments"]]
    table = Table(
        words=cast("Sequence[int]", words),
        in_arena=cast("Sequence[int]", _numbers(parts[_IN_ARENA])),
        in_slots=cast("Sequence[int]", _numbers(parts[_IN_SLOTS])),
        in_constants=[],
        rows=cast("Sequence[tuple[int, int, int]]", rows),
        segments=segments,
        inputs=_places(header["inputs"], len(interface.inputs), len(words)),
        outputs=_places(header["outputs"], len(interface.outputs), len(words)),
        forms=[(type.shape, type.dtype) for type in interface.outputs],
        memory_bytes=_natural(header["memory_bytes"]),
        threads=threads,
        left=None if left is None else _below(left, len(words)),
        most_ops=_natural(header["most_ops"]),
        work=_natural(header["work"]),
    )
    places = [np.asarray(table.in_arena), np.asarray(table.in_slots), in_constants[:, 0]]
    _check_inside(np.concatenate(places), len(words))
    _check_inside(in_constants[:, 1], len(constants) + 1)
    _check_inside(rows[:, 0] - NOWHERE, len(parts[_CODE]) - NOWHERE)
    _check_inside(rows[:, 1], len(words) + 1)
    if not threads or len(rows) % threads or len(segments) != 1 or segments[0].rows > len(rows) // threads:
        raise ValueError("the rows are not those of the segment")
    return Image(
        interface,
        [_report(each) for each in header["kernels"]],
        _natural(header["constant_bytes"]),
        parts[_CODE],
        {_text(name): _below(place, len(parts[_CODE]) - 7) for name, place in _table(header["imports"]).items()},
        {_below(word, len(parts[_CODE]) - 7): _below(place, len(parts[_CODE])) for word, place in header["inside"]},
        {_text(name): _below(place, len(parts[_CODE])) for name, place in _table(header["driver"]).items()},
        table,
        in_constants,
        [constants],
    )


def _interface(interface: Interface) -> dict[str, Any]:
    return {
        "name": interface.name,
        "inputs": [[form.name, form.model_name, *_type(form.type), list(form.sizes)] for form in interface.inputs],
        "output_names": list(interface.output_names),
        "outputs": [_type(type) for type in interface.outputs],
    }


def _read_interface(found: Mapping[str, Any]) -> Interface:
    inputs = [
        InputForm(
            _text(name),
            None if model is None else _text(model),
            _read_type([dtype, shape]),
            tuple(_text(size) for size in sizes),
        )
        for name, model, dtype, shape, sizes in found["inputs"]
    ]
    outputs = [_read_type(each) for each in found["outputs"]]
    return Interface(_text(found["name"]), inputs, [_text(name) for name in found["output_names"]], outputs)


def _type(type: TensorType) -> list[Any]:
    return [type.dtype.str, list(type.shape)]


def _read_type(found: Sequence[Any]) -> TensorType:
    dtype, shape = found
    type = TensorType(tuple(_natural(size) for size in shape), np.dtype(_text(dtype)))
    if not can_be_stored(type):
        raise ValueError(f"no elements of a program: {dtype}")
    return type


def can_be_stored(type: TensorType) -> bool:
    """Whether a type is one that the header can name: of known sizes, and of NumPy's own elements."""
    return OPEN not in type.shape and type.dtype.kind in "biuf" and np.dtype(type.dtype.str) == type.dtype


def _report(found: Mapping[str, Any]) -> KernelReport:
    values = {each.name: found[each.name] for each in fields(KernelReport)}
    for name in ("name", "family", "reason", "promised"):
        _text(values[name])
    for name in ("ops", "sources"):
        values[name] = tuple(_text(each) for each in values[name])
    _natural(values["calls"])
    for name in ("bytes", "flops"):
        if values[name] is not None:
            _natural(values[name])
    return KernelReport(**values)


def _segment(found: Sequence[Any]) -> Segment:
    first, row, rows, is_shared = found
    return Segment(_natural(first), _natural(row), _natural(rows), _checked(is_shared, bool))


def _places(found: Sequence[Any], count: int, words: int) -> list[tuple[int, tuple[int, ...]]]:
    return [(_below(number, count), tuple(_below(word, words) for word in each)) for number, each in found]


def _part(found: Sequence[Any], payload: memoryview) -> memoryview:
    start, size = map(_natural, found)
    if start + size > len(payload):
        raise ValueError("a part is not in the payload")
    return payload[start : start + size]


def _bytes_of(numbers: Any) -> memoryview:
    return memoryview(cast(Any, np.asarray(numbers, np.int64).reshape(-1))).cast("B")


def _numbers(data: memoryview) -> "Array":
    return np.frombuffer(data, np.int64)


def _check_inside(numbers: "Array", count: int) -> None:
    if numbers.size and (int(numbers.min()) < 0 or int(numbers.max()) >= count):
        raise ValueError("a number points at nothing")


def _checked(value: Any, type: type[T]) -> T:
    # Exactly: true is no number.
    if value.__class__ is not type:
        raise TypeError(f"expected {type}, got {value!r}")
    return value


def _table(value: Any) -> "dict[str, Any]":
    return cast("dict[str, Any]", _checked(value, dict))


def _text(value: Any) -> str:
    return _checked(value, str)


def _natural(value: Any) -> int:
    return _below(value, 1 << 63)


def _below(value: Any, count: int) -> int:
    if not 0 <= _checked(value, int) < count:
        raise ValueError(f"expected a number from 0 to {count - 1}, got {value}")
    return value
