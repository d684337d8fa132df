"""Strategies beside each other on models: kernels, bytes between them, native time, and what the cost model predicts.

    python tools/bench_strategies.py MODEL.onnx ... --markdown table.md --svg scatter.svg --json rows.json
    python tools/bench_strategies.py MODEL.onnx --strategies tvm,cost --rounds 40

Each model is compiled by each strategy; all get the same inputs, and outputs are compared with those of the first one.
Then they are timed in turns, and the best time of each counts. `between` are the bytes that kernels write and other
kernels read, reading and writing, in MB; `rest` is the time of all kernels but products and convolutions.

The last strategy's kernels are timed one by one and compared with the model's prediction on the machine of `--machine`:
rank correlation, and the median of how far the prediction is off, as a factor. Kernels below a microsecond are left
out: the clock says little about them. The chart has a point for each kernel.

Source: C. Spearman, "The Proof and Measurement of Association between Two Things", https://doi.org/10.2307/1412159.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.ir import OpResult, SSAValue

import fuse_dialect as fd
from fuse_dialect.cost.by_cost import predicted_seconds
from fuse_dialect.dialect.types import DYNAMIC, element_bytes, element_dtype, is_tensor
from fuse_dialect.fusion.core.strategy import FusionOptions
from fuse_dialect.fusion.ir.block_graph import build_graph
from fuse_dialect.fusion.kinds.reshapes import RESHAPE_ONLY_ATTRIBUTE

OPEN_SIZE = 7
LEAST = 1e-6
"""Seconds of a kernel that is compared with its prediction."""
WIDTH, HEIGHT, MARGIN = 560, 480, 56


@dataclass(slots=True)
class Measured:
    """One strategy on one model."""

    kernels: int
    between: float
    """Bytes."""
    seconds: float
    rest: float
    """Seconds of kernels that are no products."""


@dataclass(slots=True)
class Row:
    """One model."""

    name: str
    by: dict[str, Measured] = field(default_factory=dict[str, Measured])
    difference: float = 0.0
    """The greatest, over the largest element."""
    kernels: list[tuple[str, float, float]] = field(default_factory=list[tuple[str, float, float]])
    """Of the last strategy: name, predicted and measured seconds of a call."""
    failure: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Strategies of fusion beside each other on models.")
    parser.add_argument("models", nargs="+", type=Path, help="ONNX or MLIR files")
    parser.add_argument(
        "--strategies", default="separate,tvm,cost", help="comma-separated (default: separate,tvm,cost)"
    )
    parser.add_argument("--threads", type=int, default=1, help="of a call (default: 1)")
    parser.add_argument("--rounds", type=int, default=30, help="timed calls of each, in turns (default: 30)")
    parser.add_argument("--seconds", type=float, default=10.0, help="most time of the rounds of a model (default: 10)")
    parser.add_argument("--machine", default="", help="what the model predicts for (default: the processor at hand)")
    parser.add_argument("--json", type=Path, help="file for all figures; models that are in it are not measured again")
    parser.add_argument("--counts", type=Path, help="file of `count_inductor_kernels.py`, for a column")
    parser.add_argument("--markdown", type=Path, help="file for the table; by default standard output")
    parser.add_argument("--svg", type=Path, help="file for the chart of predicted and measured times")
    options = parser.parse_args(arguments)
    rows = _known(options.json)
    for path in options.models:
        if path.stem not in rows:
            rows[path.stem] = _row(path, options)
            print(_line(rows[path.stem]), file=sys.stderr)
            if options.json is not None:
                options.json.write_text(json.dumps([asdict(row) for row in rows.values()], indent=1))
    counts: dict[str, list[int]] = {} if options.counts is None else json.loads(options.counts.read_text())
    text = "\n".join(table(list(rows.values()), counts)) + "\n"
    if options.markdown is None:
        print(text, end="")
    else:
        options.markdown.write_text(text)
    if options.svg is not None:
        options.svg.write_text(scatter(list(rows.values())))
    return 1 if any(row.failure for row in rows.values()) else 0


def _known(path: Path | None) -> dict[str, Row]:
    if path is None or not path.exists():
        return {}
    rows: dict[str, Row] = {}
    for each in json.loads(path.read_text()):
        by = {name: Measured(**fields) for name, fields in each.pop("by").items()}
        rows[each["name"]] = Row(**each, by=by)
    return rows


def _row(path: Path, options: argparse.Namespace) -> Row:
    row = Row(path.stem)
    try:
        module = fd.read(path)
        programs = {
            name: fd.compile(module, strategy=name, threads=options.threads, machine=options.machine)
            for name in options.strategies.split(",")
        }
        inputs = list(_inputs(module))
        times = _times(programs, inputs, options)
        for name, program in programs.items():
            row.by[name] = _measured(program, inputs, times[name])
        (_, first), *others = programs.items()
        expected = first(*inputs)
        row.difference = max(
            (_difference(one, two) for _, each in others for one, two in zip(expected, each(*inputs), strict=True)),
            default=0.0,
        )
        last = list(programs.values())[-1]
        row.kernels = list(_predictions(last, inputs, options.machine))
    except fd.FuseError as error:
        row.failure = error.message
    return row


def _inputs(module: Any) -> Iterator[np.ndarray]:
    random = np.random.default_rng(0)
    main = next(op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == "main")
    for type in main.function_type.inputs:
        assert is_tensor(type), "models read tensors"
        shape = [OPEN_SIZE if size == DYNAMIC else size for size in type.get_shape()]
        dtype = element_dtype(type.element_type)
        is_float = np.issubdtype(dtype, np.floating)
        yield (random.standard_normal(shape) if is_float else random.integers(0, 2, shape)).astype(dtype)


def _times(programs: Mapping[str, Any], inputs: Sequence[np.ndarray], options: argparse.Namespace) -> dict[str, float]:
    """The best time of each program, all in turns; of one thread that of the process."""
    clock = process_time if options.threads == 1 else perf_counter
    best = dict.fromkeys(programs, math.inf)
    for program in programs.values():
        program(*inputs)
        program(*inputs)  # a program of open sizes is compiled for sizes that come back
    end = perf_counter() + options.seconds
    for turn in range(options.rounds):
        for name, program in programs.items():
            start = clock()
            program(*inputs)
            best[name] = min(best[name], clock() - start)
        if perf_counter() > end and turn >= 2:
            break
    return best


def _measured(program: Any, inputs: Sequence[np.ndarray], seconds: float) -> Measured:
    special = program.specialize(*inputs)
    kernels = sum(kernel.calls for kernel in special.kernels if kernel.family != "view")
    profile = special.profile(*inputs, repeat=10)
    rest = sum(timing.minimum for timing in profile.kernels if timing.kernel.family != "contraction")
    return Measured(kernels, _between(special.module), seconds, rest)


def _between(module: Any) -> float:
    """Bytes that calls write and other calls read."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    main = functions["main"]
    source: dict[SSAValue, SSAValue] = {}
    """For the result of a view what it shows."""
    moved = 0.0
    written: set[SSAValue] = set()
    for call in (op for op in main.walk() if isinstance(op, func.CallOp)):
        function = functions[call.callee.root_reference.data]
        read = {source.get(value, value) for value in call.operands}
        if RESHAPE_ONLY_ATTRIBUTE in function.attributes:
            (first,) = list(read)[:1] or [call.results[0]]
            source.update(dict.fromkeys(call.results, first))
            continue
        moved += sum(
            _bytes(value) for value in read if isinstance(value, OpResult) and isinstance(value.op, func.CallOp)
        )
        written |= read
        moved += sum(_bytes(value) for value in call.results if any(value.uses))
    return moved


