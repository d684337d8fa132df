"""Random chains of reductions, and random programs of products, rows and maps, against NumPy.

    python tools/fuzz_chains.py reductions [--seed N] [--count N] [--minutes N]
    python tools/fuzz_chains.py programs [--seed N] [--count N] [--minutes N] [--target-cpu CPU]
    python tools/fuzz_chains.py moves [--seed N] [--count N] [--minutes N] [--target-cpu CPU]

`reductions` asks the algebra of cascades whether a chain splits, and where it says so runs one pass in random blocks on
NumPy: it must give what the stages give. `programs` plans with the strategy `cost`, and compares with the unfused
program: chains of known sizes, and attention to columns of open length at several lengths. `moves` does so for products
of images and matrices between which values are moved, and says of which kernels `cost` expected more. Each finding is
printed with its seed; the exit code is 1 if there is one.
"""

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
from fuzzing.chains import random_chain, random_pass
from fuzzing.comparing import assert_agrees
from fuzzing.moves import random_moves
from fuzzing.reduction_chains import checked_chain

import fuse_dialect as fd
from fuse_dialect.diagnostics import FuseError

LENGTHS = (0, 1, 37, 384, 801)
"""Columns that programs of open length get."""


def check_reductions(seed: int) -> tuple[str, str]:
    """What a chain of reductions is, and what is wrong with it; nothing if nothing is."""
    checked = checked_chain(seed)
    if checked is None:
        return "does not split, or overflows", ""
    return "has totals that are corrected" if checked[0] else "splits", checked[1]


def check_program(seed: int, target_cpu: str | None) -> tuple[str, str]:
    """What a program is, and what is wrong with it."""
    is_open = seed % 2 == 1
    chain = random_pass(seed) if is_open else random_chain(seed)
    program = fd.compile(
        fd.parse(chain.text), strategy="cost", threads=1 + seed // 2 % 2, cache=False, target_cpu=target_cpu
    )
    in_strips = any(kernel.family == "strips" for kernel in program.kernels)
    random = np.random.default_rng(seed)
    for number, length in enumerate(LENGTHS if is_open else (0,)):
        shapes = chain.shapes_at({"b": 1 + number % 3, "m": 1 + 11 * number, "n": length})
        inputs = [
            _input(random, shape, in_runs=is_open and each[-1:] == ("n",))
            for shape, each in zip(shapes, chain.shapes, strict=True)
        ]
        try:
            assert_agrees(fd.parse(chain.text), inputs, program(*inputs))
        except AssertionError as error:
            return "wrong", f"at {length} columns: {error}\n{chain.text}"
    kind = "of open length" if is_open else "of known sizes"
    return f"{kind}, {'in strips' if in_strips else 'other kernels'}", ""


def check_moves(seed: int, target_cpu: str | None) -> tuple[str, str]:
    """What a program of moves is, and what is wrong with it or not as planned."""
    chain = random_moves(seed, sizes=(5, 14), channels=(3, 16, 20))
    program = fd.compile(
        fd.parse(chain.text), strategy="cost", threads=1 + seed % 2, cache=False, target_cpu=target_cpu
    )
    random = np.random.default_rng(seed)
    inputs = [_input(random, shape, in_runs=False) for shape in chain.shapes_at({})]
    try:
        assert_agrees(fd.parse(chain.text), inputs, program(*inputs))
    except AssertionError as error:
        return "wrong", f"{error}\n{chain.text}"
    for kernel in program.kernels:
        if kernel.promised:
            return "not as planned", f"{kernel.name} is planned as {kernel.promised}, and is {kernel.family}"
    return "in strips" if any(kernel.family == "strips" for kernel in program.kernels) else "other kernels", ""


def _input(random: np.random.Generator, shape: tuple[int, ...], *, in_runs: bool) -> np.ndarray:
    """Random numbers; half of those in runs are the same for 150 columns, so that masks hide whole blocks."""
    numbers = (random.standard_normal(shape) * 0.5).astype(np.float32)
    if not in_runs or random.integers(2):
        return numbers
    return np.repeat(numbers[..., ::150], 150, axis=-1)[..., : shape[-1]]


def main() -> int:
    """Run seeds, and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("reductions", "programs", "moves"))
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end after so long")
    parser.add_argument("--target-cpu", metavar="CPU", help="make code for this processor, `haswell` for one")
    options = parser.parse_args()
    check: Callable[[int], tuple[str, str]] = check_reductions
    if options.kind != "reductions":
        of_kind = check_program if options.kind == "programs" else check_moves
        check = lambda seed: of_kind(seed, options.target_cpu)  # noqa: E731
    counts: dict[str, int] = {}
    findings, begun = 0, time.monotonic()
    for seed in range(options.seed, options.seed + options.count):
        if time.monotonic() - begun > 60 * options.minutes:
            break
        try:
            kind, wrong = check(seed)
        except FuseError as error:
            kind, wrong = "refused", str(error)
        counts[kind] = counts.get(kind, 0) + 1
        if wrong:
            findings += 1
            print(f"seed {seed}: {wrong}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()) + f"; {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
