"""What fusion decides and does, for people: remarks, plans of modules, statistics."""
