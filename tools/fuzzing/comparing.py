"""Whether two runs of a program agree, as far as rounding allows.

1. Equal bits agree, any two nans do, and so do two zeros of either sign where `_free_zeros` says why.
2. Else the program is run again several times on the reference with every float that an inexact op reads or gives
   moved by a few units in the last place, those that are summed by more. What an element does then says how much of a
   difference is rounding: a sum that cancels moves much, a copy not at all.
3. Guard for discontinuities: an element that takes another integer, truth value, infinity or nan in these runs depends
   on rounding, and says nothing. Programs of exact ops have no such element. Where the absolute values of what is
   summed overflow, a sum in another order may be anything: such elements are made to jump, and are so again before an
   op that orders them, lest all be nans there. The bits of a nan that an op made are
   anything, too, and so is the sign of a zero that `_free_zeros` speaks of, where an op shows it: a bitcast, a
   quotient.
4. A shape that depends on elements (`unique`) and differs between these runs says nothing either.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Protocol

import numpy as np
from checking.rounding import LEAST, UNITS
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.fuse import FAMILIES, ops_of
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops import (
    activation,
    broadcast,
    comparison,
    concatenation,
    conversion,
    convolution,
    dynamic,
    elementwise,
    factorizations,
    fourier,
    indexing,
    layout,
    linear_algebra,
    linear_systems,
    matmul,
    normalization,
    opaque,
    pooling,
    reduction,
    replication,
    resizing,
    sampling,
    selection,
    sequences,
    tuples,
)
from fuse_dialect.dialect.types import element_dtype
from fuse_dialect.interpreters.constants import evaluate_constant
from fuse_dialect.interpreters.numpy import evaluate
from fuse_dialect.interpreters.values import EvaluationError, Value, flatten

RUNS = 8
"""How often the reference is run with moved numbers."""
MORE_RUNS = 48
"""The same before a difference counts: of thousands of elements some move seldom."""
SLACK = 8.0
"""Of the greatest move seen; eight runs do not find the worst."""
REASSOCIATED = 16.0
"""How many times the usual moves, where a pass may have changed the arithmetic: a batch norm is folded."""
_EXACT_FAMILIES = (comparison, concatenation, conversion, indexing, layout, replication, tuples, dynamic, selection)
_EXACT_OPS = (
    elementwise.AbsOp, elementwise.NegativeOp, elementwise.SignOp, elementwise.CeilOp, elementwise.FloorOp,
    elementwise.RoundOp, elementwise.IsnanOp, elementwise.IsinfOp, elementwise.LogicalNotOp, activation.ReluOp,
    activation.ClipOp, broadcast.MaximumOp, broadcast.MinimumOp, broadcast.WhereOp, reduction.MaxOp, reduction.MinOp,
    reduction.AnyOp, reduction.AllOp, reduction.ArgmaxOp, reduction.ArgminOp, pooling.MaxPool2dOp,
    pooling.MaxPool2dIndicesOp, pooling.GlobalMaxPool2dOp, normalization.OneHotOp, opaque.SortOp, opaque.ArgsortOp,
    opaque.TopkOp, opaque.DropoutOp, opaque.StopFusionOp, opaque.ArgwhereOp, opaque.ArangeOp,
    sequences.ReverseSequenceOp,
)  # fmt: skip
EXACT: frozenset[type[FuseOp]] = frozenset(
    [op for family in _EXACT_FAMILIES for op in ops_of(family)] + list(_EXACT_OPS)
) - {dynamic.DynResize2dOp}
"""Ops that round nothing, or always in the same way."""
_SAMPLING = (sampling.DeformableConv2dOp, sampling.GridSampleOp, sampling.RoiAlignOp)
"""Ops whose second operand says where the first is read."""
SUMS: frozenset[type[FuseOp]] = frozenset(
    [
        *ops_of(matmul),
        *ops_of(convolution),
        *(linear_algebra.EinsumOp, linear_algebra.Col2imOp),
        *ops_of(normalization),
        *(op for op in ops_of(reduction) if op not in _EXACT_OPS),
        *(op for op in ops_of(pooling) if op not in _EXACT_OPS),
        *(sequences.CumsumOp, sequences.CumprodOp),
        *(*_SAMPLING, opaque.LrnOp),
    ]
) - {normalization.OneHotOp, normalization.BatchNormOp}
"""Ops that sum or multiply many elements, in an order that is their own."""
MATRICES: frozenset[type[FuseOp]] = frozenset(
    [*ops_of(factorizations), *ops_of(linear_systems), *ops_of(fourier), linear_algebra.DetOp, sequences.DftOp]
)
"""Ops whose result is that of operands which are off by some units: what they are for is stable in this sense alone."""
_RESIZES = (resizing.Resize2dOp, dynamic.DynResize2dOp)
"""Ops that weigh pixels by how far they are from a place."""
_SCALED = (normalization.LayerNormOp, normalization.InstanceNormOp, normalization.GroupNormOp)
"""Ops that multiply what they have standardized by their second operand, and add their third."""
ORDERING: frozenset[type[FuseOp]] = frozenset(
    [
        *(opaque.SortOp, opaque.ArgsortOp, opaque.TopkOp, dynamic.DynTopkOp, selection.UniqueOp),
        *(reduction.ArgmaxOp, reduction.ArgminOp),
    ]
)
"""Ops that say where an element stands among others."""
MOST_SUMMED = 256
"""No element of the small programs here is a sum of many more that count."""
FORMULAS: frozenset[type[FuseOp]] = frozenset(op for op in ops_of(activation) if issubclass(op, activation.FormulaOp))
"""Ops whose formula has sums that cancel: `1 + erf(x)` is 0 to the last bit of 1, times the operand."""
assert set(_EXACT_FAMILIES) <= set(FAMILIES), "modules of the dialect"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """What differs."""

    output: int
    text: str


def moved(random: np.random.Generator, array: Array, units: float) -> Array:
    """The array with each float moved by up to so many units in its last place; zeros and infinities stay."""
    unit = UNITS.get(array.dtype.name)
    if unit is None:
        return array
    with np.errstate(all="ignore"):
        wide = array.astype(np.float64)
        shift = random.uniform(-units, units, array.shape) * unit
        # A denormal moves by as much as the least normal number: its last place is that far up.
        size = np.where(wide == 0, 0.0, np.maximum(np.abs(wide), LEAST[array.dtype.name] / unit))
        return np.where(np.isfinite(wide) & (wide != 0), wide + size * shift, wide).astype(array.dtype)


def _moved_within(random: np.random.Generator, array: Array, units: float) -> Array:
    """The same, but what is finite stays so: an infinity would meet zeros, and hide what else may come out."""
    result = moved(random, array, units)
    if array.dtype.name not in UNITS:
        return result
    has_left = np.isfinite(array.astype(np.float64)) & ~np.isfinite(result.astype(np.float64))
    return np.where(has_left, array, result)


def summed(op: FuseOp, operands: Sequence[Value]) -> float:
    """How many numbers are summed for one element of the result: so many roundings can add up."""
    # Places between pixels are off by a unit of the size, and weights by as much.
    if (
        type(op) not in SUMS
        and type(op) not in MATRICES
        and not (isinstance(op, _RESIZES) and op.method.data != "nearest")
    ):
        return 0.0
    arrays = [x for x in operands if isinstance(x, np.ndarray)]
    most = float(max(x.size for x in arrays))
    return min(most, MOST_SUMMED)


def _greatest_sums(op: FuseOp, operands: Sequence[Value]) -> Sequence[Value]:
    """The results for the absolute values of the finite elements: greater than all sums of some of the elements.

    Of products those for the elements beyond 1 alone, or infinity where the others alone vanish.
    """
    if isinstance(op, normalization.BatchNormOp):
        return (_greatest_norm(op, operands),)
    if isinstance(op, _SCALED):
        # A product that overflows is one number with a sum that an infinity is added in.
        (greatest,) = evaluate(op, [_sizes(x, 0.0) for x in operands])
        (scaled,) = evaluate(op, [x if place < 2 else _nothing(x) for place, x in enumerate(operands)])
        return (_beyond_all(scaled, greatest),)
    if isinstance(op, _SAMPLING):
        # Where an image is read stays: other places would have other elements.
        return evaluate(op, [x if place == 1 else _sizes(x, 0.0) for place, x in enumerate(operands)])
    if not isinstance(op, reduction.ProdOp | sequences.CumprodOp):
        return evaluate(op, [_sizes(x, 0.0) for x in operands])
    sizes = [_sizes(x, 1.0) for x in operands]
    (greatest,) = evaluate(op, [np.maximum(x, x.dtype.type(1)) if isinstance(x, np.ndarray) else x for x in sizes])
    (least,) = evaluate(op, [np.minimum(x, x.dtype.type(1)) if isinstance(x, np.ndarray) else x for x in sizes])
    if not isinstance(greatest, np.ndarray) or not isinstance(least, np.ndarray) or greatest.dtype.name not in UNITS:
        return (greatest,)
    return (np.where(least == 0, np.asarray(np.inf).astype(greatest.dtype), greatest),)


def _greatest_norm(op: normalization.BatchNormOp, operands: Sequence[Value]) -> Array:
    """The greatest of what `input * scale + shift` meets; passes compute that in the element type itself."""
    x, gamma, beta, mean, variance = (x.astype(np.float64) for x in operands if isinstance(x, np.ndarray))
    along = [-1 if axis == op.axis.value.data % x.ndim else 1 for axis in range(x.ndim)]
    with np.errstate(all="ignore"):
        scale = np.abs(gamma / np.sqrt(variance + op.epsilon.value.data))
        shift = np.abs(beta) + np.abs(mean) * scale
        sizes = np.abs(x) * scale.reshape(along) + np.maximum(scale, shift).reshape(along)
        return np.asarray(sizes.astype(element_dtype(op.input.type.element_type)))


def _sizes(operand: Value, neutral: float) -> Value:
    """Absolute values, of finite numbers that are not 0; of others the number that changes no result."""
    if not isinstance(operand, np.ndarray) or operand.dtype.name not in UNITS:
        return operand
    wide = np.abs(operand.astype(np.float64))
    return np.where(np.isfinite(wide) & (wide != 0), wide, neutral).astype(operand.dtype)


def _nothing(operand: Value) -> Value:
    return np.zeros_like(operand) if isinstance(operand, np.ndarray) else operand


def _overflown(random: np.random.Generator, result: Value, greatest: Value) -> Value:
    """The result, with anything at all where sums in another order may overflow on the way."""
    if not isinstance(result, np.ndarray) or not isinstance(greatest, np.ndarray) or result.dtype.name not in UNITS:
        return result
    if result.shape != greatest.shape or not (beyond := ~np.isfinite(greatest.astype(np.float64))).any():
        return result
    # The same for all half of the time: of different ones a later sum would make nan nearly always.
    shape = () if random.random() < 0.5 else result.shape
    anything = np.asarray(random.choice([np.inf, -np.inf, np.nan, 0.0, 1.0], shape)).astype(result.dtype)
    return np.where(beyond, anything, result)


def _any_nans(random: np.random.Generator, array: Array) -> Array:
    """The array with other bits in its nans: NumPy's functions and those of a processor give different ones."""
    if array.dtype.name not in UNITS or not (nans := np.isnan(array.astype(np.float64))).any():
        return array
    number = np.dtype(f"u{array.dtype.itemsize}")
    bits = array.view(number).copy()
    # The exponent stays, and one bit of the fraction says that it is no infinity.
    changed = random.integers(0, np.iinfo(number).max, array.shape, number, endpoint=True)
    exponent = np.array(np.inf, array.dtype).view(number)
    bits[nans] = (changed | exponent | number.type(1))[nans]
    return bits.view(array.dtype)


