"""Time of JAX functions over XLA's, on one processor: scans, while loops, random numbers, and trees with `--jit`.

    python tools/bench_jax.py [--rounds N] [--only PREFIX] [--strategy NAME] [--jit | --solvers | --routines] [--numpy]

Each function is compiled by XLA (`jax.jit`) and by `fuse_dialect.compile`, from the StableHLO that JAX gives. The
process keeps to one processor, so that neither uses threads. Results are compared first (1e-4 of the greatest element,
integers exactly), then both are called in turns, and the best of the rounds counts. XLA's time includes that of
`block_until_ready`, ours that of reading NumPy arrays and giving some.

With `--jit` the functions are twenty programs with trees (`networks/jax_trees.py`), called through `fd.jit` and
`jax.jit` with arrays of JAX; the results are arrays of JAX, too, and both times include all that calls do.

With `--solvers` they are thirty programs with linear algebra, transforms and complex numbers, called in the same way
(`networks/jax_solvers.py`). Results may differ by 1e-3 of the greatest element. With `--routines` they are fifteen
routines alone, of linear algebra and Fourier transforms, at sizes from 4 to 1,024 (`networks/jax_routines.py`).

With `--numpy` these sets are called with arrays of NumPy: programs of `fd.compile` beside `jax.jit`. Both take such
arrays; a program gives some, and JAX gives its own.

Needs `pip install -e ".[jax,linalg]"`.
"""

# JAX is no dependency of the checks.
# pyright: basic, reportMissingImports=false

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np
from population.jax_networks import NETWORKS

import fuse_dialect as fd

CALLS = 10
"""Calls in a row that are timed together."""
WARM = 20
"""Calls before those that are timed."""


def _weight(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).normal(0, shape[0] ** -0.5, shape).astype(np.float32)


def _lstm(x: Any) -> Any:
    """An LSTM of 128 units over 32 steps."""
    import jax
    import jax.numpy as jnp

    def step(state: Any, row: Any) -> Any:
        cell, shown = state
        gates = row @ _weight(0, 64, 512) + shown @ _weight(1, 128, 512)
        taken, kept, given, new = jnp.split(gates, 4, -1)
        cell = jax.nn.sigmoid(kept) * cell + jax.nn.sigmoid(taken) * jnp.tanh(new)
        shown = jax.nn.sigmoid(given) * jnp.tanh(cell)
        return (cell, shown), shown

    zero = jnp.zeros((x.shape[1], 128))
    return jax.lax.scan(step, (zero, zero), x)[1]


def _power_iteration(x: Any) -> Any:
    """The greatest eigenvalue of a matrix of 64 rows, until it stays."""
    import jax.numpy as jnp
    from jax import lax

    square = x @ x.T

    def goes_on(state: Any) -> Any:
        count, _, change = state
        return (count < 60) & (change > 1e-7)

    def step(state: Any) -> Any:
        count, vector, _ = state
        new = square @ vector
        new = new / jnp.linalg.norm(new)
        return count + 1, new, jnp.abs(new - vector).max()

    _, vector, _ = lax.while_loop(goes_on, step, (0, jnp.ones(64) / 8, jnp.float32(1)))
    return vector @ square @ vector


def _diffusion(x: Any) -> Any:
    """Heat on a grid of 64 x 64, 50 steps."""
    from jax import lax
    from jax import numpy as jnp

    def step(_: Any, u: Any) -> Any:
        around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
        return u + 0.2 * (around - 4 * u)

    return lax.fori_loop(0, 50, step, x)


def _newton(x: Any) -> Any:
    """Cube roots of 4096 numbers by Newton's method, 20 steps."""
    from jax import lax
    from jax import numpy as jnp

    x = jnp.abs(x) + 1
    return lax.fori_loop(0, 20, lambda _, y: (2 * y + x / (y * y)) / 3, x)


def _normals(seed: Any) -> Any:
    """65536 normal numbers of JAX's generator, threefry."""
    import jax

    return jax.random.normal(jax.random.key(seed[0]), (256, 256))


def _walk(x: Any) -> Any:
    """128 steps of 256 random walks that the state decides."""
    import jax.numpy as jnp
    from jax import lax

    def step(state: Any, row: Any) -> Any:
        state = jnp.where(state > 2, state - 1, state + row)
        return state, state.sum()

    return lax.scan(step, jnp.zeros(256), x)[1]


FUNCTIONS: Mapping[str, tuple[Callable[..., Any], tuple[int, ...], str]] = {
    "scan_gru": (NETWORKS["jax_scan_gru"][0], (32, 4, 64), "f4"),
    "scan_lstm": (_lstm, (32, 4, 64), "f4"),
    "scan_walk": (_walk, (128, 256), "f4"),
    "associative_scan": (NETWORKS["jax_recurrence"][0], (2, 64, 128), "f4"),
    "while_power_iteration": (_power_iteration, (64, 64), "f4"),
    "fori_diffusion": (_diffusion, (64, 64), "f4"),
    "fori_newton": (_newton, (4096,), "f4"),
    "random_normal": (_normals, (1,), "i4"),
}
"""The functions, the shape of the argument, and its type."""


