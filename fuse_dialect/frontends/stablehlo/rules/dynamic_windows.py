"""`custom_call @stablehlo.dynamic_reduce_window`: windows whose sizes are operands, JAX's `cumsum` of open length.

The operands are a tensor, what windows begin with, and five lists: sizes of the window, its strides, gaps between
elements and between positions of the window, and what is added before and behind each axis. A running sum is a window
as long as an axis, with as many elements less one added on one side. Whether it is as long is known only while the
program runs: the program checks it.

Source: jax/_src/interpreters/mlir.py (`reduce_window`), jax/_src/lax/control_flow/loops.py (cumulative reduction).
"""

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, StringAttr, SymbolRefAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.traits import SymbolTable

from fuse_dialect.dialect.constants import constant_of
from fuse_dialect.dialect.ops.broadcast import SubtractOp
from fuse_dialect.dialect.ops.comparison import EqualOp, LogicalAndOp
from fuse_dialect.dialect.ops.sequences import CumprodOp, CumsumOp
from fuse_dialect.frontends.fuse_values import NoFuseFormError, integers, result, scalar, shape
from fuse_dialect.frontends.stablehlo.dialect import BY_NAME
from fuse_dialect.frontends.stablehlo.rules.building import known_number, only_op
from fuse_dialect.frontends.stablehlo.rules.sizes import as_scalar, size_of

TARGET = "stablehlo.dynamic_reduce_window"
"""The function that is called."""
_RUNNING: Mapping[str, tuple[type[CumsumOp | CumprodOp], int]] = {"add": (CumsumOp, 0), "multiply": (CumprodOp, 1)}
"""By what combines two elements: the running reduction, and what it begins with."""
_MESSAGE = "a window of a computed size has {0} positions on an axis of {1}; only windows as long as the axis are read"


def dynamic_reduce_window(op: Operation) -> Sequence[SSAValue]:
    """The running sums or products that a call is.

    Args:
        op: A call of `TARGET`.

    Raises:
        NoFuseFormError: It is another reduction of windows.
    """
    if len(op.operands) != 7 or len(op.results) != 1:
        raise NoFuseFormError("several tensors")
    x, init, *lists = op.operands
    window, strides, base, dilations, around = (_entries(each) for each in lists)
    if any(known_number(each) != 1 for each in (*strides, *base, *dilations)):
        raise NoFuseFormError("windows of computed size with steps or gaps")
    (axis,) = _axes_other_than(1, window)
    (side,) = _axes_other_than(0, around)
    if side // 2 != axis:
        raise NoFuseFormError("windows of computed size that are not as long as an axis")
    name = _combiner(op)
    if name not in _RUNNING or known_number(init) != _RUNNING[name][1]:
        raise NoFuseFormError(f"windows of computed size whose elements are combined by {name or 'several ops'}")
    _check(window[axis], around[side], size_of((x, axis)))
    running = _RUNNING[name][0](x, axis=axis, reverse=side % 2 == 1, result_types=[op.results[0].type])
    return [result(running)]


def _axes_other_than(number: int, entries: Sequence[SSAValue]) -> Sequence[int]:
    """The only place of a list at which something else stands than a number."""
    found = [place for place, each in enumerate(entries) if known_number(each) != number]
    if len(found) != 1:
        raise NoFuseFormError("windows of computed size along several axes")
    return found


def _entries(numbers: SSAValue) -> list[SSAValue]:
    """The tensors of one element that a list of integers, of any rank, is made of."""
    found: list[SSAValue] = []
    pending = [numbers]
    while pending:
        value = pending.pop()
        if {*shape(value)} <= {1}:
            found.append(value)
        elif (known := constant_of(value)) is not None:
            found += [integers([int(each)]) for each in known.reshape(-1)]
        elif isinstance(value, OpResult) and value.op.name in ("fuse.concatenate", "fuse.reshape"):
            pending += reversed(value.op.operands)
        else:
            raise NoFuseFormError("windows whose sizes are a list that the program computes")
    return found


def _combiner(op: Operation) -> str:
    """The name of the op by which the function that is called combines two elements."""
    called = op.attributes.get("called_computations", op.properties.get("called_computations"))
    symbols = list(cast("ArrayAttr[Attribute]", called)) if isinstance(called, ArrayAttr) else []
    symbol = symbols[0] if len(symbols) == 1 else None
    function = SymbolTable.lookup_symbol(op, symbol) if isinstance(symbol, SymbolRefAttr) else None
    block = function.body.first_block if isinstance(function, FuncOp) else None
    inner = None if block is None else only_op(block)
    return "" if inner is None else inner.name.rpartition(".")[2]


def _check(window: SSAValue, added: SSAValue, whole: SSAValue) -> None:
    """Let the program fail where a window is not as long as the axis, or another number of elements is added."""
    positions, size, before = (as_scalar(each, i64) for each in (window, whole, added))
    is_whole = result(EqualOp(positions, size))
    is_beside = result(EqualOp(before, result(SubtractOp(size, scalar(size, 1)))))
    BY_NAME["stablehlo.custom_call"].create(
        operands=[result(LogicalAndOp(is_whole, is_beside)), positions, size],
        properties={"call_target_name": StringAttr("shape_assertion"), "has_side_effect": BoolAttr.from_bool(True)},
        attributes={"error_message": StringAttr(_MESSAGE)},
    )
