"""Kernels and results of ONNX models in two ways: read from ONNX, and in linalg as IREE's importer prints them.

    python tools/compare_linalg_with_onnx.py MODEL.onnx ... [--iree FOLDER] [--keep FOLDER] [--no-run]

`iree-import-onnx` and `iree-compile --compile-to=input` (packages `iree-base-compiler` and `onnx`, for example in a
virtual environment of their own, whose `bin` is FOLDER) make linalg on tensors of a model. Both forms go through
`fuse-ops`, after what folds constants: in linalg an op whose operands are all constants is no kernel, as IREE computes
it beforehand. Inputs are those of `MODEL.0.npz` beside a model. The importer writes layer norms and
softmaxes out, which are one kernel of ONNX each and four of linalg. The columns:

- onnx, linalg: kernels, and the ratio;
- difference: the greatest of linalg, after fusion and by its NumPy meaning, from ONNX, over the greatest element;
- iree: the same of what `iree-run-module` gives for the linalg as it is.

Exit code: 1 if a ratio is above 1.1, or a difference above 1e-3.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx
from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

import fuse_dialect as fd
from fuse_dialect.dialect.constants import constant_attribute
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.fusion.ir.ssa import read_values
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.transforms.compile_prefix import compile_prefix

Array = npt.NDArray[Any]
MOST_RATIO, MOST_DIFFERENCE = 1.1, 1e-3
MOST_FOLDED = 1 << 16
"""Elements of a constant that is computed beforehand, where what it is computed of has less."""

_ENTRY = re.compile(r"util\.func public @[\w$]+\$async\((.*?)\) -> .*? \{\n")
_IMPORT = re.compile(
    r"^ *(%\w+) = hal\.tensor\.import wait\(%\w+\) => (%\w+) : !hal\.buffer_view -> (\S+)\n", re.MULTILINE
)
_BARRIER = re.compile(
    r"^ *(%[\w, :%]+) = hal\.tensor\.barrier join\((%[\w, %#]+) : (.*)\) => %\w+ : !hal\.fence\n", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Row:
    """What is said of a model."""

    name: str
    onnx: int
    linalg: int
    difference: float | None
    iree: float | None

    @property
    def is_good(self) -> bool:
        """Whether kernels and results are within bounds."""
        differences = [each for each in (self.difference, self.iree) if each is not None]
        return self.linalg <= MOST_RATIO * self.onnx and max(differences, default=0) <= MOST_DIFFERENCE


def linalg_of(model: Path, iree: Path, folder: Path) -> Path:
    """The file of a model in linalg, as IREE has it after the conversion of its input."""
    imported, converted = folder / f"{model.stem}.torch.mlir", folder / f"{model.stem}.iree.mlir"
    if not converted.exists():
        _run(iree / "iree-import-onnx", model, "-o", imported)
        _run(iree / "iree-compile", "--compile-to=input", imported, "-o", converted)
    return converted


def without_abi(text: str) -> str:
    """The program as a function of tensors, without what IREE puts around it to be called.

    Raises:
        ValueError: The text is of another form.
    """
    entry, barrier = _ENTRY.search(text), _BARRIER.search(text)
    if entry is None or barrier is None:
        raise ValueError("expects what 'iree-compile --compile-to=input' of IREE 3.13 prints")
    body = text[entry.end() : barrier.start()]
    inputs = {found[2]: (found[1], found[3]) for found in _IMPORT.finditer(body)}
    names = re.findall(r"(%\w+): !hal\.buffer_view", entry[1])
    arguments = ", ".join(f"{name}: {type}" for name, type in (inputs[name] for name in names))
    results, types = barrier[2], barrier[3]
    body = _IMPORT.sub("", body)
    return f"func.func @main({arguments}) -> ({types}) {{\n{body}    return {results} : {types}\n}}\n"


def kernels_of(module: ModuleOp) -> int:
    """Calls of primitive functions in the entry that compute something at run time."""
    primitives = {
        op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp) and "primitive" in op.attributes
    }
    count = 0
    for op in module.walk():
        if isinstance(op, func.CallOp) and (callee := primitives.get(op.callee.string_value())) is not None:
            count += any(not _only_moves(each) for each in callee.body.block.ops)
    return count


def _only_moves(op: Operation) -> bool:
    return op.name in ("func.return", "fuse.reshape", "tensor.empty", "tensor.expand_shape", "tensor.collapse_shape")


def fold(module: ModuleOp) -> None:
    """Replace what constants say by what it is, as ONNX files have it and IREE makes it before a run."""
    (entry,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    block = entry.body.block
    known: dict[SSAValue, None] = {}
    for op in block.ops:
        most = max((_size(each) for each in op.operand_types), default=0)
        is_small = all(0 < _size(each) <= max(most, MOST_FOLDED) for each in op.result_types)
        is_free = isinstance(op, arith.ConstantOp) or op.name == "tensor.empty"
        if is_free or (op.results and is_small and all(each in known for each in read_values(op))):
            known.update(dict.fromkeys(op.results))
    wanted = [
        value
        for value in known
        if not isinstance(value.owner, arith.ConstantOp)
        and cast(Operation, value.owner).name != "tensor.empty"
        and any(not use.operation.results or use.operation.results[0] not in known for use in value.uses)
    ]
    if not wanted:
        return
    copies: dict[SSAValue, SSAValue] = {}
    inner = Block([op.clone(copies) for op in block.ops if op.results and set(op.results) <= known.keys()])
    inner.add_op(func.ReturnOp(*(copies[value] for value in wanted)))
    alone = func.FuncOp("main", ([], [value.type for value in wanted]), Region(inner))
    for value, array in zip(wanted, run_module(ModuleOp([alone]), []), strict=True):
        made = arith.ConstantOp(constant_attribute(np.asarray(array)))
        Rewriter.insert_op(made, InsertPoint.before(cast(Operation, value.owner)))
        value.replace_all_uses_with(made.result)
    for op in reversed(list(block.ops)):
        if op.results and set(op.results) <= known.keys() and not any(use for each in op.results for use in each.uses):
            Rewriter.erase_op(op)


def _size(type: Attribute) -> int:
    """Elements of a tensor, 0 for anything else."""
    return prod(type.get_shape()) if is_tensor(type) else 0


def compared(model: Path, iree: Path, folder: Path, *, is_run: bool) -> Row:
    """The row of a model."""
    source = fd.read(model)
    for step in compile_prefix(layout="keep"):
        step.apply(Context(), source)
    fused = fd.fuse_ops(source)
    text = without_abi(linalg_of(model, iree, folder).read_text())
    program = folder / f"{model.stem}.linalg.mlir"
    program.write_text(text)
    linalg = fd.parse(text, program.name)
    fold(linalg)
    found = fd.fuse_ops(linalg)
    counts = kernels_of(fused), kernels_of(found)
    if not is_run:
        return Row(model.stem, *counts, None, None)
    inputs = _inputs(model)
    expected = fd.run(source, *inputs)
    return Row(
        model.stem,
        *counts,
        _difference(fd.run(found, *inputs), expected),
        _difference(_by_iree(program, inputs, iree), expected),
    )


def _inputs(model: Path) -> list[Array]:
    with np.load(model.with_suffix(".0.npz")) as file:
        arrays = {name: file[name] for name in file.files}
    model_file = onnx.load(str(model), load_external_data=False)  # pyright: ignore[reportUnknownMemberType]
    names = [each.name for each in model_file.graph.input]
    return [arrays[name] for name in names]


def _by_iree(program: Path, inputs: Sequence[Array], iree: Path) -> list[Array]:
    """What IREE computes of a program, on the processor."""
    folder = program.parent
    module = program.with_suffix(".vmfb")
    _run(
        iree / "iree-compile",
        "--iree-hal-target-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=host",
        program,
        "-o",
        module,
    )
    flags: list[str] = []
    for number, array in enumerate(inputs):
        path = folder / f"{program.stem}.input{number}.npy"
        np.save(path, array)
        flags.append(f"--input=@{path}")
    output = folder / f"{program.stem}.output.npy"
    _run(iree / "iree-run-module", f"--module={module}", "--function=main", *flags, f"--output=@{output}")
    return [np.load(output)]


def _difference(found: Sequence[Array], expected: Sequence[Array]) -> float:
    return max(
        float(np.max(np.abs(one.astype(np.float64) - other), initial=0) / max(np.max(np.abs(other), initial=0), 1e-30))
        for one, other in zip(found, expected, strict=False)
    )


def _run(*command: str | Path) -> None:
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name}: {done.stderr.strip()[:500]}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 if a model is out of bounds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--iree", type=Path, default=Path(), metavar="FOLDER", help="where iree-compile is")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the files here, and use those that are")
    parser.add_argument("--no-run", action="store_true", help="count kernels alone")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    with TemporaryDirectory() as temporary:
        folder: Path = options.keep or Path(temporary)
        folder.mkdir(exist_ok=True, parents=True)
        print(f"{'model':<24} {'onnx':>6} {'linalg':>7} {'ratio':>6} {'difference':>11} {'iree':>9}")
        for model in options.models:
            row = compared(model, options.iree, folder, is_run=not options.no_run)
            one, other = (f"{each:.1e}" if each is not None else "" for each in (row.difference, row.iree))
            print(
                f"{row.name:<24} {row.onnx:>6} {row.linalg:>7} {row.linalg / row.onnx:>6.2f} {one:>11} {other:>9}",
                flush=True,
            )
            rows.append(row)
    return int(not all(row.is_good for row in rows))


if __name__ == "__main__":
    sys.exit(main())
