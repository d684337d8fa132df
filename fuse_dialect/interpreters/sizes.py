"""How large the values of a run are: a type of a few letters, or a wrong number, may ask for terabytes.

1. Sizes that types say are looked at before anything of the block runs; those of constants are there already.
2. The results of an op whose type leaves a size open get their types from the operands when it runs, by the shape rule,
   before it makes them. What even that leaves open, the number of elements that are not zero for one, is in proportion
   to the operands.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.budget import SIZE_HINT, spelled
from fuse_dialect.dialect.dynamic_form import DynamicOp
from fuse_dialect.dialect.fields import PropertyValue
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.dynamic import DynStridedSliceOp
from fuse_dialect.dialect.types import DYNAMIC, byte_count, check_bytes, is_tensor, with_shape
from fuse_dialect.interpreters.entry import function_named, functions_of
from fuse_dialect.interpreters.values import EvaluationError, Value

_MOST_FITTING = 1 << 14
"""Shapes that are remembered of one program."""
_MOST_FORMS = 1 << 10
"""Static forms that are remembered of one program: each is an op with its types."""
_MOST_NUMBER_BYTES = 1 << 10
"""Of the operands that say sizes; longer ones are not looked up."""


class TooLargeError(VerifyException):
    """A result would take more bytes than one value may."""


def check_sizes(module: ModuleOp, entry: str, limit: int) -> None:
    """Refuse a program of which one value takes too much memory, before it runs.

    Args:
        module: A verified module.
        entry: Name of the function that will run; those that it calls count as well.
        limit: Most bytes of a value whose type is static; for others see `evaluate_within`.

    Raises:
        EvaluationError: An op gives, or a function takes, a larger value.
        InterpretationError: There is no such function.

    Complexity: O(ops).
    """
    functions = functions_of(module)
    pending = [function_named(module, entry)]
    seen = set(pending)
    while pending:
        function = pending.pop()
        for block in function.body.blocks:
            for argument in block.args:
                check_value(argument, limit)
        for op in ops_inside(function):
            for result in op.results:
                check_value(result, limit)
            if isinstance(op, func.CallOp):
                callee = functions.get(op.callee.string_value())
                if callee is not None and callee not in seen:
                    seen.add(callee)
                    pending.append(callee)


def check_value(value: SSAValue, limit: int) -> None:
    """Refuse a value whose type says that it takes more bytes.

    Raises:
        EvaluationError: It does.
    """
    size = byte_count(value.type)
    if size is not None and size > limit:
        op = value.owner.parent_op() if isinstance(value.owner, Block) else value.owner
        assert op is not None, "a block of a function is part of an op"
        reason = f"has a value of type {value.type}: {spelled(size)} bytes, more than the {limit} that one may take"
        raise EvaluationError(op, reason, SIZE_HINT)


_FormKey: TypeAlias = tuple[DynamicOp, tuple[tuple[int, ...], ...], tuple[bytes, ...]]
"""An op, the shapes of its operands, and the numbers among them."""


class FittingShapes:
    """Shapes of operands of which an op is known to make results within a limit: a loop asks the same many times.

    Of an op whose operands say sizes the static form, too.
    """

    def __init__(self) -> None:
        """None is known yet."""
        self._known: set[tuple[FuseOp, tuple[tuple[int, ...], ...]]] = set()
        self._forms: dict[_FormKey, FuseOp] = {}

    def __contains__(self, key: tuple[FuseOp, tuple[tuple[int, ...], ...]]) -> bool:
        return key in self._known

    def add(self, key: tuple[FuseOp, tuple[tuple[int, ...], ...]]) -> None:
        """Note shapes; all are forgotten where there are very many."""
        if len(self._known) >= _MOST_FITTING:
            self._known.clear()
        self._known.add(key)

    def form_for(self, op: DynamicOp, operands: Sequence[Array], limit: int) -> tuple[FuseOp, list[Array]]:
        """`checked_form` of the op, made once for the same shapes and numbers.

        To make a form takes a hundred times what its meaning takes on small arrays.

        Raises:
            TooLargeError: A result takes more.
            VerifyException: The numbers are not what the op may get.
        """
        numbers = [operands[place] for place in op.NUMBERS]
        if sum([each.nbytes for each in numbers]) > _MOST_NUMBER_BYTES:
            return checked_form(op, operands, limit)
        key = (op, tuple([each.shape for each in operands]), tuple([each.tobytes() for each in numbers]))
        form = self._forms.get(key)
        if form is not None:
            return form, [each for place, each in enumerate(operands) if place not in op.NUMBERS]
        form, data = checked_form(op, operands, limit)
        if len(self._forms) >= _MOST_FORMS:
            self._forms.clear()
        self._forms[key] = form
        return form, data


def checked_form(op: DynamicOp, operands: Sequence[Array], limit: int) -> tuple[FuseOp, list[Array]]:
    """`form_for` of the op, whose results take no more than `limit` bytes.

    Raises:
        TooLargeError: A result takes more.
        VerifyException: The numbers are not what the op may get.
    """
    form, data = op.form_for(operands)
    _check_types(form.result_types, limit)
    return form, data


def evaluate_within(
    op: FuseOp, operands: Sequence[Value], limit: int, fitting: FittingShapes | None = None
) -> tuple[Value, ...]:
    """The meaning of an op, if no result takes more than `limit` bytes; none is made before that is known.

    Args:
        op: Any op without regions.
        operands: Its operands.
        limit: Bytes of a result.
        fitting: Shapes of operands that are known to meet this limit; this adds to them.

    Raises:
        TooLargeError: One does.
        VerifyException: The operands do not fit the op; the op itself may raise more.
    """
    arrays = cast("Sequence[Array]", operands)
    if isinstance(op, DynamicOp):
        # What shows a part of an operand takes no memory.
        if isinstance(op, DynStridedSliceOp) and (part := op.part_of(arrays)) is not None:
            return (part,)
        find = checked_form if fitting is None else fitting.form_for
        form, data = find(op, arrays, limit)
        return form.evaluate(*data)
    if any(is_tensor(result.type) and DYNAMIC in result.type.get_shape() for result in op.results):
        is_simple = fitting is not None and all(isinstance(value, np.ndarray) for value in operands)
        key = (op, tuple([array.shape for array in arrays])) if is_simple else None
        if fitting is None or key is None or key not in fitting:
            _check_types(_types_at_run_time(op, operands), limit)
            if fitting is not None and key is not None:
                fitting.add(key)
    try:
        return op.evaluate(*arrays)
    except ValueError:
        # Types with open sizes promised what the arrays do not hold: the shape rule says it in the op's own words.
        _types_at_run_time(op, operands)
        raise


def _types_at_run_time(op: FuseOp, operands: Sequence[Value]) -> Sequence[Attribute]:
    """Result types as far as the shapes of the operands say them."""
    types = [
        with_shape(operand.type, value.shape) if is_tensor(operand.type) and isinstance(value, np.ndarray) else None
        for operand, value in zip(op.operands, operands, strict=True)
    ]
    known = [type for type in types if type is not None]
    if len(known) < len(types):
        return ()  # ops on tuples make no new elements
    properties: dict[str, PropertyValue] = {**op.properties}
    make: Any = type(op)
    stand_in: FuseOp = make(*Block(arg_types=known).args, result_types=op.result_types, attributes=None, **properties)
    return stand_in.refine_types() or ()


def _check_types(types: Sequence[Attribute], limit: int) -> None:
    for each in types:
        try:
            check_bytes(each, limit)
        except VerifyException as error:
            raise TooLargeError(str(error)) from error
