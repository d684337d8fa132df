"""Operators that the table lacks, and that ONNX defines by other operators: their official definitions, inlined.

1. A definition is data of the installed `onnx` package: a function body, or one that depends on the node's attributes
   and operand types. It is taken in the newest version that the model's opset allows.
2. Each node becomes a call of a function of its own, and `inline_functions` puts the bodies in their places: names stay
   unique, and the budget counts the nodes. `onnx.inliner` does neither, and fails on operands that are left out.
3. Definitions may use operators with definitions again, up to `_MAX_ROUNDS` times.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import onnx

from fuse_dialect.budget import Budget
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.onnx.inlining import inline_functions
from fuse_dialect.frontends.onnx.shape_inference import HIDDEN_DOMAIN, fatal_nodes_hidden

_MAX_ROUNDS = 4
_DOMAINS = ("", "ai.onnx", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training")
"""Where ONNX's own operators live."""


def expand_operators(model: onnx.ModelProto, is_known: Callable[[str, str], bool], budget: Budget) -> onnx.ModelProto:
    """The model with the operators that are not known replaced by their definitions, where ONNX has them.

    Args:
        model: A model without functions of its own; not changed.
        is_known: Whether an operator, given by domain and name, needs no expansion.
        budget: What the definitions' nodes are taken from.

    Raises:
        FuseError: The definitions do not fit the model's opsets, or expand to more than the budget has.
    """
    for _ in range(_MAX_ROUNDS):
        expanded = _expand_once(model, is_known, budget)
        if expanded is None:
            break
        model = expanded
    return model


def _expand_once(
    model: onnx.ModelProto, is_known: Callable[[str, str], bool], budget: Budget
) -> onnx.ModelProto | None:
    versions = {entry.domain: entry.version for entry in model.opset_import}
    versions.setdefault("", versions.get("ai.onnx", 0))
    if not any(_is_candidate(node, versions, is_known) for node in _nodes(model.graph)):
        return None
    calls = onnx.ModelProto()
    calls.CopyFrom(model)
    types = _Types(calls)
    for graph in _graphs(calls.graph):
        for node in graph.node:
            if not _is_candidate(node, versions, is_known):
                continue
            body = _definition(node, versions, types)
            if body is not None:
                body.overload = node.overload = f"definition{len(calls.functions)}"
                body.domain = node.domain
                _drop_graphs(node)
                calls.functions.append(body)
    return inline_functions(calls, budget) if calls.functions else None


def _drop_graphs(node: onnx.NodeProto) -> None:
    """Take the subgraphs from a call: a definition that depends on its node holds copies of them already."""
    kept = [attribute for attribute in node.attribute if not _graphs_of(attribute)]
    if len(kept) < len(node.attribute):
        copies = [onnx.AttributeProto.FromString(attribute.SerializeToString()) for attribute in kept]
        del node.attribute[:]
        node.attribute.extend(copies)


_FATAL_DEFINITIONS = frozenset({"SequenceMap"})
"""Operators whose definition the library, native code, makes without looking whether the node's graph fits the node."""


def _is_candidate(node: onnx.NodeProto, versions: dict[str, int], is_known: Callable[[str, str], bool]) -> bool:
    return (
        node.domain in _DOMAINS
        and node.op_type not in _FATAL_DEFINITIONS
        and not is_known(node.domain, node.op_type)
        and has_definition(node.domain, node.op_type, versions.get(node.domain, 0))
    )


def has_definition(domain: str, name: str, version: int) -> bool:
    """Whether ONNX defines an operator by other operators, at this version of its operator set."""
    schema = _schema(domain, name, version)
    return schema is not None and bool(schema.has_function or schema.has_context_dependent_function)


def _schema(domain: str, name: str, version: int) -> Any:
    try:
        return onnx.defs.get_schema(name, version, "" if domain == "ai.onnx" else domain)
    except onnx.defs.SchemaError:
        return None


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    pending = [graph]
    while pending:
        inner = pending.pop()
        yield inner
        for node in inner.node:
            for attribute in node.attribute:
                pending.extend(_graphs_of(attribute))


def _graphs_of(attribute: onnx.AttributeProto) -> Iterable[onnx.GraphProto]:
    return (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs)


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for inner in _graphs(graph):
        yield from inner.node


class _Types:
    """Types of the values of a model, inferred when a definition first asks for one."""

    def __init__(self, model: onnx.ModelProto):
        self._model = model
        self._types: dict[str, bytes] | None = None

    def of(self, name: str) -> bytes:
        """The serialized type of a value; that of nothing when it is left out or not known."""
        if self._types is None:
            self._types = _inferred_types(self._model)
        return self._types.get(name, b"")


def _inferred_types(model: onnx.ModelProto) -> dict[str, bytes]:
    model.opset_import.add(domain=HIDDEN_DOMAIN, version=1)
    try:
        nodes = (*_nodes(model.graph), *(node for function in model.functions for node in function.node))
        with fatal_nodes_hidden(nodes):
            inferred = onnx.shape_inference.infer_shapes(model, data_prop=False)
    except Exception:
        # The library fails in many ways on invalid models. What the model itself says is still there.
        inferred = model
    finally:
        del model.opset_import[-1]
    types: dict[str, bytes] = {}
    for graph in _graphs(inferred.graph):
        for tensor in graph.initializer:
            types[tensor.name] = onnx.helper.make_tensor_type_proto(
                tensor.data_type, tuple(tensor.dims)
            ).SerializeToString()
        for value in (*graph.input, *graph.value_info, *graph.output):
            types[value.name] = value.type.SerializeToString()
    return types


def _definition(node: onnx.NodeProto, versions: dict[str, int], types: _Types) -> onnx.FunctionProto | None:
    """The function that a node stands for, with the model's version of each opset, or `None` if there is none.

    Raises:
        FuseError: The node has fewer or more operands than its operator takes.
    """
    schema = _schema(node.domain, node.op_type, versions.get(node.domain, 0))
    newest = versions.get(node.domain, 0)
    if not schema.min_input <= len(node.input) <= schema.max_input:
        what = f"'{node.op_type}' node '{node.name or next(iter(node.output), 'unnamed')}'"
        wanted = f"{schema.min_input} to {schema.max_input} operands"
        raise FuseError(f"{what}: expects {wanted}, got {len(node.input)}")
    try:
        if schema.has_context_dependent_function:
            version = _newest(schema.context_dependent_function_opset_versions, newest)
            operands = [types.of(name) for name in node.input]
            data = schema.get_context_dependent_function_with_opset_version(version, node.SerializeToString(), operands)
        else:
            data = schema.get_function_with_opset_version(_newest(schema.function_opset_versions, newest))
    except Exception:
        # A definition that cannot be made for these types or attributes: the operator stays, and is reported.
        return None
    body = data if isinstance(data, onnx.FunctionProto) else onnx.FunctionProto.FromString(data)
    given = {attribute.name for attribute in node.attribute}
    for name, attribute in schema.attributes.items():
        if name not in given and attribute.default_value.name:
            body.attribute_proto.add().ParseFromString(attribute.default_value.SerializeToString())
    # A definition holds from its version on until the next, so it may be read with the model's versions.
    for entry in body.opset_import:
        entry.version = versions.get(entry.domain, entry.version)
    known = {entry.domain for entry in body.opset_import}
    for domain in dict.fromkeys(inner.domain for inner in body.node):
        if domain not in known:
            body.opset_import.add(domain=domain, version=versions.get(domain, 0))
    return body


def _newest(candidates: Iterable[int], limit: int) -> int:
    return max((version for version in candidates if version <= limit), default=limit)
