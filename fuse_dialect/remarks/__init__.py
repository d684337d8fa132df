"""Why was this not fused? The decisions of a plan in words."""