def _bytes(value: SSAValue) -> float:
    type = value.type
    if not is_tensor(type):
        return 0.0
    sizes = (OPEN_SIZE if size == DYNAMIC else size for size in type.get_shape())
    return math.prod(sizes) * (element_bytes(type) or 0)


def _difference(one: np.ndarray, other: np.ndarray) -> float:
    if not one.size:
        return 0.0
    left, right = one.astype(np.float64), other.astype(np.float64)
    scale = float(np.nanmax(np.abs(left), initial=0.0)) or 1.0
    return float(np.nanmax(np.abs(left - right), initial=0.0)) / scale


def _predictions(program: Any, inputs: Sequence[np.ndarray], machine: str) -> Iterator[tuple[str, float, float]]:
    special = program.specialize(*inputs)
    functions = {op.sym_name.data: op for op in special.module.ops if isinstance(op, func.FuncOp)}
    for timing in special.profile(*inputs, repeat=10).kernels:
        function, seconds = functions.get(timing.kernel.name), timing.minimum / timing.kernel.calls
        if function is None or timing.kernel.family in ("view", "numpy", "python", "control") or seconds < LEAST:
            continue
        graph = build_graph(function.body.block)
        options = FusionOptions(machine=machine, forms=graph.find_forms)
        yield timing.kernel.name, predicted_seconds(graph.value_graph, options), seconds


def _line(row: Row) -> str:
    if row.failure:
        return f"{row.name}: {row.failure}"
    by = ", ".join(f"{name} {each.kernels} in {each.seconds * 1e3:.3f} ms" for name, each in row.by.items())
    return f"{row.name}: {by}"