def _any_zeros(random: np.random.Generator, array: Array) -> Array:
    """The array with any signs of its zeros."""
    if array.dtype.name not in UNITS:
        return array
    signs = random.choice([1.0, -1.0], array.shape).astype(array.dtype)
    return np.where(array == 0, np.copysign(array, signs), array)


def _beyond_all(result: Value, greatest: Value) -> Value:
    """The greatest sums, and infinity where the result is no finite number."""
    if not isinstance(result, np.ndarray) or not isinstance(greatest, np.ndarray) or result.dtype.name not in UNITS:
        return greatest
    is_finite = np.isfinite(result.astype(np.float64))
    return np.where(is_finite, greatest, np.asarray(np.inf).astype(greatest.dtype))


def _has_infinity(result: Value) -> bool:
    if not isinstance(result, np.ndarray) or result.dtype.name not in UNITS:
        return False
    return not bool(np.isfinite(result.astype(np.float64)).all())


def _shifted(random: np.random.Generator, result: Array, operand: Array) -> Array:
    """The result moved by up to two units of the operand, where both are finite numbers and the result is no zero."""
    unit = UNITS.get(result.dtype.name)
    if unit is None or result.shape != operand.shape:
        return result
    with np.errstate(all="ignore"):
        wide, size = result.astype(np.float64), np.abs(operand.astype(np.float64))
        shift = random.uniform(-2, 2, result.shape) * unit * np.minimum(size, 64.0)
        return np.where(np.isfinite(wide) & np.isfinite(size) & (wide != 0), wide + shift, wide).astype(result.dtype)


