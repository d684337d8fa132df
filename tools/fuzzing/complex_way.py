"""Random programs on complex numbers, as StableHLO text: the interpreter beside NumPy, then machine code.

A program is a few steps; each is a row of `STEPS` that proposes the text of an op and says what it means in NumPy.

1. Each program is computed in NumPy, again with each result moved by some units of its size. What differs from
   the first by more than these do is wrong. A step with a result whose size is neither 0 nor well within the range of
   the type is left out, so that no way overflows where another does not.
2. The module of real numbers that the reader makes of it is a program as any other: machine code for each processor is
   compared with the interpreter. For that alone, some inputs hold nan and infinities.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.dialect.op import Array
from fuse_dialect.frontends.mlir.reader import context, read_mlir
from fuse_dialect.loading.verification import verify_module
from fuse_dialect.transforms.runnable import make_runnable
from fuzzing.own_programs import compare_natively, interpreted

MOST_STEPS = 6
_ATTEMPTS = 8
_RUNS = 6
_SLACK = 16.0
_UNITS = {"f32": 2.0**-24, "f64": 2.0**-53}
_RANGES = {"f32": (1e-12, 1e12), "f64": (1e-80, 1e80)}
"""The least and the greatest size of a number that is not 0."""
_SIZES = (0, 1, 2, 3, 4, 5, 8, 17)
_WEIGHTS = (1, 3, 6, 6, 6, 3, 4, 3)
_SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0)

Meaning: TypeAlias = Callable[..., Array]


@dataclass(frozen=True, slots=True)
class Known:
    """A value: its name in the text, its elements, and those of runs whose numbers were moved."""

    name: str
    array: Array
    moved: Sequence[Array]


@dataclass(frozen=True, slots=True)
class ComplexProgram:
    """A program and what NumPy makes of it."""

    seed: int
    text: str
    inputs: Sequence[Array]
    """Complex numbers as pairs of real ones along a last axis."""
    outputs: Sequence[Known]
    steps: Sequence[str]
    """The rows of `STEPS`, in order."""
    unit: float

    def module(self) -> ModuleOp:
        """The program of real numbers that the reader makes of it."""
        module = read_mlir(self.text, "program.mlir", context())[0]
        verify_module(module)
        make_runnable(module)
        return module


@dataclass(eq=False, slots=True)
class Writer:
    """A program while it is written."""

    random: Random
    numbers: np.random.Generator
    part: str
    """Element type of the parts."""
    arguments: list[Known] = field(default_factory=list[Known])
    values: list[Known] = field(default_factory=list[Known])
    lines: list[str] = field(default_factory=list[str])
    steps: list[str] = field(default_factory=list[str])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the parts."""
        return np.dtype(self.part.replace("f", "float"))

    def type_of(self, array: Array) -> str:
        """The type of elements in the text."""
        kind = {"c": f"complex<{self.part}>", "f": self.part, "b": "i1"}[array.dtype.kind]
        return f"tensor<{''.join(f'{size}x' for size in array.shape)}{kind}>"

    def size(self) -> int:
        """A random one, seldom 0."""
        return self.random.choices(_SIZES, _WEIGHTS)[0]

    def fresh(self, shape: Sequence[int], *, is_real: bool = False) -> Known:
        """A new argument; some numbers are 0, real or imaginary, some small or large."""
        scale = self.random.choice((1.0, 1.0, 1.0, 1e-3, 30.0))

        def part() -> Array:
            is_zero = self.numbers.random(shape) < self.random.choice((0.0, 0.0, 0.2))
            return np.where(is_zero, 0.0, self.numbers.normal(size=shape) * scale)

        x, y = part(), part()
        array = x.astype(self.dtype) if is_real else self.rounded(x + 1j * y)
        known = Known(f"%a{len(self.arguments)}", array, [array] * _RUNS)
        self.arguments.append(known)
        self.values.append(known)
        return known

    def rounded(self, array: Array) -> Array:
        """Elements as the type has them, in the widest one."""
        if array.dtype.kind == "c":
            parts = [part.astype(self.dtype).astype(np.float64) for part in _parts(array)]
            return np.asarray(parts[0] + 1j * parts[1])
        return array if array.dtype.kind == "b" else array.astype(self.dtype)

    def pick(self, kind: str = "c", shape: Sequence[int] | None = None, least: int = 0) -> Known:
        """A value of some kind, shape and number of axes at least, or a new one."""
        fitting = [
            each
            for each in self.values
            if each.array.dtype.kind == kind
            and each.array.ndim >= least
            and (shape is None or each.array.shape == tuple(shape))
        ]
        if fitting and self.random.random() < 0.85:
            return self.random.choice(fitting[-3:])
        return self.fresh([self.size() for _ in range(max(least, 2))] if shape is None else shape, is_real=kind == "f")

    def keep(self, name: str, text: str, meaning: Meaning, operands: Sequence[Known], terms: int = 1) -> bool:
        """Add a step, unless its numbers are out of range.

        Args:
            name: Of the row.
            text: The op without its result.
            meaning: What it makes of arrays.
            operands: What it reads.
            terms: How many numbers are added up.
        """
        with np.errstate(all="ignore"):
            array = meaning(*(each.array for each in operands))
            runs = [self._moved(meaning(*(each.moved[run] for each in operands)), 4.0 + terms) for run in range(_RUNS)]
        size = np.abs(array[array != 0]) if array.dtype.kind in "cf" else np.ones(1)
        least, most = _RANGES[self.part]
        if not (np.isfinite(size).all() and (size > least).all() and (size < most).all()) or array.size > 4096:
            return False
        known = Known(f"%t{len(self.lines)}", array, runs)
        self.lines.append(f"{known.name} = {text} -> {self.type_of(array)}")
        self.values.append(known)
        self.steps.append(name)
        return True

    def _moved(self, array: Array, units: float) -> Array:
        """Each number moved by units of its size in any direction, and so that one on an axis leaves it."""
        if array.dtype.kind == "b":
            return array
        shift = self.numbers.uniform(-units, units, array.shape) * _UNITS[self.part]
        if array.dtype.kind == "c":
            shift = shift + 1j * self.numbers.uniform(-units, units, array.shape) * _UNITS[self.part]
        return np.asarray(array + np.abs(array) * shift)

    def generic(self, op: str, operands: Sequence[Known], attributes: str = "", region: str = "") -> str:
        """The text of an op in generic form, all but its result type."""
        names = ", ".join(each.name for each in operands)
        types = ", ".join(self.type_of(each.array) for each in operands)
        held = f" <{{{attributes}}}>" if attributes else ""
        return f'"{op}"({names}){held}{region} : ({types})'


