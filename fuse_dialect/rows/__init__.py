"""Programs over many rows: blocks of a source, through a program, to a place, here or on a cluster of Dask."""
