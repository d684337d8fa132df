"""Blocks of IR as the graphs that fusion is decided on, and facts about them. Nothing here changes IR."""
