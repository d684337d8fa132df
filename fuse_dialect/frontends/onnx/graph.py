"""Import of a graph: node by node, in topological order, into the body of one function."""

import math
from collections.abc import Iterable, Sequence
from typing import cast

import onnx_ir as ir
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.analysis.sizes import Size
from fuse_dialect.budget import Budget
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.size_names import SIZES_ATTRIBUTE
from fuse_dialect.dialect.types import DYNAMIC, Tensor, element_type_of, is_tensor, tensor
from fuse_dialect.frontends.onnx.builder import BodyBuilder, hint_of
from fuse_dialect.frontends.onnx.control_flow import CONTROL_FLOW, import_control_flow
from fuse_dialect.frontends.onnx.node import NeedsConstantError, OnnxNode, UnsupportedFormError
from fuse_dialect.frontends.onnx.opaque import import_opaque
from fuse_dialect.frontends.onnx.operators.sizes import import_on_sizes
from fuse_dialect.frontends.onnx.sequences import SEQUENCE_OPERATORS, ValueList, import_sequence_operator
from fuse_dialect.frontends.onnx.sources import node_location
from fuse_dialect.frontends.onnx.support import (
    check_operands,
    importer_of,
    is_default_domain,
    is_supported,
    node_name,
    opset_of,
)
from fuse_dialect.frontends.onnx.tensors import dtype_of, tensor_array
from fuse_dialect.frontends.onnx.values import Constant, Value

_TOO_MANY_ELEMENTS = 1 << 60
"""Their bytes, up to 8 for each, cannot be counted by 63 bits."""
_MAX_NESTING = 50
"""Subgraphs within subgraphs."""


def import_graph(model: ir.Model, budget: Budget, *, allow_unsupported: bool) -> ModuleOp:
    """The module of a model whose functions are inlined and whose nodes are sorted.

    Raises:
        FuseError: A node cannot be imported.
    """
    return _GraphImporter(model, budget, allow_unsupported).run()


