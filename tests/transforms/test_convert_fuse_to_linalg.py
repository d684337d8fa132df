"""Ops and programs converted to linalg mean what they meant, op by op and fused; ops without a form stand on a list."""

from collections.abc import Sequence
from io import StringIO

import numpy as np
import pytest
from fuzzing.comparing import assert_agrees
from hypothesis import given, settings
from hypothesis import strategies as st
from linalg_meaning import run_linalg
from op_examples import assert_close, examples, functions, operator, random_operands
from random_moves import random_moves
from random_programs import random_programs
from test_ops_as_loops import REFUSED
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr

from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.numpy import evaluate, run_module
from fuse_dialect.interpreters.values import EvaluationError
from fuse_dialect.loops.program import Refusal
from fuse_dialect.lowering.loop_program import lower
from fuse_dialect.targets.convert_fuse_to_linalg import ConvertFuseToLinalgPass
from fuse_dialect.targets.linalg.forms.table import FALLBACKS, WITHOUT_FORM, WRITERS
from fuse_dialect.targets.mlir import FusePrinter

WITHOUT_LINALG = {op.name: reason for op, reason in WITHOUT_FORM.items()}
"""Ops without a form, and why."""


def converted(module: ModuleOp) -> ModuleOp:
    """The module as linalg, printed and read again."""
    copy = module.clone()
    ConvertFuseToLinalgPass().apply(Context(), copy)
    copy.verify()
    return reread(copy)


def reread(module: ModuleOp) -> ModuleOp:
    text = StringIO()
    FusePrinter(stream=text).print_op(module)
    again = parse_mlir(text.getvalue())
    again.verify()
    assert not any(isinstance(op, FuseOp) for op in again.walk())
    return again


KNOWN_REASONS = ("static sizes", "dynamic size", "does not follow", *REFUSED)
"""Words in reasons why an op on dynamic sizes, or with some properties or types, has no loops."""
MOST_FUNCTIONS = 5
"""Functions that are tried of each op: element types and shapes."""