Step: TypeAlias = Callable[[Writer, str], bool]


def _unary(op: str, meaning: Meaning) -> Step:
    def step(writer: Writer, name: str) -> bool:
        x = writer.pick()
        return writer.keep(name, writer.generic(op, [x]), meaning, [x])

    return step


def _binary(op: str, meaning: Meaning) -> Step:
    def step(writer: Writer, name: str) -> bool:
        x = writer.pick()
        y = writer.pick(shape=x.array.shape)
        return writer.keep(name, writer.generic(op, [x, y]), meaning, [x, y])

    return step


def _join(writer: Writer, name: str) -> bool:
    x = writer.pick("f")
    y = writer.pick("f", x.array.shape)

    def joined(real: Array, imaginary: Array) -> Array:
        return np.asarray(real.astype(np.float64) + 1j * imaginary.astype(np.float64))

    return writer.keep(name, writer.generic("stablehlo.complex", [x, y]), joined, [x, y])


def _convert(writer: Writer, name: str) -> bool:
    x = writer.pick("f")
    return writer.keep(name, writer.generic("stablehlo.convert", [x]), _as_complex, [x])


def _as_complex(x: Array) -> Array:
    return x.astype(np.complex128)


def _constant(writer: Writer, name: str) -> bool:
    number = complex(writer.random.choice((0, 1, -2.5)), writer.random.choice((0, 1, -0.5)))
    shape = (writer.size(), writer.size())
    kind = writer.type_of(np.zeros(shape, np.complex128))
    text = f'"stablehlo.constant"() <{{value = dense<({number.real}, {number.imag})> : {kind}}}> : ()'
    return writer.keep(name, text, lambda: np.full(shape, number), [])


def _array(numbers: Sequence[int]) -> str:
    return f"array<i64{': ' if numbers else ''}{', '.join(map(str, numbers))}>"


def _transpose(writer: Writer, name: str) -> bool:
    x = writer.pick(least=2)
    order = writer.random.sample(range(x.array.ndim), x.array.ndim)
    text = writer.generic("stablehlo.transpose", [x], f"permutation = {_array(order)}")
    return writer.keep(name, text, partial(np.transpose, axes=order), [x])


