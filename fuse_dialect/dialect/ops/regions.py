"""Ops with regions, which end with `fuse.yield`: `fuse.loop` and `fuse.if`, and `fuse.fused`, a kernel in its place.

    %last, %all = fuse.loop states(%h : tensor<2x4xf32>) rows(%x : tensor<7x2x4xf32>) -> (tensor<2x4xf32>, tensor<7x2x4xf32>) {
    ^bb0(%i: tensor<i64>, %state: tensor<2x4xf32>, %row: tensor<2x4xf32>):
      %sum = fuse.add %state, %row : tensor<2x4xf32>
      %next = fuse.tanh %sum : tensor<2x4xf32>
      fuse.yield %next, %next : tensor<2x4xf32>, tensor<2x4xf32>
    }

1. Regions see the values around them. To fusion, an op with regions stays where it is, and each region is a block of
   its own: what stands in a body is fused there, and a loop over a primitive calls it.
2. One op is ONNX Loop, Scan and the recurrent operators: states go from one iteration to the next, a row of each of
   `rows` comes in, and what the body yields beyond the states is stacked along a new first axis.
3. These ops hold no operators of their own, so they have no pattern kind.
4. A kernel in its place sees no values around it: what it reads are its operands, as for a primitive function.
"""  # noqa: E501  (an example of the assembly)

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DictionaryAttr, StringAttr, TensorType, i1, i64
from xdsl.ir import Attribute, Block, OpResult, Region, SSAValue
from xdsl.ir.core import SSAValues
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import HasParent, IsolatedFromAbove, IsTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.types import DYNAMIC, AnyTensor, Tensor, are_compatible, is_tensor, tensor, tensor_type

