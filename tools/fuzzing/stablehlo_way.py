"""Through StableHLO text: for programs of which every op has a form that the reader knows.

The text is written here, independently of the package, in the form that MLIR prints.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops import (
    activation,
    broadcast,
    comparison,
    concatenation,
    conversion,
    elementwise,
    indexing,
    layout,
    matmul,
    opaque,
    reduction,
    replication,
    trigonometry,
)
from fuse_dialect.dialect.types import DYNAMIC, broadcast_shapes, is_tensor, tensor
from fuse_dialect.frontends.mlir.reader import context, read_mlir
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.loading.verification import verify_module
from fuse_dialect.transforms.runnable import make_runnable
from fuzzing.comparing import Reference
from fuzzing.compiling import LIMITS
from fuzzing.program import RandomProgram, Step


class NoFormError(Exception):
    """An op of the program has no form here."""


class Text:
    """A function while it is written."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def emit(self, text: str) -> str:
        """Write an op; returns its name."""
        self._count += 1
        self.lines.append(f"%t{self._count} = {text}")
        return f"%t{self._count}"


Types: TypeAlias = Sequence[Attribute]
Form: TypeAlias = Callable[[Text, Step, Sequence[str], Types], str]
FORMS: dict[type[FuseOp], Form] = {}
UNARY: Mapping[type[FuseOp], str] = {
    elementwise.AbsOp: "abs", elementwise.NegativeOp: "negate", elementwise.SignOp: "sign",
    elementwise.CeilOp: "ceil", elementwise.FloorOp: "floor", elementwise.RoundOp: "round_nearest_even",
    elementwise.ExpOp: "exponential", elementwise.LogOp: "log", elementwise.SqrtOp: "sqrt",
    elementwise.RsqrtOp: "rsqrt", elementwise.LogicalNotOp: "not", trigonometry.SinOp: "sine",
    trigonometry.CosOp: "cosine", trigonometry.TanOp: "tan", trigonometry.TanhOp: "tanh",
    activation.SigmoidOp: "logistic",
}  # fmt: skip
BINARY: Mapping[type[FuseOp], str] = {
    broadcast.AddOp: "add", broadcast.SubtractOp: "subtract", broadcast.MultiplyOp: "multiply",
    broadcast.DivideOp: "divide", broadcast.PowerOp: "power", broadcast.MaximumOp: "maximum",
    broadcast.MinimumOp: "minimum", comparison.LogicalAndOp: "and", comparison.LogicalOrOp: "or",
    comparison.LogicalXorOp: "xor", comparison.BitwiseAndOp: "and", comparison.BitwiseOrOp: "or",
    comparison.BitwiseXorOp: "xor", comparison.LeftShiftOp: "shift_left",
    comparison.RightShiftOp: "shift_right_arithmetic",
}  # fmt: skip
COMPARISONS: Mapping[type[FuseOp], str] = {
    comparison.EqualOp: "EQ", comparison.NotEqualOp: "NE", comparison.LessOp: "LT",
    comparison.LessEqualOp: "LE", comparison.GreaterOp: "GT", comparison.GreaterEqualOp: "GE",
}  # fmt: skip
REDUCTIONS: Mapping[type[FuseOp], str] = {
    reduction.SumOp: "add", reduction.ProdOp: "multiply", reduction.MaxOp: "maximum", reduction.MinOp: "minimum",
    reduction.AnyOp: "or", reduction.AllOp: "and",
}  # fmt: skip


def form(*classes: type[FuseOp]) -> Callable[[Form], Form]:
    """Register how ops of these classes are written."""

    def register(write: Form) -> Form:
        FORMS.update(dict.fromkeys(classes, write))
        return write

    return register


def through_stablehlo(program: RandomProgram, reference: Reference | None, random: Random) -> None:
    """Write the program, read it, convert it, and compare; nothing where it has no form.

    Raises:
        MismatchError: The results differ.
    """
    from fuzzing.ways import compare

    try:
        text = stablehlo_text(program)
    except NoFormError:
        return
    module = read_mlir(text, "program.mlir", context())[0]
    verify_module(module)
    make_runnable(module)
    verify_module(module)
    compare(run_module(module, program.inputs, limits=LIMITS), reference)