def _stirred(random: np.random.Generator, operand: Value, units: float) -> Value:
    """The operand moved by units of its greatest element everywhere: what a stable routine may be the result of."""
    if not isinstance(operand, np.ndarray) or (unit := UNITS.get(operand.dtype.name)) is None or not operand.size:
        return operand
    with np.errstate(all="ignore"):
        size = np.abs(operand.astype(np.float64))
        most = max(float(size[np.isfinite(size)].max(initial=0)), LEAST[operand.dtype.name] / unit)
        return (operand + random.uniform(-units, units, operand.shape) * unit * most).astype(operand.dtype)


def _if_singular(random: np.random.Generator, matrix: Value, result: Value) -> Value:
    """The result, half of the time with nans for a matrix that is singular but for rounding.

    A pivot is 0 in one order of the operations, and a nan comes out; in another it is some units, and large numbers do.
    No random move meets 0 itself.
    """
    if not isinstance(matrix, np.ndarray) or not isinstance(result, np.ndarray) or not matrix.size:
        return result
    wide = matrix.astype(np.float64)
    sizes = np.linalg.svd(np.where(np.isfinite(wide), wide, 0.0), compute_uv=False)
    is_singular = sizes[..., -1] <= _EQUAL * UNITS[matrix.dtype.name] * sizes[..., 0]
    if random.random() < 0.5:
        return result
    return np.where(is_singular[..., None, None], np.asarray(np.nan, result.dtype), result)


