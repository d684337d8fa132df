"""A table of kernels before and after `fuse-ops`, beside what XLA makes of the same programs.

    python tools/compare_with_xla.py [PROGRAM.mlir ...]

Needs the extra `jax`; without arguments, the programs of `tests/data/jax`. A kernel is

- before: an operator; constants, calls and loops are none;
- `tvm`: a call of a primitive, or an operator that stays alone, loops' bodies included, each once;
- `cost`: the same of what is compiled with that strategy, views left out: they run nothing;
- for XLA: an instruction of the optimised HLO that computes something: a fusion, or an op outside of fusions.
"""

# JAX is no extra of the checks, and has types for a part of what is used here.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from networks.xla_programs import XLAProgram, load_lapack
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.inline import InlinePass
from fuse_dialect.fusion.ir.constants import is_constant
from fuse_dialect.fusion.ir.fusible_blocks import PRIMITIVE_ATTRIBUTE
from fuse_dialect.fusion.kinds.kind_of import kind_of
from fuse_dialect.fusion.kinds.reshapes import RESHAPE_ONLY_ATTRIBUTE
from fuse_dialect.loading.module_file import read_module
from fuse_dialect.transforms.compile_pipeline import prepare

DATA = Path(__file__).parent.parent / "tests" / "data" / "jax"
_INSTRUCTION = re.compile(r"^ +(?:ROOT )?%\S+ = \S.*? ([a-z][a-z0-9-]*)\(", re.MULTILINE)
_FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "copy", "iota", "broadcast"} | {
    "call",
    "while",
    "conditional",
}
"""Instructions that compute nothing, or call what is counted by itself."""
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?(\S+) [^\n]*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)


def kernels(module: ModuleOp) -> int:
    """Kernels that a run of all blocks once would start."""
    return sum(1 for op in _outside_primitives(module) if _is_kernel(op))


def _outside_primitives(module: ModuleOp) -> Iterator[Operation]:
    pending: list[Operation] = [module]
    while pending:
        op = pending.pop()
        yield op
        if PRIMITIVE_ATTRIBUTE not in op.attributes and (isinstance(op, ModuleOp) or kind_of(op) is None):
            pending.extend(inner for region in op.regions for block in region.blocks for inner in block.ops)


def _is_kernel(op: Operation) -> bool:
    return isinstance(op, func.CallOp) or (kind_of(op) is not None and not is_constant(op))


def xla_kernels(hlo: str) -> tuple[int, int]:
    """The number of fusions in a program, and of other ops outside of them."""
    computations = {match[1]: match[2] for match in _COMPUTATION.finditer(hlo)}
    inside = set(re.findall(r"(?:calls|to_apply|select|scatter|comparator)=%?([\w.-]+)", hlo))
    fusions = others = 0
    for name, body in computations.items():
        if name in inside and not _is_called(name, hlo):
            continue
        opcodes = _INSTRUCTION.findall(body)
        fusions += opcodes.count("fusion")
        others += sum(opcode not in _FREE and opcode != "fusion" for opcode in opcodes)
    return fusions, others


def _is_called(name: str, hlo: str) -> bool:
    """Whether a `call` runs the computation, rather than an op for each element."""
    return re.search(rf" call\(.*to_apply=%?{re.escape(name)}\b", hlo) is not None


def compiled_kernels(path: Path) -> int | str:
    """Kernels of the program that is compiled with the strategy `cost`."""
    module = read_module(str(path)).module
    try:
        prepare(module, FuseOpsPass(strategy="cost"))
    except DiagnosticException:
        return "none"
    views = {
        op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp) and RESHAPE_ONLY_ATTRIBUTE in op.attributes
    }
    found = (op for op in _outside_primitives(module) if _is_kernel(op))
    return sum(not (isinstance(op, func.CallOp) and op.callee.root_reference.data in views) for op in found)


def main(paths: Sequence[str]) -> int:
    """Print the table."""
    load_lapack()
    chosen = [Path(path) for path in paths] or sorted(path for path in DATA.glob("*.mlir") if ".debug" not in path.name)
    print("| program | ops | tvm | cost | XLA: fusions | XLA: other ops |")
    print("|---|---|---|---|---|---|")
    for path in chosen:
        try:
            module = read_module(str(path)).module
        except FuseError as error:
            print(error, file=sys.stderr)
            return 1
        InlinePass().apply(Context(), module)
        before = kernels(module)
        FuseOpsPass().apply(Context(), module)
        try:
            fusions, others = xla_kernels(XLAProgram(path.read_text()).hlo())
        except RuntimeError:
            fusions, others = "none", "none"  # a symbolic size
        print(f"| {path.stem} | {before} | {kernels(module)} | {compiled_kernels(path)} | {fusions} | {others} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
