"""The ops of the `fuse` dialect, one file for each family."""
