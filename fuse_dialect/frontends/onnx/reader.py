"""ONNX models in: every node becomes ops of the dialect `fuse`, initializers become constants.

1. Models are untrusted: whatever is wrong with one is a `FuseError` that names the file and the node.
2. Functions are inlined; symbolic shapes are inferred by the libraries `onnx` and `onnx_ir`; an operator that the table
   lacks but ONNX defines by other operators is expanded into them.
3. What a model expands to is limited, see `fuse_dialect.budget`, and it names files in its own folder alone, see
   `external_data`.
4. Large tensors stay in the file until somebody needs them, see `embedded_data`.
5. Operators come from the table `ONNX_OPERATORS`; all that are missing are named in one error.
6. Ops on constants and on static shapes are computed at import, see `builder`.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

import onnx
import onnx_ir as ir
from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.budget import Budget, Limits
from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.dialect.mapped_file import map_file
from fuse_dialect.frontends.onnx.embedded_data import EMBEDDED, LARGE, without_large_tensors
from fuse_dialect.frontends.onnx.expansion import expand_operators
from fuse_dialect.frontends.onnx.external_data import check_external_tensors
from fuse_dialect.frontends.onnx.graph import import_graph
from fuse_dialect.frontends.onnx.inlining import inline_functions
from fuse_dialect.frontends.onnx.shape_inference import infer_shapes
from fuse_dialect.frontends.onnx.support import check_opaque_results, check_support, is_known_operator
from fuse_dialect.frontends.onnx.tensors import bind_external_data
from fuse_dialect.read_files import read_file

T = TypeVar("T")
Model: TypeAlias = onnx.ModelProto | ir.Model

OLDEST_OPSET = 7
"""Oldest version of ONNX's operator set that is read; the newest is the installed library's."""

_LIMITS = Limits()

# onnx_ir reports failures of shape inference as log records with tracebacks; without a handler they go to stderr.
logging.getLogger("onnx_ir").addHandler(logging.NullHandler())


def load_onnx_module(path: str | Path, *, allow_unsupported: bool = False, limits: Limits = _LIMITS) -> ModuleOp:
    """The module of a model file, with the model's graph as `func.func @main`.

    Args:
        path: An `.onnx` file; its external data is read from files in the same folder or below.
        allow_unsupported: Import operators that the table lacks as unregistered ops `"onnx.Name"`.
        limits: How much the model may expand to.

    Raises:
        FuseError: The file cannot be read, is no valid model, or holds what cannot be imported.
    """
    path = Path(path)
    try:
        own_bytes = map_file(path)
        shortened = None if own_bytes is None or len(own_bytes) < LARGE else without_large_tensors(own_bytes)
        data = read_file(path) if shortened is None else shortened
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "not a file name").lower()
        raise FuseError(f"cannot read the file: {reason}", SourceLocation(str(path))) from error
    proto = _parse(data, str(path))
    origin = _Origin(len(data)) if own_bytes is None or shortened is None else _Origin(len(own_bytes), own_bytes)
    return _import(proto, str(path), path.parent, origin, allow_unsupported, limits)


def read_onnx_module(
    data: bytes,
    file_name: str,
    *,
    folder: Path | None = None,
    allow_unsupported: bool = False,
    limits: Limits = _LIMITS,
) -> ModuleOp:
    """The module of a model's bytes, with the model's graph as `func.func @main`.

    Args:
        data: What an `.onnx` file holds.
        file_name: Name for error messages.
        folder: Where external data may lie; without one there must not be any.
        allow_unsupported: Import operators that the table lacks as unregistered ops `"onnx.Name"`.
        limits: How much the model may expand to.

    Raises:
        FuseError: The bytes are no valid model, or hold what cannot be imported.
    """
    proto, size = _parse(data, file_name), len(data)
    del data
    return _import(proto, file_name, folder, _Origin(size), allow_unsupported, limits)


def _parse(data: bytes, file_name: str) -> onnx.ModelProto:
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except Exception as error:
        # protobuf raises its own DecodeError, or a warning as an error, depending on its implementation.
        raise FuseError("the file is not an ONNX model", SourceLocation(file_name)) from error
    if not proto.HasField("graph") or not proto.opset_import:
        raise FuseError("the file is not an ONNX model: it has no graph or no opset", SourceLocation(file_name))
    return proto


def import_model(
    model: Model,
    *,
    file_name: str = "<model>",
    folder: Path | None = None,
    allow_unsupported: bool = False,
    limits: Limits = _LIMITS,
) -> ModuleOp:
    """The module of a model in memory, with the model's graph as `func.func @main`.

    Args:
        model: The model; an `onnx_ir.Model` is changed in place, and its operators are not expanded.
        file_name: Name for error messages.
        folder: Where external data may lie; without one there must not be any.
        allow_unsupported: Import operators that the table lacks as unregistered ops `"onnx.Name"`.
        limits: How much the model may expand to.

    Raises:
        FuseError: The model is not valid, or holds what cannot be imported.
    """
    origin = _Origin(model.ByteSize() if isinstance(model, onnx.ModelProto) else 0)
    return _import(model, file_name, folder, origin, allow_unsupported, limits)


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where a model comes from."""

    size: int
    """Bytes of the model's file; 0 for a model of `onnx_ir`, whose tensors are counted one by one."""
    own_bytes: memoryview | None = None
    """That file, if large tensors were left there."""


