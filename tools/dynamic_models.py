"""Import, fuse and run exported models at the sizes of the inputs that lie beside them; a table of what works.

    python tools/dynamic_models.py FOLDER [NAME ...] [--native]

reads what `export_torch_models.py` wrote. A model is equal if the NumPy interpreter before and after fusion, and with
`--native` the compiled program, give what onnxruntime gave, within 1e-5 of the largest element, for all inputs.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import InterpretationError, PassFailedException

from fuse_dialect.backends.compile import compile_program
from fuse_dialect.backends.options import CompileOptions
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.onnx.reader import load_onnx_module
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.transforms.simplify_inference import SimplifyInferencePass

TOLERANCE = 1e-5
"""Of the largest element."""

Arrays = Sequence[Any]


@dataclass(frozen=True)
class Row:
    """What was found of one model."""

    ops: int = 0
    kernels: int = 0
    dynamic: int = 0
    """Ops `dyn_`."""
    verdict: str = "equal"
    error: float = 0.0
    """Greatest, relative to the largest element."""


def examine(path: Path, *, native: bool) -> Row:
    """Run one model every way."""
    try:
        module = load_onnx_module(path)
        module.verify()
    except FuseError as error:
        return Row(verdict=f"not imported: {error}")
    names = [op.name for op in module.walk() if op.name.startswith("fuse.")]
    fused = module.clone()
    SimplifyInferencePass().apply(Context(), fused)
    FuseOpsPass().apply(Context(), fused)
    fused.verify()
    row = Row(len(names), sum("primitive" in op.attributes for op in fused.ops), sum("dyn_" in name for name in names))
    ways: dict[str, Callable[[Arrays], Arrays]] = {"before": _runner(module), "after": _runner(fused)}
    worst = 0.0
    try:
        if native:
            ways["native"] = _native(module)
        for file in sorted(path.parent.glob(f"{path.stem}.*.npz")):
            arrays = list(np.load(file).items())
            inputs = [array for name, array in arrays if not name.startswith("result")]
            expected = [array for name, array in arrays if name.startswith("result")]
            for way, run in ways.items():
                worst = max(worst, _compared(run(inputs), expected, f"{way}, {file.name}"))
    except (FuseError, InterpretationError, PassFailedException, AssertionError) as error:
        return Row(row.ops, row.kernels, row.dynamic, f"{type(error).__name__}: {error}", worst)
    return Row(row.ops, row.kernels, row.dynamic, error=worst)


def _runner(module: ModuleOp) -> Callable[[Arrays], Arrays]:
    return lambda inputs: run_module(module, inputs)


def _native(module: ModuleOp) -> Callable[[Arrays], Arrays]:
    program = compile_program(module, CompileOptions(backend="llvm", cache=False))
    return lambda inputs: program(*inputs)


def _compared(found: Arrays, expected: Arrays, label: str) -> float:
    """The greatest error, relative to the largest element.

    Raises:
        AssertionError: It is beyond the tolerance, or types differ.
    """
    worst = 0.0
    assert len(found) == len(expected), f"{label}: {len(found)} results, not {len(expected)}"
    for index, (one, other) in enumerate(zip(found, expected, strict=True)):
        what = f"{label}, result {index}"
        assert (one.dtype, one.shape) == (other.dtype, other.shape), f"{what}: {one.dtype}{one.shape}"
        if one.size:
            difference = np.abs(one.astype(np.float64) - other.astype(np.float64)).max()
            error = float(difference / max(np.abs(other.astype(np.float64)).max(), 1e-30))
            assert error <= TOLERANCE, f"{what}: error {error:.2g}"
            worst = max(worst, error)
    return worst


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--native", action="store_true", help="run the compiled program too")
    options = parser.parse_intermixed_args()
    print("| model | exporter | ops | dynamic | kernels | verdict | error |")
    print("|---|---|---|---|---|---|---|")
    equal = total = 0
    for path in sorted(options.folder.glob("*.onnx")):
        name, exporter = path.stem.rsplit(".", 1)
        if options.names and name not in options.names:
            continue
        row = examine(path, native=options.native)
        total += 1
        equal += row.verdict == "equal"
        verdict = " ".join(row.verdict.split())[:300]
        print(
            f"| {name} | {exporter} | {row.ops} | {row.dynamic} | {row.kernels} | {verdict} | {row.error:.1e} |",
            flush=True,
        )
    print(f"\n{equal} of {total} models")
    return 0 if equal == total else 1


if __name__ == "__main__":
    sys.exit(main())
