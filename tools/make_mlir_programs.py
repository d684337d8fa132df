"""Writes tests/data/mlir/printed: programs of linalg, tensor and TOSA as MLIR's own tools print them.

    python tools/make_mlir_programs.py

The programs are those in tests/data/mlir/source, and one function for each named op of linalg. It needs `mlir-opt-19`
(Debian's mlir-19-tools), and `torch-mlir-opt` and `iree-opt` (pip install --no-deps torch-mlir iree-base-compiler),
which print what LLVM 24 prints.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

from fuse_dialect.frontends.mlir.linalg_forms import FORMS, Form
from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.targets.mlir import FusePrinter

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "mlir"
_SIZES = {"n": 1, "m": 4, "k": 5, "c": 3, "f": 4, **dict.fromkeys("xyz", 4), **dict.fromkeys("bguvwpqr", 2)}
_NOT_IN_24 = ("matmul_transpose_a", "matmul_transpose_b", "batch_matmul_transpose_a", "batch_matmul_transpose_b")
_NOT_IN_19 = ("conv_2d_nhwgc_gfhwc",)


def _function(name: str, inputs: Sequence[str], result: str, op: str) -> str:
    """A function of one op of linalg with these inputs, and an output of the result's type."""
    operands = ", ".join(f"%{number}" for number in range(len(inputs)))
    arguments = ", ".join(f"%{number}: {type}" for number, type in enumerate((*inputs, result)))
    body = f"linalg.{op} ins({operands} : {', '.join(inputs)}) outs(%{len(inputs)} : {result}) -> {result}"
    return f"func.func @{name}({arguments}) -> {result} {{\n  %y = {body}\n  return %y : {result}\n}}\n"


def _type(axes: str, element: str) -> str:
    """The type of an operand by the axes of its form; strides are 2."""

    def size(axis: str) -> int:
        first, _, second = axis.partition("+")
        step = 2 if first.startswith("s*") else 1
        return (_SIZES[first[-1]] - 1) * step + (_SIZES[second[-1]] if second else 1)

    return f"tensor<{''.join(f'{size(axis)}x' for axis in axes.split())}{element}>"


def _named(name: str, form: Form) -> str:
    """A function of one named op that multiplies or pools."""
    element = "i32" if "unsigned" in name else "f32"
    window = f"tensor<{form.window_rank}xi64>"
    attributes = f" {{dilations = dense<1> : {window}, strides = dense<2> : {window}}}" if form.window_rank else ""
    inputs = [_type(axes, element) for axes in form.inputs]
    return _function(name, inputs, _type(form.parallel, element), f"{name}{attributes}")


def _elementwise() -> str:
    """A function for each named op that computes element by element."""
    floats, integers = "tensor<4x8xf32>", "tensor<4x8xi32>"
    unary = "abs ceil copy erf exp floor log negf reciprocal round rsqrt sqrt square tanh"
    inputs = {name: [floats] for name in unary.split()}
    inputs |= {name: [floats, floats] for name in ("add", "div", "max", "min", "mul", "powf", "sub")}
    inputs |= {"div_unsigned": [integers, integers], "select": ["tensor<4x8xi1>", floats, floats], "fill": ["f32"]}
    return "".join(
        _function(name, own, integers if name == "div_unsigned" else floats, name) for name, own in inputs.items()
    )


def _products(missing: Sequence[str]) -> str:
    return "".join(_named(name, form) for name, form in FORMS.items() if name not in missing)


def _generic(text: str) -> str:
    """The program in the generic form, which versions read whose own forms differ."""
    out = StringIO()
    FusePrinter(stream=out, print_generic_format=True).print_op(parse_mlir(text))
    return out.getvalue()


def main() -> int:
    """Write the files."""
    argparse.ArgumentParser(description="Writes tests/data/mlir/printed with MLIR's own tools.").parse_args()
    source = {path.stem: path.read_text() for path in sorted((FOLDER / "source").glob("*.mlir"))}
    elementwise = _elementwise()
    programs = {
        "mlir-opt-19": {
            "products": _products(_NOT_IN_19),
            "elementwise": elementwise,
            "structured": source["structured"],
            "tensor": source["tensor"],
        },
        "torch-mlir-opt": {
            "products": _products(_NOT_IN_24),
            "elementwise": elementwise,
            "structured": source["structured"],
            "structured_new": source["structured_new"],
            "tensor": source["tensor"],
            "tosa": source["tosa"],
        },
        "iree-opt": {
            **{name: source[name] for name in ("structured", "tensor", "util")},
            **{name: _generic(source[name]) for name in ("structured_new", "tosa")},
        },
    }
    for tool, texts in programs.items():
        folder = FOLDER / "printed" / tool
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            run = subprocess.run([tool, "-"], input=text, capture_output=True, text=True)
            if run.returncode:
                sys.stderr.write(f"{tool} {name}: {run.stderr}")
                return 1
            (folder / f"{name}.mlir").write_text(run.stdout.strip() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