def _import(
    model: Model,
    file_name: str,
    folder: Path | None,
    origin: _Origin,
    allow_unsupported: bool,
    limits: Limits,
) -> ModuleOp:
    """See `import_model`."""
    try:
        budget = _budget(model, folder, origin, limits)
        prepared = _guarded(lambda: _prepare(model, folder, origin.own_bytes, budget), "reading of the model")
        check_support(prepared, allow_unsupported=allow_unsupported)
        if allow_unsupported or _has_dynamic_input(prepared):
            _guarded(lambda: infer_shapes(prepared), "shape inference")
        if allow_unsupported:
            check_opaque_results(prepared)
        module = _guarded(
            lambda: import_graph(prepared, budget, allow_unsupported=allow_unsupported), "import of the graph"
        )
        if prepared is not model:
            _let_go_of_tensors(prepared)
        return module
    except FuseError as error:
        if error.location is None:
            error.location = SourceLocation(file_name)
        raise


def _let_go_of_tensors(model: ir.Model) -> None:
    """Weights have been copied: the model, which refers to itself, must not keep its own till it is collected."""
    for value in model.graph.initializers.values():
        value.const_value = None


def _budget(model: Model, folder: Path | None, origin: _Origin, limits: Limits) -> Budget:
    """What the model may expand to; its external tensors are checked on the way, before anything else is done."""
    if isinstance(model, onnx.ModelProto):
        own_location = None if origin.own_bytes is None else EMBEDDED
        return limits.budget(origin.size + check_external_tensors(model, folder, own_location))
    tensors = [value.const_value for value in model.graph.initializers.values()]
    return limits.budget(sum(tensor.nbytes for tensor in tensors if tensor is not None))


def _prepare(model: Model, folder: Path | None, own_bytes: memoryview | None, budget: Budget) -> ir.Model:
    """The model in `onnx_ir`'s form, with functions inlined, in topological order."""
    if isinstance(model, ir.Model) and model.functions:
        bind_external_data(model, folder)
        model = ir_model(inline_functions(ir.to_proto(model), budget))
    if isinstance(model, onnx.ModelProto):
        _check_names(model.graph)
        _check_dense(model.graph)
        model = ir_model(
            expand_operators(inline_functions(_without_dictionaries(model), budget), is_known_operator, budget)
        )
    _check_opset(model)
    bind_external_data(model, folder, own_bytes)
    if not _is_sorted(model.graph):
        try:
            model.graph.sort()
        except ValueError as error:
            raise FuseError("the graph has a cycle: a node uses a value that depends on its own result") from error
    return model


