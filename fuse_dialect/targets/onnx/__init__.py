"""A module as an ONNX model: `-t onnx`."""
