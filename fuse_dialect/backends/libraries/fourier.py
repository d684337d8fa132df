"""Fourier transforms by SciPy's library, or NumPy's: no interpreter stands between a program and one call of Python.

Source: M. Reinecke's pocketfft, which both carry; SciPy's takes several lines at once.
"""

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from xdsl.dialects import func

from fuse_dialect.backends.libraries.kernel import single_op
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.ops.fourier import FftOp, IrfftOp, RfftOp, joined

Direct = Callable[[Sequence[Array]], list[Array]]
"""The results of a primitive for arrays of its arguments."""


@cache
def _library() -> Any:
    try:
        return import_module("scipy.fft")
    except ImportError:
        return np.fft


def transform_of(function: func.FuncOp) -> Direct | None:
    """What computes a primitive that is one transform; `None` if it is none."""
    found = single_op(function)
    if found is None:
        return None
    op, operands, returned = found
    library = _library()
    match op:
        case FftOp():
            axes = tuple(op.axes.get_values())
            transform = library.ifftn if op.inverse.value.data else library.fftn

            def parts(arguments: Sequence[Array]) -> list[Array]:
                y = transform(joined(*(arguments[place] for place in operands)), axes=axes)
                return [np.ascontiguousarray(y.imag if place else y.real) for place in returned]

            return parts
        case RfftOp():
            axes = tuple(op.axes.get_values())

            def halves(arguments: Sequence[Array]) -> list[Array]:
                y = library.rfftn(arguments[0], axes=axes)
                return [np.ascontiguousarray(y.imag if place else y.real) for place in returned]

            return halves
        case IrfftOp():
            *others, last = op.axes.get_values()
            length = op.length.value.data

            def reals(arguments: Sequence[Array]) -> list[Array]:
                values = joined(*(arguments[place] for place in operands))
                if others:
                    values = library.ifftn(values, axes=others)
                return [library.irfft(values, length, last)]

            return reals
        case _:
            return None
