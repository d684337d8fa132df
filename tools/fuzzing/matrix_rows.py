"""Rows of factors of matrices, systems of equations and Fourier transforms."""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import factorizations, fourier, linear_systems
from fuse_dialect.dialect.types import element_dtype
from fuzzing.draft import Draft, Known, Proposal
from fuzzing.table import Rows

ROWS = Rows()
row = ROWS.row


def _element(draft: Draft, subject: Known) -> Attribute:
    return subject.element if subject.element in (f32, f64) else draft.random.choice((f32, f64))


def _batch(draft: Draft) -> Sequence[int]:
    return draft.shape(draft.random.randint(0, 1))


def _matrix(draft: Draft, subject: Known, *, is_square: bool) -> Known:
    """The subject if it is one, or another value, or a new one: mostly one whose factors are well known."""

    def fits(known: Known) -> bool:
        sizes = known.shape
        return known.element in (f32, f64) and len(sizes) >= 2 and (not is_square or sizes[-1] == sizes[-2])

    if fits(subject):
        return subject
    found = draft.find(fits)
    if found is not None and draft.chance(0.5):
        return found
    rows = draft.random.choice((0, 1, 2, 3, 4, 4, 5, 7, 9))
    columns = rows if is_square else draft.random.choice((0, 1, 2, 3, 4, 5, 9))
    shape = [*_batch(draft), rows, columns]
    element = _element(draft, subject)
    if draft.chance(0.3):
        return draft.fresh(shape, element)
    array = draft.arrays.normal(size=shape) + 4 * np.eye(rows, columns)
    if is_square and draft.chance(0.5):
        array = array @ np.swapaxes(array, -1, -2)
    if rows > 1 and columns > 1 and draft.chance(0.2):
        # Singular, or nearly so: a row is another one, at times but for some units.
        array[..., -1, :] = array[..., 0, :] * draft.random.choice((1.0, 1.0, 1 + 1e-6, 2.0))
    return draft.fresh(shape, element, array=array.astype(element_dtype(element)))


@row(
    factorizations.CholeskyOp,
    factorizations.EighOp,
    factorizations.EigvalshOp,
    factorizations.LuOp,
    factorizations.HouseholderQrOp,
    factorizations.SvdOp,
    factorizations.SvdvalsOp,
    linear_systems.InverseOp,
)
def _factors(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    flags = op_class.get_irdl_definition().properties
    rectangular = (factorizations.LuOp, factorizations.HouseholderQrOp, factorizations.SvdOp, factorizations.SvdvalsOp)
    matrix = _matrix(draft, subject, is_square=op_class not in rectangular)
    return Proposal([matrix], {name: draft.chance(0.5) for name in flags})


@row(factorizations.HouseholderProductOp)
def _product(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    matrix = _matrix(draft, subject, is_square=False)
    *batch, rows, columns = matrix.shape
    if rows < columns:
        matrix = draft.fresh([*batch, columns, rows], matrix.element)
    count = draft.random.randint(0, min(rows, columns))
    return Proposal([matrix, draft.fresh([*batch, count], matrix.element)])


@row(linear_systems.SolveOp, linear_systems.TriangularSolveOp)
def _system(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    matrix = _matrix(draft, subject, is_square=True)
    properties = {name: draft.chance(0.5) for name in op_class.get_irdl_definition().properties}
    *batch, size, _ = matrix.shape
    sides = draft.random.choice((size, 1, 2, 3, 0))
    shape = [*batch, size, sides] if properties.get("left", True) else [*batch, sides, size]
    return Proposal([matrix, draft.fresh(shape, matrix.element)], properties)


@row(fourier.FftOp, fourier.RfftOp, fourier.IrfftOp)
def _transform(draft: Draft, op_class: type[FuseOp], subject: Known) -> Proposal:
    element, x = _element(draft, subject), subject
    if x.element != element or not x.shape:
        x = draft.fresh(draft.shape(draft.random.randint(1, 3)), element)
    axes = draft.random.sample(range(len(x.shape)), draft.random.randint(1, len(x.shape)))
    if draft.chance(0.3):
        axes = [axis - len(x.shape) for axis in axes]
    if op_class is fourier.RfftOp:
        return Proposal([x], {"axes": axes})
    same = x if draft.chance(0.2) else draft.fresh(x.shape, element)
    if op_class is fourier.FftOp:
        return Proposal([x, same], {"axes": axes, "inverse": draft.chance(0.5)})
    length = max(1, 2 * (x.shape[axes[-1]] - 1) + draft.random.randint(0, 1))
    return Proposal([x, same], {"axes": axes, "length": length})
