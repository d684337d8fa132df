"""Where factors along an axis go: the parts of `fold-scale-axis`."""