def _with_other_vectors(
    random: np.random.Generator, op: factorizations.EighOp | factorizations.SvdOp, results: Sequence[Value]
) -> list[Value]:
    """The results with other signs of vectors, and other vectors where any that are orthogonal to the rest will do.

    So it is with those of values that are equal but for rounding: any turn among them is as good.
    """
    arrays = [np.asarray(x) for x in results]
    if isinstance(op, factorizations.EighOp):
        values, vectors = arrays
        turns = _turns(random, values)
        return [values, vectors @ turns]
    u, s, vh = arrays
    count, turns = s.shape[-1], _turns(random, s)
    u = np.concatenate([u[..., :count] @ turns, _turned(random, u[..., count:])], axis=-1)
    rest = np.swapaxes(_turned(random, np.swapaxes(vh[..., count:, :], -1, -2)), -1, -2)
    return [u, s, np.concatenate([np.swapaxes(turns, -1, -2) @ vh[..., :count, :], rest], axis=-2)]


_EQUAL = 64.0
"""Units of the greatest value within which two values may be one."""


def _turns(random: np.random.Generator, values: Array) -> Array:
    """For each list of values, which are in order, an orthogonal matrix that turns the vectors of equal ones."""
    count = values.shape[-1]
    turns = np.zeros((*values.shape, count), values.dtype)
    for place in np.ndindex(values.shape[:-1]):
        of_one = values[place]
        most = float(np.abs(of_one).max(initial=0))
        is_apart = ~(np.abs(np.diff(of_one)) <= _EQUAL * UNITS[values.dtype.name] * most)
        ends: list[int] = (np.flatnonzero(is_apart) + 1).tolist()
        for begin, end in pairwise([0, *ends, count]):
            size = end - begin
            turn = np.linalg.qr(random.normal(size=(size, size)))[0] if size > 1 else np.eye(size)
            turns[(*place, slice(begin, end), slice(begin, end))] = turn * random.choice([-1, 1], size)
    return turns


def _turned(random: np.random.Generator, vectors: Array) -> Array:
    count = vectors.shape[-1]
    return vectors @ np.linalg.qr(random.normal(size=(count, count)))[0].astype(vectors.dtype) if count else vectors


