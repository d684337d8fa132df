"""Time of models in 8 bits over our own time of the same models in f32, on each of some processors.

    python tools/make_vendor_models.py MODELS FOLDER --form qdq qoperator dynamic
    python tools/bench_quantized.py MODELS FOLDER [--cpus native haswell] [--only NAME ...] [--markdown FILE]

pairs each `FOLDER/NAME.FORM.onnx` with `MODELS/NAME.onnx`, where inputs lie beside in `NAME.0.npz`. Both run on one
thread, in turns, and the least time of the process counts, so that a machine that others use tells the same. Ratios
are 8 bits over f32, the greatest first; 1 as exit code if one of them is above `--most`.

`haswell` is AVX2 without dot products of bytes. Code for it runs on this processor.
"""

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

from population.measuring import best_seconds

TOOLS = Path(__file__).resolve().parent
FORMS = ("qdq", "qoperator", "dynamic")
"""What `make_vendor_models.py` writes in 8 bits."""
_PAIR = """
import json, sys
from bench_quantized import of_pair
print(json.dumps(of_pair(*sys.argv[1:4], int(sys.argv[4]))))
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A model in 8 bits beside itself in f32."""

    name: str
    cpu: str
    wide: float = math.nan
    """Seconds of a call in f32."""
    narrow: float = math.nan
    """The same in 8 bits."""
    failure: str = ""

    @property
    def ratio(self) -> float:
        """8 bits over f32; infinite if one of them does not run."""
        return math.inf if self.failure else self.narrow / self.wide


def of_pair(wide: str, narrow: str, cpu: str, rounds: int) -> tuple[float, float]:
    """Seconds of a call of two models on the same inputs."""
    import numpy as np

    import fuse_dialect as fd

    target = None if cpu == "native" else cpu
    programs = [fd.compile(path, threads=1, target_cpu=target, cache=False) for path in (wide, narrow)]
    with np.load(Path(wide).with_suffix(".0.npz")) as data:
        inputs: dict[str, Any] = dict(data)
    calls = [[inputs[name] for name in program.input_names] for program in programs]
    for program, arguments in zip(programs, calls, strict=True):
        program(*arguments)
    times = [
        [
            best_seconds(lambda program=program, arguments=arguments: program(*arguments), process_time)
            for program, arguments in zip(programs, calls, strict=True)
        ]
        for _ in range(rounds)
    ]
    one, other = (min(column) for column in zip(*times, strict=True))
    return one, other


def measured(wide: Path, narrow: Path, cpu: str, rounds: int) -> Row:
    """The same in a process of its own."""
    name = narrow.name.removesuffix(".onnx")
    command = [sys.executable, "-c", _PAIR, str(wide.resolve()), str(narrow.resolve()), cpu, str(rounds)]
    done = subprocess.run(command, cwd=TOOLS, capture_output=True, text=True, check=False)
    if done.returncode:
        return Row(name, cpu, failure=(done.stderr.strip().splitlines() or ["no output"])[-1][:200])
    return Row(name, cpu, *json.loads(done.stdout.splitlines()[-1]))


def table(rows: Sequence[Row]) -> str:
    """The rows in Markdown, the greatest ratio first, and a mean for each processor."""
    lines = ["| model | processor | f32 us | 8 bits us | ratio |", "|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: -row.ratio):
        if row.failure:
            lines.append(f"| {row.name} | {row.cpu} | | | {row.failure.replace('|', '/')} |")
        else:
            lines.append(
                f"| {row.name} | {row.cpu} | {row.wide * 1e6:.0f} | {row.narrow * 1e6:.0f} | {row.ratio:.2f} |"
            )
    for cpu in dict.fromkeys(row.cpu for row in rows):
        ratios = [row.ratio for row in rows if row.cpu == cpu and not row.failure]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            slower = sum(ratio > 1 for ratio in ratios)
            lines += ["", f"{cpu}: {len(ratios)} models, geometric mean {mean:.2f}, {slower} above 1.00"]
    return "\n".join([*lines, ""])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; 1 if a model does not run, or is slower than `--most`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, help="folder of models in f32, with inputs beside them")
    parser.add_argument("folder", type=Path, help="folder of the same in 8 bits")
    parser.add_argument("--cpus", nargs="+", default=["native", "haswell"], help="processors (default: both)")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these models alone")
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS, help="these forms alone")
    parser.add_argument("--rounds", type=int, default=5, help="turns of either (default: %(default)s)")
    parser.add_argument("--most", type=float, default=1.0, help="greatest ratio that is none of 1 (default: 1.0)")
    parser.add_argument("--markdown", type=Path, help="write the table to a file")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    for narrow in sorted(options.folder.glob("*.onnx")):
        name, _, form = narrow.name.removesuffix(".onnx").rpartition(".")
        wide = options.models / f"{name}.onnx"
        if form not in options.forms or (options.only and name not in options.only) or not wide.exists():
            continue
        for cpu in options.cpus:
            rows.append(measured(wide, narrow, cpu, options.rounds))
            print(f"{rows[-1].ratio:6.2f}  {cpu:8} {rows[-1].name} {rows[-1].failure}", file=sys.stderr, flush=True)
    if options.markdown is not None:
        options.markdown.write_text(table(rows))
    print(table(rows))
    return int(any(row.ratio > options.most for row in rows))


if __name__ == "__main__":
    sys.exit(main())
