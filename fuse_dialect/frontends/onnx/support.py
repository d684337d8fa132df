"""Which nodes of a model can be imported: all that cannot are named at once, before anything is imported."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import onnx
import onnx_ir as ir

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.onnx.classic import CLASSIC_OPERATORS
from fuse_dialect.frontends.onnx.control_flow import CONTROL_FLOW
from fuse_dialect.frontends.onnx.operators import ONNX_OPERATORS
from fuse_dialect.frontends.onnx.operators.table import Importer
from fuse_dialect.frontends.onnx.sequences import SEQUENCE_OPERATORS
from fuse_dialect.frontends.onnx.vendor import BLOCKED_OPERATORS, MICROSOFT_OPERATORS

_BY_DOMAIN: Mapping[str, Mapping[str, Importer]] = {
    "ai.onnx.ml": CLASSIC_OPERATORS,
    "com.microsoft": MICROSOFT_OPERATORS,
    "com.microsoft.nchwc": BLOCKED_OPERATORS,
}


def is_default_domain(domain: str) -> bool:
    """Whether the domain is ONNX's own."""
    return domain in ("", "ai.onnx")


def is_supported(node: ir.Node) -> bool:
    """Whether the table has the node's operator."""
    return is_known_operator(node.domain, node.op_type)


def is_known_operator(domain: str, name: str) -> bool:
    """Whether a table has an operator."""
    return importer_of(domain, name) is not None or (
        is_default_domain(domain) and name in (*CONTROL_FLOW, *SEQUENCE_OPERATORS)
    )


def importer_of(domain: str, name: str) -> Importer | None:
    """What imports the nodes of an operator without subgraphs, or `None`.

    onnxruntime writes some of its own operators into ONNX's domain, where ONNX has none of the name.
    """
    if not is_default_domain(domain):
        return _BY_DOMAIN.get(domain, {}).get(name)
    known = ONNX_OPERATORS.get(name)
    return MICROSOFT_OPERATORS.get(name) if known is None and not onnx.defs.has(name) else known


@cache
def operand_counts(name: str, version: int) -> tuple[int, int] | None:
    """Least and greatest number of operands of an operator of ONNX's own; `None` when ONNX does not define it."""
    try:
        schema: Any = onnx.defs.get_schema(name, version, "")
    except onnx.defs.SchemaError:
        return None
    return schema.min_input, schema.max_input


def check_operands(node: ir.Node, version: int) -> None:
    """Reject a node with fewer or more operands than its operator takes; importers rely on that.

    Raises:
        FuseError: It has.
    """
    counts = operand_counts(node.op_type, version)
    if counts is not None and not counts[0] <= len(node.inputs) <= counts[1]:
        least, most = counts
        wanted = f"{least}" if least == most else f"{least} to {most}" if most < 1 << 30 else f"at least {least}"
        raise FuseError(f"expects {wanted} {'operand' if wanted == '1' else 'operands'}, got {len(node.inputs)}")


def opset_of(model: ir.Model, node: ir.Node) -> int:
    """Version of the operator set of the node's domain; 0 when the model does not say."""
    if is_default_domain(node.domain):
        return model.opset_imports.get("", model.opset_imports.get("ai.onnx", 0))
    return model.opset_imports.get(node.domain, 0)


def check_support(model: ir.Model, *, allow_unsupported: bool) -> None:
    """Reject a model with operators that cannot be imported.

    Raises:
        FuseError: With one note for each operator: name, domain, opset, number of nodes, the first node's name.
    """
    if allow_unsupported:
        return
    missing: dict[tuple[str, str], list[ir.Node]] = {}
    for node in model.graph:
        if not is_supported(node):
            missing.setdefault((node.domain, node.op_type), []).append(node)
    if not missing:
        return
    notes = [
        f"'{name}' (domain '{domain or 'ai.onnx'}', opset {opset_of(model, nodes[0])}): "
        f"{len(nodes)} {'node' if len(nodes) == 1 else 'nodes'}, first '{node_name(nodes[0])}'"
        for (domain, name), nodes in missing.items()
    ]
    names = ", ".join(f"'{name}'" for _, name in missing)
    is_optimized = any(domain.startswith("com.microsoft") for domain, _ in missing)
    raise FuseError(
        f"the model uses operators that are not supported: {names}",
        notes=tuple(notes),
        # Where it is said that they are to be kept: none of the ways to run a model has that option.
        hint=(_UNOPTIMIZED_HINT if is_optimized else "")
        + "fuse_dialect.read and fuse-opt keep them as opaque operations if they are told to: "
        "allow_unsupported_onnx=True, --allow-unsupported-onnx",
    )


_UNOPTIMIZED_HINT = (
    "if onnxruntime's optimizer has written the model, give the one that it was made from, or one that is optimized at "
    "the level basic; "
)


def check_opaque_results(model: ir.Model) -> None:
    """Reject a model in which an operator is to be kept as it is, and nothing says what type its results have.

    Raises:
        FuseError: With one note for each such result.
    """
    unknown = [
        (node, output)
        for node in model.graph
        if not is_supported(node)
        for output in node.outputs
        if is_read(output) and not has_known_type(output)
    ]
    if not unknown:
        return
    notes = tuple(f"result '{output.name}' of '{node.op_type}' node '{node_name(node)}'" for node, output in unknown)
    count = "result" if len(unknown) == 1 else "results"
    raise FuseError(
        f"the model does not say the types of {len(unknown)} {count} of operators that are not supported",
        notes=notes,
        hint=type_hint(unknown[0][1]),
    )


def is_read(value: ir.Value) -> bool:
    """Whether a node or the caller of the model reads a value."""
    return bool(value.uses()) or value.is_graph_output()


def has_known_type(value: ir.Value) -> bool:
    """Whether element type and rank of a value are known."""
    return isinstance(value.type, ir.TensorType) and value.shape is not None


def type_hint(value: ir.Value) -> str:
    """How to say in the model what type a value has."""
    return (
        f"for each, add what it is: model.graph.value_info.append(onnx.helper.make_tensor_value_info("
        f"{value.name!r}, onnx.TensorProto.FLOAT, ['N', 3])), with its own type and sizes; then onnx.save(model)"
    )


def node_name(node: ir.Node) -> str:
    """The node's name, or that of its first result when it has none."""
    return node.name or next((output.name for output in node.outputs if output.name), "") or "unnamed"
