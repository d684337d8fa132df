"""What large weights cost: memory and time from an ONNX model to fused text and a weights file.

    python tools/bench_weights.py gpt2 bert resnet50
    python tools/bench_weights.py model.onnx

`gpt2` (124M parameters) and `bert` (base) are exported by PyTorch from random weights, which needs `torch`,
`transformers` and `onnxscript`; `resnet50` is made here. Each step runs in a process of its own:

1. the whole command, `fuse-opt model.onnx --fuse-ops -o ... --weights ...`: wall time and peak memory;
2. the same from Python, without the time of imports: `read`, `fuse_ops`, `write`;
3. `onnx.load` and the making of an onnxruntime session, without and with the time of the process around them.

Memory is the greatest resident set (`VmHWM` of Linux), the pages of mapped files included, divided by the bytes of the
weights. The best of `--repeat` times counts; ours and theirs take turns. Models and results go to a folder that is
removed at the end.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import onnx

from fuse_dialect.dialect.mapped_file import map_file
from fuse_dialect.frontends.onnx.embedded_data import without_large_tensors

_MB = 1e6
_OURS = """
import sys
import fuse_dialect.frontends.onnx.reader, fuse_dialect.targets.weights
import fuse_dialect as fd
fd.read, fd.fuse_ops, fd.write
import fuse_dialect.loading.module_file, fuse_dialect.fusion.fuse_ops, fuse_dialect.targets.mlir
from time import perf_counter
start = perf_counter()
fd.write(fd.fuse_ops(fd.read(sys.argv[1])), sys.argv[2], weights=sys.argv[3])
print(perf_counter() - start)
"""
_THEIRS = """
import sys
import onnx, onnxruntime
from time import perf_counter
start = perf_counter()
model = onnx.load(sys.argv[1])
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
print(perf_counter() - start)
"""
_EXPORT = """
import sys, torch, transformers
kind, path = sys.argv[1:]
torch.manual_seed(0)
if kind == "gpt2":
    config = transformers.GPT2Config(use_cache=False, attn_implementation="eager")
    model, field = transformers.GPT2LMHeadModel(config), "logits"
else:
    model, field = transformers.BertModel(transformers.BertConfig(attn_implementation="eager")), "last_hidden_state"

class Alone(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = model
    def forward(self, tokens):
        return getattr(self.model(tokens), field)

tokens = torch.zeros(1, 64, dtype=torch.long)
torch.onnx.export(Alone().eval(), (tokens,), dynamo=True, verbose=False).save(path, external_data=False)
"""


_PEAK = """
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
"""Prints the peak memory in KiB; what a parent is told of its child counts its own memory too."""
_COMMAND = """
import sys
from fuse_dialect.tools.fuse_opt import main
if main(sys.argv[1:]):
    sys.exit(1)
"""


@dataclass(frozen=True, slots=True)
class Process:
    """What a process took."""

    seconds: float
    """Wall time."""
    output: list[str]
    """Lines."""

    @property
    def peak_bytes(self) -> int:
        """Peak memory, if that is the last line."""
        return int(self.output[-1]) * 1024


def run(command: Sequence[str]) -> Process:
    """Run a command to its end.

    Raises:
        SystemExit: It failed.
    """
    start = perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed with exit code {done.returncode}")
    return Process(perf_counter() - start, done.stdout.splitlines())


def _export(kind: str) -> Callable[[Path], None]:
    return lambda path: print(*run([sys.executable, "-W", "ignore", "-c", _EXPORT, kind, str(path)]).output, sep="\n")


def _resnet(path: Path) -> None:
    from runtime_bench.networks import resnet

    path.write_bytes(resnet(50).SerializeToString())


MAKERS: dict[str, Callable[[Path], None]] = {"gpt2": _export("gpt2"), "bert": _export("bert"), "resnet50": _resnet}
"""Models that can be made here."""


def weight_bytes(model: Path) -> int:
    """Bytes of the model's tensors, in its file or beside it."""
    # Nothing is read here: a process counts the pages of its parent, until it has started.
    data = map_file(model)
    assert data is not None, "a model is not empty"
    short = without_large_tensors(data)
    proto = onnx.ModelProto.FromString(bytes(data) if short is None else short)
    sizes = (
        int(next(entry.value for entry in tensor.external_data if entry.key == "length"))
        if tensor.data_location == onnx.TensorProto.EXTERNAL
        else tensor.ByteSize()
        for tensor in proto.graph.initializer
    )
    return sum(sizes)


def measure(name: str, model: Path, folder: Path, repeat: int) -> str:
    """Lines with the figures of a model."""
    text, weights = str(folder / "fused.mlir"), str(folder / "fused.safetensors")
    command = [sys.executable, "-c", _COMMAND + _PEAK, str(model), "--fuse-ops", "-o", text, "--weights", weights]
    calls = [sys.executable, "-c", _OURS, str(model), text, weights]
    theirs_alone = [sys.executable, "-c", _THEIRS + _PEAK, str(model)]
    ours: list[tuple[Process, float]] = []
    theirs: list[tuple[Process, float]] = []
    for _ in range(repeat):
        ours.append((run(command), float(run(calls).output[0])))
        process = run(theirs_alone)
        theirs.append((process, float(process.output[0])))
    size = weight_bytes(model)
    our_whole, their_whole = (min(process.seconds for process, _ in runs) for runs in (ours, theirs))
    our_calls, their_calls = (min(seconds for _, seconds in runs) for runs in (ours, theirs))
    peak, their_peak = (min(process.peak_bytes for process, _ in runs) for runs in (ours, theirs))
    return (
        f"{name}: weights {size / _MB:.0f} MB, text {Path(text).stat().st_size / _MB:.2f} MB, "
        f"weights file {Path(weights).stat().st_size / _MB:.0f} MB\n"
        f"  peak memory   {peak / _MB:.0f} MB, {peak / size:.2f}x the weights"
        f" (onnx.load and a session: {their_peak / _MB:.0f} MB, {their_peak / size:.2f}x)\n"
        f"  whole process {our_whole:.2f} s, theirs {their_whole:.2f} s, ratio {our_whole / their_whole:.2f}\n"
        f"  calls alone   {our_calls:.2f} s, theirs {their_calls:.2f} s, ratio {our_calls / their_calls:.2f}\n"
        f"  whole process of ours to calls alone of theirs: ratio {our_whole / their_calls:.2f}"
    )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Memory and time from ONNX to fused text and a weights file.")
    parser.add_argument("models", nargs="+", help=f"an .onnx file, or one of {', '.join(MAKERS)}")
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many runs counts (default: %(default)s)")
    parser.add_argument("--folder", help="parent of the folder for models and results (default: that of the system)")
    options = parser.parse_args()
    with TemporaryDirectory(dir=options.folder) as temporary:
        folder = Path(temporary)
        for name in options.models:
            model = Path(name)
            if name in MAKERS:
                model = folder / f"{name}.onnx"
                MAKERS[name](model)
            print(measure(name, model, folder, options.repeat), flush=True)
            if name in MAKERS:
                model.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