def _displaced(random: np.random.Generator, places: Value, extent: int) -> Value:
    """Places in an image, moved by some units of the greatest that there is.

    Those at 0 move as well: passes compute with places between -1 and 1, so that those at borders are off by a unit.
    Those beside a whole number move to it at times, where the pixels around a place are others.
    """
    if not isinstance(places, np.ndarray) or (unit := UNITS.get(places.dtype.name)) is None:
        return places
    most = 2 * unit * extent
    wide = places.astype(np.float64)
    whole = np.rint(wide)
    is_at_pixel = (np.abs(wide - whole) <= most) & (random.random(places.shape) < 0.2)
    shifted = wide + random.uniform(-most, most, places.shape)
    return np.asarray(np.where(is_at_pixel, whole, shifted)).astype(places.dtype)


def _perhaps_zero(random: np.random.Generator, result: Value, exact: Value) -> Value:
    """The moved result, half of the time 0 where it has moved by as much as it is: no random move meets 0 itself."""
    if not isinstance(result, np.ndarray) or not isinstance(exact, np.ndarray) or result.dtype.name not in UNITS:
        return result
    if result.shape != exact.shape:
        return result
    with np.errstate(all="ignore"):
        wide = result.astype(np.float64)
        cancels = np.abs(wide - exact.astype(np.float64)) >= np.abs(wide)
    return np.where(cancels & (random.random(result.shape) < 0.5), np.zeros((), result.dtype), result)


class Program(Protocol):
    """A function without regions and calls, its inputs, and a number that its moves follow from."""

    @property
    def seed(self) -> int: ...
    @property
    def inputs(self) -> list[Array]: ...
    def module(self) -> ModuleOp:
        """The function, alone."""
        ...


@dataclass(frozen=True, slots=True)
class Given:
    """A program that somebody has written."""

    written: ModuleOp
    inputs: list[Array]
    seed: int = 0

    def module(self) -> ModuleOp:
        """What was written."""
        return self.written


