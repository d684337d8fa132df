"""Mutated models and programs, read and processed in this process: nothing may come out but a result or a diagnosis.

    python tools/fuzz_inputs.py --count 1000 --seed 0         half of them text, half ONNX
    python tools/fuzz_inputs.py --kind onnx --count 1 --seed 123 --keep failed/
    python tools/fuzz_inputs.py --kind cli --wide --count 10000        through `fuse-opt`, from more originals

With `--cluster local:2` portions of the seeds run in processes of their own.

`mutated_inputs` makes an input of an original: text by tokens, by the numbers of types and attributes, and by bytes,
models by fields of their messages and by bytes; `random` makes text of no original. Each input has its own seed, so
that a failure is repeated by its number alone. Memory is limited to what the process may take at most, time to seconds
for each input. An error that is not a `FuseError`, says "internal error", or has control characters, is a failure; so
is printed text that is not read back as the same, a file of output that is not whole, and a peak of memory over a
gigabyte.
"""

import argparse
import random
import re
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from types import FrameType
from typing import TypeAlias
from zlib import crc32

import numpy as np
from checking.cluster import add_cluster, spread
from fuzzing.hostile_inputs import TRAPS
from fuzzing.mutated_inputs import mutated_bytes, mutated_head, mutated_model, mutated_text, mutated_values, random_text
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.mlir.deep_stack import call_with_deep_stack
from fuse_dialect.frontends.mlir.reader import context, read_mlir
from fuse_dialect.frontends.mlir.source_map import SourceMap
from fuse_dialect.frontends.mlir.weights_file import open_weights, resolve_weights
from fuse_dialect.frontends.onnx.reader import read_onnx_module
from fuse_dialect.frontends.stablehlo.convert_stablehlo_to_fuse import ConvertStableHLOToFusePass
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.inline import InlinePass
from fuse_dialect.hardware.fuse_ops_hw import FuseOpsHwPass
from fuse_dialect.loading.array_archives import read_arrays
from fuse_dialect.loading.failure import located_errors
from fuse_dialect.loading.verification import verify_module
from fuse_dialect.targets.convert_fuse_to_linalg import ConvertFuseToLinalgPass
from fuse_dialect.targets.mlir import FuseMLIRTarget
from fuse_dialect.tools.fuse_opt import main as fuse_opt
from fuse_dialect.transforms.compile_prefix import CompilePrefixPass
from fuse_dialect.transforms.convert_layout import ConvertLayoutPass
from fuse_dialect.transforms.defuse_ops import DefuseOpsPass
from fuse_dialect.transforms.eliminate_common_subexpr import EliminateCommonSubexprPass
from fuse_dialect.transforms.extract_primitives import ExtractPrimitivesPass
from fuse_dialect.transforms.fold_constants import FoldConstantsPass
from fuse_dialect.transforms.fold_scale_axis import FoldScaleAxisPass
from fuse_dialect.transforms.refine_shapes import RefineShapesPass
from fuse_dialect.transforms.rename_primitives import RenamePrimitivesPass
from fuse_dialect.transforms.simplify_inference import SimplifyInferencePass

