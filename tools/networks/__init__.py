"""Networks and programs that benchmarks and tests are made from: of torch, of XLA, and made op by op."""