class Reference:
    """The unfused NumPy interpreter on one program, and how much its results depend on rounding."""

    def __init__(self, program: Program):
        """Run the program.

        Raises:
            EvaluationError: An op rejects its operands.
        """
        self._program = program
        (self._function,) = [op for op in program.module().ops if isinstance(op, func.FuncOp)]
        self._inputs = program.inputs
        self._seen = list(self._inputs)
        self.outputs = self._run(None)
        self._spreads: dict[tuple[float, int], list[tuple[Array, Array]]] = {}
        self._scale = 1.0
        self._free_shapes: set[int] = set()
        self._breaks = False
        self._overflows = False

    def _run(self, random: np.random.Generator | None) -> list[Array]:
        values: dict[SSAValue, Value] = dict(zip(self._function.body.block.args, self._inputs, strict=True))
        for op in self._function.body.block.ops:
            if isinstance(op, func.ReturnOp):
                return flatten([values[operand] for operand in op.operands])
            values.update(zip(op.results, self._results(op, values, random), strict=True))
        raise AssertionError("a function ends with a return")

    def _results(
        self, op: Operation, values: dict[SSAValue, Value], random: np.random.Generator | None
    ) -> Sequence[Value]:
        if isinstance(op, arith.ConstantOp):
            elements = evaluate_constant(op)
            if random is None:
                self._seen.append(elements)
            return (elements,)
        assert isinstance(op, FuseOp), "programs hold nothing else"
        operands = [values[operand] for operand in op.operands]
        if random is not None:
            operands = [
                _any_zeros(random, x) if isinstance(x, np.ndarray) and operand in self._free_zeros else x
                for x, operand in zip(operands, op.operands, strict=True)
            ]
        if random is not None and isinstance(op, conversion.BitcastOp) and isinstance(op.input.owner, FuseOp):
            operands = [_any_nans(random, x) if isinstance(x, np.ndarray) else x for x in operands]
        if random is not None and self._overflows and type(op) in ORDERING and random.random() < 0.5:
            operands = [_overflown(random, x, x) for x in operands]
        if random is None or type(op) in EXACT:
            results = evaluate(op, operands)
            if random is None:
                self._seen += flatten(results)
            return results
        # Where a formula meets a bound, half a unit need not reach beyond it.
        units = (2.0 if type(op) in ops_of(activation) else 0.5 + summed(op, operands) / 4) * self._scale
        given = [_moved_within(random, x, units) if isinstance(x, np.ndarray) else x for x in operands]
        if type(op) in MATRICES:
            given = [_stirred(random, x, units) for x in given]
        if isinstance(op, _SAMPLING):
            # Moved by as much as sums are, places would all lie outside.
            extent = 1 if isinstance(op, sampling.GridSampleOp) else max(np.shape(operands[0]))
            given[1] = _displaced(random, operands[1], extent)
        results = [moved(random, x, 2.0 * self._scale) if isinstance(x, np.ndarray) else x for x in evaluate(op, given)]
        if not isinstance(op, _SAMPLING):  # whose places meet those of zeros themselves
            results = [_perhaps_zero(random, x, y) for x, y in zip(results, evaluate(op, operands), strict=True)]
        if type(op) in FORMULAS and isinstance(operands[0], np.ndarray) and isinstance(results[0], np.ndarray):
            results[0] = _shifted(random, results[0], operands[0])
        if isinstance(op, factorizations.EighOp | factorizations.SvdOp):
            results = _with_other_vectors(random, op, results)
        if isinstance(op, linear_systems.InverseOp | linear_systems.SolveOp):
            results = [_if_singular(random, operands[0], x) for x in results]
        if type(op) in MATRICES:
            # What overflows on the way is another infinity, or a nan, in another order.
            results = [*map(partial(_overflown, random), results, evaluate(op, operands))]
        if isinstance(op, normalization.LogSoftmaxOp) and isinstance(results[0], np.ndarray):
            # The logarithm of a sum next to 1 is off by what rounding that sum to its type is.
            results[0] = _shifted(random, results[0], np.ones_like(results[0]))
        if type(op) not in SUMS and type(op) not in MATRICES and not isinstance(op, normalization.BatchNormOp):
            return results
        greatest = _greatest_sums(op, operands)
        if isinstance(op, linear_algebra.EinsumOp) and len(operands) > 2:
            # Three factors in another order: 0 meets an infinity, or has been summed before.
            greatest = [_beyond_all(x, y) for x, y in zip(evaluate(op, operands), greatest, strict=True)]
        self._overflows |= any(_has_infinity(x) for x in greatest)
        return [*map(partial(_overflown, random), results, greatest)]

    def values(self) -> list[Array]:
        """Every array that the program reads or makes."""
        return list(self._seen)

    def spread(self, scale: float = 1.0, runs: int = RUNS) -> list[tuple[Array, Array]]:
        """For each output how far each element moves, and whether it jumps, with so many times the usual moves."""
        if (scale, runs) not in self._spreads:
            self._scale = scale
            random = np.random.default_rng(self._program.seed)
            spreads = [(np.zeros(x.shape), np.zeros(x.shape, np.bool_)) for x in self.outputs]
            for _ in range(runs):
                try:
                    run = self._run(random)
                except EvaluationError:
                    run, self._breaks = None, True
                for place, output in enumerate(self.outputs):
                    far, jumps = spreads[place]
                    if run is None or run[place].shape != output.shape:
                        self._free_shapes.add(place)
                        spreads[place] = (far, np.ones(output.shape, np.bool_))
                        continue
                    distance, jump = _distance(run[place], output)
                    spreads[place] = (np.maximum(far, distance), jumps | jump)
            self._spreads[scale, runs] = spreads
        return self._spreads[scale, runs]

    def jumps(self, output: Array) -> Array:
        """Which elements of one of the outputs depend on rounding as a whole."""
        place = next(place for place, each in enumerate(self.outputs) if each is output)
        return self.spread()[place][1]

    def sizes_depend_on_rounding(self) -> bool:
        """Whether a shape, or what an op rejects, depends on rounding."""
        self.spread()
        return self._breaks or bool(self._free_shapes)

    def mismatch(self, actual: Sequence[Array], *, reassociates: bool = False) -> Mismatch | None:
        """What differs beyond rounding; `None` if nothing does.

        Args:
            actual: The results of another way to run the program.
            reassociates: Whether that way may change the arithmetic itself, as folding a batch norm does.
        """
        if len(actual) != len(self.outputs):
            return Mismatch(-1, f"{len(actual)} outputs instead of {len(self.outputs)}")
        for place, (got, want) in enumerate(zip(actual, self.outputs, strict=True)):
            if got.shape != want.shape and self._has_free_shape(place):
                continue
            if got.dtype != want.dtype or got.shape != want.shape:
                return Mismatch(place, f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}")
            if is_same(got, want):
                continue
            scale = REASSOCIATED if reassociates else 1.0
            if self._beyond(place, got, want, self.spread(scale)) is None:
                continue
            text = self._beyond(place, got, want, self.spread(scale, MORE_RUNS))
            if text is not None:
                return Mismatch(place, text)
        return None

    def _has_free_shape(self, place: int) -> bool:
        """Whether the shape of an output depends on rounding, as that of `unique` does."""
        self.spread()
        return place in self._free_shapes

    def _beyond(self, place: int, got: Array, want: Array, spreads: Sequence[tuple[Array, Array]]) -> str | None:
        far, jumps = spreads[place]
        distance, jump = _distance(got, want)
        # A program of exact ops alone has moved nowhere, and so must not differ at all.
        allowed = far * SLACK
        if want.dtype.name in UNITS and far.any():
            # The last bits of a denormal: a relative move says nothing about them.
            allowed = allowed + 4 * LEAST[want.dtype.name]
        wrong = ~jumps & (jump | (distance > allowed))
        if self._free_zeros:
            wrong &= ~((got == 0) & (want == 0))
        if not wrong.any():
            return None
        at = tuple(int(index) for index in np.argwhere(wrong)[0])
        return f"{int(wrong.sum())} of {want.size} elements, first at {list(at)}: {got[at]!r} instead of {want[at]!r}"

    @cached_property
    def _free_zeros(self) -> set[SSAValue]:
        """Values whose zeros may have any sign: a maximum of zeros of both signs, and sums in another order."""
        found: set[SSAValue] = set()
        for op in self._function.body.block.ops:
            if isinstance(op, FuseOp) and (type(op) not in _SIGNED_ZEROS or not found.isdisjoint(op.operands)):
                found.update(op.results)
        return found


