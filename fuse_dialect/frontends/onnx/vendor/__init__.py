"""Operators of the domain com.microsoft, which onnxruntime's optimizer and quantizer and exporters of models write.

Each is an expansion into ops of the dialect. What they mean is what onnxruntime's kernels for processors compute.

Source: onnxruntime, docs/ContribOperators.md and onnxruntime/contrib_ops/cpu.
"""

from fuse_dialect.frontends.onnx.operators.table import Importer, OperatorTable
from fuse_dialect.frontends.onnx.vendor import (
    activations,
    attention,
    blocked,
    norms,
    products,
    quantized,
    quantized_products,
)

_FAMILIES: tuple[OperatorTable, ...] = (
    activations.OPERATORS,
    attention.OPERATORS,
    norms.OPERATORS,
    products.OPERATORS,
    quantized.OPERATORS,
    quantized_products.OPERATORS,
)

MICROSOFT_OPERATORS: dict[str, Importer] = {name: importer for family in _FAMILIES for name, importer in family.items()}
"""Importer by operator name, for the domain com.microsoft."""
BLOCKED_OPERATORS: dict[str, Importer] = dict(blocked.OPERATORS)
"""The same for the domain com.microsoft.nchwc."""
