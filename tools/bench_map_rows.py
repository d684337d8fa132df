"""`map_rows` beside calls of the program on the same blocks, beside onnxruntime, and on two processes of Dask.

    python tools/bench_map_rows.py [--cluster local:2] [--rows 1000000] [--images 4000]
    python tools/bench_map_rows.py FOLDER [--seconds 3]

Without a folder the models are a perceptron of three layers on 64 features, with a batch of 250, and a small
convolutional network on images of 3x64x64, with a batch of 16. With one they are its ONNX files with their inputs, as
`make_bench_models.py` writes them; rows are as many calls as take some seconds.

Everything runs on one thread, block by block in turns. One process reads and writes arrays in memory:

- *loop*: the program is called on each piece, and its result copied to its place;
- *map_rows*: the same by `map_rows`. *overhead* is what it takes beyond the loop;
- *onnxruntime*: a session is called on each piece in the same loop; *speed* is its time over that of `map_rows`.

Seconds are those of the processor, which what else the machine does hardly changes; the least of the rounds counts.
With `--cluster` files are read and written, by one process and by those of the cluster, which has been started:
*cluster* is the seconds that pass there over those of one process, and needs a machine that does nothing else.
"""

# onnxruntime is no dependency of the checks, and says little about its types.
# pyright: basic, reportMissingImports=false

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
from networks.onnx_graph import Graph

import fuse_dialect as fd
from fuse_dialect.rows.blocks import RowProgram
from fuse_dialect.rows.clusters import client_of


def perceptron() -> Graph:
    """64 features, 128 and 64 hidden, one number."""
    g = Graph()
    x = g.input("x", np.float32, [250, 64])
    hidden = g.Relu(x @ g.weight(64, 128) + g.weight(128))
    hidden = g.Relu(hidden @ g.weight(128, 64) + g.weight(64))
    g.output(g.Sigmoid(hidden @ g.weight(64, 1) + g.weight(1)))
    return g


def images() -> Graph:
    """Three convolutions with pooling, and ten classes."""
    g = Graph()
    value, channels = g.input("x", np.float32, [16, 3, 64, 64]), 3
    for width in (32, 64, 128):
        kernel = g.constant(g.random.standard_normal((width, channels, 3, 3)) / np.sqrt(9 * channels))
        value = g.Relu(g.Conv(value, kernel, g.weight(width), kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
        value, channels = g.MaxPool(value, kernel_shape=[2, 2], strides=[2, 2]), width
    g.output(g.Flatten(g.GlobalAveragePool(value)) @ g.weight(channels, 10))
    return g


def least(calls: Sequence[Callable[[], object]], rounds: int, clock: Callable[[], float]) -> list[float]:
    """Seconds of each call, in turns; the least of the rounds."""
    seconds = [float("inf")] * len(calls)
    for _ in range(rounds):
        for number, call in enumerate(calls):
            start = clock()
            call()
            seconds[number] = min(seconds[number], clock() - start)
    return seconds


def in_memory(path: Path, inputs: Sequence[Any], rounds: int) -> list[str]:
    """Cells of the table for one process: calls of a model on all rows of arrays."""
    import onnxruntime

    program = fd.compile(path, threads=1, cache=False)
    rows = RowProgram(program)
    batch, count = rows.batch, len(inputs[0])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    pieces = [slice(first, first + batch) for first in range(0, count, batch)]
    outs = [[np.empty((count, *column.shape), column.dtype) for column in rows.outputs] for _ in range(3)]

    def loop(target: Sequence[Any], call: Callable[[list[Any]], Sequence[Any]]) -> None:
        for piece in pieces:
            for output, result in zip(target, call([array[piece] for array in inputs]), strict=True):
                output[piece] = result

    calls = (
        lambda: loop(outs[0], lambda arrays: program(*arrays)),
        lambda: fd.map_rows(program, list(inputs), out=outs[1]),
        lambda: loop(outs[2], lambda arrays: session.run(None, dict(zip(names, arrays, strict=True)))),
    )
    by_loop, mapped, theirs = least(calls, rounds, process_time)
    assert all(one.tobytes() == other.tobytes() for one, other in zip(outs[0], outs[1], strict=True)), "rows differ"
    return [
        path.stem,
        f"{count}",
        f"{by_loop:.3f} s",
        f"{mapped:.3f} s",
        f"{100 * (mapped / by_loop - 1):+.1f} %",
        f"{theirs:.3f} s",
        f"{theirs / mapped:.2f}x",
    ]


def on_cluster(path: Path, inputs: Sequence[Any], client: Any, rounds: int, folder: Path) -> str:
    """The cell of the table for a cluster: files in, files out."""
    saved, data = folder / "program.fuse", str(folder / "rows.npy")
    fd.compile(path, threads=1).save(saved)
    np.save(data, inputs[0])
    program, outs = fd.load(saved), [str(folder / f"out{number}.npy") for number in range(2)]
    calls = (
        lambda: fd.map_rows(program, data, out=outs[0], overwrite=True),
        lambda: fd.map_rows(program, data, out=outs[1], overwrite=True, cluster=client),
    )
    alone, together = least(calls, rounds, perf_counter)
    assert Path(outs[0]).read_bytes() == Path(outs[1]).read_bytes(), "rows differ"
    return f"{together:.3f} s of {alone:.3f} s: {together / alone:.2f}x"


def repeated(path: Path, seconds: float) -> list[Any]:
    """The inputs of a model, as often as it can be called in some seconds."""
    program = fd.compile(path, threads=1, cache=False)
    named = dict(np.load(path.with_suffix(".0.npz")))
    once = [named[form.model_name or form.name] for form in program.interface.inputs]
    program(*once)
    start = process_time()
    program(*once)
    times = max(2, min(2000, int(seconds / max(process_time() - start, 1e-6))))
    return [np.concatenate([array] * times) for array in once]


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="of ONNX models with their inputs")
    parser.add_argument("--rows", type=int, default=1_000_000, help="for the perceptron (default: %(default)s)")
    parser.add_argument("--images", type=int, default=4000, help="for the network of images (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of the rows of a model (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="turns (default: %(default)s)")
    parser.add_argument("--cluster", metavar="ADDRESS", help="of Dask, tcp://host:8786 or local:N")
    options = parser.parse_args()
    heads = ["model", "rows", "loop", "map_rows", "overhead", "onnxruntime", "speed"]
    heads += ["cluster"] * (options.cluster is not None)
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}", flush=True)
    if options.folder is not None:
        for path in sorted(options.folder.glob("*.onnx")):
            print(f"| {' | '.join(in_memory(path, repeated(path, options.seconds), options.rounds))} |", flush=True)
        return 0
    random = np.random.default_rng(0)
    models = (
        ("perceptron", perceptron(), (options.rows, 64)),
        ("images", images(), (options.images, 3, 64, 64)),
    )
    with TemporaryDirectory() as folder:
        for name, graph, shape in models:
            path = Path(folder) / f"{name}.onnx"
            path.write_bytes(graph.model())
            inputs = [random.standard_normal(shape, np.float32)]
            cells = in_memory(path, inputs, options.rounds)
            if options.cluster is not None:
                with client_of(options.cluster) as client:
                    cells.append(on_cluster(path, inputs, client, options.rounds, Path(folder)))
            print(f"| {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
