"""Time of convolutions by themselves over onnxruntime's: 47 cases, each a model of one operator.

    python tools/bench_convolutions.py [--threads N] [--target-cpu CPU] [--only WORD] [--layouts] [--json FILE]

Images come with their channels first, as ONNX has them, so that whoever wants them last moves them. Weights are
constants. Outputs are compared first: a case that differs by more than 1e-3 of the largest element is wrong. Then both
engines are timed in turns, and the best time of each counts: on one thread the time of the processor, so that a machine
that others use tells the same, else the time that passes.

`--layouts` measures besides what the same program takes with every image as it comes (`first`) and with the channels
of every image last (`last`): what `convert-layout{if-profitable}` chooses between. The choice is good where `ours` is
near the lesser of them.

`--target-cpu haswell` makes our code for AVX2; onnxruntime takes the instructions that the processor says it has.
"""

# onnxruntime is no dependency of the checks, and says little about its types.
# pyright: basic, reportMissingImports=false

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import geometric_mean
from time import perf_counter, process_time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from population.measuring import best_seconds, difference
from xdsl.context import Context

import fuse_dialect as fd
from fuse_dialect.backends.compile import compile_program
from fuse_dialect.backends.options import CompileOptions
from fuse_dialect.backends.runtime.program import Program
from fuse_dialect.frontends.onnx.reader import read_onnx_module
from fuse_dialect.transforms.compile_prefix import compile_prefix
from fuse_dialect.transforms.convert_layout import ConvertLayoutPass

LEAST_SECONDS = 0.01
"""How long each engine is called in one turn, at least."""
WRONG = 1e-3
"""Greatest difference over the largest element."""


@dataclass(frozen=True, slots=True)
class Case:
    """One convolution; a batch of one image."""

    sort: str
    inputs: int
    outputs: int
    """Channels."""
    pixels: tuple[int, ...]
    kernel: int
    step: int = 1
    groups: int = 1
    dilation: int = 1

    @property
    def is_transposed(self) -> bool:
        """Whether it is the gradient of a convolution, which makes images larger."""
        return self.sort == "transposed"

    @property
    def name(self) -> str:
        """What tables call it."""
        window = "x".join([str(self.kernel)] * len(self.pixels))
        parts = [self.sort, window, f"{self.inputs}-{self.outputs}", "x".join(map(str, self.pixels))]
        parts += [f"/{self.step}"] if self.step > 1 else []
        parts += [f"g{self.groups}"] if 1 < self.groups < self.inputs else []
        parts += [f"d{self.dilation}"] if self.dilation > 1 else []
        return " ".join(parts)

    def model(self) -> onnx.ModelProto:
        """The model, with weights from a fixed seed."""
        rank, random = len(self.pixels), np.random.default_rng(0)
        window = (self.kernel,) * rank
        first, second = (self.inputs, self.outputs) if self.is_transposed else (self.outputs, self.inputs)
        weight = random.standard_normal((first, second // self.groups, *window)).astype(np.float32)
        bias = random.standard_normal(self.outputs).astype(np.float32)
        reach = self.dilation * (self.kernel - 1)
        pads = [(self.kernel - self.step) // 2 if self.is_transposed else reach // 2] * (2 * rank)
        node = helper.make_node(
            "ConvTranspose" if self.is_transposed else "Conv",
            ["x", "w", "b"],
            ["y"],
            kernel_shape=window,
            strides=[self.step] * rank,
            dilations=[self.dilation] * rank,
            group=self.groups,
            pads=pads,
        )
        graph = helper.make_graph(
            [node],
            "convolution",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, self.inputs, *self.pixels))],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(bias, "b")],
        )
        opsets = [helper.make_opsetid("", 17)]
        return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=opsets, ir_version=9))


def _images(sort: str, rows: Sequence[tuple[int, ...]]) -> list[Case]:
    """Cases of square images: channels in and out, size, kernel, step, groups, dilation."""
    return [Case(sort, each[0], each[1], (each[2], each[2]), *each[3:]) for each in rows]


CASES = (
    *_images(
        "conv",
        [
            (8, 8, 112, 3),
            (16, 16, 56, 3),
            (32, 32, 96, 3),
            (32, 32, 28, 3),
            (64, 64, 56, 3),
            (128, 128, 28, 3),
            (256, 256, 14, 3),
            (512, 512, 7, 3),
            (256, 256, 13, 3),
            (96, 96, 35, 3),
            (64, 64, 224, 3),
            (64, 48, 56, 3),
            (64, 8, 56, 3),
            (128, 128, 56, 3, 1, 32),
            (256, 256, 28, 3, 1, 32),
            (3, 32, 112, 3, 2),
            (32, 3, 96, 3),
            (1, 32, 28, 3),
            (64, 128, 56, 3, 2),
            (64, 64, 28, 3, 1, 4),
            (64, 64, 28, 3, 1, 1, 2),
            (8, 8, 112, 1),
            (16, 96, 56, 1),
            (64, 64, 56, 1),
            (256, 64, 56, 1),
            (512, 512, 14, 1),
            (512, 512, 7, 1),
            (128, 256, 28, 1, 2),
            (3, 64, 112, 7, 2),
            (8, 8, 56, 7),
            (32, 64, 28, 5),
            (16, 1, 56, 7),
        ],
    ),
    *_images(
        "depthwise",
        [
            (channels, channels, size, kernel, step, channels)
            for channels, size, kernel, step in (
                (32, 112, 3, 1),
                (96, 56, 3, 2),
                (512, 7, 3, 1),
                (64, 28, 5, 1),
                (64, 56, 7, 1),
                (384, 14, 7, 1),
                (64, 28, 13, 1),
                (32, 28, 31, 1),
            )
        ],
    ),
    *_images("transposed", [(64, 32, 28, 2, 2), (128, 64, 14, 4, 2), (512, 256, 7, 4, 2), (32, 3, 48, 4, 2)]),
    Case("3-D", 16, 16, (16, 28, 28), 3),
    Case("3-D", 32, 64, (8, 14, 14), 3),
    Case("3-D", 64, 64, (8, 14, 14), 1),
)
"""3x3, 1x1, 5x5 and 7x7, depthwise of 3 to 31, transposed and 3-D; 1 to 512 channels, images of 224 to 7."""


