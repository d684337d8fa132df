"""How ops of StableHLO and CHLO are said with `fuse` ops, a file for each family."""
