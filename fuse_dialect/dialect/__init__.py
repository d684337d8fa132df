"""What an op is: its facets, assembly, fields and types."""
