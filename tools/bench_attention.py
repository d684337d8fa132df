"""Attention as it is in practice, beside torch's `scaled_dot_product_attention`, in one run.

    python tools/bench_attention.py --torch other/bin/python
    python tools/bench_attention.py plain causal --lengths 512,1024 --strategies cost --threads 1 --rounds 20
    python tools/bench_attention.py decode1 decode4 --lengths 256,16384 --strategies cost --open --onnxruntime

Each workload is written as IR of its parts (products, scale, mask, softmax), compiled by each strategy, and given the
same inputs as torch, which runs in a process of its own with the interpreter of `--torch`. Both run in turns, and the
best time of each counts. Printed are kernels, bytes of intermediate values and workspaces while a call runs, times, the
ratio to torch (below 1 is faster), and the greatest error of both against f64. Without `--torch` ours alone are timed.
With `--open` each workload is compiled once more, with lengths that are known when it runs; its ratio is to the program
of the given lengths. `--onnxruntime` times the same program as an ONNX model, too.

| workload | what | torch's |
|---|---|---|
| plain, causal | 12 heads of 64 | `scaled_dot_product_attention`, `is_causal` |
| window | the same, each query sees the 256 keys up to its own | a boolean mask |
| cap | scores are 30 * tanh(s / 30) | written out: it has none of its own |
| bias | a matrix of numbers for each head is added to scores | a mask of floats |
| grouped | 16 heads of queries on 4 of keys and values | `enable_gqa` |
| f16, bf16 | plain, stored in these types | the same |
| decode1, decode4 | 1 and 4 queries for a cache of the length | the same |
"""

# torch is no dependency of the checks: it is not installed there, and says little about its types.
# pyright: basic, reportMissingImports=false

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

WINDOW, CAP = 256, 30.0
MOST_ROWS = 4096
"""Rows of scores, in all heads, whose error is looked at: the first and the last ones."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One attention."""

    kind: str
    length: int
    """Of keys and values."""
    heads: int = 12
    shared: int = 12
    """Heads of keys and values."""
    size: int = 64
    element: str = "f32"
    least_queries: int = 0
    """How many queries there are; 0 if as many as keys."""

    @property
    def queries(self) -> int:
        """Number of queries."""
        return self.least_queries or self.length

    def inputs(self) -> list[np.ndarray]:
        """Queries, keys, values, and the bias if there is one, in f32."""
        random = np.random.default_rng(0)
        shapes = [(self.heads, self.queries, self.size), *[(self.shared, self.length, self.size)] * 2]
        if self.kind == "bias":
            shapes.append((self.heads, self.queries, self.length))
        arrays = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
        # Both sides get numbers that their type holds.
        return [_rounded(array, self.element) for array in arrays]

    def hidden(self) -> np.ndarray | None:
        """Where scores are masked, for each query and key; `None` if nowhere."""
        if self.kind not in ("causal", "window"):
            return None
        below = np.arange(self.queries)[:, None] - np.arange(self.length)[None, :]
        return (below < 0) | ((below >= WINDOW) if self.kind == "window" else False)


WORKLOADS: dict[str, Callable[[int], Workload]] = {
    "plain": lambda n: Workload("plain", n),
    "causal": lambda n: Workload("causal", n),
    "window": lambda n: Workload("window", n),
    "cap": lambda n: Workload("cap", n),
    "bias": lambda n: Workload("bias", n),
    "grouped": lambda n: Workload("grouped", n, heads=16, shared=4),
    "f16": lambda n: Workload("f16", n, element="f16"),
    "bf16": lambda n: Workload("bf16", n, element="bf16"),
    "decode1": lambda n: Workload("decode1", n, least_queries=1),
    "decode4": lambda n: Workload("decode4", n, least_queries=4),
}


