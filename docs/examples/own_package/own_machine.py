"""A machine from outside: short vectors, few registers and small caches, as an old or small processor has them."""

from fuse_dialect.machines.machine import Cache, Machine, Unit

TOY = Machine(
    "toy",
    vector_bytes=16,
    registers=8,
    units=Unit.ROUNDING,
    caches=(Cache(4 << 10, ways=2), Cache(64 << 10, ways=4)),
    cores=1,
    processor="native",
)
"""It runs wherever the processor at hand can do as much, and is compiled with that processor's instructions."""
