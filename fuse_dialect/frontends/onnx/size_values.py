"""Integers that depend on dynamic dimensions, as values of the IR.

A `Size` that is the extent of a dimension is an element of `shape_of` the first value that has the dimension; one that
is computed is the same arithmetic on `tensor<1xi64>`. Each is written out once: the body has one block.
"""

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from fuse_dialect.analysis.sizes import SCALED, Element, Size
from fuse_dialect.dialect.fields import PropertyValue
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.broadcast import AddOp, DivideOp, MultiplyOp, SubtractOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.dialect.ops.dynamic import ShapeOfOp
from fuse_dialect.dialect.ops.elementwise import FloorOp
from fuse_dialect.dialect.ops.indexing import StridedSliceOp
from fuse_dialect.dialect.ops.layout import ReshapeOp, SqueezeOp
from fuse_dialect.dialect.types import Tensor, element_type_of, tensor
from fuse_dialect.frontends.onnx.values import Constant, SizeVector, Value

_INT64 = np.dtype(np.int64)
_I64 = element_type_of(_INT64)
_OPERATIONS: dict[str, type[FuseOp]] = {"+": AddOp, "-": SubtractOp, "*": MultiplyOp, "/": DivideOp}

_Extent: TypeAlias = tuple[SSAValue[Tensor], int]
"""A value and the number of an axis."""
_Key: TypeAlias = tuple[object, ...]
"""A value whose shape it is; value, axis and count of sizes; a name; or a shape and elements."""


class Emitter(Protocol):
    """What writes the ops: the builder of the body."""

    def emit(
        self,
        op_class: type[FuseOp],
        *operands: Value,
        properties: Mapping[str, PropertyValue],
        result_types: Sequence[Attribute] | None = None,
    ) -> tuple[Value, ...]:
        """The results of an op."""
        ...

    def materialize(self, value: Value) -> SSAValue[Tensor]:
        """The value in the IR."""
        ...


class SizeValues:
    """Values of the IR for sizes, each made when it is first needed."""

    def __init__(self, builder: Emitter, outer: "SizeValues | None" = None):
        """Start with what is known around the builder's block, if it is inside another one."""
        self._builder = builder
        self._extents: ChainMap[str, _Extent] = ChainMap() if outer is None else outer._extents.new_child()
        self._written: ChainMap[_Key, Value] = ChainMap() if outer is None else outer._written.new_child()
        """Values that are in the IR, by what they are; a region sees those around it, but not the other way round."""

    def found(self, value: SSAValue[Tensor], sizes: Sequence[int | Size]) -> None:
        """Remember where sizes can be read; the first place stays."""
        for axis, size in enumerate(sizes):
            if isinstance(size, Size):
                self._extents.setdefault(size.name, (value, axis))

    def of(self, vector: SizeVector) -> SSAValue[Tensor]:
        """The integers, as a tensor of the vector's shape and element type."""
        shape, elements = vector.elements.shape, list(vector.elements.reshape(-1))
        key = (shape, vector.dtype.char, *elements)
        if key not in self._written:
            if vector.dtype != _INT64:
                wide = self.of(replace(vector, dtype=_INT64))
                value = self._emit(CastOp, wide, result=tensor(shape, element_type_of(vector.dtype)))
            elif not shape:
                value = self._emit(SqueezeOp, self._one(elements[0]), axes=[0])
            else:
                value = self._list(elements)
                if len(shape) > 1:
                    value = self._emit(ReshapeOp, value, result=tensor(shape, _I64))
            self._written[key] = value
        return self._builder.materialize(self._written[key])

    def _list(self, elements: Sequence[Element]) -> Value:
        """Pieces that are neighbours in one shape, or constants, joined."""
        parts: list[Value] = []
        start = 0
        while start < len(elements):
            stop = start + 1
            while stop < len(elements) and self._follows(elements[stop - 1], elements[stop]):
                stop += 1
            parts.append(self._run(elements[start:stop]))
            start = stop
        return parts[0] if len(parts) == 1 else self._emit(ConcatenateOp, *parts, axis=0)

    def _follows(self, one: Element, other: Element) -> bool:
        if not isinstance(one, Size) or not isinstance(other, Size):
            return not isinstance(one, Size) and not isinstance(other, Size)
        first, second = self._extents.get(one.name), self._extents.get(other.name)
        return first is not None and second is not None and second == (first[0], first[1] + 1)

    def _run(self, elements: Sequence[Element]) -> Value:
        first = elements[0]
        if not isinstance(first, Size):
            return self._constant(*elements)
        return self._one(first) if len(elements) == 1 else self._sizes(*self._extents[first.name], len(elements))

    def _sizes(self, value: SSAValue[Tensor], axis: int, count: int) -> Value:
        """The sizes of `count` axes of a value, from `axis` on."""
        key = (value, axis, count)
        if key not in self._written:
            if (value,) not in self._written:
                self._written[(value,)] = self._emit(ShapeOfOp, value)
            shape = self._written[(value,)]
            whole = count == value.type.get_num_dims()
            self._written[key] = shape if whole else self._emit(StridedSliceOp, shape, begin=[axis], end=[axis + count])
        return self._written[key]

    def _one(self, element: Element) -> Value:
        """One integer as `tensor<1xi64>`; formulas wait on a list, not on Python's stack."""
        if not isinstance(element, Size):
            return self._constant(element)
        stack = [element]
        while stack:
            size = stack[-1]
            if (size.name,) in self._written:
                stack.pop()
                continue
            if size.name in self._extents:
                self._written[(size.name,)] = self._sizes(*self._extents[size.name], 1)
                continue
            assert size.formula is not None, "a size is computed, or the extent of a dimension of some value"
            operation, *operands = size.formula
            waiting = [part for part in operands if isinstance(part, Size) and (part.name,) not in self._written]
            if waiting:
                stack.extend(waiting)
                continue
            values = [
                self._written[(part.name,)] if isinstance(part, Size) else self._constant(part) for part in operands
            ]
            self._written[(size.name,)] = self._computed(operation, *values)
        return self._written[(element.name,)]

    def _constant(self, *elements: float | Size) -> Value:
        """A list of numbers."""
        array = np.array(elements, np.float32 if any(isinstance(each, float) for each in elements) else np.int64)
        return self._written.setdefault((array.dtype.char, *elements), Constant(array))

    def _computed(self, operation: str, lhs: Value, rhs: Value) -> Value:
        if operation != SCALED:
            return self._emit(_OPERATIONS[operation], lhs, rhs)
        product = self._emit(MultiplyOp, self._emit(CastOp, lhs, result=tensor([1], f32)), rhs)
        return self._emit(CastOp, self._emit(FloorOp, product), result=tensor([1], _I64))

    def _emit(
        self, op: type[FuseOp], *operands: Value, result: Tensor | None = None, **properties: int | list[int]
    ) -> Value:
        types = None if result is None else [result]
        return self._builder.emit(op, *operands, properties=properties, result_types=types)[0]
