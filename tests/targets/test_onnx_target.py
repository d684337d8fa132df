"""`-t onnx`: what is written means what the module means, as our own reader and onnxruntime, if installed, have it."""

import numpy as np
import pytest
from op_examples import assert_close, examples, functions, operator, random_operands
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.tuples import GetTupleElementOp, TupleOp
from fuse_dialect.dialect.types import DYNAMIC, is_tensor
from fuse_dialect.frontends.onnx.reader import import_model
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.interpreters.values import EvaluationError
from fuse_dialect.targets.onnx.model import onnx_model
from fuse_dialect.targets.onnx.operators import ROWS

WITHOUT_ROW = {
    "fuse.tuple": "a tuple is the list of its fields",
    "fuse.get_tuple_element": "a field of that list",
}
"""Ops that no ONNX operator stands for, and why."""


def test_every_op_has_a_row_or_a_reason() -> None:
    assert {op.name for op in ALL_OPS} - {op.name for op in ROWS} == {*WITHOUT_ROW}
    assert len(ROWS) == len(ALL_OPS) - len(WITHOUT_ROW)


@pytest.mark.parametrize("op_class", [op for op in ALL_OPS if op not in (TupleOp, GetTupleElementOp)], ids=str)
def test_an_op_read_back_means_the_same(op_class: type[FuseOp]) -> None:
    random = np.random.default_rng(0)
    compared = 0
    for op in examples()[op_class.name]:
        for function in functions(op):
            compared += _is_same(function, random)
    assert compared


def _is_same(function: func.FuncOp, random: np.random.Generator) -> bool:
    function.properties["sym_name"] = StringAttr("main")
    module = ModuleOp([function])
    arrays = random_operands(function, random)
    try:
        expected = run_module(module, arrays)
    except EvaluationError:
        return False  # the size that stands for `?` does not fit this op
    try:
        model = onnx_model(module)
    except OpError:
        return False  # what is refused has tests of its own
    try:
        back = import_model(model)
    except FuseError:
        # Our reader needs to know more sizes than ONNX.
        assert any(DYNAMIC in type.get_shape() for type in function.function_type.inputs if is_tensor(type))
        return False
    for actual, array in zip(run_module(back, arrays), expected, strict=True):
        op = operator(function)
        if op.name == "fuse.resize2d" and array.dtype == np.float64:
            # ONNX has scales in 32 bits.
            np.testing.assert_allclose(actual, array, rtol=1e-5, atol=1e-5)
        else:
            assert_close(actual, array, f"{op}")
    return True
