"""Time of matrix products in 8 bits and in bf16: with tiles, without them, and in other engines.

    python tools/bench_tiles.py [--threads N] [--rows 1 16 384] [--columns 1024 4096] [--depth 1024] [--rounds N]
    python tools/bench_tiles.py --bert 2 384

The first of `--tiles` and `--plain` names a processor with tiles, the second the same without. A row says which family
of kernels a product became: where this machine has no tiles, none is `tiles`, and the report says that nothing was
measured. Products of bytes are onnxruntime's `MatMulInteger`, those of bf16 PyTorch's, where these are installed.
Outputs of bytes are compared to the bit first. All engines run in turns, and the least time of each counts:
on one thread that of the process. With `--turns N` engines take turns call by call, so that none finds its factors in
the near caches, and the median of N times by the wall clock counts: the clock of a process jumps on some machines.

With `--bert` a BERT of some layers, in the width of the published base model, runs in bf16 on some tokens, and nothing
else: by PyTorch, and by this package from PyTorch's export. Both outputs are compared with those in f32.
"""

# onnxruntime and PyTorch are no dependencies of the checks, and say little about their types.
# pyright: basic, reportMissingImports=false

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from statistics import median
from time import perf_counter, process_time

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from population.measuring import best_seconds

import fuse_dialect as fd
from fuse_dialect.loops.elements import dtype_named

DENSE = """func.func @main(%x: X) -> Y {{
  %w = arith.constant dense<"0x{weights}"> : W
  %y = fuse.dense %x, %w, out_dtype = "{out}" : (X, W) -> Y
  func.return %y : Y
}}"""
ELEMENTS = {"8 bits": ("ui8", "i8", "i32"), "bf16": ("bf16", "bf16", "bf16")}
Call = Callable[[], object]


def text_of(kind: str, x: np.ndarray, w: np.ndarray) -> str:
    """A product whose both factors lie along the sum, the second of which is constant."""
    head, *rest = DENSE.format(weights="WEIGHTS", out="i32" if kind == "8 bits" else "").split("WEIGHTS")
    shapes = zip("XWY", (x.shape, w.shape, (len(x), len(w))), ELEMENTS[kind], strict=True)
    for name, shape, element in shapes:
        pattern, tensor = rf"\b{name}\b", f"tensor<{'x'.join(map(str, shape))}x{element}>"
        head, *rest = (re.sub(pattern, tensor, part) for part in (head, *rest))
    return w.tobytes().hex().join((head, *rest))


