"""Time reductions of long rows beside onnxruntime and XLA: what is read once from memory, and what twice.

    python tools/bench_rows.py --onnxruntime --jax other/bin/python
    python tools/bench_rows.py logsumexp cross_entropy --rows 64 --columns 131072 --strategies tvm,cost

| workload | what |
|---|---|
| softmax, log_softmax | a matrix of results |
| logsumexp | one number for each row |
| cross_entropy | `sum(-target * log_softmax(x))`, of probabilities as targets |
| layer_norm | with a scale and a shift for each column; half as many columns |

All run on one thread. XLA runs in a process of its own with the interpreter of `--jax`, which is started once for each
round. The least milliseconds count. Beside ours stand the bytes that have to be read and written at least, and how fast
it is at that.
"""

# onnxruntime says little about its types, and JAX may not be installed.
# pyright: basic, reportMissingImports=false

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import fuse_dialect as fd

WORKLOADS = ("softmax", "log_softmax", "logsumexp", "cross_entropy", "layer_norm")
_XLA = """
import sys, time, numpy as np, jax, jax.numpy as jnp
name, rows, columns, runs = sys.argv[1], *map(int, sys.argv[2:])
def layer_norm(x, g, b):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * g + b
function = {
    "softmax": jax.nn.softmax, "log_softmax": jax.nn.log_softmax, "layer_norm": layer_norm,
    "logsumexp": lambda x: jax.nn.logsumexp(x, -1, keepdims=True),
    "cross_entropy": lambda x, t: -(t * jax.nn.log_softmax(x)).sum(-1, keepdims=True),
}[name]
random = np.random.default_rng(0)
shapes = {"cross_entropy": [(rows, columns)] * 2, "layer_norm": [(rows, columns), (columns,), (columns,)]}
arrays = [jnp.asarray(random.random(s, np.float32)) for s in shapes.get(name, [(rows, columns)])]
call, least = jax.jit(function), float("inf")
for _ in range(runs):
    begin = time.perf_counter()
    call(*arrays).block_until_ready()
    least = min(least, time.perf_counter() - begin)
print(least * 1e3)
"""


def program_text(name: str, rows: int, columns: int) -> str:
    """A workload as IR of its parts."""
    x, row, vector = f"tensor<{rows}x{columns}xf32>", f"tensor<{rows}x1xf32>", f"tensor<{columns}xf32>"
    if name in ("softmax", "log_softmax"):
        arguments, result, lines = f"%x: {x}", x, [f"%y = fuse.{name} %x, axis = 1 : {x}"]
    elif name == "layer_norm":
        arguments, result = f"%x: {x}, %g: {vector}, %b: {vector}", x
        lines = [f"%y = fuse.layer_norm %x, %g, %b : ({x}, {vector}, {vector}) -> {x}"]
    elif name == "logsumexp":
        arguments, result = f"%x: {x}", row
        lines = [
            f"%m = fuse.max %x, axes = [1], keepdims = true : ({x}) -> {row}",
            f"%d = fuse.subtract %x, %m : ({x}, {row}) -> {x}",
            f"%e = fuse.exp %d : {x}",
            f"%s = fuse.sum %e, axes = [1], keepdims = true : ({x}) -> {row}",
            f"%l = fuse.log %s : {row}",
            f"%y = fuse.add %l, %m : {row}",
        ]
    else:
        arguments, result = f"%x: {x}, %t: {x}", row
        lines = [
            f"%l = fuse.log_softmax %x, axis = 1 : {x}",
            f"%p = fuse.multiply %l, %t : {x}",
            f"%s = fuse.sum %p, axes = [1], keepdims = true : ({x}) -> {row}",
            f"%y = fuse.negative %s : {row}",
        ]
    body = "\n  ".join([*lines, f"func.return %y : {result}"])
    return f"func.func @main({arguments}) -> {result} {{\n  {body}\n}}"


