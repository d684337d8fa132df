"""The NumPy interpreter: functions, calls, constants, inputs, and errors that name the op."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp, TensorType, TupleType, UnregisteredOp, f32, i64
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.interpreter import Interpreter, OpCounter
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.dynamic_form import shape_of_type
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.dynamic import DynTileOp
from fuse_dialect.dialect.ops.elementwise import ExpOp
from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.interpreters.numpy import MAX_CALL_DEPTH, run_module
from fuse_dialect.interpreters.numpy_functions import register_numpy
from fuse_dialect.interpreters.sizes import FittingShapes, TooLargeError, check_sizes
from fuse_dialect.interpreters.values import EvaluationError, flatten

ROW = TensorType(f32, [4])
X = np.array([0.0, 1.0, -1.0, np.inf], np.float32)


def exp(x: np.ndarray) -> np.ndarray:
    """The exponential of f32, rounded once from f64."""
    return np.exp(x.astype(np.float64)).astype(np.float32)


CHAIN = """
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = func.call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  func.return %a, %c : tensor<4xf32>, tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = fuse.exp %x : tensor<4xf32>
  %b = fuse.exp %a : tensor<4xf32>
  func.return %b : tensor<4xf32>
}
"""


def module_of(ops: Sequence[Operation], arguments: Sequence[SSAValue], results: Sequence[SSAValue]) -> ModuleOp:
    """A module whose `@main` has the block arguments' types; `ops` are its body."""
    function = FuncOp("main", ([value.type for value in arguments], [value.type for value in results]))
    for old, new in zip(arguments, function.body.block.args, strict=True):
        old.replace_all_uses_with(new)
    function.body.block.add_ops([*ops, ReturnOp(*results)])
    return ModuleOp([function])


@pytest.mark.parametrize("visibility", ["", "public "])
def test_the_only_public_function_runs_where_none_is_called_main(visibility: str) -> None:
    text = CHAIN.replace("@main", f"{visibility}@forward")
    results = run_module(parse_mlir(text), [X])
    np.testing.assert_array_equal(results[0], exp(exp(X)))
    with pytest.raises(InterpretationError, match="no function 'back' in the module; there are 'forward'"):
        run_module(parse_mlir(text), [X], "back")
    with pytest.raises(InterpretationError, match="no function 'main' in the module; there are 'forward', 'twice'"):
        run_module(parse_mlir(text.replace("private ", "")), [X])


def test_run_module_runs_calls_and_constants() -> None:
    results = run_module(parse_mlir(CHAIN), [X])
    np.testing.assert_array_equal(results[0], exp(exp(X)))
    np.testing.assert_array_equal(results[1], np.array([1, 2, 3, 4], np.float32))


def test_run_module_agrees_with_xdsl_interpreter() -> None:
    module = parse_mlir(CHAIN)
    counter = OpCounter()
    interpreter = Interpreter(module, listeners=(counter,))
    register_numpy(interpreter)
    for one, other in zip(interpreter.call_op("main", (X,)), run_module(module, [X]), strict=True):
        np.testing.assert_array_equal(one, other)
    assert counter.ops["fuse.exp"] == 2


def test_run_module_runs_another_entry() -> None:
    (result,) = run_module(parse_mlir(CHAIN), [X], entry="twice")
    np.testing.assert_array_equal(result, exp(exp(X)))


@pytest.mark.parametrize("name", ["x", "arg0"])
def test_run_module_takes_inputs_by_name(name: str) -> None:
    assert run_module(parse_mlir(CHAIN), {name: X})[0].shape == (4,)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], r"'main' expects 1 inputs, got 0"),
        ([X, X], r"'main' expects 1 inputs, got 2"),
        ([X.astype(np.float64)], r"input 'x' expects a value of type tensor<4xf32>, got float64 of shape 4"),
        ([X[:3]], r"input 'x' expects a value of type tensor<4xf32>, got float32 of shape 3"),
        ([X[0]], r"input 'x' expects a value of type tensor<4xf32>, got a float32"),
        ({"y": X}, r"no input 'x' among 'y'"),
        ({"x": X, "y": X}, r"no argument takes the input 'y'; there are 'x'"),
    ],
)
def test_run_module_diagnoses_wrong_inputs(inputs: Sequence[Array] | Mapping[str, Array], message: str) -> None:
    with pytest.raises(InterpretationError, match=message):
        run_module(parse_mlir(CHAIN), inputs)


