"""Decoding with caches that grow by one row a step, beside onnxruntime, from empty caches on.

    python tools/bench_decoding.py [--kind llama|gpt2] [--layers N] [--width N] [--steps N] [--threads N] [--batch N]
        [--passes N] [--strategy tvm|cost]

Each step is a call with a length that no call had before: the first pass is what a user waits for, later ones find
lengths that came back. Both engines run the same step in turn, each on the caches that it made. Prints the median and
the slowest step of each pass, as ratios too, and the greatest difference of the logits.

Needs `pip install onnx onnxruntime`. Weights are random.
"""

# onnxruntime is no dependency of the checks, and says little about its types.
# pyright: basic, reportMissingImports=false

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import fuse_dialect as fd


@dataclass(slots=True)
class Decoder:
    """An ONNX graph that is being built: one step of a decoder, whose batch and past are open."""

    width: int
    heads: int
    vocabulary: int = 2000
    longest: int = 2048
    """Positions that there are tables for."""
    nodes: list[Any] = field(default_factory=list[Any])
    weights: list[Any] = field(default_factory=list[Any])
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    @property
    def size(self) -> int:
        """Of a head."""
        return self.width // self.heads

    def constant(self, array: Any) -> str:
        """A weight or a number."""
        from onnx import numpy_helper

        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def weight(self, *shape: int) -> str:
        """A random matrix."""
        return self.constant((self.random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32))

    def integers(self, *numbers: int) -> str:
        """A list of integers."""
        return self.constant(np.array(numbers, np.int64))

    def op(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """A node; the name of its output."""
        from onnx import helper

        output = output or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def real(self, value: float) -> str:
        """A number."""
        return self.constant(np.array(value, np.float32))

    def extent(self, value: str, axis: int) -> str:
        """A size, as a list of one integer."""
        shape = self.op("Shape", value)
        return self.op("Gather", shape, self.integers(axis), axis=0)

    def heads_of(self, x: str, batch: str) -> str:
        """[batch, 1, width] as [batch, heads, 1, size]."""
        shape = self.op("Concat", batch, self.integers(1, self.heads, self.size), axis=0)
        return self.op("Transpose", self.op("Reshape", x, shape), perm=[0, 2, 1, 3])

    def rms_norm(self, x: str) -> str:
        """LLaMA's norm."""
        square = self.op("Pow", x, self.real(2.0))
        mean = self.op("ReduceMean", square, axes=[-1], keepdims=1)
        root = self.op("Sqrt", self.op("Add", mean, self.real(1e-6)))
        return self.op("Mul", self.op("Div", x, root), self.constant(np.ones(self.width, np.float32)))

    def layer_norm(self, x: str) -> str:
        """GPT-2's norm."""
        scale, shift = np.ones(self.width, np.float32), np.zeros(self.width, np.float32)
        return self.op("LayerNormalization", x, self.constant(scale), self.constant(shift), axis=-1)

    def rotated(self, x: str, cosine: str, sine: str) -> str:
        """Rotary positions."""
        half = self.size // 2
        first = self.op("Slice", x, self.integers(0), self.integers(half), self.integers(3))
        second = self.op("Slice", x, self.integers(half), self.integers(1 << 62), self.integers(3))
        turned = self.op("Concat", self.op("Neg", second), first, axis=3)
        return self.op("Add", self.op("Mul", x, cosine), self.op("Mul", turned, sine))

    def attention(self, x: str, layer: int, batch: str, turn: tuple[str, str] | None) -> str:
        """Attention over the past and the new position; writes the caches of the layer."""
        q, k, v = (self.heads_of(self.op("MatMul", x, self.weight(self.width, self.width)), batch) for _ in range(3))
        if turn is not None:
            q, k = self.rotated(q, *turn), self.rotated(k, *turn)
        keys = self.op("Concat", f"past_k{layer}", k, axis=2, output=f"present_k{layer}")
        values = self.op("Concat", f"past_v{layer}", v, axis=2, output=f"present_v{layer}")
        scores = self.op("MatMul", q, self.op("Transpose", keys, perm=[0, 1, 3, 2]))
        scores = self.op("Mul", scores, self.real(self.size**-0.5))
        mixed = self.op("MatMul", self.op("Softmax", scores, axis=-1), values)
        shape = self.op("Concat", batch, self.integers(1, self.width), axis=0)
        joined = self.op("Reshape", self.op("Transpose", mixed, perm=[0, 2, 1, 3]), shape)
        return self.op("MatMul", joined, self.weight(self.width, self.width))

    def gated(self, x: str) -> str:
        """LLaMA's feed-forward part."""
        wide = 8 * self.width // 3 // 16 * 16
        gate = self.op("MatMul", x, self.weight(self.width, wide))
        gate = self.op("Mul", gate, self.op("Sigmoid", gate))
        up = self.op("MatMul", x, self.weight(self.width, wide))
        return self.op("MatMul", self.op("Mul", gate, up), self.weight(wide, self.width))

    def gelu(self, x: str) -> str:
        """GPT-2's feed-forward part."""
        h = self.op("MatMul", x, self.weight(self.width, 4 * self.width))
        cube = self.op("Mul", self.op("Mul", h, h), h)
        inner = self.op("Mul", self.op("Add", h, self.op("Mul", cube, self.real(0.044715))), self.real(0.7978846))
        half = self.op("Mul", h, self.real(0.5))
        h = self.op("Mul", half, self.op("Add", self.op("Tanh", inner), self.real(1.0)))
        return self.op("MatMul", h, self.weight(4 * self.width, self.width))


def decoder_model(kind: str, layers: int, width: int, heads: int) -> bytes:
    """One step of a decoder as an ONNX file."""
    from onnx import TensorProto, helper

    d = Decoder(width, heads)
    x = d.op("Gather", d.weight(d.vocabulary, width), "token", axis=0)
    batch, past = d.extent("token", 0), d.extent("past_k0", 2)
    turn = None
    if kind == "llama":
        angles = np.outer(np.arange(d.longest), 10000.0 ** (-np.arange(0, d.size, 2) / d.size))
        both = np.concatenate([angles, angles], 1).astype(np.float32)
        turn = (
            d.op("Gather", d.constant(np.cos(both)), past, axis=0),
            d.op("Gather", d.constant(np.sin(both)), past, axis=0),
        )
    else:
        x = d.op("Add", x, d.op("Gather", d.weight(d.longest, width), past, axis=0))
    norm, feed = (d.rms_norm, d.gated) if kind == "llama" else (d.layer_norm, d.gelu)
    for layer in range(layers):
        x = d.op("Add", x, d.attention(norm(x), layer, batch, turn))
        x = d.op("Add", x, feed(norm(x)))
    d.op("MatMul", norm(x), d.weight(width, d.vocabulary), output="logits")
    real, cache = TensorProto.FLOAT, ["batch", heads, "past", d.size]
    names = [f"{part}{layer}" for layer in range(layers) for part in "kv"]
    inputs = [helper.make_tensor_value_info("token", TensorProto.INT64, ["batch", 1])]
    inputs += [helper.make_tensor_value_info(f"past_{name}", real, cache) for name in names]
    outputs = [helper.make_tensor_value_info("logits", real, ["batch", 1, d.vocabulary])]
    grown = ["batch", heads, "total", d.size]
    outputs += [helper.make_tensor_value_info(f"present_{name}", real, grown) for name in names]
    graph = helper.make_graph(d.nodes, kind, inputs, outputs, d.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString()


def one_pass(program: fd.Program, session: Any, shape: Sequence[int], caches: int, steps: int) -> tuple[Any, float]:
    """Seconds of each step of both, and the greatest difference of logits."""
    batch, heads, size = shape
    empty = [np.zeros((batch, heads, 0, size), np.float32) for _ in range(caches)]
    ours, theirs = list(empty), list(empty)
    token = np.zeros((batch, 1), np.int64)
    names = [each.name for each in session.get_inputs()]
    seconds = np.zeros((steps, 2))
    worst = 0.0
    for step in range(steps):
        start = time.perf_counter()
        logits, *ours = program(token, *ours)
        middle = time.perf_counter()
        expected, *theirs = session.run(None, dict(zip(names, [token, *theirs], strict=True)))
        seconds[step] = middle - start, time.perf_counter() - middle
        worst = max(worst, float(np.abs(logits - expected).max()))
        token = expected.argmax(-1).astype(np.int64)
    return seconds, worst


def main() -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=("llama", "gpt2"), default="llama")
    for name, default in (("layers", 4), ("width", 256), ("heads", 8), ("steps", 256), ("threads", 1), ("batch", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--strategy", default="cost", help="`cost` makes attention to the caches one kernel")
    options = parser.parse_args()
    import onnxruntime

    model = decoder_model(options.kind, options.layers, options.width, options.heads)
    how = onnxruntime.SessionOptions()
    how.intra_op_num_threads = options.threads
    session = onnxruntime.InferenceSession(model, how, providers=["CPUExecutionProvider"])
    start = time.perf_counter()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "decoder.onnx"
        path.write_bytes(model)
        program = fd.compile(str(path), threads=options.threads, cache=False, strategy=options.strategy)
    print(f"compiled in {time.perf_counter() - start:.1f} s; onnxruntime {onnxruntime.__version__}")
    shape = options.batch, options.heads, options.width // options.heads
    for number in range(options.passes):
        seconds, worst = one_pass(program, session, shape, 2 * options.layers, options.steps)
        ours, theirs = seconds.T * 1e3
        middle = np.median(ours), np.median(theirs)
        print(
            f"pass {number + 1}: median {middle[0]:.3f} ms, onnxruntime {middle[1]:.3f} ms, ratio of medians "
            f"{middle[0] / middle[1]:.2f}, of sums {ours.sum() / theirs.sum():.2f}; "
            f"slowest {ours.max():.2f} ms after the first ({ours[1:].max() / middle[0]:.1f} times the median), "
            f"first {ours[0]:.1f} ms; logits differ by {worst:.1e}"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
