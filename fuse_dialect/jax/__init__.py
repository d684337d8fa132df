"""Programs of JAX: captured as modules, and compiled where `jax.jit` would be."""
