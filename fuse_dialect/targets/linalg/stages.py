"""One stage of a loop program as ops of linalg: a named op where it is one, else a `linalg.generic`.

1. A reduction begins with a `linalg.fill`, and its end is a generic of its own.
2. A stage that writes a piece of a buffer writes a tensor, which is inserted.
"""

from collections.abc import Sequence

from xdsl.dialects import tensor
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import GenericOp, YieldOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineMap

from fuse_dialect.counts import Size
from fuse_dialect.dialect.building import building
from fuse_dialect.dialect.loops import LoopFormError
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.frontends.mlir.named_linalg import NAMED_OPS
from fuse_dialect.loops.bodies import reads
from fuse_dialect.loops.indices import Index, Loop, loop
from fuse_dialect.loops.iteration_space import with_axes
from fuse_dialect.loops.program import Body, Reduction, Stage
from fuse_dialect.targets.linalg.accesses import Access, access_of
from fuse_dialect.targets.linalg.arrays import Arrays, element_type, static_shape
from fuse_dialect.targets.linalg.groups import split_by_groups
from fuse_dialect.targets.linalg.named import named_op
from fuse_dialect.targets.linalg.reshapes import joined, reshaped
from fuse_dialect.targets.linalg.scalars import BodyWriter, combine, literal_constant


def write_stage(stage: Stage, arrays: Arrays, *, is_anchor: bool = False) -> None:
    """Create the ops of a stage at the open builder, and note what they give in `arrays`.

    Args:
        stage: The stage; the buffers it reads are whole.
        arrays: Tensors by buffer.
        is_anchor: Look for a named op.

    Raises:
        LoopFormError: The stage cannot be written.
    """
    stage = _in_order(stage)
    split = split_by_groups(stage) if is_anchor else None
    result = _computed(stage if split is None else split.stage, arrays, is_anchor=is_anchor)
    parallel = [axis.size for axis in stage.axes if not axis.is_reduced]
    _store(stage, result if split is None else joined(result, split.axis), parallel, arrays)


def _computed(stage: Stage, arrays: Arrays, *, is_anchor: bool) -> SSAValue:
    """The tensor of the stage's values."""
    parallel = [axis.size for axis in stage.axes if not axis.is_reduced]
    element = arrays.buffers[stage.buffer].element
    if stage.reduction is None:
        return _map(stage.body, parallel, arrays, element=element)
    result = _reduced(stage, stage.reduction, parallel, arrays, is_anchor=is_anchor)
    return _map(stage.finish, parallel, arrays, element=element, total=result) if stage.finish else result


def _map(
    body: Body, parallel: Sequence[Size], arrays: Arrays, *, element: str, total: SSAValue | None = None
) -> SSAValue:
    """The tensor of the body's values, one for each point; `total` is read at each point, as place 0."""
    if 0 in parallel:
        # MLIR accepts no loop of no points.
        return arrays.empty(parallel, element_type(element))
    accesses = {read: access_of(read, arrays, parallel) for read in dict.fromkeys(reads(body))}
    inputs = {read: access.along_unit_loops(parallel) for read, access in accesses.items() if access is not None}
    output = arrays.empty(parallel, element_type(element))
    arrays.measure(body)
    totals = [] if total is None else [Access(total, tuple(loop(axis) for axis in range(len(parallel))))]
    operands = [*totals, *inputs.values()]
    block = _block(operands, output)
    with building(block):
        writer = BodyWriter(arrays, dict(zip(inputs, block.args[len(totals) :], strict=False)))
        YieldOp(writer.write(body, block.args[: len(totals)]))
    return _generic(operands, output, block, len(parallel), 0)


def _reduced(
    stage: Stage, reduction: Reduction, parallel: Sequence[Size], arrays: Arrays, *, is_anchor: bool
) -> SSAValue:
    """The tensor of combined values."""
    extents = [axis.size for axis in stage.axes]
    if 0 in extents:
        # Of no values the combination is what it starts with.
        start = literal_constant(reduction.start).result
        return NAMED_OPS["fill"]([start], [arrays.empty(parallel, start.type)]).res[0]
    accesses = {
        read: access_of(read, arrays, extents, keeps_steps=is_anchor) for read in dict.fromkeys(reads(stage.body))
    }
    inputs = {read: access for read, access in accesses.items() if access is not None}
    start = literal_constant(reduction.start).result
    empty = arrays.empty(parallel, start.type)
    total = NAMED_OPS["fill"]([start], [empty]).res[0]
    if is_anchor and len(inputs) == len(accesses):
        named = named_op(stage, reduction, list(inputs.values()), total)
        if named is not None:
            return named
    operands = [access.along_unit_loops(extents) for access in inputs.values()]
    known = set[int]().union(*(access.lone_loops() for access in operands))
    missing = [axis for axis in range(len(parallel), len(extents)) if axis not in known]
    if missing:
        # MLIR takes the size of each loop from an operand: as the window of a named pooling op does.
        window = arrays.empty([extents[axis] for axis in missing], start.type)
        operands.append(Access(window, tuple(loop(axis) for axis in missing)))
    arrays.measure(stage.body)
    block = _block(operands, total)
    with building(block):
        value = BodyWriter(arrays, dict(zip(inputs, block.args, strict=False))).write(stage.body)
        YieldOp(combine(reduction, block.args[-1], value))
    return _generic(operands, total, block, len(parallel), len(extents) - len(parallel))


