"""The table of ONNX operators: one entry each, in the file of its family."""

from fuse_dialect.frontends.onnx.operators import (
    activations,
    arithmetic,
    constants,
    convolutions,
    indexing,
    layout,
    linear,
    normalizations,
    pools,
    quantization,
    recurrent,
    reductions,
    resizing,
    sampling,
    selection,
    signal,
)
from fuse_dialect.frontends.onnx.operators.table import Importer, OperatorTable

_FAMILIES: tuple[OperatorTable, ...] = (
    activations.OPERATORS,
    arithmetic.OPERATORS,
    constants.OPERATORS,
    convolutions.OPERATORS,
    indexing.OPERATORS,
    layout.OPERATORS,
    linear.OPERATORS,
    normalizations.OPERATORS,
    pools.OPERATORS,
    quantization.OPERATORS,
    recurrent.OPERATORS,
    reductions.OPERATORS,
    resizing.OPERATORS,
    sampling.OPERATORS,
    selection.OPERATORS,
    signal.OPERATORS,
)

ONNX_OPERATORS: dict[str, Importer] = {name: importer for family in _FAMILIES for name, importer in family.items()}
"""Importer by operator name, for the domain of ONNX itself."""
SIMPLE_OPERATORS = {op: name for family in _FAMILIES for op, name in family.names.items()}
"""Name of the operator that is one op on the same operands, by that op."""