def test_run_module_diagnoses_a_missing_entry() -> None:
    with pytest.raises(InterpretationError, match="no function 'start' in the module; there are 'main'"):
        run_module(parse_mlir(CHAIN), [X], entry="start")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func private @main() -> ()", r"'func.func' op '@main' has no body to run"),
        (
            "func.func @main() { cf.br ^next\n ^next: func.return }",
            r"'func.func' op '@main' has 2 blocks, and branches cannot be run",
        ),
        ("func.func @main() { func.call @f() : () -> () func.return }", r"calls '@f', which is not in the module"),
        ("func.func @main() { func.call @main() : () -> () func.return }", rf"exceeds {MAX_CALL_DEPTH} calls"),
        (
            "func.func @main(%x: tensor<4xf32>) { %y = memref.alloc() : memref<4xf32> func.return }",
            r"'memref.alloc' op has no meaning in the NumPy interpreter",
        ),
    ],
)
def test_run_module_diagnoses_what_it_cannot_run(text: str, message: str) -> None:
    inputs = [X] if "%x" in text else []
    with pytest.raises(EvaluationError, match=message):
        run_module(parse_mlir(text), inputs)


def test_run_module_names_an_unregistered_op() -> None:
    op = UnregisteredOp.with_name("acme.frob").create(result_types=[ROW])
    with pytest.raises(EvaluationError, match=r"'acme\.frob' op has no meaning") as caught:
        run_module(module_of([op], [], op.results), [])
    assert caught.value.op is op


@pytest.mark.parametrize(
    ("name", "said"),
    [("acme.frob", "it is kept as it is, and does not run"), ("mhlo.exponential", "it fuses, and does not run")],
)
def test_an_op_without_a_meaning_says_whether_it_fuses(name: str, said: str) -> None:
    op = UnregisteredOp.with_name(name).create(result_types=[ROW])
    with pytest.raises(EvaluationError) as caught:
        run_module(module_of([op], [], op.results), [])
    assert caught.value.hint is not None
    assert caught.value.hint.startswith(said)


def test_run_module_diagnoses_a_constant_without_elements() -> None:
    op = arith.ConstantOp(DenseResourceAttr.from_params("blob", ROW))
    with pytest.raises(EvaluationError, match=r"'arith\.constant' op expects the elements"):
        run_module(module_of([op], [], op.results), [])


class _Wrong(ExpOp):
    """An op whose meaning gives `value`."""

    value: object = None

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        if isinstance(self.value, Exception):
            raise self.value
        return (self.value,)  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            np.zeros(3, np.float32),
            r"'fuse.exp' op result 0 expects a value of type tensor<4xf32>, got float32 of shape 3",
        ),
        (ValueError("bad axis"), r"'fuse.exp' op cannot be run: bad axis"),
        (MemoryError(), r"'fuse.exp' op cannot be run: not enough memory"),
    ],
)
def test_run_module_blames_the_op_with_the_wrong_meaning(value: object, message: str) -> None:
    source = constant(X)
    op = _Wrong(source.result)
    op.value = value
    with pytest.raises(EvaluationError, match=message) as caught:
        run_module(module_of([source, op], [], op.results), [])
    assert caught.value.op is op


def test_run_module_casts_results_to_the_declared_element_type() -> None:
    source = constant(X)
    op = _Wrong(source.result)
    op.value = np.arange(4)
    (result,) = run_module(module_of([source, op], [], op.results), [])
    assert result.dtype == np.float32


def test_run_module_accepts_any_size_for_a_dynamic_dimension() -> None:
    text = """func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
      %y = fuse.exp %x : tensor<?xf32>
      func.return %y : tensor<?xf32>
    }"""
    assert run_module(parse_mlir(text), [X])[0].shape == (4,)