_SIGNED_ZEROS = EXACT - {
    activation.ReluOp, activation.ClipOp, broadcast.MaximumOp, broadcast.MinimumOp, reduction.MaxOp, reduction.MinOp,
    pooling.MaxPool2dOp, pooling.GlobalMaxPool2dOp, opaque.SortOp, opaque.TopkOp, dynamic.DynTopkOp,
    selection.UniqueOp,
}  # fmt: skip
"""Ops of which every result is one operand's element, or a number that arithmetic defines to the sign."""


def assert_agrees(
    module: ModuleOp, inputs: Sequence[Array], results: Sequence[Array], *, reassociates: bool = False
) -> None:
    """Results of another way to run a program differ from those of NumPy by rounding alone.

    Args:
        module: One function without regions and calls, as it is before any pass has changed it.
        inputs: Its arguments.
        results: Of the other way.
        reassociates: Whether that way may change the arithmetic itself, as folding a batch norm does.

    Raises:
        AssertionError: They differ by more.
    """
    found = Reference(Given(module, list(inputs))).mismatch(results, reassociates=reassociates)
    assert found is None, f"output {found.output}: {found.text}"


def is_same(got: Array, want: Array) -> bool:
    """Whether all elements have the same bits, but for those of nans."""
    if got.tobytes() == want.tobytes():
        return True
    if want.dtype.name not in UNITS:
        return bool((got == want).all())
    wide = [array.astype(np.float64) for array in (got, want)]
    return bool(
        np.array_equal(*wide, equal_nan=True) and (np.signbit(wide[0]) == np.signbit(wide[1]))[wide[1] == 0].all()
    )


def _distance(got: Array, want: Array) -> tuple[Array, Array]:
    """Differences of finite numbers, and where one is not finite and the other is something else."""
    if want.dtype.name not in UNITS:
        return np.zeros(want.shape), np.asarray(got != want)
    a, b = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        finite = np.isfinite(a) & np.isfinite(b)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        distance = np.where(finite, np.abs(a - b), 0.0)
        # Zeros of different signs differ by nothing, and are yet not the same.
        signs = (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))
        return distance, (~finite & ~same) | signs