def _rounded(array: np.ndarray, element: str) -> np.ndarray:
    """An array of f32 with the numbers of a narrower type."""
    if element == "f16":
        return array.astype(np.float16).astype(np.float32)
    if element == "bf16":
        return (array.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    return array


def text_of(work: Workload, *, is_open: bool = False) -> str:
    """The workload as IR; with `is_open` the length is known when it runs."""
    h, g, d, e = work.heads, work.shared, work.size, work.element
    n = "?" if is_open else work.length
    q = work.least_queries or n
    group = h // g
    front = f"{h}" if group == 1 else f"{g}x{group}"
    scores, queries = f"tensor<{front}x{q}x{n}x{e}>", f"tensor<{front}x{q}x{d}x{e}>"
    keys = f"tensor<{h}x{n}x{d}x{e}>" if group == 1 else f"tensor<{g}x1x{n}x{d}x{e}>"
    turned = f"tensor<{h}x{d}x{n}x{e}>" if group == 1 else f"tensor<{g}x1x{d}x{n}x{e}>"
    last = "[0, 2, 1]" if group == 1 else "[0, 1, 3, 2]"
    extra = f", %bias: tensor<{h}x{q}x{n}x{e}>" if work.kind == "bias" else ""
    lines = [
        f"func.func @main(%q: tensor<{h}x{q}x{d}x{e}>, %k: tensor<{g}x{n}x{d}x{e}>, %v: tensor<{g}x{n}x{d}x{e}>{extra})"
        f" -> tensor<{h}x{q}x{d}x{e}> {{",
        f"%scale = arith.constant dense<{d**-0.5!r}> : tensor<{e}>",
        f"%hidden = arith.constant dense<0xFF800000> : tensor<{e}>" if e == "f32" else "",
    ]
    if group > 1:
        lines += [
            f"%qg = fuse.reshape %q : (tensor<{h}x{q}x{d}x{e}>) -> {queries}",
            f"%kg = fuse.reshape %k : (tensor<{g}x{n}x{d}x{e}>) -> {keys}",
            f"%vg = fuse.reshape %v : (tensor<{g}x{n}x{d}x{e}>) -> {keys}",
        ]
    changed = _changed_scores(work, scores, q, n)
    names = ("%qg", "%kg", "%vg") if group > 1 else ("%q", "%k", "%v")
    lines += [
        f"%kt = fuse.transpose {names[1]}, permutation = {last} : ({keys}) -> {turned}",
        f"%s0 = fuse.batch_matmul {names[0]}, %kt : ({queries}, {turned}) -> {scores}",
        f"%s1 = fuse.multiply %s0, %scale : ({scores}, tensor<{e}>) -> {scores}",
        *changed,
        f"%p = fuse.softmax {'%s2' if changed else '%s1'} : {scores}",
        f"%y = fuse.batch_matmul %p, {names[2]} : ({scores}, {keys}) -> {queries}",
    ]
    if group > 1:
        lines.append(f"%r = fuse.reshape %y : ({queries}) -> tensor<{h}x{q}x{d}x{e}>")
    lines += [f"return {'%r' if group > 1 else '%y'} : tensor<{h}x{q}x{d}x{e}>", "}"]
    return "\n".join(line for line in lines if line)


def _positions(name: str, size: int | str, of: str, type: str, axis: int) -> list[str]:
    """The positions along an axis, from 0, of an argument."""
    if isinstance(size, int):
        return [f"{name} = fuse.arange stop = {float(size)} -> tensor<{size}xi64>"]
    rank, part, number = type.count("x"), f"begin = [{axis}], end = [{axis + 1}]", "tensor<i64>"
    return [
        f"{name}s = fuse.shape_of {of} : ({type}) -> tensor<{rank}xi64>",
        f"{name}a = fuse.strided_slice {name}s, {part} : (tensor<{rank}xi64>) -> tensor<1xi64>",
        f"{name}n = fuse.reshape {name}a : (tensor<1xi64>) -> tensor<i64>",
        f"{name}0 = arith.constant dense<0> : tensor<i64>",
        f"{name}1 = arith.constant dense<1> : tensor<i64>",
        f"{name} = fuse.dyn_arange {name}0, {name}n, {name}1 : ({number}, {number}, {number}) -> tensor<?xi64>",
    ]


def _changed_scores(work: Workload, scores: str, q: int | str, n: int | str) -> list[str]:
    """What happens between the scale and the softmax, from `%s1` to `%s2`; none if nothing does."""
    h, g, d, e = work.heads, work.shared, work.size, work.element
    match work.kind:
        case "causal" | "window":
            lines = [
                *_positions("%i0", q, "%q", f"tensor<{h}x{q}x{d}x{e}>", 1),
                *_positions("%j", n, "%k", f"tensor<{g}x{n}x{d}x{e}>", 1),
                f"%i = fuse.reshape %i0 : (tensor<{q}xi64>) -> tensor<{q}x1xi64>",
                f"%seen0 = fuse.less_equal %j, %i : (tensor<{n}xi64>, tensor<{q}x1xi64>) -> tensor<{q}x{n}xi1>",
            ]
            mask = "%seen0"
            if work.kind == "window":
                lines += [
                    f"%w = arith.constant dense<{WINDOW}> : tensor<i64>",
                    f"%low = fuse.subtract %i, %w : (tensor<{q}x1xi64>, tensor<i64>) -> tensor<{q}x1xi64>",
                    f"%near = fuse.greater %j, %low : (tensor<{n}xi64>, tensor<{q}x1xi64>) -> tensor<{q}x{n}xi1>",
                    f"%seen = fuse.logical_and %seen0, %near : tensor<{q}x{n}xi1>",
                ]
                mask = "%seen"
            where = f"(tensor<{q}x{n}xi1>, {scores}, tensor<{e}>) -> {scores}"
            return [*lines, f"%s2 = fuse.where {mask}, %s1, %hidden : {where}"]
        case "cap":
            by = f"({scores}, tensor<{e}>) -> {scores}"
            return [
                f"%cap = arith.constant dense<{CAP}> : tensor<{e}>",
                f"%c0 = fuse.divide %s1, %cap : {by}",
                f"%c1 = fuse.tanh %c0 : {scores}",
                f"%s2 = fuse.multiply %c1, %cap : {by}",
            ]
        case "bias":
            return [f"%s2 = fuse.add %s1, %bias : {scores}"]
        case _:
            return []


def exact(work: Workload, arrays: Sequence[np.ndarray], rows: np.ndarray) -> np.ndarray:
    """Some rows of the result of every head, in f64."""
    q, k, v, *bias = (array.astype(np.float64) for array in arrays)
    k, v = (np.repeat(each, work.heads // work.shared, axis=0) for each in (k, v))
    result, hidden = np.empty((work.heads, len(rows), work.size)), work.hidden()
    for head in range(work.heads):
        scores = q[head][rows] @ k[head].T * work.size**-0.5
        if bias:
            scores += bias[0][head][rows]
        if work.kind == "cap":
            scores = CAP * np.tanh(scores / CAP)
        if hidden is not None:
            scores[hidden[rows]] = -np.inf
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        result[head] = weights @ v[head] / weights.sum(-1, keepdims=True)
    return result


class Peer:
    """torch in a process of its own; see `serve`."""

    def __init__(self, python: str):
        self.process = subprocess.Popen(
            [python, __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, question: dict[str, Any]) -> Any:
        """One question, one answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("torch's process ended")
        return json.loads(line)

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def serve() -> int:
    """Answer questions on stdin, one line each: prepare a workload, run it some times, say how far off it is."""
    import torch
    import torch.nn.functional as functional

    torch.set_grad_enabled(False)
    work, call = Workload("plain", 0), _nothing
    for line in sys.stdin:
        question = json.loads(line)
        match question["do"]:
            case "prepare":
                work = Workload(**question["work"])
                torch.set_num_threads(question["threads"])
                call = _torch_call(torch, functional, work)
                answer: Any = torch.__version__
            case "run":
                answer = _best(call, question["calls"])
            case _:
                result = call().float().numpy().reshape(work.heads, work.queries, work.size)
                answer = _error(work, result)
        print(json.dumps(answer), flush=True)
    return 0


def _nothing() -> Any:
    """What is run before anything is prepared."""


def _torch_call(torch: Any, functional: Any, work: Workload) -> Callable[[], Any]:
    element = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[work.element]
    q, k, v, *bias = (torch.from_numpy(array).to(element)[None] for array in work.inputs())
    attention, hidden = functional.scaled_dot_product_attention, work.hidden()
    match work.kind:
        case "causal":
            return lambda: attention(q, k, v, is_causal=True)
        case "window":
            assert hidden is not None
            seen = torch.from_numpy(np.logical_not(hidden))
            return lambda: attention(q, k, v, attn_mask=seen)
        case "bias":
            return lambda: attention(q, k, v, attn_mask=bias[0])
        case "grouped":
            return lambda: attention(q, k, v, enable_gqa=True)
        case "cap":

            def written_out() -> Any:
                scores = torch.tanh(q @ k.transpose(-2, -1) * (work.size**-0.5 / CAP)) * CAP
                return torch.softmax(scores, -1) @ v

            return written_out
        case _:
            return lambda: attention(q, k, v)


def _best(call: Callable[[], Any], calls: int) -> float:
    """The best time of some calls, in seconds."""
    best = float("inf")
    for _ in range(calls):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def _error(work: Workload, result: np.ndarray) -> float:
    half = min(work.queries, max(1, MOST_ROWS // work.heads)) // 2 + 1
    rows = np.unique(np.r_[:half, work.queries - half : work.queries].clip(0, work.queries - 1))
    return float(np.abs(result[:, rows] - exact(work, work.inputs(), rows)).max())


@dataclass(slots=True)
class _Ours:
    """A compiled workload."""

    strategy: str
    program: Any
    arrays: list[Any]
    compiled: float
    """Seconds."""
    is_open: bool = False
    best: float = float("inf")

    def __call__(self) -> Any:
        """The result."""
        return self.program(*self.arrays)[0]


def _compiled(work: Workload, strategy: str, threads: int, *, is_open: bool = False) -> _Ours:
    import fuse_dialect as fd
    from fuse_dialect.dialect.types import element_dtype

    start = time.perf_counter()
    program = fd.compile(fd.parse(text_of(work, is_open=is_open)), strategy=strategy, threads=threads, cache=False)
    seconds = time.perf_counter() - start
    (dtype,) = {element_dtype(argument.type.element_type) for argument in _arguments(program)}
    return _Ours(strategy, program, [array.astype(dtype) for array in work.inputs()], seconds, is_open)


def _session(work: Workload, threads: int) -> Callable[[], Any]:
    """A call of onnxruntime."""
    import onnxruntime

    import fuse_dialect as fd

    how = onnxruntime.SessionOptions()
    how.intra_op_num_threads, how.log_severity_level = threads, 3
    with TemporaryDirectory() as folder:
        path = Path(folder) / "attention.onnx"
        fd.write(fd.parse(text_of(work)), path)
        session = onnxruntime.InferenceSession(path.read_bytes(), how, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    arrays = dict(zip(names, work.inputs(), strict=True))
    return lambda: session.run(None, arrays)


def _arguments(program: Any) -> Any:
    return next(op for op in program.module.ops if op.sym_name.data == "main").body.block.args


def measure(work: Workload, options: argparse.Namespace, peer: Peer | None, threads: int) -> None:
    """Time one workload, and print its rows."""
    strategies = options.strategies.split(",")
    ours = [_compiled(work, strategy, threads) for strategy in strategies]
    if options.open:
        ours += [_compiled(work, strategy, threads, is_open=True) for strategy in strategies]
    session = _session(work, threads) if options.onnxruntime else None
    if peer is not None:
        fields = {name: getattr(work, name) for name in Workload.__slots__}
        peer.ask({"do": "prepare", "work": fields, "threads": threads})
    theirs = sessions = float("inf")
    # Short calls take turns in groups, so that neither side meets the other's caches each time.
    calls = max(1, min(20, int(2e9 / (work.heads * work.queries * work.length * work.size))))
    for _ in range(options.rounds):
        for each in ours:
            each.best = min(each.best, _best(each, calls))
        if session is not None:
            sessions = min(sessions, _best(session, calls))
        if peer is not None:
            theirs = min(theirs, peer.ask({"do": "run", "calls": calls}))
    name = f"{work.kind} {work.heads}x{work.queries}x{work.length}x{work.size}"
    error = f", error {peer.ask({'do': 'error'}):.1e}" if peer is not None else ""
    line = f"{name}, {threads} thread{'s' if threads > 1 else ''}:"
    print(f"{line} torch {theirs * 1e3:.3f} ms{error}" if peer is not None else line)
    if session is not None:
        print(f"  onnxruntime {sessions * 1e3:9.3f} ms")
    known = {each.strategy: each.best for each in ours if not each.is_open}
    for each in ours:
        result = each()
        kernels = [kernel.family for kernel in each.program.kernels]
        ratio = f", {each.best / theirs:.3f}x" if peer is not None else ""
        ratio += f", {each.best / sessions:.3f}x onnxruntime" if session is not None else ""
        ratio += f", {each.best / known[each.strategy]:.3f}x known lengths" if each.is_open else ""
        error = _error(work, result.astype(np.float32))
        print(
            f"  {each.strategy:4s} {each.best * 1e3:9.3f} ms{ratio}, error {error:.1e},"
            f" {len(kernels)} kernels ({', '.join(kernels)}), {each.program.peak_bytes or 0:,} bytes between,"
            f" compiled in {each.compiled:.2f} s",
            flush=True,
        )


def main() -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", help=f"of {', '.join(WORKLOADS)}; all if left out")
    parser.add_argument("--lengths", default="512,1024,2048,4096", help="keys of each workload")
    parser.add_argument("--strategies", default="tvm,cost")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, one after the other")
    parser.add_argument("--rounds", type=int, default=8, help="turns of both sides")
    parser.add_argument("--torch", metavar="PYTHON", help="interpreter of an environment that has torch and NumPy")
    parser.add_argument("--open", action="store_true", help="compile with lengths that are known when it runs, too")
    parser.add_argument("--onnxruntime", action="store_true", help="time onnxruntime in this process, too")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve()
    unknown = set(options.workloads) - set(WORKLOADS)
    if unknown:
        parser.error(f"there is no workload {', '.join(sorted(unknown))}")
    for threads in map(int, options.threads.split(",")):
        if hasattr(os, "sched_setaffinity"):
            cores = sorted(os.sched_getaffinity(0))
            os.sched_setaffinity(0, cores[-threads:])
        peer = Peer(options.torch) if options.torch else None
        for name in options.workloads or WORKLOADS:
            for length in map(int, options.lengths.split(",")):
                measure(WORKLOADS[name](length), options, peer, threads)
        if peer is not None:
            peer.close()
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, cores)
    return 0


if __name__ == "__main__":
    sys.exit(main())
