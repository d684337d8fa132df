"""A backend from outside: loop programs as C, compiled by gcc. It knows some functions, and refuses the rest."""

import ctypes
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuse_dialect.backends.backend import Backend, KernelRequest, symbols_of
from fuse_dialect.backends.options import BackendSettings
from fuse_dialect.loops.program import (
    Apply,
    Body,
    Combiner,
    Index,
    Literal,
    Loop,
    LoopProgram,
    Position,
    Quotient,
    Read,
    Refusal,
    Role,
    Stage,
)

TYPES = {"f32": "float", "f64": "double", "i32": "int32_t", "i64": "int64_t"}
FUNCTIONS = {
    "arith.addf": "{0} + {1}",
    "arith.subf": "{0} - {1}",
    "arith.mulf": "{0} * {1}",
    "arith.divf": "{0} / {1}",
    "arith.negf": "-{0}",
    "arith.maximumf": "({0} != {0} ? {0} : {1} != {1} ? {1} : {0} > {1} || ({0} == {1} && !signbit({0})) ? {0} : {1})",
    "math.exp": "exp((double){0})",
    "math.tanh": "tanh((double){0})",
    "math.sqrt": "sqrt((double){0})",
}
COMBINERS = {Combiner.ADD: "{0} + {1}", Combiner.MULTIPLY: "{0} * {1}", Combiner.MAXIMUM: FUNCTIONS["arith.maximumf"]}


class NotWrittenError(Exception):
    """Something that this backend does not know."""


@dataclass
class CKernel:
    """A function in a shared library."""

    address: int
    library: Any
    """Keeps the code."""
    family: str = "gcc"
    workspace_bytes: int = 0
    packings: dict[int, Any] = field(default_factory=dict)
    parallel: bool = False
    """The function is called once, as part 0 of 1."""
    checked: int = 0
    """No program that may find a fault is accepted."""


