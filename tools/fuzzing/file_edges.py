"""Structural edges of files: a model, and data outside it, that change between compiling, keeping and loading.

Whatever changes when: a program that is compiled gives what its files said when it was compiled, from the cache as
well, and never what they said before. Files are replaced by others, not written over: a program may map what it reads.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TypeAlias

import numpy as np
from onnx import TensorProto, helper

import fuse_dialect as fd
from fuse_dialect.backends.runtime.program import Program
from fuse_dialect.dialect.op import Array

SIZE = 24
"""Rows and columns of the weight."""


@dataclass(eq=False, slots=True)
class Files:
    """A model with a weight in a file of its own, and what the two say now."""

    folder: Path
    random: np.random.Generator
    is_onnx: bool
    """Whether it is an ONNX model with external data, or text with a safetensors file."""
    weight: Array = field(init=False)
    is_negated: bool = False
    """What the model does behind its product."""

    def __post_init__(self) -> None:
        """Write the first files."""
        self.replace_data()
        self.replace_model()

    @property
    def model(self) -> Path:
        """The file that is compiled."""
        return self.folder / ("model.onnx" if self.is_onnx else "model.mlir")

    @property
    def data(self) -> Path:
        """The file of the weight."""
        return self.folder / ("data.bin" if self.is_onnx else "data.safetensors")

    def replace_data(self) -> None:
        """Another weight."""
        self.weight = self.random.integers(-4, 5, (SIZE, SIZE)).astype(np.float32)
        if self.is_onnx:
            _replace(self.data, self.weight.tobytes())
        else:
            self._write_text()

    def replace_model(self) -> None:
        """The other model."""
        self.is_negated = not self.is_negated
        if not self.is_onnx:
            self._write_text()
            return
        sizes = [SIZE, SIZE]
        weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=sizes, data_location=TensorProto.EXTERNAL)
        weight.external_data.add(key="location", value=self.data.name)
        nodes = [helper.make_node("MatMul", ["x", "w"], ["p"])]
        nodes.append(helper.make_node("Neg" if self.is_negated else "Abs", ["p"], ["y"]))
        ends = (helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes) for name in ("x", "y"))
        given, made = ([end] for end in ends)
        graph = helper.make_graph(nodes, "g", given, made, [weight])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        _replace(self.model, model.SerializeToString())

    def _write_text(self) -> None:
        type_ = f"tensor<{SIZE}x{SIZE}xf32>"
        elements = ", ".join(f"[{', '.join(map(str, row))}]" for row in self.weight.tolist())
        end = "negative" if self.is_negated else "abs"
        module = fd.parse(
            f"func.func @main(%x: {type_}) -> {type_} {{\n  %w = arith.constant dense<[{elements}]> : {type_}\n"
            f"  %p = fuse.matmul %x, %w : {type_}\n  %y = fuse.{end} %p : {type_}\n"
            f"  return %y : {type_}\n}}"
        )
        fd.write(module, self.model, weights=self.data)

    def touch(self) -> None:
        """The same data, written later."""
        os.utime(self.data)

    def replace_data_in_no_time(self) -> None:
        """Another weight, in a file that says it is as old as the one before."""
        before = self.data.stat()
        self.replace_data()
        os.utime(self.data, ns=(before.st_atime_ns, before.st_mtime_ns))

    def compiled(self) -> Program:
        """The program of the files, from the cache if it is there."""
        return fd.compile(self.model, weights=None if self.is_onnx else self.data)

    def check(self, program: Program, weight: Array, *, is_negated: bool) -> str:
        """What is wrong with what a program computes; nothing if it is right."""
        x = self.random.integers(-4, 5, (SIZE, SIZE)).astype(np.float32)
        product = x @ weight  # whole numbers below 2**24 are exact
        (found,) = program(x)
        return "" if np.array_equal(found, -product if is_negated else np.abs(product)) else "another result"


def _replace(path: Path, data: bytes) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(data)
    os.replace(other, path)


Step: TypeAlias = Callable[[Files], None]

_DATA, _MODEL, _TOUCH, _SAME_TIME = (
    Files.replace_data,
    Files.replace_model,
    Files.touch,
    Files.replace_data_in_no_time,
)
FILE_EDGES: Mapping[str, Sequence[Step]] = {
    "data-replaced": (_DATA,),
    "data-replaced-twice": (_DATA, _DATA),
    "model-replaced": (_MODEL,),
    "model-replaced-and-back": (_MODEL, _MODEL),
    "data-and-model-replaced": (_DATA, _MODEL),
    "data-touched": (_TOUCH, _DATA),
    "data-of-the-same-time": (_SAME_TIME,),
    "data-and-model-in-turn": (_DATA, _MODEL, _SAME_TIME, _MODEL),
}
"""What changes, step by step; after each the model is compiled again, and the programs before it are called again."""


def run_files(name: str, folder: Path, random: Random) -> str:
    """Compile, change, compile again.

    Args:
        name: One of `FILE_EDGES`.
        folder: An empty folder.
        random: Which format, and how often each state is compiled.

    Returns:
        What is wrong; nothing if all is right.
    """
    files = Files(folder, np.random.default_rng(random.randrange(1 << 30)), random.random() < 0.6)
    held: list[tuple[Program, Array, bool]] = []
    for step in (None, *FILE_EDGES[name]):
        if step is not None:
            step(files)
        for turn in range(random.randint(1, 2)):
            program = files.compiled()
            if text := files.check(program, files.weight, is_negated=files.is_negated):
                after = getattr(step, "__name__", "the beginning")
                return f"{text} of {files.model.name} after {after}, compiled {turn + 1} times since"
            held.append((program, files.weight, files.is_negated))
    for number, (program, weight, is_negated) in enumerate(held):
        if text := files.check(program, weight, is_negated=is_negated):
            return f"{text} of program {number} of {files.model.name}, which was right before its files changed"
    return ""
