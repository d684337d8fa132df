"""Quantized numbers that only move stay integers, to the bit, whatever moves them."""

from collections.abc import Callable, Mapping, Sequence
from math import prod

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given, settings
from quantized_text import Writer
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd
from fuse_dialect.dialect.op import Array
from fuse_dialect.transforms.fake_quantization_to_integer import FakeQuantizationToIntegerPass

Shape = list[int]
SCALE = 0.03
MOVES: Mapping[str, tuple[str, Callable[[Shape], Shape]]] = {
    "transpose": ("transpose {x}, permutation = {order} : ({type})", lambda s: s[::-1]),
    "reshape": ("reshape {x} : ({type})", lambda s: [prod(s)]),
    "expand_dims": ("expand_dims {x}, axis = 0 : ({type})", lambda s: [1, *s]),
    "slice": (
        "strided_slice {x}, begin = [0], end = [9999], strides = [2] : ({type})",
        lambda s: [-(-s[0] // 2), *s[1:]],
    ),
    "reverse": ("reverse {x}, axes = [0] : ({type})", lambda s: s),
    "take": ("take {x}, {places}, axis = 0 : ({type}, tensor<3xi64>)", lambda s: [3, *s[1:]]),
    "take of computed": ("take {x}, %i, axis = 0 : ({type}, tensor<2xi64>)", lambda s: [2, *s[1:]]),
    "pad": ("pad {x}, {number}, low = {low}, high = {high} : ({type}, tensor<f32>)", lambda s: [s[0] + 3, *s[1:]]),
    "where": ("where {mask}, {x}, {number} : (tensor<{columns}xi1>, {type}, tensor<f32>)", lambda s: s),
    "beside itself": ("concatenate {x}, {x}, axis = 0 : ({type}, {type})", lambda s: [2 * s[0], *s[1:]]),
    "beside numbers": ("concatenate {x}, {numbers}, axis = 0 : ({type}, {type})", lambda s: [2 * s[0], *s[1:]]),
    "stack": ("stack {x}, {numbers}, axis = 0 : ({type}, {type})", lambda s: [2, *s]),
    "split": ("split {x}, axis = 0, sizes = [{rows}] : ({type})", lambda s: s),
    "repeat": ("repeat {x}, repeats = 2, axis = 0 : ({type})", lambda s: [2 * s[0], *s[1:]]),
}
"""What moves elements, and the shape of its result."""


def type_of(shape: Shape) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}f32>"


def move(w: Writer, x: str, shape: Shape, name: str, real: float) -> tuple[str, Shape]:
    """Write a move of real numbers, with a number where one is asked for."""
    template, shape_of = MOVES[name]
    needed = {
        "places": lambda: w.constant(np.array([0, -1, 7]), "tensor<3xi64>"),
        "mask": lambda: w.constant(np.arange(shape[-1]) % 2 == 0, f"tensor<{shape[-1]}xi1>"),
        "number": lambda: w.constant(np.array(real, np.float32), "tensor<f32>"),
        "numbers": lambda: w.constant(np.full(shape, real, np.float32), type_of(shape)),
    }
    known = {key: write() for key, write in needed.items() if f"{{{key}}}" in template}
    low, high = ([each, *(0 for _ in shape[1:])] for each in (1, 2))
    order = list(range(len(shape)))[::-1]
    text = template.format(
        x=x, type=type_of(shape), order=order, low=low, high=high, rows=shape[0], columns=shape[-1], **known
    )
    result = f"%v{len(w.lines)}"
    w.lines.append(f"{result} = fuse.{text} -> {type_of(shape_of(shape))}")
    return result, shape_of(shape)


def moved(moves: Sequence[tuple[str, float]], element: str, zero: int, scale: float = SCALE) -> str:
    """A quantization, moves of the real numbers, and another quantization."""
    w, shape = Writer(np.random.default_rng(0)), [4, 6]
    value = w.reals(w.quantized("%x", "4x6x", zero, SCALE, element), "4x6x", zero, SCALE, element)
    for name, real in moves:
        value, shape = move(w, value, shape, name, real)
    text = "".join(f"{size}x" for size in shape)
    last = w.quantized(value, text, zero, scale, element)
    return w.module("tensor<4x6xf32>, %i: tensor<2xi64>", f"tensor<{text}{element}>", last)


def inputs() -> tuple[Array, Array]:
    x = np.random.default_rng(1).uniform(-6, 6, (4, 6)).astype(np.float32)
    x[0, :3] = np.nan, np.inf, -np.inf
    return x, np.array([1, -1])


def on_integers(text: str) -> ModuleOp:
    module = fd.parse(text)
    FakeQuantizationToIntegerPass().apply(Context(), module)
    module.verify()
    return module


@pytest.mark.parametrize("element", ["i8", "ui8"])
@pytest.mark.parametrize("name", MOVES)
def test_what_only_moves_is_not_quantized_again(name: str, element: str) -> None:
    text = moved([(name, 1.7)], element, 11)
    module = on_integers(text)
    assert str(module).count("fuse.round") == 1
    np.testing.assert_array_equal(fd.run(module, *inputs())[0], fd.run(fd.parse(text), *inputs())[0])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(list(MOVES)), st.floats(-5, 5, width=32)), max_size=5),
    st.sampled_from([("i8", -100), ("i8", 3), ("i8", 127), ("ui8", 0), ("ui8", 200)]),
    st.sampled_from([SCALE, 0.031]),
)
@example([(name, 0.0) for name in ("reshape", "pad", "beside itself", "repeat", "slice")], ("i8", -100), SCALE)
def test_moves_keep_the_bits(moves: list[tuple[str, float]], kind: tuple[str, int], scale: float) -> None:
    text = moved(moves, *kind, scale)
    module = on_integers(text)
    assert str(module).count("fuse.round") == (1 if scale == SCALE else 2)
    np.testing.assert_array_equal(fd.run(module, *inputs())[0], fd.run(fd.parse(text), *inputs())[0])


