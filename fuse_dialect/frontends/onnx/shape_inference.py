"""Shapes that ONNX's own inference finds, kept from the operators on which it ends the process.

The library is native code, and of these operators it reads types, lists and attributes without asking whether they are
there: a model of 100 bytes then ends in a segmentation fault. It sees them as operators of a domain that it does not
know. Their own shape rules, where they are imported at all, find the shapes of their results later. No operator of
ONNX-ML is imported, and several are fatal, so that the library sees none of them.

Nor does it follow the elements of tensors (`data_prop`): it writes out a list of what it does not know for every tensor
of rank 1, floats included, so that a model of 100 bytes takes gigabytes. Shapes that the program computes become known
when the importer folds and names sizes.

Found with onnx 1.23 by giving each operator, with each attribute, operands with and without a type; `fuzz_inputs.py`
found the first, and the lists.
"""

from collections.abc import Generator, Iterable
from contextlib import contextmanager

import onnx
import onnx_ir as ir

FATAL_OPERATORS = frozenset({"EyeLike", "RegexFullMatch", "Split"})
"""Of ONNX's own domain. `Split` is fatal where `num_outputs` is less than the outputs that the node has."""
FATAL_DOMAINS = frozenset({"ai.onnx.ml"})

HIDDEN_DOMAIN = "fuse_dialect.hidden"
"""A domain that no library knows."""


def infer_shapes(model: ir.Model) -> None:
    """Add the shapes and types that the library finds to the values of a model."""
    from onnx_ir.passes.common import ShapeInferencePass  # imports every pass, and few models need it

    model.opset_imports[HIDDEN_DOMAIN] = 1
    try:
        with fatal_nodes_hidden(ir.traversal.RecursiveGraphIterator(model.graph)):
            ShapeInferencePass(check_type=False, strict_mode=False, data_prop=False)(model)
    finally:
        model.opset_imports.pop(HIDDEN_DOMAIN, None)


@contextmanager
def fatal_nodes_hidden(nodes: Iterable[ir.Node | onnx.NodeProto]) -> Generator[None]:
    """Move those of the nodes on which the library fails to `HIDDEN_DOMAIN`, and back."""
    hidden = [(node, node.domain) for node in nodes if _is_fatal(node)]
    for node, _ in hidden:
        node.domain = HIDDEN_DOMAIN
    try:
        yield
    finally:
        for node, domain in hidden:
            node.domain = domain


def _is_fatal(node: ir.Node | onnx.NodeProto) -> bool:
    is_own = node.domain in ("", "ai.onnx")
    return node.domain in FATAL_DOMAINS or (is_own and node.op_type in FATAL_OPERATORS)
