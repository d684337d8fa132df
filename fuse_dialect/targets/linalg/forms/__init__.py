"""Ops of the dialect that are written to linalg by code of their own, because no loop program says them."""
