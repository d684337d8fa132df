"""Accelerators as data: one file for each, a table of units, links and mapped operators."""
