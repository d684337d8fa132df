"""The rates of a machine from times of small programs. Who asks has the programs run: this room runs nothing.

- `call`: what each of 32 kernels of four elements adds to a program;
- `products`: a matrix product that fits into the second cache;
- `vectors`: operations on values in the first cache, weighed as the cost model weighs them;
- `speeds`: a copy of half the size of each level, reading and writing.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from fuse_dialect.machines.machine import Machine, Rates

CALLS = 32
_FLOATS = 4096
"""Of the programs whose values stay in the first cache."""
_ROWS = 512
_MUCH = 8 << 20
"""Bytes of a copy that takes much longer than the call of a program."""
_LEAST = 1e-9
"""Seconds that a difference of two times is worth at least."""


class Stopwatch(Protocol):
    """Takes the time of programs, in MLIR."""

    def __call__(self, text: str, shapes: Sequence[tuple[int, ...]], *, is_fused: bool = True) -> float:
        """Seconds of the fastest run of `@main`, with f32 arguments of some shapes, each element 0.1.

        Args:
            text: The program.
            shapes: Of its arguments.
            is_fused: Whether kernels are fused, or each operator is one.
        """
        ...


def measured(
    machine: Machine, seconds_of: Stopwatch, weights: Mapping[str, int], tell: Callable[[str], object] = lambda _: None
) -> Machine:
    """The machine with the rates that times say, of three digits.

    Args:
        machine: What is measured.
        seconds_of: Runs programs on it, on one thread.
        weights: Additions that operations count for, by name; `add` takes two values, others one.
        tell: Is told what is measured next.
    """
    tell("calls")
    call = max(_each(4, seconds_of), _LEAST)
    tell("products")
    products = _products(seconds_of)
    tell("vectors")
    vectors = _vectors(seconds_of, weights)
    speeds: list[float] = []
    for level, cache in enumerate(machine.caches, 1):
        tell(f"cache {level}")
        speeds.append(_copy(cache.bytes // 2, call, seconds_of))
    tell("memory")
    speeds.append(_copy(4 * machine.caches[-1].bytes, call, seconds_of))
    numbers = [_rounded(number) for number in (call, products, vectors, *speeds)]
    return replace(machine, rates=Rates(numbers[0], numbers[1], numbers[2], tuple(numbers[3:])))


def best_of(seconds: Callable[[], float], is_enough: Callable[[int, float], bool]) -> float:
    """The least of several times: what disturbs a run makes it longer.

    Args:
        seconds: Runs once and takes the time.
        is_enough: Whether so many runs, of so many seconds together, are enough; one is always made.
    """
    best, runs, total = math.inf, 0, 0.0
    while not runs or not is_enough(runs, total):
        taken = seconds()
        best, runs, total = min(best, taken), runs + 1, total + taken
    return best


def _rounded(number: float) -> float:
    return float(f"{number:.3g}")


def _each(elements: int, seconds_of: Stopwatch) -> float:
    """Seconds of one of many kernels that negate an array, call and all."""
    type = f"tensor<{elements}xf32>"

    def chain(count: int) -> str:
        lines = [f"  %v{n + 1} = fuse.negative %v{n} : {type}" for n in range(count)]
        return _function(f"%v0: {type}", type, lines, f"%v{count}")

    many, one = (seconds_of(chain(count), [(elements,)], is_fused=False) for count in (CALLS + 1, 1))
    return (many - one) / CALLS


def _products(seconds_of: Stopwatch) -> float:
    """Operations a second."""
    type = f"tensor<{_ROWS}x{_ROWS}xf32>"
    text = _function(f"%a: {type}, %b: {type}", type, [f"  %y = fuse.matmul %a, %b : ({type}, {type}) -> {type}"], "%y")
    return 2 * _ROWS**3 / seconds_of(text, [(_ROWS, _ROWS)] * 2)


def _vectors(seconds_of: Stopwatch, weights: Mapping[str, int]) -> float:
    """Additions a second: the geometric mean over operations."""
    logs: list[float] = []
    type = f"tensor<{_FLOATS}xf32>"
    for name, weight in weights.items():
        times: list[float] = []
        for count in (1, 1 + 32 // weight):
            other = ", %x" if name == "add" else ""
            lines = [f"  %v{n + 1} = fuse.{name} %v{n}{other} : {type}" for n in range(count)]
            text = _function(f"%x: {type}", type, [f"  %v0 = fuse.negative %x : {type}", *lines], f"%v{count}")
            times.append(seconds_of(text, [(_FLOATS,)]))
        logs.append(math.log(_FLOATS * (32 // weight) * weight / max(times[1] - times[0], _LEAST)))
    return math.exp(sum(logs) / len(logs))


def _copy(bytes: int, call: float, seconds_of: Stopwatch) -> float:
    """Bytes a second, those read and those written; both arrays have as many together."""
    elements = max(bytes // 8, 64)
    if bytes > _MUCH:
        type = f"tensor<{elements}xf32>"
        text = _function(f"%x: {type}", type, [f"  %y = fuse.negative %x : {type}"], "%y")
        return 8 * elements / seconds_of(text, [(elements,)])
    return 8 * elements / max(_each(elements, seconds_of) - call, _LEAST)


def _function(arguments: str, result: str, lines: Sequence[str], value: str) -> str:
    body = "\n".join(lines)
    return f"func.func @main({arguments}) -> {result} {{\n{body}\n  return {value} : {result}\n}}\n"
