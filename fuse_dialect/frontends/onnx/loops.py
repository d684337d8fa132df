"""Loops that importers make: a body is a function from values to values, called once, inside the region."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from fuse_dialect.dialect.ops.regions import LoopOp, YieldOp, row_type
from fuse_dialect.dialect.types import Tensor, tensor
from fuse_dialect.frontends.onnx.node import OnnxNode
from fuse_dialect.frontends.onnx.values import Constant, Value

COUNTER = tensor((), i64)
"""The type of the number of an iteration."""
Body: TypeAlias = Callable[
    [OnnxNode, SSAValue[Tensor], Sequence[Value], Sequence[Value]], tuple[Sequence[Value], Sequence[Value]]
]
"""From the node in the region, the number of the iteration, states and rows to the next states and what is stacked."""


def emit_loop(
    node: OnnxNode, *, states: Sequence[Value], rows: Sequence[Value], body: Body, count: int | None = None
) -> list[Value]:
    """The last states, then the stacks, of a loop over the rows of tensors, or of `count` iterations."""
    initial = [node.builder.materialize(value) for value in states]
    scanned = [node.builder.materialize(value) for value in rows]
    types = [COUNTER, *(value.type for value in initial), *(row_type(value) for value in scanned)]
    inner = node.builder.region(types)
    number, *given = (cast("SSAValue[Tensor]", argument) for argument in inner.block.args)
    last, stacked = body(replace(node, builder=inner), number, given[: len(initial)], given[len(initial) :])
    inner.append(YieldOp(*(inner.materialize(value) for value in (*last, *stacked))))
    limit = None if count is None else node.builder.materialize(Constant(np.array(count, np.int64)))
    loop = LoopOp(inner.block, limit=limit, states=initial, rows=scanned)
    node.builder.append(loop)
    return [cast("SSAValue[Tensor]", result) for result in loop.results]
