"""ONNX models to a module."""

from fuse_dialect.frontends.onnx.without_sympy import import_without

import_without("onnx_ir", "sympy")