def stablehlo_text(program: RandomProgram) -> str:
    """The program as text.

    Raises:
        NoFormError: An op has no form, a type leaves a size open, or a constant is not simple.
    """
    types: dict[int, Attribute] = {number: source.type for number, source in program.sources.items()}
    types |= {n: type for step in program.steps for n, type in zip(step.results, step.result_types, strict=True)}
    if any(not is_tensor(type) or DYNAMIC in type.get_shape() for type in types.values()):
        raise NoFormError
    text = Text()
    names = {number: f"%arg{place}" for place, number in enumerate(program.arguments)}
    for number, source in program.sources.items():
        if source.is_constant:
            names[number] = text.emit(f"stablehlo.constant dense<{_literal(source.array)}> : {source.type}")
    for step in program.steps:
        write = FORMS.get(step.op_class)
        if write is None or len(step.results) != 1:
            raise NoFormError
        operands = [names[operand] for operand in step.operands]
        wanted = [*(types[operand] for operand in step.operands), types[step.results[0]]]
        names[step.results[0]] = write(text, step, operands, wanted)
    arguments = ", ".join(f"{names[number]}: {types[number]}" for number in program.arguments)
    results = ", ".join(str(types[number]) for number in program.outputs)
    returned = ", ".join(names[number] for number in program.outputs)
    body = "\n  ".join(text.lines)
    return f"func.func @main({arguments}) -> ({results}) {{\n  {body}\n  return {returned} : {results}\n}}\n"


def _literal(array: Any) -> str:
    if array.dtype.kind not in "biu" or array.size > 64 or not array.size:
        if array.dtype.kind in "biu" or array.size > 64 or not array.size:
            raise NoFormError
        bits = array.reshape(-1).view(f"u{array.dtype.itemsize}")
        words = [f"0x{int(bit):0{2 * array.dtype.itemsize}X}" for bit in bits]
    else:
        words = [str(item.item()).lower() for item in array.reshape(-1)]
    return _nested(words, array.shape)


def _nested(words: Sequence[str], shape: Sequence[int]) -> str:
    if not shape:
        return words[0]
    step = len(words) // shape[0]
    return f"[{', '.join(_nested(words[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0]))}]"


def _shape(type: Attribute) -> list[int]:
    assert is_tensor(type), "checked before"
    return list(type.get_shape())


def _element(type: Attribute) -> Attribute:
    assert is_tensor(type), "checked before"
    return type.element_type


def _spread(text: Text, name: str, type: Attribute, shape: Sequence[int]) -> str:
    """The value broadcast to a shape."""
    own = _shape(type)
    if own == list(shape):
        return name
    dims = list(range(len(shape) - len(own), len(shape)))
    target = tensor(shape, _element(type))
    return text.emit(f"stablehlo.broadcast_in_dim {name}, dims = {dims} : ({type}) -> {target}")


@form(*UNARY)
def _unary(text: Text, step: Step, names: Sequence[str], types: Types) -> str:
    return text.emit(f"stablehlo.{UNARY[step.op_class]} {names[0]} : {types[0]}")


@form(*BINARY)
def _binary(text: Text, step: Step, names: Sequence[str], types: Types) -> str:
    if _element(types[0]) != _element(types[1]):
        raise NoFormError
    shape = _shape(types[2])
    pair = ", ".join(_spread(text, name, type, shape) for name, type in zip(names, types, strict=False))
    word = BINARY[step.op_class]
    if word.startswith("shift_right") and "ui" in str(types[0]):
        word = "shift_right_logical"
    return text.emit(f"stablehlo.{word} {pair} : {types[2]}")


@form(*COMPARISONS)
def _compare(text: Text, step: Step, names: Sequence[str], types: Types) -> str:
    shape = _shape(types[2])
    wide = tensor(shape, _element(types[0]))
    pair = ", ".join(_spread(text, name, type, shape) for name, type in zip(names, types, strict=False))
    return text.emit(f"stablehlo.compare {COMPARISONS[step.op_class]}, {pair} : ({wide}, {wide}) -> {types[2]}")


