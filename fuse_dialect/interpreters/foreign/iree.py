"""Meanings of what tests of IREE write between ops of other dialects: each passes on what it is given."""

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation

from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.types import tensor_type
from fuse_dialect.interpreters.constants import evaluate_attribute
from fuse_dialect.interpreters.foreign.meaning import Rows, Surroundings, attribute_of
from fuse_dialect.interpreters.foreign.narrow_bits import packed, unpacked
from fuse_dialect.interpreters.values import value_dtype


def _constant(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    return (evaluate_attribute(op, attribute_of(op, "value")),)


def _barrier(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    return operands


def _tie_shape(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    sizes = [
        size for size, own in zip(operands[0].shape, tensor_type(op.results[0]).get_shape(), strict=True) if own < 0
    ]
    told = [int(size) for size in operands[1:]]
    if sizes != told:
        raise ValueError(f"expects open sizes {told}, got {sizes}")
    return (operands[0],)


def _bitcast(op: Operation, operands: Sequence[Array], around: Surroundings) -> Sequence[Array]:
    """The same bits, of which several elements may share a byte."""
    type = tensor_type(op.results[0])
    given = iter([int(size) for size in operands[1:]][::-1])
    shape = [next(given) if size < 0 else size for size in type.get_shape()[::-1]][::-1]
    elements = unpacked(packed(operands[0]), value_dtype(type.element_type))
    return (np.asarray(elements).reshape(shape),)


MEANINGS: Rows = {
    "flow.tensor.bitcast": _bitcast,
    "flow.tensor.dynamic_constant": _constant,
    "flow.tensor.tie_shape": _tie_shape,
    "util.optimization_barrier": _barrier,
    "util.unfoldable_constant": _constant,
}
