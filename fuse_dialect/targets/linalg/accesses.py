"""How an op of linalg reads a buffer: a tensor, and for each of its axes a sum of loops.

1. Padding is a `tensor.pad`, an offset or a step a `tensor.extract_slice`, so that the sums have no constants and their
   factors are positive: MLIR tiles such maps.
2. What no such sum says (quotients, computed indices, other guards) is read inside the body by `tensor.extract`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import tensor
from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from fuse_dialect.counts import Size
from fuse_dialect.dialect.building import building
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.loops.indices import Guard, Index, Loop, loop, number, range_of
from fuse_dialect.loops.program import Literal, Read
from fuse_dialect.targets.linalg.arrays import Arrays
from fuse_dialect.targets.linalg.scalars import literal_constant


@dataclass(frozen=True, slots=True)
class Access:
    """An input of an op of linalg."""

    value: SSAValue
    indices: tuple[Index, ...]
    """For each axis of the tensor a sum of loops with positive factors, without a constant."""

    def map(self, rank: int) -> AffineMap:
        """The indexing map for so many loops."""
        return AffineMap(rank, 0, tuple(_expression(index) for index in self.indices))

    def along_unit_loops(self, extents: Sequence[Size]) -> "Access":
        """The access with a loop of size 1 in place of an index 0, where one is free: so maps stay permutations."""
        used = {atom.axis for index in self.indices for atom, _ in index.terms if isinstance(atom, Loop)}
        indices = list(self.indices)
        for place, index in enumerate(indices):
            if index.terms:
                continue
            free = [axis for axis, size in enumerate(extents) if size == 1 and axis not in used]
            if free:
                chosen = place if place in free else free[0]
                used.add(chosen)
                indices[place] = loop(chosen)
        return Access(self.value, tuple(indices))

    def lone_loops(self) -> set[int]:
        """Loops that are an index alone, from which MLIR knows their sizes."""
        return {
            atom.axis
            for index in self.indices
            for atom, factor in index.terms
            if isinstance(atom, Loop) and factor == 1 and len(index.terms) == 1
        }


def _expression(index: Index) -> AffineExpr:
    total = AffineExpr.constant(index.constant)
    for atom, factor in index.terms:
        assert isinstance(atom, Loop), "an access is a sum of loops"
        term = AffineExpr.dimension(atom.axis)
        total = total + (term * factor if factor != 1 else term)
    return total


@dataclass(frozen=True, slots=True)
class _Axis:
    """How a read runs along one axis of its buffer."""

    index: Index
    size: Size
    low: int = 0
    """Elements of padding before the first."""
    high: int = 0
    """Elements of padding behind the last."""


def access_of(read: Read, arrays: Arrays, extents: Sequence[Size], *, keeps_steps: bool = False) -> Access | None:
    """The input that a read is, with the ops that prepare it; `None` if it must be read inside the body.

    Args:
        read: The read.
        arrays: Where the buffer's tensor is.
        extents: Sizes of the loops.
        keeps_steps: Leave factors of lone loops in the map, as strides of convolutions.
    """
    axes = _axes(read, arrays.buffers[read.buffer].shape, extents)
    if axes is None:
        return None
    value = arrays.typed(arrays.values[read.buffer], arrays.buffers[read.buffer].shape)
    if any(axis.low or axis.high for axis in axes):
        assert read.otherwise is not None, "a read with guards says what it gives elsewhere"
        value = _padded(value, axes, read.otherwise)
    return _sliced(value, axes, extents, keeps_steps=keeps_steps)


def _axes(read: Read, shape: Sequence[Size], extents: Sequence[Size]) -> list[_Axis] | None:
    guards = list(read.guards)
    axes: list[_Axis] = []
    for index, size in zip(read.indices, shape, strict=True):
        if not isinstance(index, Index) or not _is_sum(index):
            return None
        guarded = [guard for guard in guards if guard == Guard(index, size)]
        guards = [guard for guard in guards if guard not in guarded]
        axis = _axis(index, size, extents, is_guarded=bool(guarded))
        if axis is None:
            return None
        axes.append(axis)
    return None if guards else axes


def _is_sum(index: Index) -> bool:
    return all(isinstance(atom, Loop) and factor > 0 for atom, factor in index.terms)


def _axis(index: Index, size: Size, extents: Sequence[Size], *, is_guarded: bool) -> _Axis | None:
    low, high = range_of(index, extents)
    if not isinstance(size, int) or low is None or high is None:
        # A size that is not known is that of the loop, if the index is the loop alone.
        match index:
            case Index(((Loop(axis), 1),), 0) if extents[axis] == size and not is_guarded:
                return _Axis(index, size)
            case Index((), 0) if not is_guarded:
                return _Axis(index, size)
            case _:
                return None
    if not is_guarded:
        return _Axis(index, size)
    before, behind = max(0, -low), max(0, high - size + 1)
    return _Axis(index + before, size + before + behind, before, behind)


def _padded(value: SSAValue, axes: Sequence[_Axis], fill: Literal) -> SSAValue:
    assert is_tensor(value.type), "buffers are tensors"
    block = Block(arg_types=[IndexType()] * len(axes))
    with building(block):
        tensor.YieldOp(literal_constant(fill).result)
    # Axes that are padded have static sizes; the others keep theirs.
    sizes = [
        size + axis.low + axis.high if axis.low or axis.high else size
        for size, axis in zip(value.type.get_shape(), axes, strict=True)
    ]
    result = TensorType(value.type.element_type, sizes)
    low, high = [axis.low for axis in axes], [axis.high for axis in axes]
    return tensor.PadOp(value, [], [], Region(block), low, high, result).result


def _sliced(value: SSAValue, axes: Sequence[_Axis], extents: Sequence[Size], *, keeps_steps: bool) -> Access | None:
    """The access without offsets, and without steps unless these are kept."""
    assert is_tensor(value.type), "buffers are tensors"
    offsets, sizes, steps = [0] * len(axes), list(value.type.get_shape()), [1] * len(axes)
    indices = [axis.index for axis in axes]
    for place, axis in enumerate(axes):
        if not isinstance(axis.size, int):
            continue
        offsets[place] = axis.index.constant
        sizes[place] = axis.size - offsets[place]
        indices[place] = axis.index - axis.index.constant
        match indices[place]:
            case Index(((Loop(own), factor),), 0) if factor == 1 or not keeps_steps:
                extent = extents[own]
                assert isinstance(extent, int), "the axis has been looked at"
                sizes[place], steps[place], indices[place] = extent, factor, Index(((Loop(own), 1),))
            case Index((), 0):
                sizes[place], indices[place] = 1, number(0)
            case _:
                pass
    if sizes != list(value.type.get_shape()) or any(step != 1 for step in steps):
        if any(size < 0 for size in sizes):
            return None
        type = TensorType(value.type.element_type, sizes)
        value = tensor.ExtractSliceOp(value, offsets, sizes, steps, type).result
    return Access(value, tuple(indices))
