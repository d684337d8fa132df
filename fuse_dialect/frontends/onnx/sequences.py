"""ONNX's sequences whose length is known: lists of values during import, of which nothing is left in the IR.

A sequence has no type in the dialect. What makes one, changes one and takes from one is unrolled; a sequence that is an
input, a result or a state of a loop is refused.

Source: ONNX SequenceConstruct, SequenceAt, SequenceInsert, SequenceErase, SplitToSequence, ConcatFromSequence.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp, SplitOp, StackOp
from fuse_dialect.dialect.types import DYNAMIC, normalize_axis
from fuse_dialect.frontends.onnx.node import DynamicShapeError, OnnxNode
from fuse_dialect.frontends.onnx.operators.layout import squeeze
from fuse_dialect.frontends.onnx.values import Constant, Value

SEQUENCE_OPERATORS = (
    "ConcatFromSequence",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    "SequenceLength",
    "SplitToSequence",
)
"""Operators that make or read sequences; they are not in the table, since their operands are no tensors."""
_LONGEST = 4096
"""Elements of a sequence, each of which may become an op."""


@dataclass(frozen=True, slots=True)
class ValueList:
    """A sequence: its elements in order."""

    elements: tuple[Value, ...]


def import_sequence_operator(node: OnnxNode, given: ValueList | None) -> Value | ValueList:
    """The result of a node of `SEQUENCE_OPERATORS`.

    Args:
        node: The node, of whose operands the sequence is left out.
        given: The first operand, if it is a sequence.

    Raises:
        FuseError: A position is out of range or not known, or the operand is no sequence.
    """
    match node.node.op_type:
        case "SequenceEmpty":
            return ValueList(())
        case "SequenceConstruct":
            return _of_length(tuple(node.all_operands()))
        case "SplitToSequence":
            return _of_length(tuple(_split(node)))
        case name:
            if given is None:
                raise FuseError("expects a sequence as operand 0")
            return _of_sequence(node, name, given.elements)


def _of_sequence(node: OnnxNode, name: str, elements: tuple[Value, ...]) -> Value | ValueList:
    match name:
        case "SequenceLength":
            return Constant(np.array(len(elements), np.int64))
        case "SequenceAt":
            return elements[_position(node, 1, len(elements))]
        case "SequenceErase":
            place = len(elements) - 1 if node.optional(1) is None else _position(node, 1, len(elements))
            if place < 0:
                raise FuseError("takes an element from an empty sequence")
            return ValueList((*elements[:place], *elements[place + 1 :]))
        case "SequenceInsert":
            place = len(elements) if node.optional(2) is None else _position(node, 2, len(elements), may_end=True)
            return _of_length((*elements[:place], node.operand(1), *elements[place:]))
        case _:
            return _concatenated(node, elements)


def _of_length(elements: tuple[Value, ...]) -> ValueList:
    if len(elements) > _LONGEST:
        raise FuseError(f"makes a sequence of {len(elements)} tensors, of at most {_LONGEST}")
    return ValueList(elements)


def _position(node: OnnxNode, index: int, length: int, *, may_end: bool = False) -> int:
    """A position in a sequence, counted from the front; it must be known at import."""
    given = int(node.constant_scalar(index))
    place = given + length if given < 0 else given
    if not 0 <= place < length + may_end:
        raise FuseError(f"asks for position {given} of a sequence of {length} tensors")
    return place


def _concatenated(node: OnnxNode, elements: Sequence[Value]) -> Value:
    """All elements along an axis, a new one or theirs."""
    if not elements:
        raise FuseError("joins the tensors of an empty sequence")
    if node.integer("new_axis", 0):
        return node.emit(StackOp, *elements, axis=node.integer("axis"))
    return elements[0] if len(elements) == 1 else node.emit(ConcatenateOp, *elements, axis=node.integer("axis"))


def _split(node: OnnxNode) -> Sequence[Value]:
    """Parts of an axis: of given sizes, of one size but the last, or of size 1, then with or without the axis."""
    x = node.operand(0)
    axis = normalize_axis(node.integer("axis", 0), node.rank(x))
    extent = node.shape(x)[axis]
    if extent == DYNAMIC:
        raise DynamicShapeError(f"splits axis {axis} of {node.type_of(x)}, whose size is not known")
    given = node.optional(1)
    size = 1 if given is None else int(node.constant_scalar(1)) if node.rank(given) == 0 else None
    if size is None:
        sizes = node.constant_ints(1)
    elif size < 1 or extent // size > _LONGEST:
        raise FuseError(f"splits {extent} elements into parts of {size}: expects 1 to {_LONGEST} parts")
    else:
        sizes = [min(size, extent - begin) for begin in range(0, extent, size)]
    if min(sizes, default=0) < 0 or sum(sizes) != extent:
        raise FuseError(f"splits {extent} elements into parts of {sizes}")
    parts = [x] if len(sizes) == 1 else list(node.emit_all(SplitOp, x, axis=axis, sizes=sizes)) if sizes else []
    if given is None and not node.flag("keepdims", True):
        return [squeeze(node, part, [axis]) for part in parts]
    return parts
