"""Time products by weights of few bits beside our own in f32, and onnxruntime's MatMulNBits.

    python tools/bench_blockwise.py --rows 1,16 --bits 4,8 --peer onnxruntime

Each weight is one of `--size` rows and columns (4,096), in blocks of `--block` (32) with a scale each. It is read from
an ONNX model in the form that `--form` says: `MatMulNBits`, `DequantizeLinear` with `block_size`, or `reshape`, the
formula that exporters write. Runs are interleaved, and the least time of `--runs` counts; errors are relative to the
greatest result in f64. onnxruntime computes in f32 (its `accuracy_level` 0) unless `--accuracy-level` says otherwise.
"""

# onnxruntime is no dependency of the checks, and says little about its types.
# pyright: basic, reportMissingImports=false

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).parents[1]))
import fuse_dialect as fd

Array = NDArray[Any]


def model(nodes: list[onnx.NodeProto], weights: list[onnx.TensorProto], rows: int, size: int) -> onnx.ModelProto:
    """A model of one product by a constant."""
    shape = [rows, size]
    graph = helper.make_graph(
        nodes,
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        weights,
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def nbits(q: Array, scale: Array, bits: int, rows: int, level: int) -> onnx.ModelProto:
    """The product as MatMulNBits: weights without sign around the middle of the range."""
    size, block = q.shape[1], q.shape[1] // scale.shape[1]
    stored = (q.astype(np.int16) + (1 << (bits - 1))).astype(np.uint8)
    if bits == 4:
        stored = stored[:, ::2] | stored[:, 1::2] << 4
    stored = stored.reshape(len(q), size // block, block * bits // 8)
    sizes: dict[str, Any] = {"K": size, "N": len(q), "bits": bits, "block_size": block, "accuracy_level": level}
    node = helper.make_node("MatMulNBits", ["x", "q", "s"], ["y"], domain="com.microsoft", **sizes)
    arrays = [numpy_helper.from_array(stored, "q"), numpy_helper.from_array(scale.reshape(-1), "s")]
    return model([node], arrays, rows, size)


def dequantized(q: Array, scale: Array, bits: int, rows: int) -> onnx.ModelProto:
    """The product as DequantizeLinear, a transposition and MatMul."""
    size, block = q.shape[1], q.shape[1] // scale.shape[1]
    type = TensorProto.INT4 if bits == 4 else TensorProto.INT8
    stored = helper.make_tensor("q", type, q.shape, q.reshape(-1))
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "s"], ["w"], axis=1, block_size=block),
        helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0]),
        helper.make_node("MatMul", ["x", "t"], ["y"]),
    ]
    return model(nodes, [stored, numpy_helper.from_array(scale, "s")], rows, size)


def reshaped(q: Array, scale: Array, bits: int, rows: int) -> onnx.ModelProto:
    """The product by the formula: integers in blocks, times their scales, as a matrix."""
    size, blocks = q.shape[1], scale.shape[1]
    stored = helper.make_tensor(
        "q", TensorProto.INT4 if bits == 4 else TensorProto.INT8, (len(q), blocks, size // blocks), q.reshape(-1)
    )
    nodes = [
        helper.make_node("Cast", ["q"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["f", "s"], ["m"]),
        helper.make_node("Reshape", ["m", "shape"], ["w"]),
        helper.make_node("Gemm", ["x", "w"], ["y"], transB=1),
    ]
    arrays = [
        stored,
        numpy_helper.from_array(scale[..., None], "s"),
        numpy_helper.from_array(np.array(q.shape, np.int64), "shape"),
    ]
    return model(nodes, arrays, rows, size)


def compiled(proto: onnx.ModelProto, target: str | None) -> Any:
    """Our program of a model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "product.onnx")
        path.write_bytes(proto.SerializeToString())
        return fd.compile(fd.read(path), threads=1, target_cpu=target)


def peer(proto: onnx.ModelProto) -> Any:
    """A session of onnxruntime on one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def least(calls: dict[str, Callable[[], object]], runs: int) -> dict[str, float]:
    """The least milliseconds of each call; they take turns."""
    found = dict.fromkeys(calls, float("inf"))
    for _ in range(runs):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            found[name] = min(found[name], (time.perf_counter() - begin) * 1e3)
    return found


def numbers(text: str) -> list[int]:
    """Natural numbers between commas."""
    return [int(each) for each in text.split(",")]


def measured(bits: int, rows: int, options: argparse.Namespace) -> str:
    """The line of one product."""
    rng, size, half = np.random.default_rng(0), options.size, 1 << (bits - 1)
    x = rng.standard_normal((rows, size), dtype=np.float32)
    q = rng.integers(-half, half, (size, size)).astype(np.int8)
    scale = rng.random((size, size // options.block), dtype=np.float32) / half
    real = (q.astype(np.float32).reshape(*scale.shape, -1) * scale[..., None]).reshape(q.shape)
    packed = nbits(q, scale, bits, rows, options.accuracy_level)
    forms = {"MatMulNBits": lambda: packed, "DequantizeLinear": lambda: dequantized(q, scale, bits, rows)}
    proto = forms.get(options.form, lambda: reshaped(q, scale, bits, rows))()
    dense = helper.make_node("Gemm", ["x", "w"], ["y"], transB=1)
    plain = model([dense], [numpy_helper.from_array(real, "w")], rows, size)
    ours, own = compiled(proto, options.target_cpu), compiled(plain, options.target_cpu)
    calls: dict[str, Callable[[], object]] = {"ours": lambda: ours(x), "f32": lambda: own(x)}
    if options.peer == "onnxruntime":
        session = peer(packed)
        calls["peer"] = lambda: session.run(None, {"x": x})
    times = least(calls, options.runs)
    want = x.astype(np.float64) @ real.T
    error = np.abs(np.asarray(ours(x)).reshape(want.shape) - want).max() / np.abs(want).max()
    beside = times.get("peer", float("nan"))
    return (
        f"{bits:4} {rows:4} {times['ours']:8.2f} {times['f32']:8.2f} {times['ours'] / times['f32']:9.2f}"
        f" {beside:8.2f} {times['ours'] / beside:10.2f} {error:8.1e}"
    )


def main() -> None:
    """Print a line for each number of bits and of rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=numbers, default=[1, 16], help="rows of the other factor (1,16)")
    parser.add_argument("--bits", type=numbers, default=[4, 8], help="bits of an element of the weight (4,8)")
    parser.add_argument("--size", type=int, default=4096, help="rows and columns of the weight")
    parser.add_argument("--block", type=int, default=32, help="elements with one scale")
    parser.add_argument("--form", choices=("MatMulNBits", "DequantizeLinear", "reshape"), default="MatMulNBits")
    parser.add_argument("--runs", type=int, default=30, help="runs of each, of which the least counts")
    parser.add_argument("--target-cpu", help="the processor that our code is made for; by default the one at hand")
    parser.add_argument("--peer", choices=("onnxruntime", "none"), default="none", help="what is timed beside ours")
    parser.add_argument(
        "--accuracy-level", type=int, default=0, help="of onnxruntime's MatMulNBits; 4 rounds x to 8 bits"
    )
    options = parser.parse_args()
    print("bits rows     ours      f32  ours/f32     peer  ours/peer    error")
    for bits in options.bits:
        for rows in options.rows:
            print(measured(bits, rows, options), flush=True)


if __name__ == "__main__":
    main()
