"""A finding as files: MLIR text with a line that runs it, its inputs, and what was seen."""

from pathlib import Path

import numpy as np

from fuzzing.program import RandomProgram
from fuzzing.ways import Finding


def write_finding(folder: Path, finding: Finding, program: RandomProgram) -> Path:
    """Write a finding as a test for lit; returns the file.

    Args:
        folder: Where to; it is made if it is missing.
        finding: What was seen.
        program: The smallest program that shows it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{finding.seed}-{finding.way}-{finding.kind}"
    arguments = [f"arg{place}" for place in range(len(program.arguments))]
    inputs = ""
    if arguments:
        arrays = dict(zip(arguments, program.inputs, strict=True))
        np.savez(folder / f"{name}.npz", **arrays)  # pyright: ignore[reportArgumentType]  # arrays by name
        inputs = f" --inputs %S/{name}.npz"
    notes = [f"seed {finding.seed}, {finding.way}: {finding.kind}", *finding.text.splitlines()]
    path = folder / f"{name}.mlir"
    lines = [f"// RUN: {_command(finding, inputs)}", *(f"// {note}" for note in notes), str(program.module())]
    path.write_text("\n".join(lines) + "\n")
    return path


def _command(finding: Finding, inputs: str) -> str:
    """The command that shows the finding, or the nearest there is: options of the way stand in the notes."""
    way = finding.way.split()[0]
    match way:
        case "text":
            return "fuse-opt %s | fuse-opt | diff - %t"
        case "onnx" | "onnxruntime" | "onnx-reference":
            return f"fuse-opt -t onnx %s -o %t.onnx && fuse-run %t.onnx{inputs} --compare-with %s"
        case _:
            backend = "numpy" if way == "numpy" else "llvm"
            return f"fuse-run %s --backend {backend}{inputs} --compare-with %s"
