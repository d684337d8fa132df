"""The word for elements that were left out: readers and printers know it before there is a constant."""

ELIDED_RESOURCE = "__elided__"
"""Key that stands for the value of a constant that was left out: `dense_resource<__elided__>`."""