def _reshape(writer: Writer, name: str) -> bool:
    x = writer.pick()
    shape = writer.random.choice(([x.array.size], [1, x.array.size], list(x.array.shape[::-1])))

    def reshaped(x: Array) -> Array:
        return x.reshape(shape)

    return writer.keep(name, writer.generic("stablehlo.reshape", [x]), reshaped, [x])


def _broadcast(writer: Writer, name: str) -> bool:
    x = writer.pick()
    lead = writer.random.choice((1, 2, 3))
    dims = list(range(1, x.array.ndim + 1))
    text = writer.generic("stablehlo.broadcast_in_dim", [x], f"broadcast_dimensions = {_array(dims)}")
    return writer.keep(name, text, partial(np.broadcast_to, shape=(lead, *x.array.shape)), [x])


def _slice(writer: Writer, name: str) -> bool:
    x = writer.pick(least=1)
    begins = [writer.random.randint(0, size) for size in x.array.shape]
    ends = [writer.random.randint(begin, size) for begin, size in zip(begins, x.array.shape, strict=True)]
    steps = [writer.random.choice((1, 1, 2)) for _ in begins]
    words = (f"{key} = {_array(value)}" for key, value in _named(begins, ends, steps))
    place = tuple(slice(*each) for each in zip(begins, ends, steps, strict=True))

    def sliced(x: Array) -> Array:
        return x[place]

    return writer.keep(name, writer.generic("stablehlo.slice", [x], ", ".join(words)), sliced, [x])


def _named(begins: Sequence[int], ends: Sequence[int], steps: Sequence[int]) -> Sequence[tuple[str, Sequence[int]]]:
    return (("start_indices", begins), ("limit_indices", ends), ("strides", steps))


def _reverse(writer: Writer, name: str) -> bool:
    x = writer.pick(least=1)
    axis = writer.random.randrange(x.array.ndim)
    text = writer.generic("stablehlo.reverse", [x], f"dimensions = {_array([axis])}")
    return writer.keep(name, text, partial(np.flip, axis=axis), [x])


def _concatenate(writer: Writer, name: str) -> bool:
    x = writer.pick(least=1)
    y, axis = writer.pick(shape=x.array.shape), writer.random.randrange(x.array.ndim)
    text = writer.generic("stablehlo.concatenate", [x, y], f"dimension = {axis} : i64")

    def beside(x: Array, y: Array) -> Array:
        return np.concatenate([x, y], axis)

    return writer.keep(name, text, beside, [x, y])


def _select(writer: Writer, name: str) -> bool:
    x = writer.pick()
    y = writer.pick(shape=x.array.shape)
    # Ties depend on nothing: where there are none both ways say the same.
    direction = writer.random.choice(("EQ", "NE"))
    attributes = f"comparison_direction = #stablehlo<comparison_direction {direction}>"
    asked = [x, x] if writer.random.random() < 0.3 else [x, y]
    compare = np.equal if direction == "EQ" else np.not_equal
    if asked[1] is y and bool((x.array == y.array).any()):
        return False
    if not writer.keep("compare", writer.generic("stablehlo.compare", asked, attributes), compare, asked):
        return False
    which = writer.values[-1]
    return writer.keep(name, writer.generic("stablehlo.select", [which, x, y]), np.where, [which, x, y])


def _reduce(writer: Writer, name: str) -> bool:
    x = writer.pick(least=1)
    axis = writer.random.randrange(x.array.ndim)
    scalar = writer.type_of(np.zeros((), np.complex128))
    zero = f'"stablehlo.constant"() <{{value = dense<(0.0, 0.0)> : {scalar}}}> : ()'
    if not writer.keep("constant", zero, lambda: np.zeros((), np.complex128), []):
        return False
    start = writer.values.pop()
    region = (
        f' ({{\n  ^bb0(%p: {scalar}, %q: {scalar}):\n    %r = "stablehlo.add"(%p, %q) : ({scalar}, {scalar}) -> '
        f'{scalar}\n    "stablehlo.return"(%r) : ({scalar}) -> ()\n  }})'
    )
    text = writer.generic("stablehlo.reduce", [x, start], f"dimensions = {_array([axis])}", region)

    def added(x: Array, _: Array) -> Array:
        return np.asarray(x.sum(axis))

    return writer.keep(name, text, added, [x, start], x.array.shape[axis])


