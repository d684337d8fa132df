"""Calls of primitive functions have no effects, and passes of xDSL that ask are told so: `cse`, `licm`, `dce`.

A `func.call` may have effects for all that xDSL knows. Here the op class gets two interfaces from outside, as MLIR's
external models give one to an op of another dialect:

1. a call of a function with the attribute `primitive` has no effects if nothing in the function has any;
2. so has a kernel in its place, `fuse.fused`;
3. either may run where it would not have run (it is *speculatable*) if all in the function may.

Every other call is as unknown as before.

4. A call in a function of an unregistered dialect names a function of the table around that function. xDSL takes an
   unregistered op for a symbol table, and would not find the callee.

Importing this module attaches the interfaces; xDSL does that when it loads
the dialect `fuse`, or a pass that fuses. A text in which neither occurs is read without them: xDSL 0.74 has no way for
a call itself to say that it has no effects.

Source: mlir/docs/Interfaces.md, "External Models for Attribute, Operation and Type Interfaces".
"""

from collections.abc import Set as AbstractSet
from typing import cast
from weakref import WeakKeyDictionary

from xdsl.dialects import func
from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Operation
from xdsl.traits import (
    ConditionallySpeculatable,
    EffectInstance,
    IsTerminator,
    MemoryEffect,
    SymbolTable,
    is_side_effect_free,
    is_speculatable,
)

from fuse_dialect.dialect.fuse import Fuse as Fuse
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.ops.regions import FusedOp
from fuse_dialect.fusion.ir.fusible_blocks import PRIMITIVE_ATTRIBUTE
from fuse_dialect.fusion.ir.symbol_tables import may_be_symbol_table
from fuse_dialect.fusion.kinds.kind_of import kind_of

_functions: WeakKeyDictionary[Operation, dict[str, func.FuncOp]] = WeakKeyDictionary()
"""For each symbol table the functions that it had by name when somebody asked; see `_callee`."""


class CallsWithoutEffects(MemoryEffect):
    """A call of a primitive has the effects of what it holds (1)."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        """No effects, or `None` for not known."""
        kernel = _kernel(op)
        return set() if kernel is not None and all(_has_no_effects(each) for each in ops_inside(kernel)) else None


class CallsSpeculatable(ConditionallySpeculatable):
    """A call of a primitive may run wherever what it holds may (3)."""

    @classmethod
    def is_speculatable(cls, op: Operation) -> bool:
        """Whether the call may run where it would not have run."""
        kernel = _kernel(op)
        return kernel is not None and all(_may_run(each) for each in ops_inside(kernel))


def _has_no_effects(op: Operation) -> bool:
    return op.has_trait(IsTerminator, value_if_unregistered=False) or is_side_effect_free(op) or kind_of(op) is not None


def _may_run(op: Operation) -> bool:
    # An op that has a kind is a function of its operands for all their values.
    return op.has_trait(IsTerminator, value_if_unregistered=False) or is_speculatable(op) or kind_of(op) is not None


def _kernel(op: Operation) -> Operation | None:
    """The op that holds what runs: the kernel itself, or the primitive function that is called."""
    return op if isinstance(op, FusedOp) else _callee(cast(func.CallOp, op))


def _callee(call: func.CallOp) -> func.FuncOp | None:
    """The primitive function that is called.

    Complexity: O(1) for a symbol table that has not changed; xDSL's lookup goes through all symbols for each call.
    """
    table = call.parent_op()
    while table is not None and not may_be_symbol_table(table):
        table = table.parent_op()
    if table is None or call.callee.nested_references.data:
        return None
    name = call.callee.root_reference.data
    known = _functions.get(table)
    function = None if known is None else known.get(name)
    if function is None or function.parent_op() is not table or function.sym_name != StringAttr(name):
        functions = [op for op in table.regions[0].block.ops if isinstance(op, func.FuncOp)]
        known = _functions[table] = {each.sym_name.data: each for each in functions}
        function = known.get(name)
    if function is None or PRIMITIVE_ATTRIBUTE not in function.attributes or function.is_declaration:
        return None
    return function


_search = SymbolTable.lookup_symbol


def _lookup_around_functions(op: Operation, name: str | StringAttr | SymbolRefAttr) -> Operation | None:
    """What a name in an op stands for (4)."""
    table: Operation | None = op
    while table is not None and not may_be_symbol_table(table):
        table = table.parent_op()
    return _search(op if table is None else table, name)


def _attach() -> None:
    SymbolTable.lookup_symbol = _lookup_around_functions
    for op_class in (func.CallOp, FusedOp):
        if op_class.get_trait(CallsWithoutEffects) is None:
            op_class.traits.add_trait(CallsWithoutEffects())
            op_class.traits.add_trait(CallsSpeculatable())


_attach()
