"""MLIR text to a module, with the place of every op; hardware templates in such text."""