class GccBackend:
    """C for every program that can be said with what is above."""

    name = "gcc"
    layout = "keep"

    def compile(self, requests: Sequence[KernelRequest]) -> list[CKernel | Refusal]:
        """A kernel for each request, or why there is none."""
        return [self._compiled(request.program) for request in requests]

    def _compiled(self, program: LoopProgram) -> CKernel | Refusal:
        try:
            text = text_of(program)
        except NotWrittenError as reason:
            return Refusal(f"gcc: {reason}")
        with tempfile.TemporaryDirectory() as folder:
            source, library = Path(folder, "kernel.c"), Path(folder, "kernel.so")
            source.write_text(text)
            command = ["gcc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source), "-lm"]
            subprocess.run(command, check=True, capture_output=True)
            loaded = ctypes.CDLL(str(library))
        return CKernel(ctypes.cast(loaded.kernel, ctypes.c_void_p).value or 0, loaded)


def make(settings: BackendSettings) -> Backend:
    """What the entry point names."""
    return GccBackend()


def text_of(program: LoopProgram) -> str:
    """The C of a program: slots to pointers and sizes, then a loop nest for each stage."""
    outer = [buffer for buffer in program.buffers if buffer.role is not Role.LOCAL]
    if len(outer) < len(program.buffers):
        raise NotWrittenError("local buffers are not written")
    lines = ["#include <math.h>", "#include <stdint.h>", "void kernel(int64_t *slots, int64_t part, int64_t parts) {"]
    for place, buffer in enumerate(outer):
        lines.append(f"  {c_type(buffer.element)} *{c_name(buffer.name)} = (void *)slots[{place}];")
    for place, symbol in enumerate(symbols_of(program), len(outer) + 1):  # the workspace stands between
        lines.append(f"  int64_t {c_name(symbol)} = slots[{place}];")
    shapes = {buffer.name: [c_name(size) for size in buffer.shape] for buffer in program.buffers}
    for stage in program.stages:
        lines += stage_lines(stage, shapes)
    return "\n".join([*lines, "}", ""])


def stage_lines(stage: Stage, shapes: dict[str, list[str]]) -> list[str]:
    """Loops over the parallel axes, within them those over the reduced ones, and a store."""
    inner = [axis for axis, each in enumerate(stage.axes) if each.is_reduced]
    own = [axis for axis in range(len(stage.axes)) if axis not in inner]
    lines = [loop_line(axis, c_name(stage.axes[axis].size)) for axis in own]
    if stage.reduction is None:
        value = body_lines(stage.body, shapes, lines, "b")
    else:
        lines.append(f"{c_type(stage.reduction.start.element)} sum = {literal(stage.reduction.start)};")
        lines += [loop_line(axis, c_name(stage.axes[axis].size)) for axis in inner]
        each = body_lines(stage.body, shapes, lines, "b")
        if stage.reduction.combiner not in COMBINERS:
            raise NotWrittenError(f"{stage.reduction.combiner.value} is not written")
        lines.append(f"sum = {COMBINERS[stage.reduction.combiner].format('sum', each)};")
        lines += ["}"] * len(inner)
        value = body_lines(stage.finish, shapes, lines, "f", "sum") if stage.finish else "sum"
    store = [index_text(index) for index in stage.store] or [f"i{axis}" for axis in own]
    lines.append(f"{c_name(stage.buffer)}[{position(store, shapes[stage.buffer])}] = {value};")
    return ["{", *lines, *["}"] * len(own), "}"]


def body_lines(body: Body, shapes: dict[str, list[str]], lines: list[str], prefix: str, combined: str = "") -> str:
    """A line for each instruction; gives the name of the last value."""
    names = [combined] if combined else []
    for instruction in body:
        match instruction:
            case Read(buffer, indices, element, (), None) if all(isinstance(index, Index) for index in indices):
                text = f"{c_name(buffer)}[{position([index_text(index) for index in indices], shapes[buffer])}]"
            case Literal():
                element, text = instruction.element, literal(instruction)
            case Position():
                element, text = instruction.element, index_text(instruction.index)
            case Apply() if instruction.function in FUNCTIONS:
                operands = [names[place] for place in instruction.operands]
                element, text = instruction.element, FUNCTIONS[instruction.function].format(*operands)
            case _:
                raise NotWrittenError(f"{getattr(instruction, 'function', type(instruction).__name__)} is not written")
        names.append(f"{prefix}{len(names)}")
        lines.append(f"{c_type(element)} {names[-1]} = {text};")
    return names[-1]


def index_text(index: Any) -> str:
    """An index; C's `/` and `%` round to zero, so only what cannot be negative is divided."""
    parts = [str(index.constant)]
    for atom, factor in index.terms:
        match atom:
            case Loop(axis):
                text = f"i{axis}"
            case Quotient(of, by):
                text = f"(({index_text(of)}) / {by})"
            case _:
                text = f"(({index_text(atom.of)}) % {atom.by})"
        parts.append(f"{text} * {factor}")
    return " + ".join(parts)


def position(indices: Sequence[str], shape: Sequence[str]) -> str:
    """The row-major place of indices."""
    text = "0"
    for index, size in zip(indices, shape, strict=True):
        text = f"({text}) * {size} + ({index})"
    return text


def loop_line(axis: int, size: str) -> str:
    """The head of a loop."""
    return f"for (int64_t i{axis} = 0; i{axis} < {size}; i{axis}++) {{"


def literal(each: Literal) -> str:
    """A constant; hexadecimal floats are exact."""
    if isinstance(each.value, float):
        special = {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}
        return special.get(str(each.value), each.value.hex())
    return str(int(each.value))


def c_type(element: str) -> str:
    """The C type of elements."""
    if element not in TYPES:
        raise NotWrittenError(f"elements of type {element} are not written")
    return TYPES[element]


def c_name(name: int | str) -> str:
    """A number, or a name that C takes."""
    return str(name) if isinstance(name, int) else "v_" + "".join(c if c.isalnum() else f"_{ord(c)}" for c in name)
