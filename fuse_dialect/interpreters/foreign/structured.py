"""The meaning of structured ops: for every iteration of the loops, the body on the elements that the maps give.

1. Loops run in their order, the last one fastest, and the body sees in an init what the iterations before wrote there.
2. A loop that is an axis of every result writes elsewhere in each iteration: such *parallel* loops run at once.
3. Where the body only combines an element with an init, by a function of any order, so do loops that the inputs read
   along an axis, in parts of `_PART` elements. Integers are what 1 says; a float rounds in another order, which linalg
   leaves open. Narrow floats round after every step, and so run by 1.
4. A body that does not compute element by element runs once for every iteration.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

import numpy as np
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.foreign.bodies import Values, computes_elements, run_body, value_of
from fuse_dialect.interpreters.foreign.loop_points import Part, Range, read, write
from fuse_dialect.interpreters.foreign.meaning import Surroundings
from fuse_dialect.interpreters.foreign.scalars import scalar_function
from fuse_dialect.interpreters.values import EvaluationError

_PART = 1 << 22
"""Elements that are computed at once, of what is added up."""
_SHORT = 64
"""Iterations that are not worth rounding in another order."""
_MOST_PARTS = 1 << 24
"""Iterations that run one by one: some minutes."""

_COMBINATIONS: Mapping[str, np.ufunc] = {
    "arith.addf": np.add,
    "arith.mulf": np.multiply,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.addi": np.add,
    "arith.muli": np.multiply,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
}
"""Functions that combine elements in any order: condition 3."""
_COMPUTED = frozenset({"float32", "float64", "int8", "int16", "int32", "int64"})


def run_structured(
    op: Operation,
    region: Region,
    maps: Sequence[AffineMap],
    operands: Sequence[Array],
    outputs: int,
    around: Surroundings,
) -> list[Array]:
    """The results of a structured op.

    Args:
        op: The op.
        region: Its body.
        maps: The element of each operand that an iteration reads; for the last ones, also writes.
        operands: Inputs and inits.
        outputs: How many of them are inits.
        around: What is around the op.

    Raises:
        EvaluationError: Sizes contradict each other, an index is outside, or there are too many iterations.
        IndexError: An index is outside of an operand.
    """
    extents = _extents(op, maps, operands)
    results = [np.array(operand) for operand in operands[len(operands) - outputs :]]
    if not prod(extents):
        return results
    block = region.block
    inputs, inits = maps[: len(maps) - outputs], maps[len(maps) - outputs :]
    state = _State(op, block, inputs, inits, operands[: len(inputs)], results, around)
    if not computes_elements(block):
        _check_count(op, prod(extents))
        for number, point in enumerate(product(*map(range, extents))):
            state.run_point(region, Part(tuple(point)), is_repeated=number > 0)
        return results
    parallel = [all(AffineDimExpr(loop) in own.results for own in inits) for loop in range(len(extents))]
    reduced = [loop for loop, own in enumerate(parallel) if not own]
    is_mixed = any(loop in own.used_dims() for own in inits for loop in reduced)
    elements = None if is_mixed or not reduced else _elements(block, results)
    ranges = _ranges(extents, parallel, inputs if elements else None)
    _check_count(op, prod(map(len, ranges)))
    for each in product(*ranges):
        state.run_part(Part(each), elements, reduced)
    return results


def _check_count(op: Operation, count: int) -> None:
    if count > _MOST_PARTS:
        raise EvaluationError(op, f"cannot be run: {count} iterations one after the other are too many")


def _extents(op: Operation, maps: Sequence[AffineMap], operands: Sequence[Array]) -> list[int]:
    """Sizes of the loops: those of the axes that a loop indexes alone."""
    if len(maps) != len(operands):
        raise EvaluationError(op, f"expects a map for each of {len(operands)} operands, got {len(maps)}")
    extents: dict[int, int] = {}
    for own, operand in zip(maps, operands, strict=True):
        if len(own.results) != operand.ndim:
            raise EvaluationError(op, f"expects a map to {operand.ndim} axes, got {own}")
        for expression, size in zip(own.results, operand.shape, strict=True):
            if isinstance(expression, AffineDimExpr):
                known = extents.setdefault(expression.position, size)
                if known != size:
                    raise EvaluationError(op, f"has two sizes for loop {expression.position}: {known} and {size}")
    loops = maps[0].num_dims if maps else 0
    unknown = [loop for loop in range(loops) if loop not in extents]
    if unknown:
        raise EvaluationError(op, f"has no operand that says the size of loop {unknown[0]}")
    return [extents[loop] for loop in range(loops)]


def _elements(block: Block, results: Sequence[Array]) -> list[SSAValue] | None:
    """What each init is combined with, if the body does nothing else with inits: condition 3."""
    end = block.last_op
    assert end is not None, "a body has an end"
    inits = block.args[len(block.args) - len(results) :]
    elements: list[SSAValue] = []
    for init, value, result in zip(inits, end.operands, results, strict=True):
        op = value.owner
        if not isinstance(op, Operation) or op.name not in _COMBINATIONS or result.dtype.name not in _COMPUTED:
            return None
        if init not in op.operands or len(list(init.uses)) != 1 or len(list(value.uses)) != 1:
            return None
        elements.append(op.operands[1] if op.operands[0] is init else op.operands[0])
    return elements


def _ranges(
    extents: Sequence[int], parallel: Sequence[bool], inputs: Sequence[AffineMap] | None
) -> list[Sequence[Range]]:
    """For each loop the ranges that run at once: conditions 2 and 3."""
    ranges: list[Sequence[Range]] = [
        [(0, size)] if own else range(size) for size, own in zip(extents, parallel, strict=True)
    ]
    if inputs is None:
        return ranges
    at_once = prod(size for size, own in zip(extents, parallel, strict=True) if own)
    for loop in reversed([loop for loop, own in enumerate(parallel) if not own]):
        size, step = extents[loop], max(1, _PART // at_once)
        if step >= min(size, _SHORT) and _reads_along(loop, inputs):
            ranges[loop] = [(start, min(step, size - start)) for start in range(0, size, step)]
            at_once *= min(step, size)
    return ranges


def _reads_along(loop: int, inputs: Sequence[AffineMap]) -> bool:
    """Whether the inputs read along a loop by axes of its own alone, and some input does."""
    alone = AffineDimExpr(loop)
    axes = [axis for own in inputs for axis in own.results if loop in axis.used_dims()]
    return bool(axes) and all(axis == alone for axis in axes)


class _State:
    """A structured op while it runs: its inputs, and its results so far."""

    def __init__(
        self,
        op: Operation,
        block: Block,
        input_maps: Sequence[AffineMap],
        output_maps: Sequence[AffineMap],
        inputs: Sequence[Array],
        results: Sequence[Array],
        around: Surroundings,
    ):
        self._op, self._block, self._around = op, block, around
        self._inputs = list(zip(block.args[: len(inputs)], inputs, input_maps, strict=True))
        # A `linalg.map` of older versions of MLIR has no arguments for its inits.
        arguments = block.args[len(inputs) :] or [None] * len(results)
        self._outputs = list(zip(arguments, results, output_maps, strict=True))
        end = block.last_op
        assert end is not None, "a body has an end"
        self._end = end

    def run_point(self, region: Region, part: Part, *, is_repeated: bool) -> None:
        """Run one iteration by running the region."""
        pairs = [(array, own) for argument, array, own in (*self._inputs, *self._outputs) if argument is not None]
        arguments = [np.array(read(array, own, part)).reshape(()) for array, own in pairs]
        indices = [grid.reshape(()) for grid in part.grids]
        values = self._around.run(region, arguments, indices=indices, is_repeated=is_repeated)
        for (_, array, own), value in zip(self._outputs, values, strict=True):
            if isinstance(value, tuple):
                raise EvaluationError(self._op, "cannot be run: its body yields a tuple")
            write(array, own, part, value)

    def run_part(self, part: Part, elements: Sequence[SSAValue] | None, reduced: Sequence[int]) -> None:
        """Run several iterations at once."""
        arguments: Values = {
            argument: read(array, own, part)
            for argument, array, own in (*self._inputs, *(() if elements else self._outputs))
            if argument is not None and argument.uses
        }
        values = run_body(self._block, arguments, part.grids, self._around)
        for place, (argument, array, own) in enumerate(self._outputs):
            value = self._end.operands[place]
            if elements is None:
                found = value_of(value, values, self._around)
            else:
                assert isinstance(value.owner, Operation), "a combination is an op"
                combination, init = value.owner, read(array, own, part)
                element = _combined(combination, value_of(elements[place], values, self._around), part, reduced)
                pair = [init, element] if combination.operands[0] is argument else [element, init]
                found = scalar_function(combination, pair)
            write(array, own, part, np.asarray(found))


def _combined(op: Operation, element: Array, part: Part, reduced: Sequence[int]) -> Array:
    """The elements of a part, combined along the loops that are reduced."""
    shape = [*(1,) * (len(part.ranges) - element.ndim), *element.shape]
    for loop in reduced:
        shape[loop] = part.sizes[loop]
    whole = np.broadcast_to(element, shape)
    return np.asarray(_COMBINATIONS[op.name].reduce(whole, axis=tuple(reduced), dtype=whole.dtype, keepdims=True))