def table(rows: Sequence[Row], counts: Mapping[str, Sequence[int]]) -> Iterator[str]:
    """The table in Markdown, and a summary; `counts` are kernels and library calls of Inductor, by model."""
    good = [row for row in rows if not row.failure]
    names = list(good[0].by) if good else []
    yield (
        "| model | "
        + " | ".join(f"{name}: kernels, MB between, ms, rest" for name in names)
        + " | last / previous | Inductor |"
    )
    yield "|---|" + "---|" * (len(names) + 2)
    ratios: list[float] = []
    for row in good:
        cells = [
            f"{each.kernels}, {each.between / 1e6:.2f}, {each.seconds * 1e3:.3f}, {each.rest * 1e3:.3f}"
            for each in row.by.values()
        ]
        times = [each.seconds for each in row.by.values()]
        ratio = times[-1] / times[-2] if len(times) > 1 else 1.0
        ratios.append(ratio)
        inductor = " + ".join(map(str, counts.get(row.name, ())))
        yield f"| {row.name} | " + " | ".join(cells) + f" | {ratio:.2f} | {inductor} |"
    for row in rows:
        if row.failure:
            yield f"| {row.name} | {row.failure} |"
    yield ""
    if ratios:
        mean = math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))
        yield f"{len(ratios)} models: the last over the one before geometric mean {mean:.3f}, worst {max(ratios):.2f}."
    points = [(one, two) for row in good for _, one, two in row.kernels]
    if len(points) > 2:
        off = float(np.median([abs(math.log(one / two)) for one, two in points if one > 0]))
        yield f"{len(points)} kernels: rank correlation of predicted and measured time {spearman(points):.3f}, "
        yield f"predictions are off by a factor of {math.exp(off):.2f} in the median."


def spearman(points: Sequence[tuple[float, float]]) -> float:
    """The rank correlation of pairs; equal numbers share their mean rank."""
    one, two = (_ranks([pair[side] for pair in points]) for side in (0, 1))
    return float(np.corrcoef(one, two)[0, 1])


def _ranks(numbers: Sequence[float]) -> list[float]:
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    ranks = [0.0] * len(numbers)
    start = 0
    for end in range(1, len(order) + 1):
        if end == len(order) or numbers[order[end]] != numbers[order[start]]:
            for place in order[start:end]:
                ranks[place] = (start + end - 1) / 2
            start = end
    return ranks


def scatter(rows: Sequence[Row]) -> str:
    """Predicted against measured time of each kernel, on logarithmic scales, as SVG."""
    points = [(one, two, name) for row in rows for name, one, two in row.kernels if one > 0]
    low = math.floor(min((math.log10(min(one, two)) for one, two, _ in points), default=-6))
    high = math.ceil(max((math.log10(max(one, two)) for one, two, _ in points), default=-3))
    side = min(WIDTH, HEIGHT) - 2 * MARGIN

    def at(seconds: float) -> float:
        return (math.log10(seconds) - low) / max(high - low, 1) * side

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side + 2 * MARGIN} {side + 2 * MARGIN}" '
        'font-family="sans-serif" font-size="12" role="img">',
        "<title>Predicted and measured time of kernels</title>",
        f'<rect width="{side + 2 * MARGIN}" height="{side + 2 * MARGIN}" fill="#ffffff"/>',
        f'<g transform="translate({MARGIN} {MARGIN})">',
        f'<line x1="0" y1="{side}" x2="{side}" y2="0" stroke="#999999" stroke-dasharray="4 3"/>',
    ]
    for power in range(low, high + 1):
        place, label = at(10.0**power), _seconds_text(10.0**power)
        parts.append(f'<line x1="{place:.1f}" y1="0" x2="{place:.1f}" y2="{side}" stroke="#eeeeee"/>')
        parts.append(f'<line x1="0" y1="{side - place:.1f}" x2="{side}" y2="{side - place:.1f}" stroke="#eeeeee"/>')
        parts.append(f'<text x="{place:.1f}" y="{side + 18}" text-anchor="middle" fill="#333333">{label}</text>')
        parts.append(f'<text x="-8" y="{side - place + 4:.1f}" text-anchor="end" fill="#333333">{label}</text>')
    parts += [
        f'<circle cx="{at(one):.1f}" cy="{side - at(two):.1f}" r="2.5" fill="#1b7837" fill-opacity="0.5"/>'
        for one, two, _ in points
    ]
    parts.append(f'<text x="{side / 2}" y="{side + 38}" text-anchor="middle" fill="#333333">predicted</text>')
    parts.append('<text x="-8" y="-16" text-anchor="end" fill="#333333">measured</text>')
    return "\n".join([*parts, "</g>", "</svg>"]) + "\n"


def _seconds_text(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale * 0.999:
            return f"{seconds / scale:g} {unit}"
    return f"{seconds * 1e9:g} ns"


if __name__ == "__main__":
    sys.exit(main())
