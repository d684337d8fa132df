"""The numbers of what may be one kernel: each stands here once."""

CHEAP = 4
"""Additions an element: what costs no more is computed again rather than stored, in a few places."""
MOST_REPEATED = 16
"""Additions an element for all places together where something cheap is computed; and places of what only moves."""
MOST_PIECES = 16
"""Pieces in which a stage, or a kernel, is cut."""
MOST_GATED = 1 << 22
"""Bytes that one product of a gate passes to the other: each thread has memory for them."""
