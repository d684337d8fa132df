"""Facts about IR: values, symbols, and blocks as the graphs that fusion is decided on. Nothing here changes IR."""
