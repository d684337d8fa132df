"""IR to text, one file per `-t NAME`."""
