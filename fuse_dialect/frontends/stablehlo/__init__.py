"""StableHLO and CHLO as JAX and torch-xla print them: their ops, attributes and pretty assembly."""
