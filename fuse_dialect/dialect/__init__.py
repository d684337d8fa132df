"""What the IR says: the `fuse` dialect, one file per op family."""