def _without_dictionaries(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without types that are dictionaries, of what ZipMap gives: `onnx_ir` has none; a copy, if there are."""
    if not any(map(_is_of_dictionaries, (*model.graph.output, *model.graph.value_info))):
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for value in filter(_is_of_dictionaries, (*copy.graph.output, *copy.graph.value_info)):
        value.ClearField("type")
    return copy


def _is_of_dictionaries(value: onnx.ValueInfoProto) -> bool:
    kind = value.type
    return kind.HasField("map_type") or (
        kind.HasField("sequence_type") and kind.sequence_type.elem_type.HasField("map_type")
    )


def _is_sorted(graph: ir.Graph) -> bool:
    """Whether the nodes, none of which holds a graph, stand behind those that they read."""
    seen: set[ir.Node] = set()
    for node in graph:
        for value in node.inputs:
            producer = None if value is None else value.producer()
            if producer is not None and producer not in seen:
                return False
        if any(attribute.type in _HOLDS_GRAPHS for attribute in node.attributes.values()):
            return False
        seen.add(node)
    return True


_HOLDS_GRAPHS = (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)


def ir_model(proto: onnx.ModelProto) -> ir.Model:
    """The model in `onnx_ir`'s form.

    Raises:
        FuseError: It is not valid.
    """
    return _guarded(lambda: _with_shapes_of_inputs(proto), "reading of the graph")


def _with_shapes_of_inputs(proto: onnx.ModelProto) -> ir.Model:
    """The model, where an input that is an output, too, keeps its shape: `onnx_ir` takes what the output says."""
    model = ir.from_proto(proto)
    outputs = {value.name for value in model.graph.outputs}
    for value, info in zip(model.graph.inputs, proto.graph.input, strict=True):
        if info.name in outputs:
            value.shape = ir.serde.deserialize_type_proto_for_shape(info.type)
    return model


def _check_names(graph: onnx.GraphProto) -> None:
    """Reject a graph in which a name stands for two values, or is no text."""
    if set(map(type, _words(graph))) - {str}:
        raise FuseError("a name in the graph is not UTF-8 text")
    inputs = [value.name for value in graph.input]
    initializers = [tensor.name for tensor in graph.initializer]
    results = [name for node in graph.node for name in node.output if name]
    for kind, names, others in (
        ("input", inputs, set[str]()),
        ("initializer", initializers, set[str]()),
        ("result", results, {*inputs, *initializers}),
    ):
        seen = others
        for name in names:
            if name in seen:
                raise FuseError(f"the graph defines the value '{name}' twice, the second time as {kind}")
            seen.add(name)


def _check_dense(graph: onnx.GraphProto) -> None:
    """Reject tensors of which only some elements are stored, in the graph and those that its nodes hold."""
    pending = [graph]
    while pending:
        graph = pending.pop()
        sparse = [f"the initializer '{tensor.values.name}'" for tensor in graph.sparse_initializer]
        for node in graph.node:
            for attribute in node.attribute:
                pending += [attribute.g, *attribute.graphs] if attribute.HasField("g") else attribute.graphs
                if attribute.HasField("sparse_tensor") or attribute.sparse_tensors:
                    sparse.append(f"the attribute '{attribute.name}' of '{node.op_type}'")
        if sparse:
            raise FuseError(f"{sparse[0]} is sparse; only dense tensors are read", hint="store all of its elements")


def _words(graph: onnx.GraphProto) -> Iterator[object]:
    """The names in the nodes; protobuf gives bytes where a string field does not hold UTF-8."""
    for node in graph.node:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)


def _check_opset(model: ir.Model) -> None:
    version = model.opset_imports.get("", model.opset_imports.get("ai.onnx"))
    newest = onnx.defs.onnx_opset_version()
    if version is not None and not OLDEST_OPSET <= version <= newest:
        raise FuseError(
            f"the model uses opset {version}; opsets {OLDEST_OPSET} to {newest} are supported",
            hint="onnx.version_converter.convert_version converts models between opsets",
        )


def _has_dynamic_input(model: ir.Model) -> bool:
    return any(value.shape is None or not value.shape.is_static() for value in model.graph.inputs)


def _guarded(work: Callable[[], T], what: str) -> T:
    """The result of library code; whatever it raises on an invalid model becomes a diagnosed error."""
    try:
        return work()
    except FuseError:
        raise
    except Exception as error:
        # onnx and onnx_ir raise a dozen unrelated types on models that are not valid; the innermost says most.
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        message = (str(cause).strip().splitlines() or [type(cause).__name__])[0].rstrip(".")
        raise FuseError(f"the model is not valid: {what} failed", notes=(message[:500],)) from error
