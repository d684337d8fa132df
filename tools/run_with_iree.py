"""Models through `fuse-ops` and `convert-fuse-to-linalg`, compiled and run by IREE: a table of what comes out.

    python tools/run_with_iree.py [MODEL.onnx ...] [--inline] [--whole] [--keep FOLDER]

Needs the extra `iree`; without arguments, the nine light models inside the onnx wheel. Inputs are those in
`MODEL.0.npz` beside the model, or else random. The columns:

- primitives: calls of fused functions that a run makes, and how many of them only reshape, which is no kernel;
- dispatches: kernels that IREE starts in a run, from `iree-compile --compile-to=flow`; and copies, of slices into
  others, which are none;
- difference: the greatest from the NumPy meaning, by the greatest number of that result;
- `mlir-opt`: whether it takes the text, where it is installed.
"""

# IREE is no extra of the checks, and has types for a part of what is used here.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false

import argparse
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.types import DYNAMIC, element_dtype, tensor_type
from fuse_dialect.frontends.onnx.reader import load_onnx_module
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.ir.fusible_blocks import PRIMITIVE_ATTRIBUTE
from fuse_dialect.fusion.kinds.reshapes import RESHAPE_ONLY_ATTRIBUTE
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.targets.convert_fuse_to_linalg import ConvertFuseToLinalgPass
from fuse_dialect.targets.mlir import FusePrinter
from fuse_dialect.transforms.compile_prefix import CompilePrefixPass

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
TOLERANCE = 1e-5
"""By the greatest number of a result."""
_FUNCTION = re.compile(r"^  (?:util|func)\.func (?:public |private )?@([\w$.-]+)\(.*?^  \}", re.MULTILINE | re.DOTALL)
_STEP = re.compile(r"(flow\.dispatch|flow\.tensor\.(?:update|clone|slice)|(?:util|func)\.call) (?:@([\w$.-]+))?")
PADDING_FLAG = "--iree-dispatch-creation-enable-fuse-padding-into-linalg-consumer-ops"
DYNAMIC_SIZE = 3
"""What `?` stands for where no inputs are given."""


class IREEError(Exception):
    """What a tool of IREE says; the first line."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A row of the table."""

    primitives: int
    reshapes: int
    dispatches: int
    copies: int
    difference: float
    accepted: str
    """What mlir-opt says: `yes`, `no`, or `-` where it is not installed."""
    seconds: float
    """Of compilation by IREE."""


def prepared(path: Path) -> ModuleOp:
    """A model, fused."""
    module = load_onnx_module(path)
    CompilePrefixPass(layout="keep").apply(Context(), module)
    FuseOpsPass().apply(Context(), module)
    return module


def linalg_text(module: ModuleOp, *, noinline: bool, named_softmax: bool) -> str:
    """The module as linalg; it is not changed."""
    copy = module.clone()
    ConvertFuseToLinalgPass(noinline=noinline, named_softmax=named_softmax).apply(Context(), copy)
    text = StringIO()
    FusePrinter(stream=text).print_op(copy)
    return text.getvalue()