def _dot(writer: Writer, name: str) -> bool:
    x = writer.pick(least=2)
    *lead, rows, inner = x.array.shape
    columns = writer.size()
    y = writer.pick(shape=(*lead, inner, columns))
    batch = list(range(len(lead)))
    numbers = (
        f"lhs_batching_dimensions = {batch}, rhs_batching_dimensions = {batch}, "
        f"lhs_contracting_dimensions = [{len(lead) + 1}], rhs_contracting_dimensions = [{len(lead)}]"
    )
    text = writer.generic("stablehlo.dot_general", [x, y], f"dot_dimension_numbers = #stablehlo.dot<{numbers}>")
    return writer.keep(name, text, np.matmul, [x, y], inner + rows * 0)


def _transform(kind: str) -> Step:
    def step(writer: Writer, name: str) -> bool:
        count = writer.random.choice((1, 1, 2))
        x = writer.pick("f" if kind == "RFFT" else "c", least=count)
        lengths = list(x.array.shape[-count:])
        if kind == "IRFFT":
            lengths[-1] = 2 * (lengths[-1] - 1) + writer.random.randint(0, 1)
        if min(lengths) < 1:
            return False
        axes = tuple(range(-count, 0))
        functions: Mapping[str, Meaning] = {
            "FFT": partial(np.fft.fftn, axes=axes),
            "IFFT": partial(np.fft.ifftn, axes=axes),
            "RFFT": partial(np.fft.rfftn, axes=axes),
            "IRFFT": partial(_real_numbers, axes=axes, length=lengths[-1]),
        }
        attributes = f"fft_length = {_array(lengths)}, fft_type = #stablehlo<fft_type {kind}>"
        text, points = writer.generic("stablehlo.fft", [x], attributes), int(np.prod(lengths))
        # Each number of a transform is off by units of the largest one.
        return writer.keep(name, text, _spread(writer, functions[kind], points), [x], points)

    return step


def _real_numbers(z: Array, axes: tuple[int, ...], length: int) -> Array:
    return np.fft.irfft(np.fft.ifftn(z, axes=axes[:-1]) if len(axes) > 1 else z, length, -1)


def _spread(writer: Writer, function: Meaning, points: int) -> Meaning:
    """The function; in runs that are moved, its operand is moved by units of the largest number in it."""
    calls = 0

    def meaning(x: Array) -> Array:
        nonlocal calls
        calls += 1
        if calls > 1 and x.size:
            unit = np.abs(x).max() * _UNITS[writer.part] * (4 + points**0.5)
            x = x + writer.numbers.uniform(-unit, unit, x.shape)
        return np.asarray(function(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)))

    return meaning


def _power(x: Array, y: Array) -> Array:
    return np.asarray(np.where(y == 0, 1, np.where(x == 0, 0, np.exp(y * np.log(x)))))


def _powers(writer: Writer, name: str) -> bool:
    x = writer.pick()
    y = writer.pick(shape=x.array.shape)
    with np.errstate(all="ignore"):
        exponents = np.abs(y.array * np.log(x.array))
    # A unit of what the exponential is taken of is so many of the result.
    most = int(exponents[np.isfinite(exponents)].max(initial=0))
    return writer.keep(name, writer.generic("stablehlo.power", [x, y]), _power, [x, y], most)


def _logistic(z: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-z)))


def _reciprocal_root(z: Array) -> Array:
    return np.asarray(1 / np.sqrt(z))


STEPS: Mapping[str, Step] = {
    "abs": _unary("stablehlo.abs", np.abs),
    "cosine": _unary("stablehlo.cosine", np.cos),
    "exponential": _unary("stablehlo.exponential", np.exp),
    "log": _unary("stablehlo.log", np.log),
    "logistic": _unary("stablehlo.logistic", _logistic),
    "negate": _unary("stablehlo.negate", np.negative),
    "rsqrt": _unary("stablehlo.rsqrt", _reciprocal_root),
    "sine": _unary("stablehlo.sine", np.sin),
    "sqrt": _unary("stablehlo.sqrt", np.sqrt),
    "tanh": _unary("stablehlo.tanh", np.tanh),
    "real": _unary("stablehlo.real", np.real),
    "imag": _unary("stablehlo.imag", np.imag),
    "conj": _unary("chlo.conj", np.conj),
    "square": _unary("chlo.square", np.square),
    "add": _binary("stablehlo.add", np.add),
    "subtract": _binary("stablehlo.subtract", np.subtract),
    "multiply": _binary("stablehlo.multiply", np.multiply),
    "divide": _binary("stablehlo.divide", np.divide),
    "power": _powers,
    "complex": _join,
    "convert": _convert,
    "constant": _constant,
    "transpose": _transpose,
    "reshape": _reshape,
    "broadcast": _broadcast,
    "slice": _slice,
    "reverse": _reverse,
    "concatenate": _concatenate,
    "select": _select,
    "reduce": _reduce,
    "dot": _dot,
    "fft": _transform("FFT"),
    "ifft": _transform("IFFT"),
    "rfft": _transform("RFFT"),
    "irfft": _transform("IRFFT"),
}
"""What a step may be, by name."""


