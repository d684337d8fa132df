"""What fusion asks of an op of any dialect: its pattern kind, and whether it only reshapes."""
