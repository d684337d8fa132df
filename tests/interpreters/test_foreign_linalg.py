"""What linalg means by NumPy: named ops by their forms, random structured ops loop by loop, bad ones by name."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.utils.exceptions import InterpretationError

import fuse_dialect as fd
from fuse_dialect.dialect.op import Array
from fuse_dialect.frontends.mlir.linalg_forms import FORMS, Form
from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.interpreters.values import EvaluationError

SIZES = {"n": 2, "m": 3, "k": 4, "c": 3, "f": 2, "x": 3, "y": 2, "z": 2, **dict.fromkeys("bguvwpqr", 2)}


def run(text: str, *arrays: Array) -> Array:
    module = parse_mlir(text)
    module.verify()
    return run_module(module, arrays)[0]


def size_of(axis: str) -> int:
    """Elements along an axis, with strides of 2 and dilations of 1."""
    first, _, second = axis.partition("+")
    return (SIZES[first[-1]] - 1) * (2 if first.startswith("s*") else 1) + (SIZES[second[-1]] if second else 1)


def place(axis: str, loops: dict[str, int]) -> int:
    return sum(loops[term[-1]] * (2 if term.startswith("s*") else 1) for term in axis.split("+"))


def expected_of(form: Form, inputs: list[Array], total: Array) -> Array:
    """What a form says, one iteration after the other."""
    names = [*form.parallel.split(), *form.reduced.split()]
    result = total.copy()
    for numbers in product(*(range(SIZES[name]) for name in names)):
        loops = dict(zip(names, numbers, strict=True))
        to = tuple(loops[name] for name in form.parallel.split())
        read = [
            array[tuple(place(axis, loops) for axis in axes.split())]
            for array, axes in zip(inputs, form.inputs, strict=True)
        ]
        match form.combination:
            case "product":
                result[to] += read[0] * read[1]
            case "sum":
                result[to] += read[0]
            case "max" | "min" as name:
                result[to] = (max if name == "max" else min)(result[to], read[0])
            case name:
                unsigned = [np.array([each]).view(np.uint32)[0] for each in (result[to], read[0])]
                result[to] = np.array([(max if "max" in name else min)(unsigned)]).view(np.int32)[0]
    return result


@pytest.mark.parametrize("name", FORMS)
def test_a_named_op_is_what_its_form_says(name: str) -> None:
    form = FORMS[name]
    random = np.random.default_rng(0)
    shapes = [[size_of(axis) for axis in axes.split()] for axes in (*form.inputs, form.parallel)]
    types = [f"tensor<{''.join(f'{size}x' for size in shape)}i32>" for shape in shapes]
    window = f"tensor<{form.window_rank}xi64>"
    attributes = f" {{dilations = dense<1> : {window}, strides = dense<2> : {window}}}" if form.window_rank else ""
    text = f"""
    func.func @main(%a: {types[0]}, %b: {types[1]}, %c: {types[2]}) -> {types[2]} {{
      %y = linalg.{name}{attributes} ins(%a, %b : {types[0]}, {types[1]}) outs(%c : {types[2]}) -> {types[2]}
      return %y : {types[2]}
    }}"""
    arrays = [random.integers(-9, 9, shape, np.int32) for shape in shapes]
    np.testing.assert_array_equal(run(text, *arrays), expected_of(form, arrays[:2], arrays[2]))


@st.composite
def structured_ops(draw: st.DrawFn) -> tuple[str, list[list[str]], list[int], str]:
    """Extents of loops, axes of two inputs and of the result as expressions of them, and a body."""
    count = draw(st.integers(1, 3))
    extents = [draw(st.integers(1, 3)) for _ in range(count)]
    loops = [f"d{loop}" for loop in range(count)]
    inputs = [list(draw(st.permutations(loops))) for _ in range(2)]
    if draw(st.booleans()):
        inputs[1].append(draw(st.sampled_from(["d0 + d0", "d0 * 2 + 1", "3", "d0 mod 2", "d0 floordiv 2"])))
    result = list(draw(st.permutations(loops)))[: draw(st.integers(0, count))]
    body = draw(st.sampled_from(sorted(BODIES)))
    return body, [*inputs, result], extents, f"({', '.join(loops)})"


BODIES = {
    "sum": ("%0 = arith.addi %t, %a : i64\n%y = arith.addi %0, %b : i64", lambda a, b, t, d0: t + a + b),
    "dot": ("%0 = arith.muli %a, %b : i64\n%y = arith.addi %0, %t : i64", lambda a, b, t, d0: t + a * b),
    "max": ("%0 = arith.subi %a, %b : i64\n%y = arith.maxsi %t, %0 : i64", lambda a, b, t, d0: max(t, a - b)),
    "last": ("%0 = arith.subi %a, %t : i64\n%y = arith.muli %0, %b : i64", lambda a, b, t, d0: (a - t) * b),
    "index": (
        "%i = linalg.index 0 : index\n%0 = arith.index_cast %i : index to i64\n%1 = arith.muli %0, %a : i64\n"
        "%y = arith.addi %1, %t : i64",
        lambda a, b, t, d0: d0 * a + t,
    ),
    "branch": (
        "%0 = arith.cmpi slt, %a, %b : i64\n"
        "%y = scf.if %0 -> (i64) { scf.yield %t : i64 } else { %1 = arith.addi %t, %b : i64\nscf.yield %1 : i64 }",
        lambda a, b, t, d0: t if a < b else t + b,
    ),
}


def evaluate(expression: str, loops: dict[str, int]) -> int:
    return eval(expression.replace("mod", "%").replace("floordiv", "//"), {}, loops)  # of this file


@settings(max_examples=120)
@given(op=structured_ops(), seed=st.integers(0, 99))
def test_a_random_structured_op_runs_its_loops(op: tuple[str, list[list[str]], list[int], str], seed: int) -> None:
    name, axes, extents, loops = op
    random = np.random.default_rng(seed)
    names = [f"d{loop}" for loop in range(len(extents))]
    points = [dict(zip(names, point, strict=True)) for point in product(*map(range, extents))]
    shapes = [[max(evaluate(axis, point) for point in points) + 1 for axis in own] for own in axes]
    arrays = [random.integers(-5, 5, shape) for shape in shapes]
    expected = arrays[2].copy()
    for point in points:
        a, b, t = (tuple(evaluate(axis, point) for axis in own) for own in axes)
        expected[t] = BODIES[name][1](arrays[0][a], arrays[1][b], expected[t], point["d0"])
    types = [f"tensor<{''.join(f'{size}x' for size in shape)}i64>" for shape in shapes]
    maps = ", ".join(f"affine_map<{loops} -> ({', '.join(own)})>" for own in axes)
    iterators = ", ".join('"parallel"' if each in axes[2] else '"reduction"' for each in names)
    text = f"""
    func.func @main(%x: {types[0]}, %z: {types[1]}, %init: {types[2]}) -> {types[2]} {{
      %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}
        ins(%x, %z : {types[0]}, {types[1]}) outs(%init : {types[2]}) {{
      ^bb0(%a: i64, %b: i64, %t: i64):
        {BODIES[name][0]}
        linalg.yield %y : i64
      }} -> {types[2]}
      return %r : {types[2]}
    }}"""
    np.testing.assert_array_equal(run(text, *arrays), expected)


def test_a_long_sum_is_added_up_in_parts() -> None:
    text = """
    func.func @main(%x: tensor<5000000xf32>, %y: tensor<f32>) -> tensor<f32> {
      %r = linalg.reduce { arith.addf } ins(%x : tensor<5000000xf32>) outs(%y : tensor<f32>) dimensions = [0]
      return %r : tensor<f32>
    }"""
    np.testing.assert_allclose(run(text, np.ones(5000000, np.float32), np.array(1, np.float32)), 5000001, rtol=1e-6)


def test_narrow_floats_round_after_every_step() -> None:
    text = """
    func.func @main(%x: tensor<4096xf16>, %y: tensor<f16>) -> tensor<f16> {
      %r = linalg.reduce { arith.addf } ins(%x : tensor<4096xf16>) outs(%y : tensor<f16>) dimensions = [0]
      return %r : tensor<f16>
    }"""
    assert run(text, np.ones(4096, np.float16), np.array(0, np.float16)) == 2048  # 2049 is no f16


def test_results_of_several_inits_see_each_other() -> None:
    text = """
    func.func @main(%x: tensor<2x5xf32>, %best: tensor<2xf32>, %place: tensor<2xi64>) -> tensor<2xi64> {
      %r:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>,
          affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<2x5xf32>) outs(%best, %place : tensor<2xf32>, tensor<2xi64>) {
      ^bb0(%a: f32, %b: f32, %p: i64):
        %i = linalg.index 1 : index
        %n = arith.index_cast %i : index to i64
        %g = arith.cmpf ogt, %a, %b : f32
        %v = arith.select %g, %a, %b : f32
        %w = arith.select %g, %n, %p : i64
        linalg.yield %v, %w : f32, i64
      } -> (tensor<2xf32>, tensor<2xi64>)
      return %r#1 : tensor<2xi64>
    }"""
    x = np.random.default_rng(0).standard_normal((2, 5)).astype(np.float32)
    result = run(text, x, np.full(2, -np.inf, np.float32), np.zeros(2, np.int64))
    np.testing.assert_array_equal(result, x.argmax(1))


def test_several_inputs_are_reduced_together() -> None:
    text = """func.func @main(%x: tensor<2x?xi8>, %y: tensor<2x?xf32>, %a: tensor<?xi32>, %b: tensor<?xf32>)
        -> (tensor<?xi32>, tensor<?xf32>) {
      %r:2 = linalg.reduce ins(%x, %y : tensor<2x?xi8>, tensor<2x?xf32>) outs(%a, %b : tensor<?xi32>, tensor<?xf32>)
          dimensions = [0] (%p: i8, %q: f32, %s: i32, %t: f32) {
        %w = arith.extsi %p : i8 to i32
        %u = arith.addi %w, %s : i32
        %v = arith.maximumf %q, %t : f32
        linalg.yield %u, %v : i32, f32
      }
      return %r#0, %r#1 : tensor<?xi32>, tensor<?xf32>
    }"""
    module = parse_mlir(text)
    module.verify()
    assert str(parse_mlir(str(module))) == str(module)
    x, y = np.full((2, 3), 100, np.int8), np.arange(6, dtype=np.float32).reshape(2, 3)
    sums, greatest = run_module(module, [x, y, np.ones(3, np.int32), np.full(3, 4, np.float32)])
    assert (sums.tolist(), greatest.tolist()) == ([201] * 3, [4, 4, 5])


@pytest.mark.parametrize(
    ("ins", "rest", "message"),
    [
        ("%x", "dimensions = [2]", r"expects increasing axes of 2, got \[2\]"),
        ("%x", "dimensions = [1, 1]", r"expects increasing axes of 2, got \[1, 1\]"),
        ("%x", "dimensions = [0]", "expects the shape '3', got tensor<2xf32>"),
        ("%x", "dimensions = [1] (%a: f32) { linalg.yield %a : f32 }", "takes an element of each operand"),
        ("%x, %x", "dimensions = [1] (%a: f32) { linalg.yield %a : f32 }", "variadic operands have different sizes"),
    ],
)
def test_a_bad_reduction_is_refused(ins: str, rest: str, message: str) -> None:
    types = ", ".join(["tensor<2x3xf32>"] * len(ins.split(",")))
    payload = "" if "(" in rest else "{ arith.addf }"
    with pytest.raises(fd.FuseError, match=message):
        fd.parse(
            f"""func.func @main(%x: tensor<2x3xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {{
              %r = linalg.reduce {payload} ins({ins} : {types}) outs(%y : tensor<2xf32>) {rest}
              return %r : tensor<2xf32>
            }}"""
        )


@pytest.mark.parametrize(("number", "expected"), [(0, 2.0), (7, 3.0), (1, 1.0)])
def test_a_switch_takes_the_region_of_a_number(number: int, expected: float) -> None:
    text = """func.func @main(%n: index, %x: tensor<f32>) -> tensor<f32> {
      %y = scf.index_switch %n -> tensor<f32>
      case 0 {
        %a = arith.addf %x, %x : tensor<f32>
        scf.yield %a : tensor<f32>
      }
      case 7 {
        %a = scf.execute_region -> tensor<f32> {
          %b = arith.addf %x, %x : tensor<f32>
          %c = arith.addf %b, %x : tensor<f32>
          scf.yield %c : tensor<f32>
        }
        scf.yield %a : tensor<f32>
      }
      default {
        scf.yield %x : tensor<f32>
      }
      return %y : tensor<f32>
    }"""
    assert run(text, np.array(number), np.array(1, np.float32)) == expected


MATMUL = "linalg.matmul ins(%x, %x : tensor<?x?xf32>, tensor<?x?xf32>) outs(%x : tensor<?x?xf32>) -> tensor<?x?xf32>"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"%y = {MATMUL}", "'linalg.matmul' op has two sizes for loop 2: 3 and 2"),
        (
            "%i = arith.constant 7 : index\n%y = tensor.extract %x[%i, %i] : tensor<?x?xf32>",
            "'tensor.extract' op cannot be run: index 7 is outside axis 0 of size 2",
        ),
        (
            "%y = tensor.extract_slice %x[1, 0] [2, 2] [1, 1] : tensor<?x?xf32> to tensor<2x2xf32>",
            "'tensor.extract_slice' op cannot be run: offset 1, size 2, stride 1 reach out of axis 0 of size 2",
        ),
        (
            "%n = arith.constant -1 : index\n%y = tensor.empty(%n) : tensor<?xf32>",
            "'tensor.empty' op cannot be run: expects sizes of at least 0",
        ),
        (
            "%n = arith.constant 1000000000000 : index\n%y = tensor.empty(%n) : tensor<?xf32>",
            "'tensor.empty' op cannot be run: its result takes 4000000000000 bytes",
        ),
        ("%y = tensor.cast %x : tensor<?x?xf32> to tensor<4x4xf32>", "'tensor.cast' op result 0 expects a value of"),
        (
            "%y = linalg.transpose ins(%x : tensor<?x?xf32>) outs(%x : tensor<?x?xf32>) permutation = [1, 0]",
            r"'linalg.transpose' op cannot be run: expects an init of \[3, 2\], got \[2, 3\]",
        ),
    ],
)
def test_a_bad_op_is_named(body: str, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        run(f"func.func @main(%x: tensor<?x?xf32>) {{\n{body}\nfunc.return\n}}", np.zeros((2, 3), np.float32))


def test_numbers_are_arguments_and_results() -> None:
    text = """
    func.func @main(%x: f32, %n: index, %b: i1) -> f32 {
      %0 = arith.index_cast %n : index to i32
      %1 = arith.sitofp %0 : i32 to f32
      %2 = arith.mulf %x, %1 : f32
      %3 = arith.select %b, %2, %x : f32
      return %3 : f32
    }"""
    assert run(text, np.array(1.5, np.float32), np.array(4), np.array(True)) == 6
    with pytest.raises(InterpretationError, match="input 'n' expects a value of type index, got int32"):
        run(text, np.array(1.5, np.float32), np.array(4, np.int32), np.array(True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%c = arith.addi %x, %x : i1", [False, False]),
        ("%c = arith.muli %x, %x : i1", [False, True]),
        ("%c = arith.cmpi slt, %x, %f : i1", [False, True]),
        ("%c = arith.cmpi ult, %f, %x : i1", [False, True]),
        (
            "%0 = arith.constant 2 : i8\n%1 = arith.extui %x : i1 to i8\n%2 = arith.addi %0, %1 : i8\n"
            "%c = arith.trunci %2 : i8 to i1",
            [False, True],
        ),
    ],
)
def test_bits_are_integers_of_one_bit(text: str, expected: list[bool]) -> None:
    module = parse_mlir(f"func.func @main(%x: i1) -> i1 {{ %f = arith.constant false\n{text}\nreturn %c : i1 }}")
    assert [bool(run_module(module, [np.array(x)])[0]) for x in (False, True)] == expected
