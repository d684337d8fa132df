"""Compile and call from many Python threads at once: errors, wrong results, and how long the slowest calls take.

    python tools/stress_threads.py                     1,000 compilations and 10,000 calls from 8 threads
    python tools/stress_threads.py --load 2            with two processes at the lowest priority beside it

The first calls of everything are among the compilations, and Python is asked to change threads every 10 microseconds.
Exit code 1 if a call fails or gives a wrong result. Times are reported, not judged: a thread that the system takes its
processor from waits for some milliseconds, whatever it runs.
"""

import argparse
import multiprocessing
import os
import statistics
import sys
import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

import fuse_dialect as fd

PRODUCT = """
func.func @main(%x: tensor<{n}x{n}xf32>, %w: tensor<{n}x{n}xf32>) -> tensor<{n}x{n}xf32> {{
  %c = arith.constant dense<{scale}> : tensor<f32>
  %m = fuse.matmul %x, %w : (tensor<{n}x{n}xf32>, tensor<{n}x{n}xf32>)
  %s = fuse.softmax %m : tensor<{n}x{n}xf32>
  %y = fuse.multiply %s, %c : (tensor<{n}x{n}xf32>, tensor<f32>)
  return %y : tensor<{n}x{n}xf32>
}}"""
MAP = """
func.func @main(%x: tensor<{n}x{n}xf32>, %w: tensor<{n}x{n}xf32>) -> tensor<{n}x{n}xf32> {{
  %c = arith.constant dense<{scale}> : tensor<f32>
  %t = fuse.tanh %x : tensor<{n}x{n}xf32>
  %y = fuse.multiply %t, %c : (tensor<{n}x{n}xf32>, tensor<f32>)
  %z = fuse.add %y, %w : tensor<{n}x{n}xf32>
  return %z : tensor<{n}x{n}xf32>
}}"""
Array = np.ndarray[Any, np.dtype[Any]]


def expected(text: str, scale: float, x: Array, w: Array) -> Array:
    """What a program gives, in f64."""
    wide = x.astype(np.float64)
    if text is MAP:
        return np.tanh(wide) * scale + w
    product = wide @ w
    powers = np.exp(product - product.max(-1, keepdims=True))
    return scale * powers / powers.sum(-1, keepdims=True)


def in_threads(count: int, work: Callable[[int], None]) -> list[str]:
    """Run `work(number)` on so many threads, which begin together; gives what went wrong."""
    problems: list[str] = []
    barrier = threading.Barrier(count)

    def run(number: int) -> None:
        barrier.wait()
        try:
            work(number)
        except Exception as error:  # whatever it is, it is the finding
            problems.append(f"{type(error).__name__}: {str(error)[:200]}")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return problems


def compile_many(threads: int, count: int) -> list[str]:
    """Compile programs that differ, call each, and compare."""
    n = 64
    random = np.random.default_rng(0)
    x, w = random.random((n, n), np.float32), random.random((n, n), np.float32)

    def work(number: int) -> None:
        for step in range(count // threads):
            text, scale = (PRODUCT, MAP)[(number + step) % 2], (1 + number * 1000 + step) / 8
            module = fd.parse(text.format(n=n, scale=scale))
            program = fd.compile(module, threads=1 + step % 2, cache=False)
            np.testing.assert_allclose(program(x, w)[0], expected(text, scale, x, w), rtol=1e-4)

    return in_threads(threads, work)


def call_many(threads: int, count: int, programs: int) -> tuple[list[str], list[list[float]]]:
    """Call shared programs of several sizes; gives what went wrong, and the seconds of each call of each program."""
    random = np.random.default_rng(1)
    cases: list[tuple[Any, Array, Array, Array]] = []
    for number in range(programs):
        n, text = (16, 64, 128, 256, 384)[number % 5], (PRODUCT, MAP)[number // 5 % 2]
        x, w = random.random((n, n), np.float32), random.random((n, n), np.float32)
        program = fd.compile(fd.parse(text.format(n=n, scale=2.0)), threads=1 + number // 10, cache=False)
        cases.append((program, x, w, expected(text, 2.0, x, w).astype(np.float32)))
    seconds: list[list[float]] = [[] for _ in cases]

    def work(number: int) -> None:
        for step in range(count // threads):
            place = (number * 7 + step) % len(cases)
            program, x, w, want = cases[place]
            start = perf_counter()
            (got,) = program(x, w)
            seconds[place].append(perf_counter() - start)
            if step % 16 == 0:
                np.testing.assert_allclose(got, want, rtol=1e-3)

    return in_threads(threads, work), seconds


def _burn() -> None:
    os.nice(19)
    while True:
        sum(range(10000))


def main() -> int:
    """Print what went wrong, and how the calls' times are spread; 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description="Compile and call from many threads.")
    parser.add_argument("--threads", type=int, default=8, help="Python threads (default: %(default)s)")
    parser.add_argument("--compilations", type=int, default=1000, help="default: %(default)s")
    parser.add_argument("--calls", type=int, default=10000, help="default: %(default)s")
    parser.add_argument("--programs", type=int, default=20, help="that are called (default: %(default)s)")
    parser.add_argument("--load", type=int, default=0, metavar="N", help="processes of lowest priority beside it")
    options = parser.parse_args()
    load = [multiprocessing.Process(target=_burn, daemon=True) for _ in range(options.load)]
    for process in load:
        process.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    problems = compile_many(options.threads, options.compilations) if options.compilations else []
    print(f"{options.compilations} compilations on {options.threads} threads: {len(problems)} problems", *problems[:3])
    sys.setswitchinterval(interval)
    wrong, seconds = call_many(options.threads, options.calls, options.programs)
    print(f"{options.calls} calls on {options.threads} threads: {len(wrong)} problems", *wrong[:3])
    ratios = [time / statistics.median(each) for each in seconds for time in each]
    slow = sum(ratio > 20 for ratio in ratios)
    medians = sorted(statistics.median(each) * 1e3 for each in seconds)
    print(f"medians {medians[0]:.3f} to {medians[-1]:.3f} ms; the slowest call took {max(ratios):.1f} times the median")
    print(f"of its program; {slow} of {len(ratios)} calls took more than 20 times")
    for process in load:
        process.terminate()
    return 1 if problems or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
