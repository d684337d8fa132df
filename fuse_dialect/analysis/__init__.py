"""Facts about the IR of a function: its blocks as graphs, for one strategy each. Nothing here changes IR."""
