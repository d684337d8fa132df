"""Operators of the domain ai.onnx.ml: what scikit-learn, XGBoost and LightGBM write through skl2onnx and onnxmltools.

Strings are no tensors of numbers: labels and categories must be numbers. ZipMap, a list of dictionaries, is the tensor
of its numbers: a column for each key.

Source: ONNX-ML, docs/Operators-ml.md; onnxruntime, core/providers/cpu/ml, where the text leaves something open.
"""

from fuse_dialect.frontends.onnx.classic import features, linear, trees
from fuse_dialect.frontends.onnx.operators.table import Importer, OperatorTable

_FAMILIES: tuple[OperatorTable, ...] = (features.OPERATORS, linear.OPERATORS, trees.OPERATORS)

CLASSIC_OPERATORS: dict[str, Importer] = {name: importer for family in _FAMILIES for name, importer in family.items()}
"""Importer by operator name, for the domain ai.onnx.ml."""