PORTION = 200
"""Inputs of one process on a cluster."""
PIPELINES = (
    (SimplifyInferencePass(), FoldConstantsPass(), FuseOpsPass(), DefuseOpsPass()),
    (EliminateCommonSubexprPass(), FoldScaleAxisPass(), ConvertLayoutPass(), FuseOpsPass(link_params=True)),
    (CompilePrefixPass(), FuseOpsPass(max_function_args=6, dedup=False), ExtractPrimitivesPass()),
    (FuseOpsHwPass(), DefuseOpsPass(), FoldConstantsPass()),
    (InlinePass(), FuseOpsPass(), RenamePrimitivesPass(), DefuseOpsPass()),
    (InlinePass(), ConvertStableHLOToFusePass(), RefineShapesPass(), FuseOpsPass()),
    (ConvertStableHLOToFusePass(), CompilePrefixPass(), FuseOpsPass(), ConvertFuseToLinalgPass()),
)
"""What an input goes through: the one that its checksum chooses."""
ROOT = Path(__file__).parent.parent
GIGABYTE = 2**30
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_BUG = re.compile(r"internal error|Traceback \(most")


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong with one input."""

    seed: int
    kind: str
    reason: str
    data: bytes


class _Late(BaseException):
    """The time for one input is over; no handler of errors may take it for one."""


def text_corpus(*, wide: bool = False) -> list[bytes]:
    """Small programs: those of the documentation, and small traps; `wide` adds those of the tests."""
    programs = [path.read_bytes() for path in sorted((ROOT / "docs" / "examples").glob("*.mlir"))]
    programs += [trap.make(4) for trap in TRAPS if trap.extension == "mlir"]
    if wide:
        for path in sorted((ROOT / "tests" / "filecheck").rglob("*.mlir")):
            # One in four parts: the parts of a file are much alike.
            programs += [part for part in path.read_bytes().split(b"// -----\n")[::4] if 0 < len(part) < 6000]
        # What JAX, mlir-opt, IREE and torch-mlir print.
        printed = (ROOT / "tests" / "data" / folder for folder in ("jax", "mlir"))
        texts = (path.read_bytes() for folder in printed for path in sorted(folder.rglob("*.mlir")))
        small = [text for text in texts if len(text) < 6000]
        programs += [*small, *map(_in_generic_form, small)]
    return programs


def _in_generic_form(text: bytes) -> bytes:
    """The same program with every op as `"name"(...) <{...}>`: in it wrong properties can be said. Or as it is."""
    stream, ctx = StringIO(), context(allow_unregistered=True)
    try:
        Printer(stream, print_generic_format=True).print_op(read_mlir(text, "fuzz.mlir", ctx)[0])
    except FuseError:
        return text
    return stream.getvalue().encode()


def _vendor_models() -> list[bytes]:
    """Models of one operator of com.microsoft or ai.onnx.ml each."""
    models: list[bytes] = []
    for path in sorted((ROOT / "tests" / "data" / "vendor").glob("*.npz")):
        with np.load(path) as data:
            models += [data[name].tobytes() for name in data.files if name.endswith(".model")]
    return models


def model_corpus(*, wide: bool = False) -> list[bytes]:
    """Small models: those of the documentation, and small traps; `wide` adds those of ONNX's own tests of operators."""
    models = [path.read_bytes() for path in sorted((ROOT / "docs" / "examples").glob("*.onnx"))]
    models += _vendor_models()
    models += [trap.make(4) for trap in TRAPS if trap.extension == "onnx" and trap.name != "onnx-ranges"]
    if wide:
        # Imported here: it makes the models by running all cases, which takes seconds.
        from onnx.backend.test.case.node import collect_testcases

        cases = (case.model.SerializeToString() for case in collect_testcases(None) if case.model is not None)
        models += [data for data in cases if len(data) < 6000]
    return models


def run_text(data: bytes) -> None:
    """Read, verify, transform and print text, as the tools do."""
    ctx = context(allow_unregistered=True)

    def work() -> None:
        module, places = read_mlir(data, "fuzz.mlir", ctx)
        _process(module, places, ctx, data)

    try:
        work()
    except RecursionError:
        call_with_deep_stack(work, "fuzz.mlir")


def run_model(data: bytes) -> None:
    """Read, verify, transform and print a model."""
    ctx = context(allow_unregistered=True)
    module = read_onnx_module(data, "fuzz.onnx", allow_unsupported=len(data) % 2 == 0)
    _process(module, SourceMap("fuzz.onnx", ""), ctx, data)


def _process(module: ModuleOp, places: SourceMap, ctx: Context, data: bytes) -> None:
    with located_errors(places, " in the verifier"):
        verify_module(module)
    for each in PIPELINES[crc32(data) % len(PIPELINES)]:
        with located_errors(places, f" in pass '{each.name}'"):
            each.apply(ctx, module)
        with located_errors(places, f" after pass '{each.name}'"):
            verify_module(module)
    text = _printed(module, ctx)
    try:
        # A new context: names of resources that the old one knows would get another number.
        again = _printed(read_mlir(text.encode(), "printed.mlir", context(allow_unregistered=True))[0], ctx)
    except FuseError as error:
        raise AssertionError(f"what was printed cannot be read: {error.diagnostic.format()!r}") from error
    assert again == text, "what was printed is read as something else"