@dataclass(slots=True)
class Row:
    """What a case takes, in seconds of a call."""

    name: str
    ours: float = math.inf
    theirs: float = math.inf
    first: float = math.nan
    last: float = math.nan
    difference: float = 0.0

    @property
    def ratio(self) -> float:
        """Our time over theirs."""
        return self.ours / self.theirs


def _programs(case: Case, model: onnx.ModelProto, options: argparse.Namespace) -> dict[str, Program]:
    common = CompileOptions(threads=options.threads, target_cpu=options.target_cpu)
    module = read_onnx_module(model.SerializeToString(), f"{case.name}.onnx")
    programs = {"ours": compile_program(module, common)}
    if options.layouts:
        kept = CompileOptions(threads=options.threads, target_cpu=options.target_cpu, layout="keep")
        programs["first"] = compile_program(module, kept)
        for each in (*compile_prefix("keep"), ConvertLayoutPass("NHWC")):
            each.apply(Context(), module)
        programs["last"] = compile_program(module, kept)
    return programs


def measured(case: Case, options: argparse.Namespace) -> Row:
    """All engines on one case."""
    import onnxruntime

    model = case.model()
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    image = np.random.default_rng(1).standard_normal((1, case.inputs, *case.pixels)).astype(np.float32)
    row = Row(case.name)
    calls: dict[str, Callable[[], object]] = {"theirs": lambda: session.run(None, {"x": image})}
    expected = session.run(None, {"x": image})[0]
    for name, program in _programs(case, model, options).items():
        row.difference = max(row.difference, difference(expected, program(image)[0]))
        calls[name] = lambda program=program: program(image)
    clock = process_time if options.threads == 1 else perf_counter
    best = dict.fromkeys(calls, math.inf)
    for _ in range(options.rounds):
        for name, call in calls.items():
            best[name] = min(best[name], best_seconds(call, clock, LEAST_SECONDS))
    for name, seconds in best.items():
        setattr(row, name, seconds)
    return row


def table(rows: Sequence[Row]) -> str:
    """The rows in Markdown, losses first, and what they say together."""
    has_layouts = any(not math.isnan(row.first) for row in rows)
    more = ("first", "last") if has_layouts else ()
    lines = [f"| case | us | onnxruntime | ratio |{''.join(f' {name} |' for name in more)}"]
    lines.append("|---" * (4 + len(more)) + "|")
    for row in sorted(rows, key=lambda row: -row.ratio):
        wrong = " WRONG" if row.difference > WRONG else ""
        cells = [row.name, f"{row.ours * 1e6:.1f}", f"{row.theirs * 1e6:.1f}", f"{row.ratio:.2f}{wrong}"]
        cells += [f"{getattr(row, name) / row.theirs:.2f}" for name in more]
        lines.append(f"| {' | '.join(cells)} |")
    ratios = [row.ratio for row in rows]
    lines.append("")
    above = sum(ratio > 1.2 for ratio in ratios)
    lines.append(f"mean {geometric_mean(ratios):.3f}, worst {max(ratios):.2f}, {above} of {len(rows)} above 1.2")
    return "\n".join(lines)


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1, help="threads of either engine (default: 1)")
    parser.add_argument("--target-cpu", help="processor that our code is made for (default: the one at hand)")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each engine (default: 7)")
    parser.add_argument("--only", default="", metavar="WORD", help="cases whose names have this in them")
    parser.add_argument("--layouts", action="store_true", help="measure each layout besides")
    parser.add_argument("--json", type=Path, help="write the numbers to a file")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; 1 if an output is wrong."""
    options = _arguments(arguments)
    import onnxruntime

    print(f"fuse_dialect {fd.__version__} over onnxruntime {onnxruntime.__version__}, threads: {options.threads}")
    rows: list[Row] = []
    for case in CASES:
        if options.only in case.name:
            rows.append(measured(case, options))
            print(f"{rows[-1].ratio:6.2f}x {case.name}", file=sys.stderr, flush=True)
            if options.json is not None:
                options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    print(table(rows))
    return int(any(row.difference > WRONG for row in rows))


if __name__ == "__main__":
    sys.exit(main())
