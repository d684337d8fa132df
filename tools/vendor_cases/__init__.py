"""Models of one vendor operator with random attributes and operands, and what onnxruntime computes for them."""
