"""Public architectures with random weights, in the sizes that people use: what `bench_models.py` measures."""
