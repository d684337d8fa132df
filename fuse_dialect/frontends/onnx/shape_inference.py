"""Shapes that ONNX's own inference finds, kept from the operators on which it ends the process.

The library is native code, and of these operators it reads the type of an operand without asking whether it has one:
a model of 100 bytes then ends in a segmentation fault. It sees them as operators of a domain that it does not know.
Their own shape rules, where they are imported at all, find the shapes of their results later.

Found with onnx 1.23 by giving each operator, with each attribute, operands without a type; `fuzz_inputs.py` found the
first.
"""

from collections.abc import Generator
from contextlib import contextmanager

import onnx_ir as ir

FATAL_OPERATORS = frozenset(
    {("", "EyeLike"), ("", "RegexFullMatch"), ("ai.onnx.ml", "DictVectorizer"), ("ai.onnx.ml", "LabelEncoder")}
)
"""Domains and names."""

_HIDDEN_DOMAIN = "fuse_dialect.hidden"


def infer_shapes(model: ir.Model) -> None:
    """Add the shapes and types that the library finds to the values of a model."""
    from onnx_ir.passes.common import ShapeInferencePass  # imports every pass, and few models need it

    with _hidden_operators(model):
        ShapeInferencePass(check_type=False, strict_mode=False)(model)


@contextmanager
def _hidden_operators(model: ir.Model) -> Generator[None]:
    """Move the operators out of the library's sight, and back."""
    nodes = ir.traversal.RecursiveGraphIterator(model.graph)
    hidden = [(node, node.domain) for node in nodes if (_plain(node.domain), node.op_type) in FATAL_OPERATORS]
    if hidden:
        model.opset_imports[_HIDDEN_DOMAIN] = 1
    for node, _ in hidden:
        node.domain = _HIDDEN_DOMAIN
    try:
        yield
    finally:
        for node, domain in hidden:
            node.domain = domain
        model.opset_imports.pop(_HIDDEN_DOMAIN, None)


def _plain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain
