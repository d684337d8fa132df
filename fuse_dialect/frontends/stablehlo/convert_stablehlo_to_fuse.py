"""`convert-stablehlo-to-fuse`: say with `fuse` ops what the ops of StableHLO and CHLO say.

A program that JAX prints then runs on NumPy and natively: `fuse-run`, `fuse_dialect.run` and
`fuse_dialect.compile` run this pass, after `inline`, on modules that hold such ops.

1. Every op that has a rule in `frontends/stablehlo/rules` is replaced by what the rule makes. The result has the same
   types and, up to rounding, the same elements.
2. `while` becomes `fuse.loop`, one that counts a loop over rows and stacks (`scans.py` there); `if` and `case` become
   `fuse.if`, with their regions converted. Ops without a rule, or of a form that no `fuse` op has, stay:
   `strict=true` makes them errors that say what it is.
3. Checks of sizes (`custom_call @shape_assertion`) stay: they are made when the program runs.
4. What is repeated to an open size for an elementwise op alone is not repeated: `fuse` ops broadcast.
5. A `composite` without a `fuse` op of its own becomes a call of its decomposition.
6. Quantized numbers inside a function become integers and real numbers (`quantized.py` there).
7. Complex numbers are pairs of real ones (`complex_pairs.py` there): an argument or result of them has both parts along
   a last axis of 2 (`split_complex.py`).
8. What is said of a mesh of one device goes (`one_device.py`); with `strict=true` a mesh of several is an error.
9. What is recognised in regions is what one op does, and what JAX writes for `argmax`, `sort` and the like.

Source: docs/spec.md of openxla/stablehlo, August 2026.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.budget import Limits
from fuse_dialect.dialect.building import building
from fuse_dialect.dialect.dynamic_form import shape_of_type
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.ops.dynamic import DynBroadcastToOp, DynFullOp
from fuse_dialect.dialect.ops.regions import FusedOp
from fuse_dialect.dialect.shape_assertion import is_shape_assertion
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.frontends.fuse_values import NoFuseFormError
from fuse_dialect.frontends.stablehlo.one_device import drop_shardings
from fuse_dialect.frontends.stablehlo.rules.batch_norms import BATCH_NORMS
from fuse_dialect.frontends.stablehlo.rules.building import Rule
from fuse_dialect.frontends.stablehlo.rules.chlo_scan import convert_chlo_scan
from fuse_dialect.frontends.stablehlo.rules.complex_functions import COMPLEX
from fuse_dialect.frontends.stablehlo.rules.complex_pairs import is_of_complex, is_pair
from fuse_dialect.frontends.stablehlo.rules.composites import COMPOSITES, call_decompositions
from fuse_dialect.frontends.stablehlo.rules.contractions import CONTRACTIONS
from fuse_dialect.frontends.stablehlo.rules.control_flow import (
    CONTROL_FLOW,
    can_be_converted,
    convert_control_flow,
    drop_choices_of_one,
)
from fuse_dialect.frontends.stablehlo.rules.dynamic import DYNAMIC_SHAPES, without_expansions
from fuse_dialect.frontends.stablehlo.rules.elementwise import ELEMENTWISE
from fuse_dialect.frontends.stablehlo.rules.fourier import FOURIER
from fuse_dialect.frontends.stablehlo.rules.implicit_broadcasts import IMPLICIT_BROADCASTS
from fuse_dialect.frontends.stablehlo.rules.index_select import INDEX_SELECT
from fuse_dialect.frontends.stablehlo.rules.indexing import INDEXING
from fuse_dialect.frontends.stablehlo.rules.linear_algebra import LINEAR_ALGEBRA, pivots_to_permutation
from fuse_dialect.frontends.stablehlo.rules.map_op import expand_map
from fuse_dialect.frontends.stablehlo.rules.orders import ORDERS
from fuse_dialect.frontends.stablehlo.rules.pool_gradient import POOL_GRADIENTS
from fuse_dialect.frontends.stablehlo.rules.quantized import say_quantized
from fuse_dialect.frontends.stablehlo.rules.ragged_dot import RAGGED_DOT
from fuse_dialect.frontends.stablehlo.rules.reductions import REDUCTIONS
from fuse_dialect.frontends.stablehlo.rules.scans import convert_scan
from fuse_dialect.frontends.stablehlo.rules.shapes import SHAPES
from fuse_dialect.frontends.stablehlo.rules.tuples import TUPLES
from fuse_dialect.frontends.stablehlo.split_complex import split_complex
from fuse_dialect.fusion.inline import InlinePass
from fuse_dialect.fusion.inlining import DEFUSION, inline_calls
from fuse_dialect.fusion.outlining.regions import outline_regions

_STAYS = {"stablehlo.complex", "stablehlo.return"}


def _may_stay(op: Operation) -> bool:
    return op.name in _STAYS or is_shape_assertion(op)


def _constant(op: Operation) -> Sequence[SSAValue]:
    value = op.properties["value"]
    if getattr(value, "type", None) != op.results[0].type:
        raise NoFuseFormError("a quantized type")
    return [arith.ConstantOp(cast(DenseIntOrFPElementsAttr, value)).result]


def _same(op: Operation) -> Sequence[SSAValue]:
    return op.operands


RULES: Mapping[str, Rule] = {
    **ELEMENTWISE,
    **SHAPES,
    **DYNAMIC_SHAPES,
    **REDUCTIONS,
    **POOL_GRADIENTS,
    **CONTRACTIONS,
    **BATCH_NORMS,
    **INDEXING,
    **INDEX_SELECT,
    **IMPLICIT_BROADCASTS,
    **FOURIER,
    **RAGGED_DOT,
    **ORDERS,
    **COMPOSITES,
    **LINEAR_ALGEBRA,
    **TUPLES,
    "stablehlo.constant": _constant,
    "chlo.constant": _constant,
    "stablehlo.optimization_barrier": _same,
}
"""How each op is said, by name."""


@dataclass(frozen=True)
class ConvertStableHLOToFusePass(ModulePass):
    """Replace ops of StableHLO by `fuse` ops."""

    name = "convert-stablehlo-to-fuse"

    strict: bool = False
    """Fail at an op that stays, instead of leaving it."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert all functions of the module.

        Raises:
            OpError: With `strict`, an op has no equal among the `fuse` ops.

        Complexity: O(ops + operands).
        """
        drop_shardings(op, strict=self.strict)
        call_decompositions(op)
        drop_choices_of_one(op)
        split_complex(op)
        functions = functions_in(op)
        say_quantized(functions)
        regions: list[Operation] = []
        pending = [block for function in functions for block in function.body.blocks]
        while pending:
            block = pending.pop()
            for inner in list(block.ops):
                if inner.name == "stablehlo.while" and can_be_converted(inner):
                    if _replace_permutation(inner):
                        continue
                    scan = convert_scan(inner)
                    if scan is not None:
                        pending.append(scan.body.block)
                        continue
                if inner.name == "chlo.scan" and (scan := convert_chlo_scan(inner)) is not None:
                    pending.append(scan.body.block)
                    continue
                if inner.name == "stablehlo.map" and (made := expand_map(inner)):
                    for each in made:
                        self._replace(each)
                elif inner.name in CONTROL_FLOW:
                    regions.append(inner)
                    pending.extend(each for region in inner.regions for each in region.blocks)
                elif is_shape_assertion(inner):
                    continue
                elif inner.name in RULES or (inner.name in COMPLEX and is_of_complex(inner)):
                    self._replace(inner)
                elif self.strict and inner.name.startswith(("stablehlo.", "chlo.")) and not _may_stay(inner):
                    raise OpError(inner, f"'{inner.name}' op has no equal among the 'fuse' ops")
        for each in reversed(regions):  # What stands inside another one was found after that.
            if can_be_converted(each):
                convert_control_flow(each)
            elif self.strict:
                raise OpError(each, f"'{each.name}' op has no equal among the 'fuse' ops")
        _drop_unread_pairs(op)
        if self.strict:
            for each in ops_inside(op):
                if each.name == "stablehlo.complex":
                    raise OpError(each, "'stablehlo.complex' op has no equal among the 'fuse' ops")

    def _replace(self, op: Operation) -> None:
        block, operands = Block(), list(op.operands)
        if op.name in ELEMENTWISE and any(DYNAMIC in shape_of_type(result.type) for result in op.results):
            op.operands = without_expansions(op)
        try:
            with building(block):
                values = list(_rule_of(op)(op))
            _check_types(op, values)
            for each in block.ops:
                each.verify()
        except (NoFuseFormError, VerifyException) as error:
            block.erase()
            op.operands = operands
            if self.strict:
                reason = str(error).partition("\n")[0]
                raise OpError(op, f"'{op.name}' op has no equal among the 'fuse' ops: {reason}") from error
            return
        made = list(block.ops)
        for each in made:
            each.detach()
            each.location = op.location
        Rewriter.insert_op(made, InsertPoint.before(op))
        for old, new in zip(op.results, values, strict=True):
            if old.name_hint is not None and new.name_hint is None:
                new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        Rewriter.erase_op(op)
        for operand in dict.fromkeys(operands):
            is_helper = isinstance(operand.owner, DynBroadcastToOp | DynFullOp) or is_pair(operand)
            if is_helper and isinstance(operand, OpResult) and not any(operand.uses):
                Rewriter.erase_op(operand.op)


def _drop_unread_pairs(module: ModuleOp) -> None:
    for each in reversed(list(ops_inside(module))):
        if each.name == "stablehlo.complex" and not any(each.results[0].uses):
            Rewriter.erase_op(each)


def _replace_permutation(op: Operation) -> bool:
    """Replace the loop in which JAX makes a permutation of pivots."""
    block = Block()
    with building(block):
        values = pivots_to_permutation(op)
    if values is None:
        return False
    made = list(block.ops)
    for each in made:
        each.detach()
        each.location = op.location
    Rewriter.insert_op(made, InsertPoint.before(op))
    Rewriter.replace_op(op, [], list(values))
    return True


def _rule_of(op: Operation) -> Rule:
    return COMPLEX[op.name] if op.name in COMPLEX and is_of_complex(op) else RULES[op.name]


def _check_types(op: Operation, values: Sequence[SSAValue]) -> None:
    for result, value in zip(op.results, values, strict=True):
        if result.type != value.type:
            raise NoFuseFormError(f"a result of type {result.type}, and not {value.type}")


def convert(module: ModuleOp) -> None:
    """Say a module with `fuse` ops, with its private functions and compositions where they are called.

    Where complex numbers go in or out of a kernel, fusion is undone first: their parts are found beside each other.

    Raises:
        OpError: A function cannot be inlined, or something is spread over several devices.
    """
    drop_shardings(module, strict=True)
    call_decompositions(module)
    if any(_takes_or_gives_complex(op) for op in ops_inside(module)):
        outline_regions(module)
        inline_calls(module, DEFUSION, Limits().ops)
    InlinePass().apply(Context(), module)
    ConvertStableHLOToFusePass().apply(Context(), module)


def _takes_or_gives_complex(op: Operation) -> bool:
    """Whether the op is the call of a function, or a kernel, that complex numbers go into or come out of."""
    return isinstance(op, func.CallOp | FusedOp) and is_of_complex(op)


def functions_in(module: ModuleOp) -> list[func.FuncOp]:
    """All functions of a module."""
    return [op for op in ops_inside(module) if isinstance(op, func.FuncOp)]
