"""Loop programs to ops of `linalg`, `tensor`, `arith` and `math`."""
