"""Fusion onto an accelerator, on graphs of numbers: templates, and plans of trips through them. Pure Python."""