def test_a_split_is_put_on_integers_once_for_all_its_pieces() -> None:
    w = Writer(np.random.default_rng(0))
    value = w.reals(w.quantized("%x", "6x4x", 100, SCALE, "ui8"), "6x4x", 100, SCALE, "ui8")
    pieces = [f"%p{number}" for number in range(6)]
    piece = "tensor<1x4xf32>"
    w.lines.append(
        f"{', '.join(pieces)} = fuse.split {value}, axis = 0, sizes = [1, 1, 1, 1, 1, 1] : "
        f"(tensor<6x4xf32>) -> ({', '.join([piece] * 6)})"
    )
    bytes = [w.quantized(each, "1x4x", 100, SCALE, "ui8") for each in pieces]
    result = w.op("concatenate", tuple(bytes[::-1]), ("tensor<1x4xui8>",) * 6, "tensor<6x4xui8>", ", axis = 0")
    text = w.module("tensor<6x4xf32>", "tensor<6x4xui8>", result)
    module = on_integers(text)
    assert str(module).count("fuse.split") == 1
    assert str(module).count("fuse.round") == 1
    x = np.random.default_rng(4).uniform(-6, 6, (6, 4)).astype(np.float32)
    np.testing.assert_array_equal(fd.run(module, x)[0], fd.run(fd.parse(text), x)[0])


def test_numbers_with_and_without_a_sign_are_alike_once_the_signs_are_gone() -> None:
    """One quantization to i8 and one to ui8 by zero points that differ by 128 have the same grid."""
    w = Writer(np.random.default_rng(0))
    q = w.quantized("%x", "4x6x", -28, SCALE, "i8")
    value, shape = move(w, w.reals(q, "4x6x", -28, SCALE, "i8"), [4, 6], "transpose", 0)
    last = w.quantized(value, "6x4x", 100, SCALE, "ui8")
    text = w.module("tensor<4x6xf32>", "tensor<6x4xui8>", last)
    module = on_integers(text)
    assert (str(module).count("fuse.round"), shape) == (1, [6, 4])
    x = inputs()[0][1:].repeat(2, axis=0)[:4]
    np.testing.assert_array_equal(fd.run(module, x)[0], fd.run(fd.parse(text), x)[0])


def test_both_operands_of_a_concatenation_lose_their_sign_without_a_way_back() -> None:
    w = Writer(np.random.default_rng(0))
    one, other = (w.quantized(each, "2x3x", zero, SCALE) for each, zero in (("%x", 5), ("%y", 5)))
    both = w.op("concatenate", (one, other), ("tensor<2x3xi8>",) * 2, "tensor<4x3xi8>", ", axis = 0")
    real = w.reals(both, "4x3x", 5, SCALE)
    text = w.module("tensor<2x3xf32>, %y: tensor<2x3xf32>", "tensor<4x3xf32>", real)
    module = on_integers(text)
    assert "xi8>" not in str(module)
    x = np.random.default_rng(4).uniform(-6, 6, (2, 2, 3)).astype(np.float32)
    np.testing.assert_array_equal(fd.run(module, *x)[0], fd.run(fd.parse(text), *x)[0])
