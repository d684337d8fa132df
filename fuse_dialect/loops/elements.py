"""Element types by their names in MLIR: how much room one takes, and what NumPy calls it."""

import numpy as np

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


def dtype_named(element: str) -> "np.dtype[np.generic]":
    """NumPy dtype of an element type as MLIR writes it.

    Raises:
        KeyError: There are no kernels for the type.
    """
    if element == "bf16":
        import ml_dtypes  # takes long to import, and few programs have such elements

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(_DTYPES[element])


_DTYPES = {
    "i1": "?",
    **{f"f{width}": f"f{width // 8}" for width in (16, 32, 64)},
    **{f"{sign}i{width}": f"{sign or 'i'}{width // 8}" for sign in ("", "u") for width in (8, 16, 32, 64)},
}