def primitive_calls(module: ModuleOp) -> tuple[int, int]:
    """Calls of primitives, each once, and those that only reshape."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    called = [functions[op.callee.root_reference.data] for op in module.walk() if isinstance(op, func.CallOp)]
    primitives = [function for function in called if PRIMITIVE_ATTRIBUTE in function.attributes]
    return len(primitives), sum(RESHAPE_ONLY_ATTRIBUTE in function.attributes for function in primitives)


def steps(flow: str, entry: str) -> Counter[str]:
    """How often a run of a function does each sort of step, functions that it calls included."""
    bodies = {match[1]: match[0] for match in _FUNCTION.finditer(flow)}
    total: Counter[str] = Counter()
    pending = [entry]
    while pending:
        for step, name in _STEP.findall(bodies[pending.pop()]):
            if step.endswith(".call"):
                pending.append(name)
            else:
                total[step] += 1
    return total


def _tool(name: str) -> str:
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        raise IREEError(f"'{name}' is not installed: pip install fuse_dialect[iree]")
    return found


def _run(*command: str) -> None:
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        reason = next((line for line in result.stderr.splitlines() if "error:" in line), result.stderr[-200:])
        raise IREEError(reason.split("error:", 1)[-1].strip()[:200])


def compiled(text: str, folder: Path, flags: Sequence[str]) -> tuple[bytes, str]:
    """A program for this machine, and the text of its dispatches."""
    source, flow, code = (folder / name for name in ("linalg.mlir", "flow.mlir", "code.vmfb"))
    source.write_text(text)
    own = ("--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host")
    options = (*own, "--iree-input-demote-f64-to-f32=false", *flags)
    _run(_tool("iree-opt"), str(source), "-o", str(folder / "again.mlir"))
    elided = "--mlir-elide-resource-strings-if-larger=16"
    _run(_tool("iree-compile"), str(source), *options, elided, "--compile-to=flow", "-o", str(flow))
    _run(_tool("iree-compile"), str(source), *options, "-o", str(code))
    return code.read_bytes(), flow.read_text()


def run(code: bytes, arrays: Sequence[Array]) -> list[Array]:
    """The results of `main`."""
    import iree.runtime

    context = iree.runtime.SystemContext(config=iree.runtime.Config("local-sync"))
    context.add_vm_module(iree.runtime.VmModule.copy_buffer(context.instance, code))
    signless = [array.view(f"i{array.dtype.itemsize}") if array.dtype.kind == "u" else array for array in arrays]
    results = context.modules["module"]["main"](*signless)
    return [result.to_host() for result in (results if isinstance(results, (tuple, list)) else [results])]


def inputs_of(module: ModuleOp) -> list[Array]:
    """Random arrays for `main`; integers are small, so that they are indices of most tables."""
    (main,) = (op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == "main")
    random = np.random.default_rng(0)
    arrays: list[Array] = []
    for argument in main.body.block.args:
        type = tensor_type(argument)
        shape = [DYNAMIC_SIZE if size == DYNAMIC else size for size in type.get_shape()]
        dtype = element_dtype(type.element_type)
        is_whole = dtype.kind in "iub"
        arrays.append((random.integers(0, 2, shape) if is_whole else random.standard_normal(shape)).astype(dtype))
    return arrays


def greatest_difference(actual: Sequence[Array], expected: Sequence[Array]) -> float:
    """The greatest difference, by the greatest number of that result; infinite where nan or infinities differ."""
    worst = 0.0
    for one, other in zip(actual, expected, strict=True):
        if one.shape != other.shape:
            return float("inf")
        left, right = (array.astype(np.float64) for array in (one, other))
        finite = np.isfinite(right)
        if not np.array_equal(left[~finite], right[~finite], equal_nan=True) or not np.isfinite(left[finite]).all():
            return float("inf")
        distance = np.abs(left - right)[finite].max(initial=0)
        worst = max(worst, float(distance) / max(float(np.abs(right[finite]).max(initial=0)), 1e-30))
    return worst


def accepted_by_mlir_opt(source: Path) -> str:
    """Whether mlir-opt takes a file."""
    found = next(filter(None, map(shutil.which, ("mlir-opt", "mlir-opt-22", "mlir-opt-19"))), None)
    if found is None:
        return "-"
    return "yes" if not subprocess.run([found, str(source)], capture_output=True).returncode else "no"


def outcome_of(path: Path, arrays: Sequence[Array] | None, folder: Path, *, noinline: bool, whole: bool) -> Outcome:
    """Fuse, convert, compile and run a model.

    Raises:
        FuseError: It cannot be read or converted.
        IREEError: IREE does not take it.
    """
    module = prepared(path)
    arrays = inputs_of(module) if arrays is None else arrays
    text = linalg_text(module, noinline=noinline, named_softmax=whole)
    start = time.monotonic()
    code, flow = compiled(text, folder, [PADDING_FLAG] if whole else [])
    seconds = time.monotonic() - start
    counted = steps(flow, "main$async" if "@main$async(" in flow else "main")
    dispatches = counted.pop("flow.dispatch", 0)
    difference = greatest_difference(run(code, arrays), run_module(module, arrays))
    accepted = accepted_by_mlir_opt(folder / "linalg.mlir")
    return Outcome(*primitive_calls(module), dispatches, counted.total(), difference, accepted, seconds)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--inline", action="store_true", help="let IREE group anew: noinline=false")
    parser.add_argument(
        "--whole", action="store_true", help="one dispatch a primitive: padding with what it pads, softmax by name"
    )
    parser.add_argument("--keep", type=Path, help="folder for the text, the dispatches and the code")
    arguments = parser.parse_args()
    models: list[Path] = arguments.models or sorted(LIGHT.glob("light_*.onnx"))
    print("| model | primitives | dispatches | copies | difference | mlir-opt | seconds | result |")
    print("|---|---|---|---|---|---|---|---|")
    failed = 0
    for path in models:
        recorded = path.with_suffix(".0.npz")
        arrays = None
        if recorded.exists():
            arrays = [array for name, array in np.load(recorded).items() if not name.startswith("result")]
        with TemporaryDirectory() as temporary:
            folder = Path(arguments.keep or temporary)
            folder.mkdir(parents=True, exist_ok=True)
            try:
                row = outcome_of(path, arrays, folder, noinline=not arguments.inline, whole=arguments.whole)
            except (FuseError, IREEError) as error:
                failed += 1
                print(f"| {path.stem} | | | | | | | {str(error).splitlines()[0]} |", flush=True)
                continue
        is_right = row.difference <= TOLERANCE and row.accepted != "no"
        failed += not is_right
        print(
            f"| {path.stem} | {row.primitives} ({row.reshapes}) | {row.dispatches} | {row.copies} "
            f"| {row.difference:.1e} | {row.accepted} | {row.seconds:.0f} | {'right' if is_right else 'wrong'} |",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
