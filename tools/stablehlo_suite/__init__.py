"""Parts of `tools/run_stablehlo_tests.py`: cases read without the package that they test, ways, judges."""
