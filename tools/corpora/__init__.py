"""What `run_corpora.py` asks of each piece of a file of MLIR."""