def measured(name: str, rounds: int, strategy: str) -> tuple[float, float]:
    """Seconds of a call: ours and XLA's.

    Raises:
        AssertionError: The results differ.
    """
    import jax

    function, shape, kind = FUNCTIONS[name]
    random = np.random.default_rng(0)
    argument = random.standard_normal(shape).astype(np.float32) if kind == "f4" else np.full(shape, 7, np.int32)
    jitted = jax.jit(function)
    program = fd.compile(fd.from_jax(function, argument), threads=1, strategy=strategy)
    (ours,), theirs = program(argument), np.asarray(jitted(argument))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4 * float(np.abs(theirs).max()))
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for place, call in enumerate((lambda: program(argument), lambda: jitted(argument).block_until_ready())):
            start = perf_counter()
            for _ in range(CALLS):
                call()
            best[place] = min(best[place], (perf_counter() - start) / CALLS)
    return best[0], best[1]


SETS: Mapping[str, tuple[str, float]] = {
    "jit": ("networks.jax_trees", 1e-4),
    "solvers": ("networks.jax_solvers", 1e-3),
    "routines": ("networks.jax_routines", 1e-3),
}
"""By option the module with the programs, and by how much results may differ, of the greatest element."""


def measured_set(
    option: str, with_numpy: bool = False
) -> tuple[Iterable[str], Callable[[str, int, str], tuple[float, float]]]:
    """The names of the programs of an option, and what measures one of them, called through `fd.jit` and `jax.jit`.

    With NumPy's arrays a program of `fd.compile` stands for `fd.jit`.
    """
    module, near = SETS[option]
    programs: Mapping[str, tuple[Callable[..., Any], Any]] = import_module(module).programs()
    return programs, lambda name, rounds, strategy: _measured_calls(*programs[name], rounds, strategy, near, with_numpy)


def _measured_calls(
    function: Callable[..., Any], args: Any, rounds: int, strategy: str, near: float, with_numpy: bool
) -> tuple[float, float]:
    """Seconds of a call: ours and XLA's.

    Raises:
        AssertionError: The results differ.
    """
    import jax

    ours, theirs = fd.jit(function, strategy=strategy), jax.jit(function)
    if with_numpy:
        tree = jax.tree.structure(args)
        ours = fd.compile(fd.from_jax(function, *args), threads=1, strategy=strategy)
        args = [np.asarray(leaf) for leaf in jax.tree.leaves(args)]
        theirs = jax.jit(lambda *leaves: function(*jax.tree.unflatten(tree, leaves)))
    for _ in range(WARM):  # arrays that come again become constants
        found = ours(*args)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(theirs(*args)), strict=True):
        if jax.numpy.issubdtype(other.dtype, jax.numpy.floating):
            most = max(1, float(abs(other).max()))
            np.testing.assert_allclose(one, other, rtol=0, atol=near * most)
    best = [float("inf"), float("inf")]
    calls: list[Callable[[], Any]] = [lambda: ours(*args), lambda: theirs(*args)]
    for _ in range(rounds):
        for place, call in enumerate(calls):
            start = perf_counter()
            for _ in range(CALLS):
                jax.block_until_ready(call())
            best[place] = min(best[place], (perf_counter() - start) / CALLS)
    return best[0], best[1]


def main() -> int:
    """Measure from the command line, and print a table; 1 when a function takes longer than XLA's."""
    parser = argparse.ArgumentParser(description="JAX functions with loops, beside XLA, on one processor.")
    parser.add_argument("--rounds", type=int, default=30, help="the best of so many counts (default: 30)")
    parser.add_argument("--only", default="", metavar="PREFIX", help="functions whose names begin so")
    parser.add_argument("--strategy", default="tvm", help="how ops are fused (default: tvm)")
    parser.add_argument("--jit", action="store_true", help="twenty programs with trees, through fd.jit and jax.jit")
    parser.add_argument("--solvers", action="store_true", help="thirty programs with linear algebra and transforms")
    parser.add_argument("--routines", action="store_true", help="routines of linear algebra and transforms, by size")
    parser.add_argument("--numpy", action="store_true", help="arrays of NumPy for both, with one of the sets above")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import jax

    chosen = next((option for option in SETS if getattr(options, option)), None)
    if options.numpy and chosen is None:
        parser.error("--numpy goes with --jit, --solvers or --routines")
    names, measure = (FUNCTIONS, measured) if chosen is None else measured_set(chosen, options.numpy)
    print(f"| function | ours | XLA (JAX {jax.__version__}) | ratio |\n|---|---|---|---|")
    ratios: list[float] = []
    for name in names:
        if name.startswith(options.only):
            ours, theirs = measure(name, options.rounds, options.strategy)
            ratios.append(ours / theirs)
            print(f"| {name} | {1000 * ours:.3f} ms | {1000 * theirs:.3f} ms | {ours / theirs:.2f}x |", flush=True)
    if len(ratios) > 1:
        print(f"| geometric mean | | | {np.exp(np.log(ratios).mean()):.2f}x |")
    return 1 if any(ratio > 1 for ratio in ratios) else 0


if __name__ == "__main__":
    sys.exit(main())