def test_run_module_keeps_a_value_until_its_last_use() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
      %a = fuse.exp %x : tensor<4xf32>
      %b = fuse.exp %x : tensor<4xf32>
      %unused = fuse.exp %a : tensor<4xf32>
      func.return %b, %x, %b : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    }"""
    b, x, again = run_module(parse_mlir(text), [X])
    np.testing.assert_array_equal(b, exp(X))
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(again, b)


def test_run_module_runs_a_chain_deeper_than_the_stack() -> None:
    value: SSAValue = func.FuncOp("f", ([ROW], [])).body.block.args[0]
    argument, ops = value, list[FuseOp]()
    for _ in range(5000):
        ops.append(ExpOp(value))
        value = ops[-1].results[0]
    (result,) = run_module(module_of(ops, [argument], [value]), [np.full(4, -np.inf, np.float32)])
    assert result.shape == (4,)


def test_flatten_gives_the_fields_of_tuples_in_order() -> None:
    a, b, c = (np.array(i) for i in range(3))
    assert flatten([(a, (b,)), c]) == [a, b, c]


def test_tuple_inputs_are_checked() -> None:
    type: Attribute = TupleType((ROW, TensorType(i64, [])))
    module = ModuleOp([FuncOp("main", ([type], []))])
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    function.body.block.add_op(ReturnOp())
    with pytest.raises(InterpretationError, match="input 'arg0' expects a value of type tuple"):
        run_module(module, [X])


def test_xdsl_interpreter_diagnoses_a_missing_callee() -> None:
    call = CallOp("nobody", [], [])
    interpreter = Interpreter(module_of([call], [], []))
    register_numpy(interpreter)
    with pytest.raises(EvaluationError, match="calls '@nobody'"):
        interpreter.call_op("main", ())


def test_sizes_of_functions_that_are_called_count() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = fuse.broadcast_to %x : (tensor<4xf32>) -> tensor<100x4xf32>
      %b = fuse.sum %a, axes = [0] : (tensor<100x4xf32>)
      return %b : tensor<4xf32>
    }
    func.func private @never(%x: tensor<4xf32>) -> tensor<4000xf32> {
      %a = fuse.tile %x, reps = [1000] : (tensor<4xf32>)
      return %a : tensor<4000xf32>
    }"""
    module = parse_mlir(text)
    check_sizes(module, "main", 1600)
    with pytest.raises(EvaluationError, match="1600 bytes, more than the 1599"):
        check_sizes(module, "main", 1599)


def test_a_name_that_two_arguments_have_in_the_model_is_none() -> None:
    text = """func.func @main(%x: tensor<1xf32> {onnx.name = "a"}, %y: tensor<1xf32> {onnx.name = "a"},
        %z: tensor<1xf32> {onnx.name = "c"}) -> tensor<1xf32> {
      return %y : tensor<1xf32>
    }"""
    module = parse_mlir(text)
    arrays = [np.full(1, number, np.float32) for number in range(3)]
    (got,) = run_module(module, dict(zip(("x", "y", "c"), arrays, strict=True)))
    assert got == 1
    with pytest.raises(InterpretationError, match="no input 'x'"):
        run_module(module, dict(zip(("a", "y", "c"), arrays, strict=True)))


@pytest.mark.parametrize(
    "op",
    [
        "fuse.where %c, %y, %x : (tensor<4xi1>, tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>",
        "fuse.add %y, %x : (tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>",
    ],
)
def test_open_sizes_that_do_not_fit_are_told_by_the_shape_rule(op: str) -> None:
    text = "func.func @main(%c: tensor<4xi1>, %y: tensor<4xf32>, %x: tensor<?xf32>) -> tensor<4xf32> {\n"
    module = parse_mlir(f"{text}%r = {op}\nreturn %r : tensor<4xf32>\n}}")
    inputs = [np.ones(4, np.bool_), np.ones(4, np.float32), np.ones(8, np.float32)]
    with pytest.raises(EvaluationError, match=r"expects broadcast-compatible shapes, got .*4.*8"):
        run_module(module, inputs)


def test_the_static_form_for_sizes_that_came_before_is_made_once() -> None:
    text = """func.func @main(%x: tensor<?xf32>, %reps: tensor<1xi64>) -> tensor<?xf32> {
      %0 = fuse.dyn_tile %x, %reps : (tensor<?xf32>, tensor<1xi64>) -> tensor<?xf32>
      func.return %0 : tensor<?xf32>
    }"""
    (op,) = (each for each in parse_mlir(text).walk() if isinstance(each, DynTileOp))
    known = FittingShapes()

    def form(size: int, times: int, limit: int = 1 << 20) -> FuseOp:
        return known.form_for(op, [np.zeros(size, np.float32), np.array([times])], limit)[0]

    assert form(3, 2) is form(3, 2)
    assert [shape_of_type(form(*each).result_types[0]) for each in ((3, 2), (3, 4), (5, 2))] == [(6,), (12,), (10,)]
    with pytest.raises(TooLargeError):
        form(3, 5, limit=8)