def _printed(module: ModuleOp, ctx: Context) -> str:
    stream = StringIO()
    FuseMLIRTarget().emit(ctx, module, stream)
    return stream.getvalue()


_BEFORE = "what was there before\n"


def run_tool(data: bytes) -> None:
    """Let `fuse-opt` read the input and write a file: whole, or left as it was."""
    is_text = b"func" in data or b"module" in data
    errors = StringIO()
    with TemporaryDirectory() as name:
        folder = Path(name)
        source, output = folder / ("fuzz.mlir" if is_text else "fuzz.onnx"), folder / "out.mlir"
        source.write_bytes(data)
        output.write_text(_BEFORE)
        flags = ["--allow-unregistered-dialect", "--allow-unsupported-onnx", "--fuse-ops", "--fusion-remarks"]
        with redirect_stderr(errors), redirect_stdout(errors):
            status = fuse_opt([*flags[: 1 + crc32(data) % 4], str(source), "-o", str(output)])
        left = sorted(path.name for path in folder.iterdir())
        text = output.read_text()
    told = errors.getvalue()
    assert not _BUG.search(told), told
    assert not _CONTROL.search(told), f"control characters: {told!r}"
    assert left == sorted([source.name, output.name]), f"files {left}"
    assert status in (0, 1), f"status {status}"
    assert (status == 0) == (not told.startswith(str(source)) or ": error: " not in told), told
    assert (text == _BEFORE) == (status == 1), "half-written output"
    if status == 0:
        read_mlir(text.encode(), "out.mlir", context(allow_unregistered=True))


def array_corpus(*, wide: bool = False) -> list[bytes]:
    """Archives of arrays, plain and compressed."""
    files: list[bytes] = []
    for save in (np.savez, np.savez_compressed):
        stream = BytesIO()
        save(stream, x=np.arange(4.0), y=np.ones((2, 3), np.int8), z=np.array(True))
        files.append(stream.getvalue())
    return files


def run_arrays(data: bytes) -> None:
    """Read an archive of arrays."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "fuzz.npz"
        path.write_bytes(data)
        read_arrays(str(path))


_REFERS = """func.func @main() -> (tensor<4xf32>, tensor<2x3xi8>, tensor<i1>) {
  %x = arith.constant dense_resource<x> : tensor<4xf32>
  %y = arith.constant dense_resource<y> : tensor<2x3xi8>
  %z = arith.constant dense_resource<z> : tensor<i1>
  return %x, %y, %z : tensor<4xf32>, tensor<2x3xi8>, tensor<i1>
}"""


def weights_corpus(*, wide: bool = False) -> list[bytes]:
    """Weights of `_REFERS`."""
    from safetensors.numpy import save

    arrays = {"x": np.arange(4, dtype=np.float32), "y": np.ones((2, 3), np.int8), "z": np.array(True)}
    return [save(arrays), save(arrays, {"made": "by fuzz_inputs"})]


def run_weights(data: bytes) -> None:
    """Read a weights file, and give a program its constants."""
    ctx = context()
    module, places = read_mlir(_REFERS, "fuzz.mlir", ctx)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "fuzz.safetensors"
        path.write_bytes(data)
        with located_errors(places, " while reading weights"):
            resolve_weights(module, open_weights(str(path)))
        verify_module(module)
        FuseMLIRTarget().emit(ctx, module, StringIO())


Corpus: TypeAlias = Callable[..., list[bytes]]
Mutation: TypeAlias = Callable[[bytes, random.Random], bytes]

KINDS: dict[str, tuple[Corpus, Sequence[Mutation], Callable[[bytes], None]]] = {
    "mlir": (text_corpus, (mutated_text, mutated_values, mutated_values, mutated_bytes), run_text),
    "onnx": (model_corpus, (mutated_model, mutated_model, mutated_bytes), run_model),
    "npz": (array_corpus, (mutated_bytes,), run_arrays),
    "weights": (weights_corpus, (mutated_head, mutated_head, mutated_bytes), run_weights),
    "random": (text_corpus, (random_text,), run_text),
    "cli": (text_corpus, (mutated_text, mutated_bytes), run_tool),
    "cli-onnx": (model_corpus, (mutated_model, mutated_bytes), run_tool),
}
"""For each kind of input the originals, the mutations and what is done with an input."""


def fuzz(kind: str, seeds: Sequence[int], *, seconds: int = 10, wide: bool = False) -> list[Failure]:
    """Try one mutated input for each seed.

    Args:
        kind: One of `KINDS`.
        seeds: One for each input.
        seconds: Time for each.
        wide: Whether to take more originals.
    """
    return [failure for failure in _failures(kind, seeds, seconds, wide) if failure is not None]


def _failures(kind: str, seeds: Sequence[int], seconds: int, wide: bool) -> Iterator[Failure | None]:
    """For each seed what went wrong, or `None`."""
    make_corpus, mutations, run = KINDS[kind]
    corpus = make_corpus(wide=wide)
    peak = _peak()
    for seed in seeds:
        rng = random.Random(seed)
        data = rng.choice(mutations)(rng.choice(corpus), rng)
        reason = _reason(run, data, seconds)
        if _peak() > max(peak, GIGABYTE):
            peak = _peak()
            reason = reason or f"{peak / 2**20:.0f} MB"
        yield None if reason is None else Failure(seed, kind, reason, data)


def _peak() -> int:
    """Most bytes that the process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


