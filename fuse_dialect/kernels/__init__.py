"""A primitive as loops: pure data, made from the facets of its ops, and its schedule for a host."""
