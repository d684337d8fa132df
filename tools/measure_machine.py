"""Measure the machine at hand for the strategy `cost`, and write its description.

    python tools/measure_machine.py --name my-cpu -o my-cpu.toml       # under two minutes, with nothing else running
    fuse-opt --fuse-ops="strategy=cost machine=my-cpu.toml" model.onnx

Each number is the best of several runs of small programs that this package compiles, on one thread:

- `call_us`: what each of 32 kernels of four elements adds to a program;
- `product_gflops`: a matrix product that fits into the second cache;
- `vector_gops`: additions, exponentials and error functions of values in the first cache, weighed as the cost model
  weighs them;
- `gbytes_per_s` of each level: a copy of half its size, reading and writing.
"""

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter

import numpy as np

import fuse_dialect as fd
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.machines.rates import find_rates

CALLS = 32
_MUCH = 8 << 20
"""Bytes of a copy that takes much longer than the call of a program."""
_WEIGHTS = {"add": 1, "exp": 10, "tanh": 10}
"""Additions that an operation counts for; see `kernels.bodies.cost`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Measure this machine for the strategy cost.")
    parser.add_argument("--name", default="this-machine", help="name in the file (default: this-machine)")
    parser.add_argument("--about", default="one core, measured", help="a sentence about it")
    parser.add_argument("-o", "--output", type=Path, help="file to write; by default standard output")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each number (default: 2)")
    parser.add_argument("--caches", default="", help="sizes in KiB, nearest first (default: what the system says)")
    options = parser.parse_args(arguments)
    sizes = [int(size) for size in options.caches.split(",") if size] or list(cache_sizes())
    text = "\n".join(_description(options.name, options.about, sizes, options.seconds)) + "\n"
    if options.output is None:
        print(text, end="")
        return 0
    try:
        options.output.write_text(text)
        find_rates(str(options.output))
    except (OSError, FuseError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def cache_sizes() -> Iterator[int]:
    """KiB of the caches for data of the first processor, nearest first."""
    found: dict[int, int] = {}
    for place in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        if (place / "type").read_text().strip() != "Instruction":
            size = (place / "size").read_text().strip()
            number = int(size.rstrip("KM")) * (1024 if size.endswith("M") else 1)
            found[int((place / "level").read_text())] = number
    yield from (found[level] for level in sorted(found)) if found else (32, 1024, 32768)


def _description(name: str, about: str, sizes: Sequence[int], seconds: float) -> Iterator[str]:
    quoted = about.replace("\\", "").replace('"', "'")
    yield f'name = "{name}"'
    yield f'about = "{quoted}"'
    _progress("call")
    yield f"call_us = {_call(seconds) * 1e6:.3g}"
    _progress("products")
    yield f"product_gflops = {_products(seconds) / 1e9:.3g}"
    _progress("vectors")
    yield f"vector_gops = {_vectors(seconds) / 1e9:.3g}"
    yield "streams = 32"
    for level, kib in enumerate([*sizes, 0], 1):
        bytes = kib * 512 if kib else 4 * max(sizes, default=0) * 1024 or 256 << 20
        label = f"L{level}" if kib else "memory"
        _progress(label)
        yield ""
        yield "[[memory]]"
        yield f'name = "{label}"'
        if kib:
            yield f"kib = {kib}"
        yield f"gbytes_per_s = {_copy(bytes, seconds) / 1e9:.3g}"


def _progress(what: str) -> None:
    if sys.stderr.isatty():
        print(f"measuring {what} ...", file=sys.stderr)


def _call(seconds: float) -> float:
    """Seconds that a kernel adds."""
    return max(_each(4, seconds), 1e-9)


def _each(elements: int, seconds: float) -> float:
    """Seconds of one of many kernels that negate an array, call and all."""
    type = f"tensor<{elements}xf32>"

    def chain(count: int) -> str:
        lines = [f"  %v{n + 1} = fuse.negative %v{n} : {type}" for n in range(count)]
        return _function(f"%v0: {type}", type, lines, f"%v{count}")

    argument = np.ones(elements, np.float32)
    many, one = (_best(chain(count), [argument], seconds / 2, strategy="separate") for count in (CALLS + 1, 1))
    return (many - one) / CALLS


def _products(seconds: float) -> float:
    """Operations a second."""
    size = 512
    type = f"tensor<{size}x{size}xf32>"
    text = _function(f"%a: {type}, %b: {type}", type, [f"  %y = fuse.matmul %a, %b : ({type}, {type}) -> {type}"], "%y")
    argument = np.ones((size, size), np.float32)
    return 2 * size**3 / _best(text, [argument, argument], seconds)


def _vectors(seconds: float) -> float:
    """Additions a second: the geometric mean over operations."""
    elements, logs = 4096, list[float]()
    type = f"tensor<{elements}xf32>"
    argument = np.full(elements, 0.1, np.float32)
    for name, weight in _WEIGHTS.items():
        times: list[float] = []
        for count in (1, 1 + 32 // weight):
            other = ", %x" if name == "add" else ""
            lines = [f"  %v{n + 1} = fuse.{name} %v{n}{other} : {type}" for n in range(count)]
            text = _function(f"%x: {type}", type, [f"  %v0 = fuse.negative %x : {type}", *lines], f"%v{count}")
            times.append(_best(text, [argument], seconds / 2))
        logs.append(math.log(elements * (32 // weight) * weight / max(times[1] - times[0], 1e-9)))
    return math.exp(sum(logs) / len(logs))


def _copy(bytes: int, seconds: float) -> float:
    """Bytes a second, those read and those written; both arrays have as many together."""
    elements = max(bytes // 8, 64)
    if bytes > _MUCH:
        type = f"tensor<{elements}xf32>"
        text = _function(f"%x: {type}", type, [f"  %y = fuse.negative %x : {type}"], "%y")
        return 8 * elements / _best(text, [np.ones(elements, np.float32)], seconds)
    return 8 * elements / max(_each(elements, seconds) - _call(seconds), 1e-9)


def _function(arguments: str, result: str, lines: Sequence[str], value: str) -> str:
    body = "\n".join(lines)
    return f"func.func @main({arguments}) -> {result} {{\n{body}\n  return {value} : {result}\n}}\n"


def _best(text: str, arguments: list[np.ndarray], seconds: float, strategy: str = "tvm") -> float:
    """Seconds of the fastest run."""
    program = fd.compile(fd.parse(text), strategy=strategy)
    best, end = math.inf, perf_counter() + seconds
    while perf_counter() < end:
        start = perf_counter()
        program(*arguments)
        best = min(best, perf_counter() - start)
    return best


if __name__ == "__main__":
    sys.exit(main())
