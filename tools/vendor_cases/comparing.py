"""How results differ from those of onnxruntime."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vendor_cases.case import Array


def as_list(results: Any) -> list[Array]:
    """The results of a program, of which there may be one."""
    return [results] if isinstance(results, np.ndarray) else [*results]


def compared(own: Sequence[Array], expected: Sequence[Array], tolerance: float, seldom: float = 0.0) -> str | None:
    """How results differ, or `None`."""
    for index, (one, other) in enumerate(zip(own, expected, strict=True)):
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"result {index} is {one.dtype}{list(one.shape)}, not {other.dtype}{list(other.shape)}"
        if not one.size:
            continue
        if tolerance == 0 or one.dtype.kind not in "f":
            if not np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
                away = np.abs(one.astype(np.float64) - other.astype(np.float64))
                if seldom and away.max() <= 1 and (one != other).sum() <= max(1, seldom * one.size):
                    continue
                return f"result {index} differs in {int((one != other).sum())} of {one.size} elements, by {away.max()}"
            continue
        finite = np.isfinite(other)
        if not np.array_equal(np.where(finite, 0, one), np.where(finite, 0, other), equal_nan=True):
            return f"result {index} differs where it is not finite"
        scale = max(1.0, float(np.abs(other[finite]).max(initial=0)))
        worst = float(np.abs(one[finite] - other[finite]).max(initial=0)) / scale
        if not worst <= tolerance:
            return f"result {index} differs by {worst:.2g} of its largest element"
    return None
