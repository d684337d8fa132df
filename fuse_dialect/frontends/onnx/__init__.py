"""ONNX models to a module."""