_COUNT = TensorType(i64, [])
_TRUTH = TensorType(i1, [])


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The end of a region: what an iteration, a branch or a kernel gives, and whether the loop goes on."""

    name = "fuse.yield"

    condition: SSAValue[Tensor] | None = cast("SSAValue[Tensor] | None", opt_operand_def(AnyTensor))
    """`while`: whether there is another iteration; a rank-0 tensor of i1."""
    values = cast("SSAValues[SSAValue[Tensor]]", var_operand_def())

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(LoopOp, IfOp, FusedOp)))
    assembly_format = "(`while` `(` $condition^ `:` type($condition) `)`)? ($values^ `:` type($values))? attr-dict"

    def __init__(self, *values: SSAValue, condition: SSAValue | None = None):
        """Build the op."""
        super().__init__(operands=[condition, list(values)])

    def verify_(self) -> None:
        """Check that loops and branches give tensors; a kernel may also give tuples.

        Raises:
            VerifyException: One gives something else.
        """
        if isinstance(self.parent_op(), FusedOp):
            return
        for value in self.values:
            if not is_tensor(value.type):
                raise VerifyException(f"expects tensors, got {value.type}")


@irdl_op_definition
class LoopOp(IRDLOperation):
    """Runs its body again and again: ONNX Loop and Scan in one.

    The body takes the number of the iteration, from 0 on, the states, and a row of each of `rows`. It yields the next
    states, and then what is stacked. It runs until `limit` or the rows are used up, or a condition is false: `while`
    before the first iteration, that of `fuse.yield` before each other.
    """

    name = "fuse.loop"

    limit: SSAValue[Tensor] | None = cast("SSAValue[Tensor] | None", opt_operand_def(AnyTensor))
    """Greatest number of iterations, an i64 of rank 0."""
    condition: SSAValue[Tensor] | None = cast("SSAValue[Tensor] | None", opt_operand_def(AnyTensor))
    """`while`: whether to begin, an i1 of rank 0."""
    states = cast("SSAValues[SSAValue[Tensor]]", var_operand_def(AnyTensor))
    """What the first iteration begins with."""
    rows = cast("SSAValues[SSAValue[Tensor]]", var_operand_def(AnyTensor))
    """Tensors of which each iteration takes one row, along the first axis."""
    outputs: SSAValues[OpResult[Tensor]] = var_result_def(AnyTensor)
    """The last states, then what the iterations gave, stacked along a new first axis."""
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RecursiveMemoryEffect())
    assembly_format = (
        "(`limit` `(` $limit^ `:` type($limit) `)`)? (`while` `(` $condition^ `:` type($condition) `)`)? "
        "(`states` `(` $states^ `:` type($states) `)`)? (`rows` `(` $rows^ `:` type($rows) `)`)? "
        "(`->` `(` type($outputs)^ `)`)? $body attr-dict"
    )

    def __init__(
        self,
        body: Block,
        *,
        limit: SSAValue | None = None,
        condition: SSAValue | None = None,
        states: Sequence[SSAValue] = (),
        rows: Sequence[SSAValue] = (),
    ):
        """Build the op; the body says the result types, and `rows` how many values are stacked."""
        iterations = _count([limit, condition, _end(body).condition], rows)
        stacks = [_stacked(value.type, iterations) for value in _yielded(body)[len(states) :]]
        super().__init__(
            operands=[limit, condition, list(states), list(rows)],
            result_types=[[*(value.type for value in _yielded(body)[: len(states)]), *stacks]],
            regions=[Region(body)],
        )

    def verify_(self) -> None:
        """Check operands, block arguments and what is yielded against each other.

        Raises:
            VerifyException: They do not fit, or nothing ends the loop.
        """
        _check_type(self.limit, _COUNT, "limit")
        _check_type(self.condition, _TRUTH, "while")
        end = _yield_of(self.body)
        if self.limit is None and not self.rows and end.condition is None:
            raise VerifyException("expects something that ends the loop: a limit, rows, or a condition")
        expected = [_COUNT, *(value.type for value in self.states), *(row_type(value) for value in self.rows)]
        _check_all(expected, [argument.type for argument in self.body.block.args], "body arguments")
        yielded = [value.type for value in end.values]
        count = len(self.states)
        _check_all([value.type for value in self.states], yielded[:count], "states that the body yields")
        iterations = _count([self.limit, self.condition, end.condition], self.rows)
        results = [*yielded[:count], *(_stacked(type, iterations) for type in yielded[count:])]
        _check_all(results, self.result_types, "results")


@irdl_op_definition
class IfOp(IRDLOperation):
    """Runs one of two regions, by a condition that is known when it runs: ONNX If."""

    name = "fuse.if"

    condition = cast("SSAValue[Tensor]", operand_def(AnyTensor))
    """An i1 of rank 0."""
    outputs: SSAValues[OpResult[Tensor]] = var_result_def(AnyTensor)
    """What the region yields."""
    then = region_def("single_block")
    otherwise = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())
    assembly_format = (
        "`(` $condition `:` type($condition) `)` (`->` `(` type($outputs)^ `)`)? $then `else` $otherwise attr-dict"
    )

    def __init__(self, condition: SSAValue, then: Block, otherwise: Block):
        """Build the op; a size in which the branches differ is `?` in the result."""
        types = [_merged(one.type, other.type) for one, other in zip(*map(_yielded, (then, otherwise)), strict=True)]
        super().__init__(operands=[condition], result_types=[types], regions=[Region(then), Region(otherwise)])

    def verify_(self) -> None:
        """Check the condition, and what the branches yield against the results.

        Raises:
            VerifyException: They do not fit.
        """
        _check_type(self.condition, _TRUTH, "condition")
        for name, region in (("then", self.then), ("else", self.otherwise)):
            end = _yield_of(region)
            if end.condition is not None or region.block.args:
                raise VerifyException(f"expects a region '{name}' without arguments and without 'while'")
            _check_all(self.result_types, [value.type for value in end.values], f"values of the region '{name}'")


@irdl_op_definition
class FusedOp(IRDLOperation):
    """A kernel in its place: what the pass `fuse-ops` with `form=inline` makes instead of a function and a call.

    The body takes the operands, and yields the results. `outline-fused` makes a primitive function of it, and
    `inline-fused` brings it back.
    """

    name = "fuse.fused"

    kernel = prop_def(StringAttr)
    """Name of the primitive function that it would be."""
    arguments = var_operand_def()
    """What the kernel reads."""
    function_attributes = opt_prop_def(DictionaryAttr)
    """What the function would be marked with besides `primitive`."""
    outputs = var_result_def()
    """What it stores."""
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove())
    assembly_format = (
        "$kernel `(` $arguments `)` (`attributes` $function_attributes^)? `:` functional-type($arguments, $outputs) "
        "$body attr-dict"
    )

    def verify_(self) -> None:
        """Check operands and results against the body.

        Raises:
            VerifyException: They differ.
        """
        end = _yield_of(self.body)
        if end.condition is not None:
            raise VerifyException("expects a body without 'while'")
        for what, outside, inside in (
            ("operands", self.operand_types, self.body.block.arg_types),
            ("results", self.result_types, [value.type for value in end.values]),
        ):
            if list(outside) != list(inside):
                given = ", ".join(map(str, inside))
                raise VerifyException(f"expects {what} of the types that its body has, ({given})")


def row_type(value: SSAValue) -> Tensor:
    """The type of a row of a tensor: the type without the first axis.

    Raises:
        VerifyException: The tensor has no axis.
    """
    type = tensor_type(value)
    if not type.get_num_dims():
        raise VerifyException(f"expects rows of rank 1 or more, got {type}")
    return tensor(type.get_shape()[1:], type.element_type)


def _count(ends: Sequence[SSAValue | None], rows: Sequence[SSAValue]) -> int:
    """Number of iterations that the types say: that of the rows, unless one of `ends` may end the loop before."""
    sizes = {tensor_type(value).get_shape()[0] for value in rows} - {DYNAMIC}
    if len(sizes) > 1:
        raise VerifyException(f"expects equally many rows, got {' and '.join(map(str, sorted(sizes)))}")
    return sizes.pop() if sizes and all(end is None for end in ends) else DYNAMIC


def _stacked(type: Attribute, count: int) -> Tensor:
    assert is_tensor(type), "yielded values are tensors"
    return tensor((count, *type.get_shape()), type.element_type)


def _merged(one: Attribute, other: Attribute) -> Tensor:
    """The type of values of either type."""
    assert is_tensor(one), "yielded values are tensors"
    assert is_tensor(other), "yielded values are tensors"
    if one.element_type != other.element_type or one.get_num_dims() != other.get_num_dims():
        raise VerifyException(f"expects branches that give the same element types and ranks, got {one} and {other}")
    sizes = zip(one.get_shape(), other.get_shape(), strict=True)
    return tensor([size if size == also else DYNAMIC for size, also in sizes], one.element_type)


def _end(block: Block) -> YieldOp:
    end = block.last_op
    assert isinstance(end, YieldOp), "a region that is built ends with 'fuse.yield'"
    return end


def _yielded(block: Block) -> Sequence[SSAValue]:
    return _end(block).values


def _yield_of(region: Region) -> YieldOp:
    end = region.block.last_op
    if not isinstance(end, YieldOp):
        raise VerifyException("expects a region that ends with 'fuse.yield'")
    return end


def _check_type(value: SSAValue | None, wanted: Attribute, name: str) -> None:
    if value is not None and value.type != wanted:
        raise VerifyException(f"expects '{name}' of type {wanted}, got {value.type}")


def _check_all(expected: Sequence[Attribute], actual: Sequence[Attribute], what: str) -> None:
    if len(expected) != len(actual):
        raise VerifyException(f"expects {len(expected)} {what}, got {len(actual)}")
    for index, (one, other) in enumerate(zip(expected, actual, strict=True)):
        if not are_compatible(one, other):
            raise VerifyException(f"expects {what} of the right types, number {index} {one}, got {other}")


REGION_OPS = (LoopOp, IfOp, FusedOp, YieldOp)
"""The ops of this file."""
