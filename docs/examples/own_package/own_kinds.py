"""Pattern kinds of the ops of a dialect, as a file of kinds has them."""

KINDS = """
[[op]]
name = "npu.*"
kind = "elemwise"

[[op]]
name = "npu.matmul"
kind = "out_ewise_fusable"
"""