def _block(operands: Sequence[Access], output: SSAValue) -> Block:
    types = [value.type for value in (*(access.value for access in operands), output)]
    return Block(arg_types=[type.element_type for type in types if is_tensor(type)])


def _generic(operands: Sequence[Access], output: SSAValue, block: Block, parallel: int, reduced: int) -> SSAValue:
    rank = parallel + reduced
    maps = [access.map(rank) for access in operands]
    maps.append(AffineMap(rank, 0, AffineMap.identity(parallel).results))
    iterators = [IteratorTypeAttr.parallel()] * parallel + [IteratorTypeAttr.reduction()] * reduced
    return GenericOp(
        [access.value for access in operands],
        [output],
        Region(block),
        [AffineMapAttr(map) for map in maps],
        iterators,
        [output.type],
    ).res[0]


def _store(stage: Stage, result: SSAValue, parallel: Sequence[Size], arrays: Arrays) -> None:
    """Keep the result as the stage's buffer, or insert it."""
    buffer = arrays.buffers[stage.buffer]
    if not stage.store:
        arrays.values[stage.buffer] = arrays.typed(result, buffer.shape)
        return
    piece, sizes = _laid_out(result, stage, parallel)
    offsets = [index.constant for index in stage.store]
    if sizes == list(buffer.shape) and not any(offsets):
        # Pieces without elements may follow.
        arrays.pieces[stage.buffer] = arrays.values[stage.buffer] = piece
        return
    target = arrays.pieces.get(stage.buffer)
    if target is None:
        target = arrays.empty(buffer.shape, element_type(buffer.element))
    inserted = tensor.InsertSliceOp.get(
        source=piece,
        dest=target,
        static_offsets=offsets,
        static_sizes=static_shape(sizes),
        static_strides=[1] * len(offsets),
        sizes=[arrays.size(size) for size in sizes if isinstance(size, str)],
        result_type=target.type,
    ).result
    arrays.pieces[stage.buffer] = arrays.values[stage.buffer] = inserted


def _laid_out(result: SSAValue, stage: Stage, parallel: Sequence[Size]) -> tuple[SSAValue, list[Size]]:
    """The result with its axes as the stage stores them, and their sizes; loops of size 1 may come and go.

    Raises:
        LoopFormError: The stage stores in steps, or changes its axes without knowing all their sizes.
    """
    axes = [_loop_of(index) for index in stage.store]
    sizes: list[Size] = [1 if axis is None else parallel[axis] for axis in axes]
    kept = [axis for axis in axes if axis is not None and parallel[axis] != 1]
    if sorted(kept) != [axis for axis, size in enumerate(parallel) if size != 1]:
        raise LoopFormError("stores its result where its loops do not say")
    if axes == list(range(len(parallel))):
        return result, sizes
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) != len(sizes):
        raise LoopFormError("needs static sizes")
    return reshaped(result, known), sizes


def _in_order(stage: Stage) -> Stage:
    """The stage with its parallel axes in the order in which they are stored, and those of one point behind them."""
    parallel = [axis for axis, each in enumerate(stage.axes) if not each.is_reduced]
    stored = dict.fromkeys(axis for index in stage.store if (axis := _loop_of(index)) is not None)
    order = [*stored, *(axis for axis in parallel if axis not in stored)]
    if not stage.store or order == parallel:
        return stage
    order += range(len(parallel), len(stage.axes))
    return with_axes(
        stage, [stage.axes[axis] for axis in order], [loop(order.index(axis)) for axis in range(len(order))]
    )


def _loop_of(index: Index) -> int | None:
    """The loop along which an axis is stored; `None` for one place."""
    match index:
        case Index(((Loop(axis), 1),), _):
            return axis
        case Index((), _):
            return None
        case _:
            raise LoopFormError("stores its result in steps")
