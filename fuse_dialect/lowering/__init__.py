"""How an op becomes loops: one result of it, a primitive, and what its loops look like from outside."""
