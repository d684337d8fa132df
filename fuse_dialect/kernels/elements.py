"""Element types: how much room one takes."""

_OF_BYTES = {8: "f64 i64 ui64 index", 4: "f32 i32 ui32", 2: "f16 bf16 i16 ui16", 1: "i8 ui8 i1"}
_BYTES = {name: size for size, names in _OF_BYTES.items() for name in names.split()}


def is_known(element: str) -> bool:
    """Whether there are kernels for elements of a type."""
    return element in _BYTES


def element_bytes(element: str) -> int:
    """Bytes of an element in memory.

    Raises:
        KeyError: There is no code for the type.
    """
    return _BYTES[element]


def register_bytes(element: str) -> int:
    """Bytes of an element in vector registers: 16-bit floats are computed in f32; unknown types count as i8."""
    return 4 if element in ("f16", "bf16") else _BYTES.get(element, 1)