class _GraphImporter:
    """One import: the values of the model that are known so far, and the body that grows."""

    def __init__(self, model: ir.Model, budget: Budget, allow_unsupported: bool):
        self._model = model
        self._allow_unsupported = allow_unsupported
        self._values: dict[ir.Value, Value] = {}
        self._sequences: dict[ir.Value, ValueList] = {}
        self._graph = model.graph
        self._inputs = [value for value in self._graph.inputs if value.name not in self._graph.initializers]
        self._block = Block(arg_types=[_input_type(value) for value in self._inputs])
        self._builder = BodyBuilder(self._block, budget)
        self._depth = 0

    def run(self) -> ModuleOp:
        """Import the whole graph."""
        for value, argument in zip(self._inputs, self._block.args, strict=True):
            argument.name_hint = hint_of(value.name)
            self._bind(value, cast(SSAValue[Tensor], argument))
        self._bind_initializers(self._graph)
        self._import_nodes(self._graph)
        self._builder.location = None
        results = [self._builder.materialize(self._value_of(output, "the graph")) for output in self._graph.outputs]
        self._block.add_op(func.ReturnOp(*results))
        function = func.FuncOp(
            "main",
            FunctionType.from_lists(self._block.arg_types, [result.type for result in results]),
            Region(self._block),
            arg_attrs=_input_attributes(self._inputs),
            res_attrs=_names_of(self._graph.outputs),
        )
        return ModuleOp([function])

    def _bind(self, value: ir.Value, imported: Value) -> None:
        self._values[value] = imported
        if not isinstance(imported, SSAValue) or not is_tensor(imported.type):
            return
        if imported.name_hint is None:
            imported.name_hint = hint_of(value.name)
        if DYNAMIC in imported.type.get_shape():
            names: list[Size | None] = [None] * imported.type.get_num_dims()
            if value.shape is not None and len(value.shape) == len(names):
                names = [_size_of(dim) for dim in value.shape]
            self._builder.name_sizes(imported, names)

    def _bind_initializers(self, graph: ir.Graph) -> None:
        for name, value in graph.initializers.items():
            if value.const_value is None:
                raise FuseError(f"the initializer '{name}' has no value")
            # Read lazily in effect: an array that views the model's bytes costs nothing until an op needs it.
            self._values[value] = Constant(tensor_array(value.const_value, self._builder.budget), name)

    def _value_of(self, value: ir.Value, user: str) -> Value:
        if value in self._sequences:
            raise UnsupportedFormError(f"{user} uses the sequence '{value.name}' as a tensor, which is not supported")
        try:
            return self._values[value]
        except KeyError:
            raise FuseError(f"{user} uses the value '{value.name}', which nothing defines") from None

    def _import_nodes(self, graph: Iterable[ir.Node]) -> None:
        for node in graph:
            self._builder.location = node_location(node)
            results = self._import_node(node)
            for index, output in enumerate(node.outputs):
                result = results[index] if index < len(results) else None
                if isinstance(result, ValueList):
                    self._sequences[output] = result
                elif result is not None:
                    self._bind(output, result)
                elif output.uses() or output.is_graph_output():
                    raise FuseError(f"{self._describe(node)}: result {index} is not supported")

    def _import_node(self, node: ir.Node) -> Sequence[Value | ValueList]:
        """The node's results; any failure names the node."""
        try:
            if (results := self._of_sequences(node)) is not None:
                return results
            operands = tuple(None if value is None else self._value_of(value, "the node") for value in node.inputs)
            view = OnnxNode(node, opset_of(self._model, node), operands, self._builder)
            return self._dispatch(node, view)
        except NeedsConstantError as error:
            inputs = error.inputs or self._inputs_behind(node, error.operand)
            raise NeedsConstantError(f"{self._describe(node)}: {error.message}", error.operand, inputs) from error
        except FuseError as error:
            raise FuseError(f"{self._describe(node)}: {error.message}", notes=error.notes, hint=error.hint) from error
        except VerifyException as error:
            raise FuseError(f"{self._describe(node)}: {_first_line(error)}") from error
        except Exception as error:
            # A node of an invalid model can break any expectation of its importer: too few operands, a rank of 0.
            message = f"{self._describe(node)}: is not valid ({type(error).__name__}: {_first_line(error)})"
            raise FuseError(message) from error

    def _of_sequences(self, node: ir.Node) -> Sequence[Value | ValueList] | None:
        """The result of a node that makes or reads a sequence, `None` for other nodes."""
        first = node.inputs[0] if node.inputs else None
        given = None if first is None else self._sequences.get(first)
        if not is_default_domain(node.domain):
            return None
        if node.op_type == "Identity" and given is not None:
            return (given,)
        if node.op_type not in SEQUENCE_OPERATORS:
            return None
        tensors = [None if value is None or value in self._sequences else value for value in node.inputs]
        operands = tuple(None if value is None else self._value_of(value, "the node") for value in tensors)
        view = OnnxNode(node, opset_of(self._model, node), operands, self._builder)
        check_operands(node, view.opset)
        return (import_sequence_operator(view, given),)

    def _inputs_behind(self, node: ir.Node, operand: str) -> list[str]:
        """The model's inputs from which an operand is computed."""
        names: list[str] = []
        pending = [value for value in node.inputs if value is not None and value.name == operand]
        seen = set(pending)
        own = set(self._inputs)
        while pending:
            value = pending.pop()
            producer = value.producer()
            if value in own:
                names.append(value.name or "")
            found = [] if producer is None else [each for each in producer.inputs if each is not None]
            pending.extend(each for each in found if each not in seen)
            seen.update(found)
        return names

    def _dispatch(self, node: ir.Node, view: OnnxNode) -> Sequence[Value]:
        if node.op_type in CONTROL_FLOW and is_supported(node):
            return import_control_flow(self, view)
        if not is_supported(node):
            return import_opaque(view)
        if is_default_domain(node.domain):
            check_operands(node, view.opset)
            if (answer := import_on_sizes(view)) is not None:
                return (answer,)
        importer = importer_of(node.domain, node.op_type)
        assert importer is not None, "it is supported"
        try:
            results = importer(view)
        except UnsupportedFormError:
            if self._allow_unsupported:
                return import_opaque(view)
            raise
        return results if isinstance(results, Sequence) else (results,)

    def import_here(self, graph: ir.Graph) -> list[Value]:
        """The outputs of a graph without inputs, whose nodes are imported into the current body."""
        return self._import_inner(graph)

    def import_region(self, graph: ir.Graph, inputs: Sequence[Value], builder: BodyBuilder) -> list[Value]:
        """The outputs of a graph, whose nodes are imported into a region."""
        outer, self._builder = self._builder, builder
        try:
            if len(inputs) != len(graph.inputs):
                raise FuseError(f"expects a subgraph with {len(inputs)} inputs, got {len(graph.inputs)}")
            for value, imported in zip(graph.inputs, inputs, strict=True):
                self._bind(value, imported)
            return self._import_inner(graph)
        finally:
            self._builder = outer

    def _import_inner(self, graph: ir.Graph) -> list[Value]:
        """The outputs of a subgraph."""
        if self._depth >= _MAX_NESTING:
            raise FuseError(f"graphs are nested more than {_MAX_NESTING} deep")
        unsupported = [inner for inner in graph if not is_supported(inner)]
        if unsupported and not self._allow_unsupported:
            raise FuseError(f"'{unsupported[0].op_type}' in a subgraph is not supported")
        self._depth += 1
        try:
            self._bind_initializers(graph)
            self._import_nodes(graph)
            return [self._value_of(output, "the subgraph") for output in graph.outputs]
        finally:
            self._depth -= 1

    def _describe(self, node: ir.Node) -> str:
        domain = node.domain or "ai.onnx"
        return f"'{node.op_type}' node '{node_name(node)}' (domain '{domain}', opset {opset_of(self._model, node)})"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no reason given"])[0][:500]


