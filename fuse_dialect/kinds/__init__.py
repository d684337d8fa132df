"""The pattern kind of any op of any dialect."""
