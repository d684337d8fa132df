"""What the tests of the op families share: build an op from types or arrays, and ask ONNX's own meaning."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.types import DYNAMIC, Tensor, are_compatible, element_type_of, is_tensor, tensor, with_shape


def _type(text: str) -> Attribute:
    context = Context()
    context.load_dialect(Builtin)
    return Parser(context, text if text.startswith("tuple") else f"tensor<{text}>").parse_type()


def _build(
    op_class: type[FuseOp],
    operand_types: Sequence[Attribute],
    result_types: Sequence[Attribute] | None,
    **properties: Any,
) -> FuseOp:
    values = [TestOp(result_types=[type]).results[0] for type in operand_types]
    op = op_class(*values, result_types=result_types, **properties)
    op.verify()
    return op


@pytest.fixture
def build() -> Callable[..., FuseOp]:
    """Builds and verifies an op: `build(ReluOp, "4x?xf32")`; `result="..."` spells the result type out."""

    def build(op_class: type[FuseOp], *types: str, result: str | None = None, **properties: Any) -> FuseOp:
        results = None if result is None else [_type(result)]
        return _build(op_class, [_type(text) for text in types], results, **properties)

    return build


@pytest.fixture
def infer(build: Callable[..., FuseOp]) -> Callable[..., str | list[str]]:
    """The result type that an op infers, as the text between `tensor<` and `>`; a list when there are several."""

    def infer(op_class: type[FuseOp], *types: str, **properties: Any) -> str | list[str]:
        results = [
            str(type).removeprefix("tensor<").removesuffix(">")
            for type in build(op_class, *types, **properties).result_types
        ]
        return results[0] if len(results) == 1 else results

    return infer


@pytest.fixture
def rejects(build: Callable[..., FuseOp]) -> Callable[..., str]:
    """The message with which an op is rejected."""

    def rejects(op_class: type[FuseOp], *types: str, **properties: Any) -> str:
        with pytest.raises(VerifyException) as error:
            build(op_class, *types, **properties)
        return str(error.value).splitlines()[-1]

    return rejects


def _check_results(op: FuseOp, results: Sequence[Array]) -> None:
    assert len(results) == len(op.results)
    for value, result in zip(results, op.results, strict=True):
        actual = tensor(value.shape, element_type_of(value.dtype))
        assert are_compatible(actual, result.type), f"{op.name} gives {actual} where it infers {result.type}"


def _loosened(
    op_class: type[FuseOp], types: Sequence[Tensor], result_types: Sequence[Attribute] | None, **properties: Any
) -> FuseOp | None:
    """The op with `?` for every operand size; `None` where the op says that it needs one of them."""
    loose = [with_shape(type, [DYNAMIC] * len(type.get_shape())) for type in types]
    try:
        return _build(op_class, loose, result_types, **properties)
    except VerifyException as error:
        if "?" not in str(error):
            raise
        return None


def _check_refining(op: FuseOp, types: Sequence[Tensor], given: Sequence[Attribute], **properties: Any) -> None:
    """The shape of the type that was spelled out, its first size left open, follows from operands of known sizes."""
    (result,) = given
    assert is_tensor(result)
    shape = result.get_shape()
    if not shape or DYNAMIC in shape:
        return
    try:
        open_op = _build(type(op), types, [with_shape(result, [DYNAMIC, *shape[1:]])], **properties)
    except VerifyException as error:
        # What says how many elements there are must say all of them.
        if "?" not in str(error) and "static" not in str(error):
            raise
        return
    (refined,) = open_op.refine_types() or open_op.result_types
    assert is_tensor(refined)
    assert refined.get_shape() == shape, f"{op.name} keeps '?' of its result"


@pytest.fixture
def apply() -> Callable[..., Any]:
    """An op's results for arrays; checks that their types are those inferred for static and for dynamic operands."""

    def apply(op_class: type[FuseOp], *arrays: Array, result: str | None = None, **properties: Any) -> Any:
        types = [tensor(array.shape, element_type_of(array.dtype)) for array in arrays]
        given = None if result is None else [_type(result)]
        op = _build(op_class, types, given, **properties)
        results = op.evaluate(*arrays)
        _check_results(op, results)
        if given is not None:
            _check_refining(op, types, given, **properties)
        dynamic = _loosened(op_class, types, given, **properties)
        if dynamic is not None:
            again = dynamic.evaluate(*arrays)
            _check_results(dynamic, again)
            for one, other in zip(results, again, strict=True):
                assert one.tobytes() == other.tobytes()
        return results[0] if len(results) == 1 else results

    return apply


@pytest.fixture
def onnx_reference() -> Callable[..., Any]:
    """The result of one ONNX node by ONNX's reference implementation; `None` leaves an optional input out."""
    helper = pytest.importorskip("onnx.helper")
    reference = pytest.importorskip("onnx.reference")

    def run(op_type: str, *inputs: Array | None, outputs: int = 1, **attributes: Any) -> Any:
        names = ["" if array is None else f"x{index}" for index, array in enumerate(inputs)]
        node = helper.make_node(op_type, names, [f"y{index}" for index in range(outputs)], **attributes)
        feeds = {name: array for name, array in zip(names, inputs, strict=True) if name}
        results = reference.ReferenceEvaluator(node).run(None, feeds)
        return results[0] if outputs == 1 else results

    return run


@pytest.fixture
def random() -> np.random.Generator:
    """A generator with a fixed seed."""
    return np.random.default_rng(7)