def _size_of(dim: int | ir.SymbolicDim) -> Size | None:
    """The size that the model names, or `None` when the dimension is static or has no name."""
    return None if isinstance(dim, int) or dim.value is None else Size(str(dim.value))


def _input_type(value: ir.Value) -> Tensor:
    """The type of a model input.

    Raises:
        FuseError: It is no tensor of known rank and supported element type.
    """
    if not isinstance(value.type, ir.TensorType):
        kind = type(value.type).__name__ if value.type is not None else "unknown"
        raise FuseError(f"the input '{value.name}' is not a dense tensor (its type is {kind})")
    if value.shape is None:
        raise FuseError(f"the input '{value.name}' has no shape")
    try:
        element_type = element_type_of(dtype_of(value.dtype))
    except FuseError as error:
        raise FuseError(f"the input '{value.name}': {error.message}") from error
    shape = [dim if isinstance(dim, int) else DYNAMIC for dim in value.shape]
    if any(dim < 0 and dim != DYNAMIC for dim in shape):
        raise FuseError(f"the input '{value.name}' has a negative size: {shape}")
    if math.prod(dim for dim in shape if dim != DYNAMIC) >= _TOO_MANY_ELEMENTS:
        raise FuseError(f"the input '{value.name}' has more elements than any machine can address: {shape}")
    return tensor(shape, element_type)


def _input_attributes(values: Sequence[ir.Value]) -> ArrayAttr[DictionaryAttr]:
    """The model's names of the inputs, and of those of their sizes that it leaves open."""
    attributes: list[DictionaryAttr] = []
    for value, names in zip(values, _names_of(values), strict=True):
        dims = [] if value.shape is None else [_size_of(dim) for dim in value.shape]
        sizes = [StringAttr("" if size is None else size.name) for size in dims]
        open_sizes = {SIZES_ATTRIBUTE: ArrayAttr(sizes)} if any(size.data for size in sizes) else {}
        attributes.append(DictionaryAttr({**names.data, **open_sizes}))
    return ArrayAttr(attributes)


def _names_of(values: Sequence[ir.Value]) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr({"onnx.name": StringAttr(value.name or "")}) for value in values])