@form(broadcast.WhereOp)
def _select(text: Text, step: Step, names: Sequence[str], types: Types) -> str:
    shape = _shape(types[3])
    spread = [_spread(text, name, type, shape) for name, type in zip(names, types, strict=False)]
    return text.emit(f"stablehlo.select {', '.join(spread)} : {tensor(shape, _element(types[0]))}, {types[3]}")


@form(conversion.CastOp)
def _convert(text: Text, step: Step, names: Sequence[str], types: Types) -> str:
    return text.emit(f"stablehlo.convert {names[0]} : ({types[0]}) -> {types[1]}")


@form(conversion.BitcastOp)
def _bitcast(text: Text, step: Step, names: Sequence[str], types: Types) -> str:
    if any(str(_element(type)) == "i1" for type in types):
        raise NoFormError
    return text.emit(f"stablehlo.bitcast_convert {names[0]} : ({types[0]}) -> {types[1]}")


@form(layout.ReshapeOp, layout.SqueezeOp, layout.BatchFlattenOp, replication.ExpandDimsOp)
def _reshape(text: Text, step: Step, names: Sequence[str], types: Types) -> str:
    return text.emit(f"stablehlo.reshape {names[0]} : ({types[0]}) -> {types[1]}")


@form(replication.BroadcastToOp, conversion.FullOp)
def _broadcast(text: Text, step: Step, names: Sequence[str], types: Types) -> str:
    broadcast_shapes(_shape(types[0]), _shape(types[1]))
    return _spread(text, names[0], types[0], _shape(types[1]))


def _numbers(step: Step, name: str) -> list[int]:
    value: Any = step.properties.get(name)
    return [] if value is None else list(value.get_values())


@form(layout.TransposeOp)
def _transpose(text: Text, step: Step, names: Sequence[str], types: Types) -> str:
    dims = _numbers(step, "permutation")
    return text.emit(f"stablehlo.transpose {names[0]}, dims = {dims} : ({types[0]}) -> {types[1]}")


@form(layout.ReverseOp)
def _reverse(text: Text, step: Step, names: Sequence[str], types: Types) -> str:
    rank = len(_shape(types[0]))
    dims = sorted(axis % rank for axis in _numbers(step, "axes"))
    return text.emit(f"stablehlo.reverse {names[0]}, dims = {dims} : {types[0]}")


@form(concatenation.ConcatenateOp)
def _concatenate(text: Text, step: Step, names: Sequence[str], types: Types) -> str:
    axis: Any = step.properties["axis"]
    dim = axis.value.data % len(_shape(types[0]))
    head = ", ".join(str(type) for type in types[:-1])
    return text.emit(f"stablehlo.concatenate {', '.join(names)}, dim = {dim} : ({head}) -> {types[-1]}")


@form(indexing.StridedSliceOp)
def _slice(text: Text, step: Step, names: Sequence[str], types: Types) -> str:
    shape = _shape(types[0])
    begin, end = _numbers(step, "begin"), _numbers(step, "end")
    axes = _numbers(step, "axes") if "axes" in step.properties else list(range(len(begin)))
    strides = _numbers(step, "strides") or [1] * len(begin)
    ranges = [(0, size, 1) for size in shape]
    for axis, start, stop, by in zip(axes, begin, end, strides, strict=True):
        first, last, _ = slice(start, stop, by).indices(shape[axis])
        if by < 0:
            raise NoFormError
        ranges[axis] = (first, max(first, last), by)
    parts = ", ".join(f"{first}:{last}:{by}" for first, last, by in ranges)
    return text.emit(f"stablehlo.slice {names[0]} [{parts}] : ({types[0]}) -> {types[1]}")


