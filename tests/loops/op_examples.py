"""Functions of one op each, on all element types that it takes, with operands: for tests of the whole dialect."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from checking.rounding import ROUNDOFF
from xdsl.dialects import func
from xdsl.dialects.builtin import BFloat16Type, FunctionType, f16, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute, Block, Region
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.dynamic_form import DynamicOp
from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.types import DYNAMIC, Tensor, element_dtype, integer_type, is_tensor, with_element, with_shape
from fuse_dialect.frontends.mlir.reader import context, parse_mlir

FILECHECK = Path(__file__).parents[1] / "filecheck" / "dialect"

DYNAMIC_SIZE = 4
"""What `?` stands for."""


@cache
def examples() -> dict[str, list[FuseOp]]:
    """The ops in the FileCheck files of the dialect, by name."""
    found: dict[str, list[FuseOp]] = {op.name: [] for op in ALL_OPS}
    for file in sorted(FILECHECK.glob("*.mlir")):
        if file.stem.endswith("-invalid"):
            continue
        for op in parse_mlir(file.read_text(), file.name, context()).walk():
            if isinstance(op, FuseOp):
                found[op.name].append(op)
    return found


def rebuilt(op: FuseOp, operands: Sequence[Attribute], results: Sequence[Attribute] | None) -> func.FuncOp | None:
    """A function of this one op on other types; `None` where the op does not take them."""
    block = Block(arg_types=operands)
    try:
        copy = type(op)(*block.args, result_types=results, **op.properties)
        copy.verify()
    except VerifyException:
        return None
    block.add_op(copy)
    block.add_op(func.ReturnOp(*copy.results))
    return func.FuncOp("f", FunctionType.from_lists(list(operands), list(copy.result_types)), Region(block))


def replaced(types: Sequence[Attribute], old: Attribute, new: Attribute) -> list[Attribute]:
    """The types with another element type."""
    return [with_element(type, new) if is_tensor(type) and type.element_type == old else type for type in types]


def static(types: Sequence[Attribute]) -> list[Attribute]:
    return [
        with_shape(type, [DYNAMIC_SIZE if size == DYNAMIC else size for size in type.get_shape()])
        if is_tensor(type)
        else type
        for type in types
    ]


ELEMENTS = {
    f32: [f32, f64, f16, BFloat16Type(), i32, i8, integer_type(8, unsigned=True), integer_type(64, unsigned=True), i1],
    i1: [i1, f32, f16, i32],
    i32: [i32, i64, i8, f32],
    i64: [i64, i32, integer_type(8, unsigned=True), integer_type(32, unsigned=True)],
}
"""Element types that are tried in place of those in the files."""


def functions(op: FuseOp) -> Iterator[func.FuncOp]:
    """Functions of one op like this one: its own types, other element types, and all sizes static."""
    seen: set[str] = set()
    for old, elements in ELEMENTS.items():
        for new in elements:
            operands = replaced(op.operand_types, old, new)
            results = replaced(op.result_types, old, new)
            for shaped in (static, list):
                for given in (shaped(results), None):
                    function = rebuilt(op, shaped(operands), given)
                    if function is not None:
                        break
                else:
                    continue
                if str(function) not in seen:
                    seen.add(str(function))
                    yield function


def random_array(random: np.random.Generator, type: Tensor) -> Array:
    shape = [DYNAMIC_SIZE if size == DYNAMIC else size for size in type.get_shape()]
    dtype = element_dtype(type.element_type)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(np.bool_)
    if dtype.kind in "iu":
        numbers = random.integers(1 if dtype.kind == "u" else -3, 4, shape)
        return np.where(numbers == 0, 1, numbers).astype(dtype)
    special = random.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0], shape)
    return np.where(random.random(shape) < 0.03, special, random.normal(size=shape) * 2).astype(dtype)


FINITE = (
    "fuse.dft",
    "fuse.resize2d",
    "fuse.dyn_resize2d",
    "fuse.grid_sample",
    "fuse.roi_align",
    "fuse.deformable_conv2d",
    "fuse.householder_product",
    "fuse.inverse",
)
"""Ops with weights that may be 0: what becomes of the product with a nan depends on how sums are written."""
SIGNLESS = {"fuse.eigh": (1,), "fuse.svd": (0, 2)}
"""Results whose vectors have either sign."""
SHAPES = {"fuse.dyn_broadcast_to": [2, 1, 1], "fuse.dyn_reshape": [-1, 2], "fuse.dyn_resize2d": [4, 4]}
"""Shapes that fit the operand, or the result where it is static."""


def finite(array: Array) -> Array:
    """The array without nan and infinities."""
    if array.dtype.kind in "biu":
        return array
    return np.nan_to_num(array.astype(np.float32), posinf=1, neginf=-1).astype(array.dtype)


def operator(function: func.FuncOp) -> FuseOp:
    op = function.body.block.first_op
    assert isinstance(op, FuseOp)
    return op


def random_operands(function: func.FuncOp, random: np.random.Generator) -> list[Array]:
    """Arrays on which the op is defined."""
    op = operator(function)
    arrays = [random_array(random, type) for type in op.operand_types if is_tensor(type)]
    if op.name in ("fuse.left_shift", "fuse.right_shift", "fuse.power"):
        arrays[1] = np.asarray(np.abs(arrays[1]))
    if op.name == "fuse.cast" and arrays[0].dtype.kind not in "biu":
        arrays[0] = np.abs(np.nan_to_num(arrays[0].astype(np.float32), posinf=3.7, neginf=-3.7)).astype(arrays[0].dtype)
    if isinstance(op, DynamicOp) and op.name not in ("fuse.dyn_strided_slice", "fuse.dyn_arange"):
        for place in op.NUMBERS:
            arrays[place] = np.asarray(np.abs(arrays[place]))
    if op.name in SHAPES:
        arrays[1] = np.array(SHAPES[op.name]).astype(arrays[1].dtype)
    if op.name in FINITE:
        arrays = [finite(own) for own in arrays]
    if op.name in ("fuse.batch_norm",):
        arrays[4] = np.abs(arrays[4])
    return arrays


def assert_close(actual: Array, expected: Array, context: str) -> None:
    assert actual.dtype == expected.dtype, context
    assert actual.shape == expected.shape, context
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(actual, expected, err_msg=context)
        return
    if expected.dtype.name not in ROUNDOFF:
        assert actual.tobytes() == expected.tobytes(), context
        return
    unit = 64 * ROUNDOFF[expected.dtype.name]
    wide = [array.astype(np.float64) for array in (actual, expected)]
    np.testing.assert_allclose(*wide, rtol=unit, atol=unit, err_msg=context)