def functions_of(op_class: type[FuseOp]) -> list[func.FuncOp]:
    """Functions of one op each, some of all that can be had."""
    found = [function for op in examples()[op_class.name] for function in functions(op)]
    some = found[:: max(1, -(-len(found) // MOST_FUNCTIONS))]
    for number, function in enumerate(some):
        function.properties["sym_name"] = StringAttr(f"f{number}")
    return some


def refusal(function: func.FuncOp) -> str:
    """Why the op has no form in linalg; empty if it has one."""
    try:
        ConvertFuseToLinalgPass().apply(Context(), ModuleOp([function.clone()]))
    except OpError as error:
        return str(error)
    return ""


def check_op(module: ModuleOp, function: func.FuncOp, random: np.random.Generator) -> None:
    """Compare linalg with the meaning of the function's op."""
    arrays = random_operands(function, random)
    try:
        expected = evaluate(operator(function), arrays)
    except EvaluationError:
        return  # the size that stands for `?` does not fit this op
    name = function.sym_name.data
    for results in (run_linalg(module, arrays, name), run_module(module, [*map(signless, arrays)], name)):
        for actual, array in zip(results, expected, strict=True):
            assert isinstance(array, np.ndarray)
            assert_close(actual.view(array.dtype) if array.dtype.kind == "u" else actual, array, str(function))


def signless(array: np.ndarray) -> np.ndarray:
    return array.view(f"i{array.dtype.itemsize}") if array.dtype.kind == "u" else array


@pytest.mark.parametrize("op_class", ALL_OPS, ids=lambda op: op.name)
def test_linalg_of_an_op_gives_its_meaning(op_class: type[FuseOp]) -> None:
    random = np.random.default_rng(0)
    reasons = {function: refusal(function) for function in functions_of(op_class)}
    chosen = [function for function, reason in reasons.items() if not reason]
    if op_class.name not in WITHOUT_LINALG:
        assert all(any(known in reason for known in KNOWN_REASONS) for reason in reasons.values() if reason)
    assert bool(chosen) == (op_class.name not in WITHOUT_LINALG)
    module = converted(ModuleOp([function.clone() for function in chosen]))
    for function in chosen:
        check_op(module, function, random)


def test_an_op_is_in_one_list_alone() -> None:
    assert not WRITERS.keys() & WITHOUT_FORM.keys()
    assert not WRITERS.keys() & FALLBACKS.keys()


def test_an_op_with_a_loop_program_has_no_writer() -> None:
    for op_class in WRITERS:
        for op in examples()[op_class.name]:
            for function in functions(op):
                assert isinstance(lower(function, for_kernels=False), Refusal), op_class.name


def test_distinct_truth_values_ascend() -> None:
    module = parse_mlir("""
func.func @main(%x: tensor<5xi1>) -> (tensor<?xi1>, tensor<?xi64>, tensor<5xi64>, tensor<?xi64>) {
  %v, %i, %p, %c = fuse.unique %x : (tensor<5xi1>) -> (tensor<?xi1>, tensor<?xi64>, tensor<5xi64>, tensor<?xi64>)
  return %v, %i, %p, %c : tensor<?xi1>, tensor<?xi64>, tensor<5xi64>, tensor<?xi64>
}
""")
    linalg = converted(module)
    for x in ([True, False, True, True, False], [False] * 5, [True] * 5):
        array = np.array(x)
        for actual, expected in zip(run_linalg(linalg, [array]), run_module(module, [array]), strict=True):
            np.testing.assert_array_equal(actual, expected)


def arrays_for(program: ModuleOp) -> list[np.ndarray]:
    """Random arguments of `main`, small integers among them."""
    (main,) = (op for op in program.ops if isinstance(op, func.FuncOp) and op.sym_name.data == "main")
    random = np.random.default_rng(0)
    arrays = []
    for type in main.function_type.inputs:
        assert is_tensor(type)
        numbers = random.standard_normal(type.get_shape())
        is_integer = "i64" in str(type.element_type)
        arrays.append((2 * numbers).astype(np.int64) if is_integer else numbers.astype(np.float32))
    return arrays


def check_program(program: ModuleOp, *, fused: bool) -> None:
    arrays, written = arrays_for(program), program.clone()
    if fused:
        FuseOpsPass().apply(Context(), program)
    linalg = converted(program)
    assert_agrees(written, arrays, run_linalg(linalg, arrays))
    assert_agrees(written, arrays, run_module(linalg, arrays))


@settings(max_examples=25)
@given(program=random_programs(), fused=st.booleans())
def test_random_programs_keep_their_meaning_in_linalg(program: ModuleOp, fused: bool) -> None:
    check_program(program, fused=fused)


@settings(max_examples=25)
@given(program=random_moves(), fused=st.booleans())
def test_random_moves_keep_their_meaning_in_linalg(program: ModuleOp, fused: bool) -> None:
    check_program(program, fused=fused)


@pytest.mark.parametrize(("low", "high"), [(0, 2), (2, 0), (1, 3), (0, -1), (-1, 2), (0, -4)])
@pytest.mark.parametrize("fused", [False, True])
def test_the_padding_of_pieces_is_written(low: int, high: int, fused: bool) -> None:
    """What pads is written beside the pieces of a concatenation, or they are read where they were put together."""
    program = parse_mlir(f"""
func.func @main(%x: tensor<3x4xf32>, %y: tensor<2x4xf32>, %z: tensor<f32>) -> tensor<{5 + low + high}x4xf32> {{
  %p = fuse.concatenate %x, %y, axis = 0 : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<5x4xf32>
  %q = fuse.pad %p, %z, low = [{low}, 0], high = [{high}, 0] : (tensor<5x4xf32>, tensor<f32>) -> tensor<{5 + low + high}x4xf32>
  return %q : tensor<{5 + low + high}x4xf32>
}}
""")  # noqa: E501
    check_program(program, fused=fused)


@pytest.mark.parametrize("sizes", [(3, 0), (0, 3), (0, 3, 0), (2, 0, 1)])
@pytest.mark.parametrize("fused", [False, True])
def test_pieces_without_elements_take_nothing_away(sizes: Sequence[int], fused: bool) -> None:
    """The last piece was put into an empty tensor, where one before it was the whole result."""
    pieces = ", ".join(f"%p{place}" for place in range(len(sizes)))
    arguments = ", ".join(f"%p{place}: tensor<{size}x2xf32>" for place, size in enumerate(sizes))
    types = ", ".join(f"tensor<{size}x2xf32>" for size in sizes)
    program = parse_mlir(f"""
func.func @main({arguments}) -> tensor<3x2xf32> {{
  %c = fuse.concatenate {pieces}, axis = 0 : ({types}) -> tensor<3x2xf32>
  return %c : tensor<3x2xf32>
}}
""")
    check_program(program, fused=fused)


@pytest.mark.parametrize("shape", ["1", "1x1x1"])
def test_a_number_becomes_a_tensor_of_one_element(shape: str) -> None:
    """XDSL verifies no expansion of a tensor without axes: the conversion ended in an error."""
    program = parse_mlir(f"""
func.func @main(%x: tensor<f32>) -> tensor<{shape}xf32> {{
  %y = fuse.reshape %x : (tensor<f32>) -> tensor<{shape}xf32>
  return %y : tensor<{shape}xf32>
}}
""")
    linalg = converted(program)
    linalg.verify()
    np.testing.assert_array_equal(run_module(parse_mlir(str(linalg)), [np.array(3, np.float32)])[0].ravel(), [3])


def test_a_piece_that_nobody_writes_is_noticed() -> None:
    module = parse_mlir("""
func.func @main(%x: tensor<3xf32>) -> tensor<5xf32> {
  %e = tensor.empty() : tensor<5xf32>
  %r = tensor.insert_slice %x into %e[0] [3] [1] : tensor<3xf32> into tensor<5xf32>
  return %r : tensor<5xf32>
}
""")
    with pytest.raises(AssertionError, match="nobody has written"):
        run_linalg(module, [np.zeros(3, np.float32)])
