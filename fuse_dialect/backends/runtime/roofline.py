"""What the processor can do at best by a machine's instructions: bytes from memory and multiply-adds in registers.

It is measured, once per process and machine; a share of what a description promises would be no fact. A kernel's
*roofline* is the time that its bytes or its arithmetic take at these rates, whichever is longer. Data that stays in a
cache moves faster than memory allows, so that a share of more than 100 % is no mistake.

Source: McCalpin, STREAM (the scale kernel); Williams, Waterman and Patterson, Roofline (doi:10.1145/1498765.1498785).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

from fuse_dialect.backends.runtime.arrays import address_of, aligned_bytes
from fuse_dialect.backends.runtime.driver import PARALLEL
from fuse_dialect.backends.runtime.team import team
from fuse_dialect.machines.environment import NATIVE
from fuse_dialect.machines.machine import Machine, Unit
from fuse_dialect.machines.measuring import best_of
from fuse_dialect.machines.names import find_machine

STREAM_BYTES = 1 << 26
"""Bytes of each of the two arrays: more than the caches hold."""
MOST_CHAINS = 12
"""Independent sums, enough to hide the latency of a multiply-add; each is a vector."""
_USED = 4
"""Vector registers that hold something else than sums."""
ROUNDS = 1 << 18
REPEATS = 7


@dataclass(frozen=True, slots=True)
class Limits:
    """Rates that no kernel exceeds while its data comes from memory."""

    bytes_per_second: float
    flops_per_second: float
    """For f32, a multiply-add being two."""


@dataclass(frozen=True, slots=True)
class _Instructions:
    """What the two kernels use of a machine."""

    lanes: int
    """Of f32."""
    chains: int
    fuses: bool
    """Whether a multiply-add is one instruction."""


def machine_limits(threads: int = 1, machine: Machine | None = None) -> Limits:
    """The limits of so many processors; a fraction of a second when first asked for.

    Without llvmlite NumPy measures, on one thread.

    Args:
        threads: How many run side by side.
        machine: Whose vectors and instructions are used, which the processor at hand has; by default that one's own.
    """
    if find_spec("llvmlite") is None:
        return _measured_by_numpy()
    machine = machine or find_machine(NATIVE)
    chains = min(MOST_CHAINS, machine.registers - _USED)
    return _measured(threads, _Instructions(machine.lanes(4), chains, Unit.FMA in machine.units))


@cache
def _measured(threads: int, use: _Instructions) -> Limits:
    from fuse_dialect.backends.assembler.engine import compile_object, load

    code = load(compile_object(_text(use)), ("fuse_stream", "fuse_multiply_add"))
    memory = aligned_bytes(2 * STREAM_BYTES)
    memory[:] = 0
    stream = _best(lambda: _run(code.addresses["fuse_stream"], memory, threads))
    arithmetic = _best(lambda: _run(code.addresses["fuse_multiply_add"], memory, threads))
    flops = 2 * use.lanes * use.chains * ROUNDS * threads
    return Limits(2 * STREAM_BYTES / stream, flops / arithmetic)


def _run(kernel: int, memory: Any, threads: int) -> None:
    start = address_of(memory)
    slots = np.array([start, start + STREAM_BYTES], np.int64)
    table = np.array([[kernel, address_of(slots), PARALLEL]] * threads, np.int64)
    team().run(address_of(table), table.strides[0], 1, threads)


def _best(run: Callable[[], object]) -> float:
    def seconds() -> float:
        start = perf_counter()
        run()
        return perf_counter() - start

    return best_of(seconds, lambda runs, _: runs >= REPEATS)


def _measured_by_numpy() -> Limits:
    source, target = np.ones(STREAM_BYTES // 4, np.float32), np.ones(STREAM_BYTES // 4, np.float32)
    square = np.ones((1024, 1024), np.float32)
    stream = _best(lambda: np.multiply(source, np.float32(3), out=target))
    product = _best(lambda: square @ square)
    return Limits(2 * STREAM_BYTES / stream, 2 * 1024**3 / product)


def _text(use: _Instructions) -> str:
    """Two kernels: scale an array, and multiply-adds on registers alone. Every part does the same arithmetic."""
    from fuse_dialect.backends.assembler.builder import Module, Parameter
    from fuse_dialect.backends.assembler.values import F32, I64, PTR, constant

    # Nothing is contracted: without an instruction for a multiply-add two are counted.
    module, vector = Module(flags=""), F32.wide(use.lanes)
    parameters = [Parameter("slots", PTR), Parameter("part", I64), Parameter("parts", I64)]

    f = module.function("fuse_stream", parameters)
    slots, part, parts = f.parameters
    source, target = (f.load(PTR, f.offset(slots, f.i64(place), PTR)) for place in range(2))
    count = f.i64(STREAM_BYTES // (4 * use.lanes))
    first, last = (f.binary("sdiv", f.multiply(each, count), parts) for each in (part, f.add(part, f.i64(1))))
    with f.loop(first, last) as loop:
        x = f.load(vector, f.offset(source, loop.index, vector), align=64)
        f.store(f.fmul(x, constant(vector, 3.0)), f.offset(target, loop.index, vector), align=64)
    f.ret()

    f = module.function("fuse_multiply_add", parameters)
    slots, part, parts = f.parameters
    source, target = (f.load(PTR, f.offset(slots, f.i64(place), PTR)) for place in range(2))
    x = f.load(vector, source, align=64)
    with f.loop(f.i64(0), f.i64(ROUNDS), carried=[x] * use.chains) as loop:
        loop.following = [
            f.fma(each, x, x) if use.fuses else f.fadd(f.fmul(each, x), x)  # each chain waits for itself alone
            for each in loop.carried
        ]
    total, *others = loop.carried
    for each in others:
        total = f.fadd(total, each)
    f.store(total, f.offset(target, part, vector), align=64)
    f.ret()
    return module.text()
