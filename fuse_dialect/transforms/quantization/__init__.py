"""Quantized numbers in the IR: how they are recognised, moved and multiplied."""
