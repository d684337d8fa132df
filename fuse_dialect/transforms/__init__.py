"""Passes: IR to IR, one `ModulePass` a file."""
