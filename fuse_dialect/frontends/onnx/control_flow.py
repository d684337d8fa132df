"""ONNX If, Loop and Scan: regions of `fuse.if` and `fuse.loop`.

1. A condition that is known at import chooses a branch of If at once, and its nodes are imported in its place.
2. A state of Loop may change its size from one iteration to the next. The body is imported with the type of the first
   state; where it yields another size, once more with `?` in that place. Every further import is taken from the budget.
3. Scan is a loop over rows: its inputs are transposed so that the scanned axis is the first, and its results back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
import onnx_ir as ir
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.ops.layout import ReverseOp
from fuse_dialect.dialect.ops.regions import IfOp, LoopOp, YieldOp, row_type
from fuse_dialect.dialect.types import DYNAMIC, Tensor, normalize_axis, tensor
from fuse_dialect.frontends.onnx.builder import BodyBuilder
from fuse_dialect.frontends.onnx.loops import COUNTER
from fuse_dialect.frontends.onnx.node import STATIC_SHAPES_HINT, NeedsConstantError, OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.operators.layout import reshape, transpose
from fuse_dialect.frontends.onnx.values import Constant, Value

CONTROL_FLOW = ("If", "Loop", "Scan")
"""Operators with subgraphs; they are not in the table, since they import nodes themselves."""

_NO_LIMIT = np.iinfo(np.int64).max


class GraphImporter(Protocol):
    """Who imports the nodes of a graph, at any depth."""

    def import_here(self, graph: ir.Graph) -> list[Value]:
        """The outputs of a graph without inputs, whose nodes are imported into the current body."""
        ...

    def import_region(self, graph: ir.Graph, inputs: Sequence[Value], builder: BodyBuilder) -> list[Value]:
        """The outputs of a graph, whose nodes are imported into a region."""
        ...


def import_control_flow(importer: GraphImporter, view: OnnxNode) -> Sequence[Value]:
    """The results of an If, Loop or Scan node.

    Raises:
        FuseError: The node or its subgraphs cannot be imported.
    """
    match view.node.op_type:
        case "If":
            return _import_if(importer, view)
        case "Loop":
            return _import_loop(importer, view)
        case _:
            return _import_scan(importer, view)


def _import_if(importer: GraphImporter, view: OnnxNode) -> Sequence[Value]:
    then, otherwise = (view.node.attributes[name].as_graph() for name in ("then_branch", "else_branch"))
    if isinstance(view.operand(0), Constant):
        return importer.import_here(then if view.constant_scalar(0) else otherwise)
    condition = view.builder.materialize(_scalar(view, view.operand(0)))
    blocks: list[BodyBuilder] = []
    try:
        for branch in (then, otherwise):
            builder = view.builder.region([])
            _end(builder, importer.import_region(branch, [], builder))
            blocks.append(builder)
        op = IfOp(condition, blocks[0].block, blocks[1].block)
    except (FuseError, VerifyException) as error:
        if isinstance(error, FuseError) and error.hint != STATIC_SHAPES_HINT:
            raise
        # A branch that is never taken need not make sense for the sizes at hand; a constant would choose the other.
        name = view.name_of(0)
        raise NeedsConstantError(f"needs its condition ('{name}') as a constant, since {error}", name) from error
    view.builder.append(op)
    return _tensors(op.results)


def _end(builder: BodyBuilder, values: Sequence[Value], condition: Value | None = None) -> None:
    going = None if condition is None else builder.materialize(condition)
    builder.append(YieldOp(*(builder.materialize(value) for value in values), condition=going))


def _tensors(values: Sequence[SSAValue]) -> list[Value]:
    return [cast("SSAValue[Tensor]", value) for value in values]


def _scalar(view: OnnxNode, value: Value) -> Value:
    """A condition or a number; ONNX lets it have one element in place of rank 0."""
    return value if view.rank(value) == 0 else reshape(view, value, [])


def _is_true(value: Value | None) -> bool:
    return isinstance(value, Constant) and value.array.size == 1 and bool(value.array.reshape(-1)[0])


def _import_loop(importer: GraphImporter, view: OnnxNode) -> Sequence[Value]:
    graph = view.node.attributes["body"].as_graph()
    states = [view.builder.materialize(view.operand(index)) for index in range(2, len(view.operands))]
    if len(graph.inputs) != len(states) + 2 or len(graph.outputs) < len(states) + 1:
        raise FuseError(
            f"expects a body with {len(states) + 2} inputs and {len(states) + 1} outputs or more, "
            f"got {len(graph.inputs)} and {len(graph.outputs)}"
        )
    limit, begins = view.optional(0), view.optional(1)
    if isinstance(limit, Constant) and view.constant_scalar(0) >= _NO_LIMIT:
        limit = None
    body = _import_body(importer, view, graph, [value.type for value in states], rows=[], condition_first=True)
    goes_on = body.outputs[0]
    if limit is None and _is_true(goes_on):
        raise FuseError("loops without end: it has no trip count, and its condition stays true")
    condition = None if _is_true(goes_on) else _scalar_in(body.builder, view, goes_on)
    _end(body.builder, body.outputs[1:], condition)
    loop = LoopOp(
        body.builder.block,
        limit=None if limit is None else view.builder.materialize(_scalar(view, limit)),
        condition=None if begins is None or _is_true(begins) else view.builder.materialize(_scalar(view, begins)),
        states=states,
    )
    view.builder.append(loop)
    return _tensors(loop.results)


def _scalar_in(builder: BodyBuilder, view: OnnxNode, value: Value) -> Value:
    return _scalar(OnnxNode(view.node, view.opset, view.operands, builder), value)


@dataclass(frozen=True, slots=True)
class _Body:
    """An imported body."""

    builder: BodyBuilder
    outputs: list[Value]


def _import_body(
    importer: GraphImporter,
    view: OnnxNode,
    graph: ir.Graph,
    states: Sequence[Tensor],
    *,
    rows: Sequence[Tensor],
    condition_first: bool,
) -> _Body:
    """The body of a loop, with states of types that it keeps."""
    current = list(states)
    while True:
        builder = view.builder.region([COUNTER, *current, *rows])
        number, *arguments = _tensors(builder.block.args)
        inputs = [number, Constant(np.array(True)), *arguments] if condition_first else arguments
        outputs = importer.import_region(graph, inputs, builder)
        first = 1 if condition_first else 0
        given = [builder.type_of(value) for value in outputs[first : first + len(current)]]
        wider = [_widened(type, result) for type, result in zip(current, given, strict=True)]
        if wider == current:
            return _Body(builder, outputs)
        view.builder.budget.spend("the body of a loop whose states change their sizes", ops=len(graph))
        current = wider


def _widened(type: Tensor, result: Tensor) -> Tensor:
    """The type of a state with `?` where an iteration gives another size.

    Raises:
        FuseError: It gives another rank or element type.
    """
    if type.element_type != result.element_type or type.get_num_dims() != result.get_num_dims():
        raise UnsupportedFormError(f"a loop whose state changes from {type} to {result} is not supported")
    sizes = zip(type.get_shape(), result.get_shape(), strict=True)
    return tensor([size if size == new else DYNAMIC for size, new in sizes], type.element_type)


def _import_scan(importer: GraphImporter, view: OnnxNode) -> Sequence[Value]:
    if view.opset < 9:
        raise UnsupportedFormError("Scan of opset 8, with a batch axis, is not supported")
    graph = view.node.attributes["body"].as_graph()
    count = view.integer("num_scan_inputs")
    operands = [view.operand(index) for index in range(len(view.operands))]
    if not 0 < count <= len(operands) or len(graph.inputs) != len(operands):
        raise FuseError(f"expects a body with {len(operands)} inputs, {count} of them rows, got {len(graph.inputs)}")
    states = [view.builder.materialize(value) for value in operands[:-count]]
    axes = view.integers("scan_input_axes", [0] * count)
    backward = view.integers("scan_input_directions", [0] * count)
    rows = [
        view.builder.materialize(_as_rows(view, value, axis, turned != 0))
        for value, axis, turned in zip(operands[-count:], axes, backward, strict=True)
    ]
    types = [row_type(value) for value in rows]
    body = _import_body(importer, view, graph, [value.type for value in states], rows=types, condition_first=False)
    _end(body.builder, body.outputs)
    loop = LoopOp(body.builder.block, states=states, rows=rows)
    view.builder.append(loop)
    results = _tensors(loop.results)
    stacks = results[len(states) :]
    axes = view.integers("scan_output_axes", [0] * len(stacks))
    backward = view.integers("scan_output_directions", [0] * len(stacks))
    return [
        *results[: len(states)],
        *(
            _from_rows(view, value, axis, turned != 0)
            for value, axis, turned in zip(stacks, axes, backward, strict=True)
        ),
    ]


def _as_rows(view: OnnxNode, value: Value, axis: int, backward: bool) -> Value:
    """The tensor with the scanned axis first, the row that is read first at its beginning."""
    rank = view.rank(value)
    axis = normalize_axis(axis, rank)
    value = transpose(view, value, [axis, *(other for other in range(rank) if other != axis)])
    return view.emit(ReverseOp, value, axes=[0]) if backward else value


def _from_rows(view: OnnxNode, value: Value, axis: int, backward: bool) -> Value:
    """The tensor with its first axis in the place of `axis`, the row that was given last first if backward."""
    value = view.emit(ReverseOp, value, axes=[0]) if backward else value
    rank = view.rank(value)
    axis = normalize_axis(axis, rank)
    return transpose(view, value, [*range(1, axis + 1), 0, *range(axis + 1, rank)])
