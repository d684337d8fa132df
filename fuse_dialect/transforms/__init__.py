"""Passes: IR to IR, one `ModulePass` per file."""
