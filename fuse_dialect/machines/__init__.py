"""Machines as data: instructions, registers, caches and rates; their names, and files that describe them."""
