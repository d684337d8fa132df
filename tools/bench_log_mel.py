"""A log-mel front end of sound beside onnxruntime, at several lengths: time of both, and their ratio.

    python tools/bench_log_mel.py [--seconds 1 5 30] [--open]

makes the ONNX model that speech models begin with (windows of 400 of 16,000 samples a second, 160 apart, `STFT`,
power, 80 mels, `Log`), checks that both engines agree, and times them in turns on one thread: the best of several
calls, of the processor's time. The length is known unless `--open` says otherwise.
"""

# onnxruntime is no dependency of the checks, and says little about its types.
# pyright: basic, reportMissingImports=false

import argparse
import sys
from collections.abc import Sequence
from time import process_time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from population.measuring import best_seconds, difference
from vendor_cases.comparing import as_list

import fuse_dialect as fd
from fuse_dialect.frontends.onnx.reader import import_model

RATE, WINDOW, STEP, MELS = 16_000, 400, 160, 80
ROUNDS = 3


def front_end(samples: int | None) -> onnx.ModelProto:
    """The model; samples that are `None` are an open number. Bands are random: what they are changes no time."""
    points = WINDOW // 2 + 1
    bands = np.abs(np.random.default_rng(0).standard_normal((points, MELS))).astype(np.float32)
    constants = {
        "step": np.array(STEP),
        "window": np.hanning(WINDOW + 1)[:-1].astype(np.float32),
        "length": np.array(WINDOW),
        "bands": bands,
        "least": np.array(1e-10, np.float32),
        "last": np.array([-1]),
    }
    nodes = [
        helper.make_node("STFT", ["sound", "step", "window", "length"], ["spectrum"], onesided=1),
        helper.make_node("Mul", ["spectrum", "spectrum"], ["squares"]),
        helper.make_node("ReduceSum", ["squares", "last"], ["power"], keepdims=0),
        helper.make_node("MatMul", ["power", "bands"], ["mels"]),
        helper.make_node("Max", ["mels", "least"], ["bounded"]),
        helper.make_node("Log", ["bounded"], ["y"]),
    ]
    sound = helper.make_tensor_value_info("sound", TensorProto.FLOAT, [1, samples or "n", 1])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, None, MELS])
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "log_mel", [sound], [result], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="A log-mel front end of sound beside onnxruntime.")
    parser.add_argument("--seconds", type=int, nargs="*", default=[1, 5, 30], help="of sound (default: 1 5 30)")
    parser.add_argument("--open", action="store_true", help="one model for all lengths")
    options = parser.parse_args(arguments)
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    print(f"onnxruntime {onnxruntime.__version__}, one thread")
    print("| sound | ours | onnxruntime | ratio | difference |\n|---|---|---|---|---|")
    for seconds in options.seconds:
        model = front_end(None if options.open else seconds * RATE)
        session = onnxruntime.InferenceSession(model.SerializeToString(), settings)
        program = fd.compile(import_model(model), threads=1)
        x = np.random.default_rng(1).standard_normal((1, seconds * RATE, 1)).astype(np.float32)
        apart = difference(session.run(None, {"sound": x})[0], as_list(program(x))[0])
        turns = [
            (
                best_seconds(lambda program=program, x=x: program(x), process_time),
                best_seconds(lambda session=session, x=x: session.run(None, {"sound": x}), process_time),
            )
            for _ in range(ROUNDS)
        ]
        ours, theirs = map(min, zip(*turns, strict=True))
        cells = (f"{ours * 1e3:.2f} ms", f"{theirs * 1e3:.2f} ms", f"{ours / theirs:.3f}x", f"{apart:.0e}")
        print(f"| {seconds} s | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