def factors(kind: str, rows: int, columns: int, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays of random numbers."""
    random = np.random.default_rng(0)
    if kind == "8 bits":
        return random.integers(0, 256, (rows, depth), np.uint8), random.integers(-128, 128, (columns, depth), np.int8)
    bf16 = dtype_named("bf16")
    return random.standard_normal((rows, depth)).astype(bf16), random.standard_normal((columns, depth)).astype(bf16)


def others(kind: str, x: np.ndarray, w: np.ndarray, threads: int) -> dict[str, Call]:
    """What other engines do, by name."""
    if kind == "8 bits" and find_spec("onnxruntime"):
        import onnxruntime

        node = helper.make_node("MatMulInteger", ["x", "w"], ["y"])
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            [node],
            "product",
            [value("x", TensorProto.UINT8, x.shape)],
            [value("y", TensorProto.INT32, (len(x), len(w)))],
            [numpy_helper.from_array(np.ascontiguousarray(w.T), "w")],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        return {"onnxruntime": lambda: session.run(None, {"x": x})[0]}
    if kind == "bf16" and find_spec("torch"):
        import torch

        torch.set_num_threads(threads)
        a, b = (torch.from_numpy(each.view(np.int16)).view(torch.bfloat16) for each in (x, w))
        return {"torch": lambda: torch.nn.functional.linear(a, b)}
    return {}


def seconds_of(calls: Sequence[Call], threads: int, rounds: int, turns: int) -> list[float]:
    """Seconds of each call: least ones of rounds, or medians of single turns."""

    def of_wall(call: Call) -> float:
        start = perf_counter()
        call()
        return perf_counter() - start

    if turns:
        return [
            median(column) for column in zip(*([of_wall(call) for call in calls] for _ in range(turns)), strict=True)
        ]
    clock = process_time if threads == 1 else perf_counter
    table = [[best_seconds(call, clock) for call in calls] for _ in range(rounds)]
    return [min(column) for column in zip(*table, strict=True)]


def measured(
    kind: str, sizes: tuple[int, int, int], cpus: Sequence[str], threads: int, rounds: int, turns: int
) -> list[str]:
    """The cells of a row: what was measured, the family with tiles, and microseconds."""
    x, w = factors(kind, *sizes)
    module = fd.parse(text_of(kind, x, w))
    programs = [fd.compile(module, threads=threads, target_cpu=cpu) for cpu in cpus]
    calls: dict[str, Call] = {cpu: lambda each=each: each(x) for cpu, each in zip(cpus, programs, strict=True)}
    calls |= others(kind, x, w, threads)
    if kind == "8 bits":
        expected = x.astype(np.int32) @ w.T.astype(np.int32)
        for name, call in calls.items():
            found = call()
            np.testing.assert_array_equal(found[0] if isinstance(found, list | tuple) else found, expected, name)
    least = [seconds * 1e6 for seconds in seconds_of(list(calls.values()), threads, rounds, turns)]
    cells = [f"{least[0]:.0f}", f"{least[1]:.0f}", f"{least[0] / least[1]:.2f}"]
    cells += [f"{name} {us:.0f}, {least[0] / us:.2f}" for name, us in list(zip(calls, least, strict=True))[2:]] or ["-"]
    return [kind, "x".join(map(str, sizes)), programs[0].kernels[0].family, *cells]


def of_bert(layers: int, tokens: int, cpus: Sequence[str], threads: int, rounds: int, turns: int) -> list[str]:
    """The cells of a row: how far outputs are from those in f32, and milliseconds."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    torch.set_num_threads(threads)
    model = BertModel(BertConfig(num_hidden_layers=layers)).eval()
    words = torch.randint(0, model.config.vocab_size, (1, tokens))

    class States(torch.nn.Module):
        """The last states alone."""

        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, words: torch.Tensor) -> torch.Tensor:
            return self.model(words).last_hidden_state

    with torch.no_grad():
        states = States().eval()
        exact = states(words).numpy()
        states.to(torch.bfloat16)
        module, x = fd.from_torch(states, words), words.numpy()
        programs = [fd.compile(module, threads=threads, target_cpu=cpu) for cpu in cpus]
        calls: dict[str, Call] = {cpu: lambda each=each: each(x)[0] for cpu, each in zip(cpus, programs, strict=True)}
        calls["torch"] = lambda: states(words)
        found = [calls[cpus[0]](), states(words).float().numpy()]
        errors = [f"{np.abs(np.asarray(each).astype(np.float32) - exact).mean():.1e}" for each in found]
        least = [seconds * 1e3 for seconds in seconds_of(list(calls.values()), threads, rounds, turns)]
    times = [f"{ms:.1f}" for ms in least]
    return [str(layers), str(tokens), *times, f"{least[0] / least[1]:.2f}", f"{least[0] / least[2]:.2f}", *errors]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1, help="of each engine (default: %(default)s)")
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 16, 384], help="default: 1 16 384")
    parser.add_argument("--columns", type=int, nargs="+", default=[1024, 4096], help="default: 1024 4096")
    parser.add_argument("--depth", type=int, default=1024, help="points of the sum (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each engine (default: %(default)s)")
    parser.add_argument("--tiles", default="native", help="processor with tiles (default: %(default)s)")
    parser.add_argument("--plain", default="icelake-server", help="the same without (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=0, help="single calls in turns instead, and their medians")
    parser.add_argument("--bert", type=int, nargs=2, metavar=("LAYERS", "TOKENS"), help="a BERT in bf16 instead")
    options = parser.parse_args(arguments)
    cpus = (options.tiles, options.plain)
    if options.bert:
        head = ["layers", "tokens", "ms", f"ms, {options.plain}", "ms, torch", "ratio", "ratio, torch"]
        head += ["mean error", "mean error, torch"]
        print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
        if not (find_spec("torch") and find_spec("transformers")):
            parser.error("--bert needs PyTorch and transformers: pip install -e '.[bench-models]'")
        layers, tokens = options.bert
        if layers < 1 or not 1 <= tokens <= 512:
            parser.error(f"argument --bert: expected a layer or more and 1 to 512 tokens, got {layers} and {tokens}")
        print(f"| {' | '.join(of_bert(layers, tokens, cpus, options.threads, options.rounds, options.turns))} |")
        return 0
    head = ["product", "rows x columns x sum", "family", "us", f"us, {options.plain}", "ratio", "others us, ratio"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    families: set[str] = set()
    for kind in ELEMENTS:
        for rows in options.rows:
            for columns in options.columns:
                sizes = (rows, columns, options.depth)
                cells = measured(kind, sizes, cpus, options.threads, options.rounds, options.turns)
                families.add(cells[2])
                print(f"| {' | '.join(cells)} |", flush=True)
    if "tiles" not in families:
        print("\nTiles are not measured: no kernel uses them on this machine.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