def session(name: str, rows: int, columns: int) -> Any:
    """The workload in onnxruntime, on one thread; its inputs have the names of ours."""
    import onnxruntime
    from onnx import TensorProto, helper

    nodes = {
        "softmax": [helper.make_node("Softmax", ["x"], ["y"])],
        "log_softmax": [helper.make_node("LogSoftmax", ["x"], ["y"])],
        "logsumexp": [helper.make_node("ReduceLogSumExp", ["x", "axes"], ["y"])],
        "layer_norm": [helper.make_node("LayerNormalization", ["x", "g", "b"], ["y"])],
        "cross_entropy": [
            helper.make_node("LogSoftmax", ["x"], ["l"]),
            helper.make_node("Mul", ["l", "t"], ["p"]),
            helper.make_node("ReduceSum", ["p", "axes"], ["s"]),
            helper.make_node("Neg", ["s"], ["y"]),
        ],
    }[name]
    value, shape = helper.make_tensor_value_info, [rows, columns]
    shapes = {"x": shape, "t": shape, "g": shape[1:], "b": shape[1:]}
    inputs = [value(each, TensorProto.FLOAT, shapes[each]) for each in names(name)]
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [1])
    graph = helper.make_graph(nodes, name, inputs, [value("y", TensorProto.FLOAT, None)], [axes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def names(name: str) -> list[str]:
    """The arguments of a workload."""
    return {"cross_entropy": ["x", "t"], "layer_norm": ["x", "g", "b"]}.get(name, ["x"])


def xla(python: str, name: str, rows: int, columns: int, runs: int) -> float:
    """The least milliseconds in XLA."""
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    command = [python, "-c", _XLA, name, str(rows), str(columns), str(runs)]
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "PYTHONPATH": ""}
    return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def least(call: Callable[[], object], runs: int) -> float:
    """The least milliseconds of some runs."""
    found = float("inf")
    for _ in range(runs):
        begin = time.perf_counter()
        call()
        found = min(found, (time.perf_counter() - begin) * 1e3)
    return found


def measured(name: str, strategy: str, options: argparse.Namespace) -> str:
    """The line of a workload."""
    rows, columns = options.rows, options.columns // (2 if name == "layer_norm" else 1)
    random = np.random.default_rng(0)
    shapes = {"x": (rows, columns), "t": (rows, columns)}
    arrays = {each: random.random(shapes.get(each, (columns,)), np.float32) for each in names(name)}
    program = fd.compile(fd.parse(program_text(name, rows, columns)), strategy=strategy)
    (result,) = program(*arrays.values())
    bytes = sum(array.nbytes for array in arrays.values()) + result.nbytes
    other = session(name, rows, columns) if options.onnxruntime else None
    times: dict[str, float] = {}
    for _ in range(options.rounds):
        runs: dict[str, Callable[[], float]] = {"ours": lambda: least(lambda: program(*arrays.values()), options.runs)}
        if other is not None:
            runs["onnxruntime"] = lambda: least(lambda: other.run(None, arrays), options.runs)
        if options.jax:
            runs["xla"] = lambda: xla(options.jax, name, rows, columns, options.runs)
        for peer, run in runs.items():
            times[peer] = min(times.get(peer, float("inf")), run())
    ours = times.pop("ours")
    peers = " ".join(f"{peer} {time:7.2f} ({ours / time:.2f}x)" for peer, time in times.items())
    speed = f"{bytes / 1e6:6.0f} MB {bytes / ours / 1e6:5.1f} GB/s"
    return f"{name:14} {strategy:5} {len(program.kernels):2} kernels {ours:8.2f} {speed} {peers}"


def main() -> None:
    """Print a line for each workload and strategy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="workload", help=f"of {', '.join(WORKLOADS)}; by default all")
    parser.add_argument("--rows", type=int, default=64, help="rows (64)")
    parser.add_argument("--columns", type=int, default=131072, help="columns (131,072)")
    parser.add_argument("--strategies", type=lambda text: text.split(","), default=["cost"], help="tvm,cost")
    parser.add_argument("--rounds", type=int, default=3, help="how often each takes its turn")
    parser.add_argument("--runs", type=int, default=8, help="runs in a turn, of which the least counts")
    parser.add_argument("--onnxruntime", action="store_true", help="time onnxruntime, too")
    parser.add_argument("--jax", help="a Python with JAX, to time XLA")
    options = parser.parse_args()
    unknown = [name for name in options.workloads if name not in WORKLOADS]
    if unknown:
        parser.error(f"there is no workload '{unknown[0]}': there are {', '.join(WORKLOADS)}")
    for name in options.workloads or WORKLOADS:
        for strategy in options.strategies:
            print(measured(name, strategy, options), flush=True)


if __name__ == "__main__":
    main()