def program_of(seed: int) -> ComplexProgram:
    """The program of a seed: seeds go through the steps in turn, others are chosen."""
    random = Random(seed ^ 0xC0)
    part = random.choice(("f32", "f64"))
    writer = Writer(random, np.random.default_rng([seed, 2]), part)
    writer.fresh([writer.size() for _ in range(random.choice((1, 2, 2, 3)))])
    names = [list(STEPS)[seed % len(STEPS)], *random.choices(list(STEPS), k=random.randint(0, MOST_STEPS - 1))]
    random.shuffle(names)
    for name in names:
        for _ in range(_ATTEMPTS):
            if STEPS[name](writer, name):
                break
    last = writer.values[-1]
    others = [each for each in writer.values[:-1] if random.random() < 0.2]
    outputs = [*others, last]
    types = ", ".join(writer.type_of(each.array) for each in outputs)
    arguments = ", ".join(f"{each.name}: {writer.type_of(each.array)}" for each in writer.arguments)
    body = "\n  ".join([*writer.lines, f"return {', '.join(each.name for each in outputs)} : {types}"])
    text = f"func.func @main({arguments}) -> ({types}) {{\n  {body}\n}}\n"
    inputs = [_in_pairs(each.array, writer.dtype) for each in writer.arguments]
    return ComplexProgram(seed, text, inputs, outputs, tuple(writer.steps), _UNITS[part])


def _in_pairs(array: Array, dtype: "np.dtype[Any]") -> Array:
    if array.dtype.kind != "c":
        return array.astype(dtype)
    return np.stack(_parts(array), axis=-1).astype(dtype)


def _parts(array: Array) -> tuple[Array, Array]:
    return np.asarray(np.real(array)), np.asarray(np.imag(array))


def through_complex(seed: int) -> None:
    """What the way `complex` does with a seed.

    Raises:
        MismatchError: A result is wrong.
        FuseError: The program is refused.
    """
    from fuzzing.ways import MismatchError

    program = program_of(seed)
    module = program.module()
    results = interpreted(module, program.inputs)
    for place, (result, known) in enumerate(zip(results, program.outputs, strict=True)):
        if text := _wrong(result, known, program.unit):
            raise MismatchError(f"output {place} beside NumPy's complex numbers: {text}\n{program.text}")
    inputs, random = list(program.inputs), np.random.default_rng([seed, 3])
    if random.random() < 0.25:
        inputs = [
            np.where(random.random(x.shape) < 0.1, random.choice(_SPECIAL, x.shape).astype(x.dtype), x) for x in inputs
        ]
    try:
        compare_natively(module, inputs, seed)
    except MismatchError as error:
        raise MismatchError(f"{error}\n{program.text}") from error


def _wrong(result: Array, known: Known, unit: float) -> str:
    """How a result differs from NumPy's by more than the runs with moved numbers do; nothing if it does not."""
    want = known.array
    if want.dtype.kind == "b":
        return "" if np.array_equal(result, want) else "another truth value"
    got = result[..., 0].astype(np.float64) + 1j * result[..., 1] if want.dtype.kind == "c" else result
    if got.shape != want.shape:
        return f"{list(got.shape)} in place of {list(want.shape)}"
    if not want.size:
        return ""
    with np.errstate(all="ignore"):
        moves = np.max([np.abs(each - want) for each in known.moved], axis=0)
        allowed = _SLACK * (np.where(np.isfinite(moves), moves, np.inf) + 4 * unit * np.abs(want)) + 1e-38
        bad = ~(np.abs(got - want) <= allowed)
    if not bad.any():
        return ""
    at = tuple(map(int, np.argwhere(bad)[0]))
    return f"{int(bad.sum())} of {want.size} differ, first at {list(at)}: {got[at]} in place of {want[at]}"
