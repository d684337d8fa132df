"""TOSA: ops that reduce one axis to size 1, and the places of extremes."""

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.foreign.meaning import Meaning, Rows, Surroundings, integers_of
from fuse_dialect.interpreters.foreign.tosa.attributes import keyword, widened


def _reduce(function: np.ufunc, ignoring: np.ufunc | None = None) -> Meaning:
    def meaning(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
        given = operands[0]
        axis = integers_of(op, "axis")[0]
        chosen = ignoring if ignoring is not None and keyword(op, "nan_mode") == "IGNORE" else function
        wide = given if given.dtype == np.bool_ else widened(given)
        return (chosen.reduce(wide, axis=axis, keepdims=True),)

    return meaning


def _place(*, greatest: bool) -> Meaning:
    """The first place of the greatest or least element; nan is greater and less than all, or, ignored, no element."""

    def meaning(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
        given = operands[0]
        axis = integers_of(op, "axis")[0]
        wide = widened(given)
        if keyword(op, "nan_mode") == "IGNORE" and wide.dtype.kind == "f":
            wide = np.where(np.isnan(wide), -np.inf if greatest else np.inf, wide)
        return (wide.argmax(axis) if greatest else wide.argmin(axis),)

    return meaning


ROWS: Rows = {
    "argmax": _place(greatest=True),
    "argmin": _place(greatest=False),
    "reduce_all": _reduce(np.logical_and),
    "reduce_any": _reduce(np.logical_or),
    "reduce_max": _reduce(np.maximum, np.fmax),
    "reduce_min": _reduce(np.minimum, np.fmin),
    "reduce_prod": _reduce(np.multiply),
    "reduce_product": _reduce(np.multiply),
    "reduce_sum": _reduce(np.add),
}
"""Meanings by the op's name without its dialect."""
