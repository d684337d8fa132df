"""Fusion onto an accelerator: `core` decides on numbers, the rest is a pass. A wing: what fuses does not know it."""
