"""Where routines of LAPACK and BLAS are in this process: SciPy hands their addresses to compiled code of others.

Source: https://docs.scipy.org/doc/scipy/reference/linalg.cython_lapack.html; Python's C API, Capsules.
"""

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

_OF_BLAS = frozenset(("trsm",))
_INT = ctypes.c_int


@cache
def _capsules(module: str) -> Mapping[str, Any]:
    """The functions that a module of SciPy publishes; none where it is not installed."""
    try:
        return import_module(f"scipy.linalg.{module}").__pyx_capi__
    except (ImportError, AttributeError):
        return {}


@cache
def routine_address(name: str) -> int:
    """The address of a routine: `spotrf`; 0 if nobody publishes it."""
    capsules = _capsules("cython_blas" if name[1:] in _OF_BLAS else "cython_lapack")
    if name not in capsules:
        return 0
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer_of(capsules[name], name_of(capsules[name])) or 0)


@cache
def work_size(name: str, arguments: Sequence[str | int | None], work: int) -> int:
    """How many elements a routine wants to work in, as it says itself.

    Args:
        name: The routine.
        arguments: A letter, a number, or `None` for an array, for each of its arguments.
        work: Which argument the array is; the next one is its size.

    Raises:
        ValueError: Nobody publishes the routine, or it rejects the arguments.
    """
    address = routine_address(name)
    if not address:
        raise ValueError(f"SciPy publishes no '{name}'")
    element = ctypes.c_float if name[0] == "s" else ctypes.c_double
    found, info = (element * 1)(), _INT(0)
    values: list[Any] = []
    for place, each in enumerate(arguments):
        if place == work:
            values.append(found)
        elif place == work + 1:
            values.append(_INT(-1))
        elif isinstance(each, str):
            values.append(ctypes.c_char(each.encode()))
        else:
            values.append((_INT * 8)() if each is None else _INT(each))
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(values) + 1))(address)
    function(*map(ctypes.addressof, values), ctypes.addressof(info))
    if info.value:
        raise ValueError(f"{name} rejects its argument {-info.value}")
    # A size that a float holds has been rounded, perhaps down.
    return max(1, int(found[0] * (1 + 2**-20)) + 1)
