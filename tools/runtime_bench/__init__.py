"""Parts of `tools/bench_runtime.py`: workloads, engines in processes of their own, limits of the machine, reports."""
