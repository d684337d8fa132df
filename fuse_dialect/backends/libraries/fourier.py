"""Fourier transforms by a library: no interpreter stands between a program and one call of it.

SciPy's pocketfft takes several lines at once. Its functions for arrays cost more than a short transform, so what they
call is called; where that has moved in a release, they are, and NumPy's where SciPy is not installed. What it writes
is in memory that later transforms use again: fresh pages cost as much as a transform of their bytes.

Source: M. Reinecke's pocketfft, https://gitlab.mpcdf.mpg.de/mtr/pocketfft.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
from xdsl.dialects import func

from fuse_dialect.backends.runtime.recycling import RecycledMemory
from fuse_dialect.backends.runtime.single_ops import single_op
from fuse_dialect.backends.types import Shape
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.ops.fourier import FftOp, IrfftOp, RfftOp, joined
from fuse_dialect.dialect.ops.sequences import DftOp
from fuse_dialect.dialect.types import element_dtype

Direct: TypeAlias = Callable[[Sequence[Array]], list[Array]]
"""The results of a primitive for arrays of its arguments: dense arrays that nobody else has."""


class Transforms(Protocol):
    """The transforms of complex numbers, of real ones, and back to these."""

    def complex(self, x: Array, axes: tuple[int, ...], *, inverse: bool) -> Array:
        """Of complex numbers, or of real ones as such; the inverse one divides by the number of points."""
        ...

    def half(self, x: Array, axes: tuple[int, ...]) -> Array:
        """The first half of the transform of real numbers."""
        ...

    def real(self, x: Array, axes: tuple[int, ...], length: int) -> Array:
        """The real numbers of such a half."""
        ...


class _Public:
    """Functions of `scipy.fft` or `numpy.fft`; the latter warns of what is not a number."""

    def __init__(self, module: Any):
        self._module = module

    def complex(self, x: Array, axes: tuple[int, ...], *, inverse: bool) -> Array:
        with np.errstate(all="ignore"):
            return (self._module.ifftn if inverse else self._module.fftn)(x, axes=axes)

    def half(self, x: Array, axes: tuple[int, ...]) -> Array:
        with np.errstate(all="ignore"):
            return self._module.rfftn(x, axes=axes)

    def real(self, x: Array, axes: tuple[int, ...], length: int) -> Array:
        *others, last = axes
        with np.errstate(all="ignore"):
            if others:
                x = self._module.ifftn(x, axes=others)
            return self._module.irfft(x, length, last)


_BY_COUNT = 2
"""How pocketfft is told to divide by the number of points."""
_MEMORY = RecycledMemory()
"""Of numbers that go in and come out."""


class _Pocketfft:
    """What the functions of `scipy.fft` call."""

    def __init__(self, module: Any):
        self._module = module

    def complex(self, x: Array, axes: tuple[int, ...], *, inverse: bool) -> Array:
        out = _MEMORY.empty(x.shape, _complex_of(x.dtype))
        return self._module.c2c(x, axes, not inverse, _BY_COUNT if inverse else 0, out)

    def half(self, x: Array, axes: tuple[int, ...]) -> Array:
        out = _MEMORY.empty(_with_length(x.shape, axes[-1], x.shape[axes[-1]] // 2 + 1), _complex_of(x.dtype))
        return self._module.r2c(x, axes, True, 0, out)

    def real(self, x: Array, axes: tuple[int, ...], length: int) -> Array:
        out = _MEMORY.empty(_with_length(x.shape, axes[-1], length), cast(Any, x).real.dtype)
        return self._module.c2r(x, axes, length, False, _BY_COUNT, out)


def _with_length(shape: Shape, axis: int, length: int) -> Shape:
    return (*shape[:axis], length, *shape[axis + 1 :])


@cache
def transforms() -> Transforms:
    """The quickest transforms that are installed and say what NumPy says."""
    public = _Public(np.fft)
    try:
        public = _Public(import_module("scipy.fft"))
        found = _Pocketfft(import_module("scipy.fft._pocketfft.pypocketfft"))
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        half = found.half(x, (0, 1))
        same = np.allclose(found.real(half, (0, 1), 3), x, atol=1e-5)
        same &= np.allclose(found.complex(half, (0, 1), inverse=True), np.fft.ifftn(half), atol=1e-5)
        return found if same and half.dtype == np.complex64 else public
    except Exception:  # internals of SciPy, if there is one, have changed
        return public


def transform_of(function: func.FuncOp) -> Direct | None:
    """What computes a primitive that is one transform; `None` if it is none."""
    found = single_op(function)
    if found is None:
        return None
    op, operands, returned = found.op, found.operands, found.returned
    match op:
        case FftOp():
            of = partial(transforms().complex, axes=op.axes_of(op.real.type), inverse=bool(op.inverse.value.data))
            return lambda arguments: _parts(of(_numbers(arguments, operands)), returned)
        case RfftOp():
            half = partial(transforms().half, axes=op.axes_of(op.input.type))
            return lambda arguments: _parts(half(arguments[0]), returned)
        case IrfftOp():
            real = partial(transforms().real, axes=op.axes_of(op.real.type), length=op.length.value.data)
            return lambda arguments: [np.ascontiguousarray(real(_joined(*(arguments[place] for place in operands))))]
        case DftOp() if element_dtype(op.input.type.element_type).name in ("float32", "float64"):
            return partial(_pairs_transformed, op)
        case _:
            return None


def _pairs_transformed(op: DftOp, arguments: Sequence[Array]) -> list[Array]:
    """The transform of pairs along the last axis, complex numbers as they lie in memory: nothing is copied."""
    (x,) = arguments
    axis, length = op.line_of(x.shape)
    inverse, onesided = bool(op.inverse.value.data), bool(op.onesided.value.data)
    numbers = x[..., 0] if x.shape[-1] == 1 else _as_complex(x)
    numbers = _of_length(numbers, axis, length // 2 + 1 if inverse and onesided else length)
    library = transforms()
    if inverse and onesided:
        return [np.ascontiguousarray(library.real(numbers, (axis,), length))[..., None]]
    found = library.half(numbers, (axis,)) if onesided else library.complex(numbers, (axis,), inverse=inverse)
    return [np.ascontiguousarray(found).view(x.dtype).reshape(*found.shape, 2)]


def _as_complex(x: Array) -> Array:
    return np.ascontiguousarray(x).view(_complex_of(x.dtype))[..., 0]


def _of_length(x: Array, axis: int, length: int) -> Array:
    """Lines that are cut, or filled with zeros."""
    if x.shape[axis] == length:
        return x
    kept = x[(*[slice(None)] * axis, slice(length))]
    missing = [(0, length - kept.shape[axis] if place == axis else 0) for place in range(x.ndim)]
    return np.pad(kept, missing) if kept.shape[axis] < length else kept


def _numbers(arguments: Sequence[Array], operands: Sequence[int]) -> Array:
    """Complex numbers of two parts, or the real part alone where the other is the constant 0."""
    real, imag = (arguments[place] for place in operands)
    # A constant that repeats one element has that element alone in memory.
    return real if imag.size and not any(imag.strides) and imag.flat[0] == 0 else _joined(real, imag)


def _joined(real: Array, imag: Array) -> Array:
    return joined(real, imag, empty=_MEMORY.empty)


def _complex_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.result_type(dtype, np.complex64)


def _parts(numbers: Any, returned: Sequence[int]) -> list[Array]:
    both: tuple[Array, Array] = (numbers.real, numbers.imag)
    parts: list[Array] = []
    for source in (both[place] for place in returned):
        part = _MEMORY.empty(source.shape, source.dtype)
        np.copyto(part, source)
        parts.append(part)
    return parts
