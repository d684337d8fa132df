"""What each ATen operator is in `fuse` ops."""
