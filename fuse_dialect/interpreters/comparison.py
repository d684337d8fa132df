"""How far apart two results are, element by element."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.types import shape_text

RELATIVE_ATOL = 1e-5
"""Absolute tolerance for an output whose greatest element is 1, unless one is given."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The distance of an array from a reference of the same shape."""

    absolute: float
    """Largest `|value - reference|`; infinite where only one of them is nan, or they are different infinities."""
    relative: float
    """Largest `|value - reference| / |reference|` among references that are finite and not 0."""
    beyond: int
    """Number of elements with `|value - reference| > atol + rtol * |reference|`, or an infinite difference."""
    worst: tuple[int, ...]
    """Index of the element with the largest absolute difference."""

    @property
    def is_within(self) -> bool:
        """Whether all elements are within the tolerances."""
        return self.beyond == 0


def greatest(reference: Array) -> float:
    """The greatest finite absolute value of an array, 0 if there is none."""
    with np.errstate(all="ignore"):
        size = np.abs(reference.astype(np.float64))
    return float(size[np.isfinite(size)].max(initial=0.0))


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a result may be from another."""

    rtol: float = 1e-4
    atol: float | None = None
    """By default `RELATIVE_ATOL` times the greatest element of each output, and itself for integers."""

    def absolute(self, reference: Array) -> float:
        """The absolute tolerance for one output."""
        if self.atol is not None or reference.dtype.kind in "iub":
            return RELATIVE_ATOL if self.atol is None else self.atol
        return RELATIVE_ATOL * greatest(reference)


def layout_mismatch(value: Array, reference: Array) -> str | None:
    """Why two arrays cannot be compared, `None` when they can: dtypes or shapes differ."""
    if (value.dtype, value.shape) == (reference.dtype, reference.shape):
        return None
    one, other = (f"{array.dtype} of shape {shape_text(array.shape)}" for array in (value, reference))
    return f"{one} against {other}"


def difference(value: Array, reference: Array, *, atol: float, rtol: float) -> Difference:
    """The distance of `value` from `reference`.

    Two nans at the same place are equal, and so are equal infinities. Unequal integers differ by 1 at least, also
    where their difference is lost in double precision.

    Raises:
        ValueError: Dtypes or shapes differ.
    """
    if (mismatch := layout_mismatch(value, reference)) is not None:
        raise ValueError(mismatch)
    if not value.size:
        return Difference(0.0, 0.0, 0, ())
    with np.errstate(all="ignore"):
        size = np.abs(reference.astype(np.float64))
        distance = _distance(value, reference)
        allowed = atol + rtol * np.where(np.isfinite(size), size, 0.0)
        beyond = np.count_nonzero((distance > allowed) | np.isinf(distance))
        relevant = np.isfinite(size) & (size > 0)
        relative = np.divide(distance, size, out=np.zeros_like(distance), where=relevant)
    worst = np.unravel_index(int(np.argmax(distance)), distance.shape)
    return Difference(float(distance.max()), float(relative.max()), int(beyond), tuple(int(i) for i in worst))


def _distance(value: Array, reference: Array) -> npt.NDArray[np.float64]:
    """Absolute differences; never nan."""
    distance = np.asarray(np.abs(value.astype(np.float64) - reference.astype(np.float64)))
    distance[np.isnan(distance)] = np.inf
    if value.dtype.kind in "iub":
        distance[(value != reference) & (distance < 1)] = 1.0
    return np.where((value == reference) | (np.isnan(_real(value)) & np.isnan(_real(reference))), 0.0, distance)


def _real(array: Array) -> Array:
    return array.astype(np.float64) if array.dtype.kind in "iubV" else array


def is_uniform(output: Array) -> bool:
    """Whether all elements are equal, or all are NaN: comparing such an output shows little."""
    return output.size > 1 and bool((output == output.flat[0]).all() or (output != output).all())