@form(indexing.PadOp)
def _pad(text: Text, step: Step, names: Sequence[str], types: Types) -> str:
    mode = step.properties.get("mode")
    if isinstance(mode, StringAttr) and mode.data != "constant":
        raise NoFormError
    low, high = _numbers(step, "low"), _numbers(step, "high")
    widths = f"low = {low}, high = {high}, interior = {[0] * len(low)}"
    return text.emit(f"stablehlo.pad {', '.join(names)}, {widths} : ({types[0]}, {types[1]}) -> {types[2]}")


_STARTS = {"add": (0, 0), "multiply": (1, 1), "or": (0, 0), "and": (1, 1)}


def _start(word: str, element: Attribute) -> str:
    """The element with which a reduction begins, as a literal."""
    from fuse_dialect.dialect.types import element_dtype

    dtype = element_dtype(element)
    if word in _STARTS:
        number = np.array(_STARTS[word][0], dtype)
    elif dtype.kind in "iu":
        limits = np.iinfo(np.dtype(dtype.name))
        number = np.array(limits.min if word == "maximum" else limits.max, dtype)
    elif dtype.kind == "b":
        number = np.array(word != "maximum", dtype)
    else:
        number = np.array(-np.inf if word == "maximum" else np.inf, dtype)
    return _literal(number)


@form(*REDUCTIONS)
def _reduce(text: Text, step: Step, names: Sequence[str], types: Types) -> str:
    word, shape = REDUCTIONS[step.op_class], _shape(types[0])
    axes = _numbers(step, "axes") if "axes" in step.properties else list(range(len(shape)))
    dims = sorted(axis % len(shape) for axis in axes)
    element = _element(types[0])
    small = tensor([size for axis, size in enumerate(shape) if axis not in dims], element)
    scalar = tensor([], element)
    start = text.emit(f"stablehlo.constant dense<{_start(word, element)}> : {scalar}")
    if word in ("maximum", "minimum") and str(element) == "i1":
        word = "or" if word == "maximum" else "and"
    reduced = text.emit(
        f"stablehlo.reduce({names[0]} init: {start}) applies stablehlo.{word} across dimensions = {dims} : "
        f"({types[0]}, {scalar}) -> {small}"
    )
    if small == types[1]:
        return reduced
    return text.emit(f"stablehlo.reshape {reduced} : ({small}) -> {types[1]}")


@form(matmul.MatmulOp, matmul.BatchMatmulOp)
def _dot(text: Text, step: Step, names: Sequence[str], types: Types) -> str:
    shapes = [_shape(type) for type in types]
    lead = len(shapes[2]) - 2
    if any(len(shape) != len(shapes[2]) or shape[:lead] != shapes[2][:lead] for shape in shapes[:2]):
        raise NoFormError
    flags: list[Any] = [step.properties.get(name) for name in ("transpose_a", "transpose_b")]
    a, b = (flag is not None and bool(flag.value.data) for flag in flags)
    batch = list(range(lead))
    batching = f"batching_dims = {batch} x {batch}, " if batch else ""
    dims = f"contracting_dims = [{lead + (not a)}] x [{lead + b}]"
    return text.emit(
        f"stablehlo.dot_general {', '.join(names)}, {batching}{dims} : ({types[0]}, {types[1]}) -> {types[2]}"
    )


@form(activation.ClipOp)
def _clamp(text: Text, step: Step, names: Sequence[str], types: Types) -> str:
    from fuse_dialect.dialect.types import element_dtype

    element, bounds = _element(types[0]), [step.properties.get(name) for name in ("min", "max")]
    dtype = element_dtype(element)
    if dtype.kind in "iu" or any(bound is None for bound in bounds):
        raise NoFormError
    numbers: list[Any] = bounds
    low, high = (
        text.emit(f"stablehlo.constant dense<{_literal(np.array(number.value.data, dtype))}> : {tensor([], element)}")
        for number in numbers
    )
    scalar = tensor([], element)
    return text.emit(f"stablehlo.clamp {low}, {names[0]}, {high} : ({scalar}, {types[0]}, {scalar}) -> {types[1]}")


@form(opaque.DropoutOp, opaque.StopFusionOp)
def _same(text: Text, step: Step, names: Sequence[str], types: Types) -> str:
    return names[0]
