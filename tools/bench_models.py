"""Time of compiled ONNX models over onnxruntime's, for models that nothing was tuned for.

    python tools/make_bench_models.py FOLDER
    python tools/bench_models.py FOLDER [--threads N] [--json FILE] [--markdown FILE] [--svg FILE]
        [--openvino] [--inductor]

measures every `.onnx` file of the folders and files that are named; without any, those of `tests/data/torch` and small
networks of recurrent cells, transposed convolutions and einsums. Inputs are those in `NAME.0.npz` beside a file, or
random; an open size is 7 then.

Every model has a process of its own, with a limit on its time and its memory. Both engines get the same inputs. Their
outputs are compared first: a model whose outputs differ by more than 1e-3 of the largest element (f16 2e-2, 8 bits
0.15) counts as wrong, not as fast. Then they are timed in turns, and the best time of each counts: on one thread the
time of the process, so that a machine that others use tells the same, else the time that passes. A model of open sizes
is called twice before that, so that it is compiled for its sizes. Losses come first.

With `--openvino` and `--inductor` the table has their times, too, and ours over that of the best engine; their outputs
are not compared. Inductor (`torch.compile` with frozen weights) runs the network that the file is named after.
With `--json FILE` each row is kept as soon as it is measured, and those that are there are not measured again.
"""

import argparse
import functools
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from checking.cluster import add_cluster, results_of
from population.by_hand import networks
from population.rows import Row, chart, summary, table

TOOLS = Path(__file__).resolve().parent
PACKAGES = {"openvino": "openvino", "inductor": "torch"}
"""Packages of the engines that options add."""


def measured(path: Path, options: argparse.Namespace) -> Row:
    """What a process of its own finds out about a model."""
    numbers = (options.threads, options.rounds, options.gigabytes)
    command = [sys.executable, "-m", "population.measuring", str(path.resolve()), *map(str, numbers)]
    command += [peer for peer in PACKAGES if getattr(options, peer)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
    try:
        done = subprocess.run(
            command, cwd=TOOLS, env=environment, capture_output=True, text=True, check=False, timeout=options.seconds
        )
    except subprocess.TimeoutExpired:
        return Row(path.stem, failure=f"takes more than {options.seconds} s")
    if done.returncode or not done.stdout.strip():
        last = (done.stderr.strip().splitlines() or [""])[-1][:300]
        return Row(path.stem, failure=f"ends with exit code {done.returncode}: {last}")
    return _row({"name": path.stem, **json.loads(done.stdout)})


def _row(fields: dict[str, Any]) -> Row:
    reasons: Any = tuple(fields.pop("on_numpy", ()))
    return Row(**fields, on_numpy=reasons)


def _files(paths: Sequence[Path], folder: Path) -> Iterator[Path]:
    if not paths:
        yield from sorted((TOOLS.parent / "tests/data/torch").glob("*.onnx"))
        yield from networks(folder)
    for path in paths:
        yield from sorted(path.glob("*.onnx")) if path.is_dir() else (path,)


def _kept(path: Path | None) -> dict[str, Row]:
    """The rows of an earlier run."""
    if path is None or not path.exists():
        return {}
    return {fields["name"]: _row(fields) for fields in json.loads(path.read_text())}


def _keep(path: Path | None, rows: Sequence[Row]) -> None:
    if path is not None:
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
        partial.replace(path)


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="models, or folders of models")
    parser.add_argument("--threads", type=int, default=1, help="threads of either engine (default: 1)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of either engine (default: 5)")
    parser.add_argument("--seconds", type=int, default=120, help="longest time for a model (default: 120)")
    parser.add_argument("--gigabytes", type=int, default=8, help="most memory for a model (default: 8)")
    parser.add_argument("--openvino", action="store_true", help="measure OpenVINO, too (pip install openvino)")
    parser.add_argument("--inductor", action="store_true", help="measure torch.compile, too (pip install torch)")
    parser.add_argument("--json", type=Path, help="keep the numbers in a file, and go on from what it has")
    parser.add_argument("--markdown", type=Path, help="write the table to a file")
    parser.add_argument("--svg", type=Path, help="write a chart to a file")
    add_cluster(parser)
    options = parser.parse_args(arguments)
    for peer, package in PACKAGES.items():
        if getattr(options, peer) and find_spec(package) is None:
            parser.error(f"--{peer}: no package {package} (pip install {package})")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; 1 if an output is wrong or a model fails."""
    options = _arguments(arguments)
    kept = _kept(options.json)
    rows: dict[str, Row] = {}
    with TemporaryDirectory() as folder:
        paths = list(_files(options.paths, Path(folder)))
        rows.update((path.stem, kept[path.stem]) for path in paths if path.stem in kept)
        left = [path for path in paths if path.stem not in kept]
        for path, row in results_of(options.cluster, functools.partial(measured, options=options), left):
            rows[path.stem] = row
            print(f"{row.ratio:6.2f}x {row.name} {row.failure or row.skipped}", file=sys.stderr, flush=True)
            _keep(options.json, list({**kept, **rows}.values()))
        rows = {path.stem: rows[path.stem] for path in paths}
    found = list(rows.values())
    threads = "1 thread" if options.threads == 1 else f"{options.threads} threads"
    if options.markdown is not None:
        options.markdown.write_text(table(found))
    if options.svg is not None:
        options.svg.write_text(chart(found, f"Our time over onnxruntime's, {threads}"))
    print(table(found) if options.markdown is None else summary(found))
    return int(any(math.isinf(row.ratio) and not row.skipped for row in found))


if __name__ == "__main__":
    sys.exit(main())