_SIGNALS = (signal.SIGPROF, signal.SIGALRM)


def _reason(run: Callable[[bytes], None], data: bytes, seconds: int) -> str | None:
    """Why a run is a failure, `None` if it is none."""
    # Time of the processor, which other work does not change; and ten times as much by the clock, for what waits.
    previous = [signal.signal(each, _on_alarm) for each in _SIGNALS]
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(10 * seconds)
    try:
        run(data)
    except FuseError as error:
        text = error.diagnostic.format()
        if _BUG.search(text):
            return text
        if _CONTROL.search(text):
            return f"control characters: {text!r}"
    except _Late:
        return f"more than {seconds} s"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for each, handler in zip(_SIGNALS, previous, strict=True):
            signal.signal(each, handler)
    return None


def _on_alarm(number: int, frame: FrameType | None) -> None:
    raise _Late


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz from the command line; 1 when an input fails."""
    parser = argparse.ArgumentParser(description="Mutated inputs, read and processed.")
    parser.add_argument("--count", type=int, default=1000, help="inputs in all (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="of the first input (default: 0)")
    parser.add_argument("--kind", choices=(*KINDS, "both"), default="both", help="default: mlir and onnx, half each")
    parser.add_argument("--seconds", type=int, default=10, help="time for each input (default: 10)")
    parser.add_argument("--gigabytes", type=float, default=4.0, help="address space of the process (default: 4)")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no input after so long (default: no limit)")
    parser.add_argument("--wide", action="store_true", help="more originals: of the tests, and of ONNX itself")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write inputs that fail there")
    add_cluster(parser)
    options = parser.parse_args(arguments)
    if options.cluster is not None:
        seeds = range(options.seed, options.seed + options.count)
        return spread(options.cluster, __file__, arguments, seeds, PORTION, minutes=options.minutes)
    limit = int(options.gigabytes * GIGABYTE)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    kinds = ("mlir", "onnx") if options.kind == "both" else (options.kind,)
    end, done, failed = monotonic() + 60 * options.minutes, 0, 0
    for kind in kinds:
        seeds = range(options.seed, options.seed + options.count // len(kinds))
        for failure in _failures(kind, seeds, options.seconds, options.wide):
            done += 1
            if monotonic() > end:
                break
            if failure is None:
                continue
            failed += 1
            print(f"{failure.kind} seed {failure.seed}: {failure.reason[:300]}", flush=True)
            if options.keep is not None:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / f"{failure.seed}.{failure.kind}").write_bytes(failure.data)
    print(f"{done} inputs from seed {options.seed} on, {failed} failures, peak {_peak() / 2**20:.0f} MB")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
