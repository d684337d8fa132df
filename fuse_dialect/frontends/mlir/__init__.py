"""MLIR text to a module, with the place of every op."""
