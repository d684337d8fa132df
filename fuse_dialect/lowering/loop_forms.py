"""The loop form of each operator of a block, found from the loops that it has by itself.

1. An op of the dialect is lowered by itself. Ops that are equal but for their place share one form.
2. What has no loops of its own, an op of another dialect, has the form that its kind allows, where its shapes say it:
   elementwise ops of one shape are maps, what multiplies and adds up is a product in windows.
3. What computes sizes has no form, so that it stays alone. A plan knows such numbers before a call, if nothing else is
   in their kernels, and what they size needs that. These are ops on a few integers whose results say sizes.
"""

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Operation, OpResult, SSAValue

from fuse_dialect.counts import Count, product
from fuse_dialect.dialect.dynamic_form import DynamicOp
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.types import DYNAMIC, is_tensor
from fuse_dialect.fusion.core.value_graph import NodeRole
from fuse_dialect.fusion.ir.constants import is_constant
from fuse_dialect.fusion.ir.op_signatures import OpSignatures
from fuse_dialect.fusion.ir.ssa import CapturedValues, read_values
from fuse_dialect.fusion.kinds.kind_of import kind_of
from fuse_dialect.fusion.kinds.reshapes import only_reshapes
from fuse_dialect.loops.forms import UNKNOWN_OPERATOR, Access, Form, Loops, OperatorForm, Order
from fuse_dialect.loops.functions import FOREIGN_COST
from fuse_dialect.loops.program import LoopProgram
from fuse_dialect.loops.program_forms import form_of_program
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower_op
from fuse_dialect.machines.machine import Machine
from fuse_dialect.pattern_kind import PatternKind

MOST_INTEGERS = 16
"""Of what says sizes."""


def loop_forms(
    nodes: Sequence[tuple[NodeRole, Operation | None, SSAValue | None]],
    captured: CapturedValues,
    signatures: OpSignatures,
    machine: Machine,
) -> list[OperatorForm | None]:
    """For each operator its form on a machine, `None` for other nodes.

    Complexity: O(ops + operands), and the loops of ops that differ.
    """
    known: dict[tuple[int, frozenset[int]], OperatorForm] = {}
    forms: list[OperatorForm | None] = []
    sizes = _what_computes_sizes([op for role, op, _ in nodes if role is NodeRole.OPERATOR])
    for role, op, _ in nodes:
        if role is not NodeRole.OPERATOR or op is None:
            forms.append(None)
            continue
        if op in sizes:
            forms.append(UNKNOWN_OPERATOR)
            continue
        if not isinstance(op, FuseOp) or op.regions:
            forms.append(_form_of_kind(op, read_values(op, captured)))
            continue
        # (1) What constants hold is not looked at: a form holds whatever the numbers are.
        constants = frozenset([place for place, value in enumerate(op.operands) if _is_constant(value)])
        key = signatures.number(op), constants
        form = known.get(key)
        if form is None:
            form = known[key] = _form_of_loops(op, machine, constants)
        forms.append(form)
    return forms


def _what_computes_sizes(ops: Sequence[Operation | None]) -> set[Operation]:
    """The ops that say nothing but sizes, of those in the order in which they run (3)."""
    found: set[Operation] = set()
    for op in reversed(ops):
        if not isinstance(op, FuseOp) or not all(map(_is_few_integers, (*op.operands, *op.results))):
            continue
        if any(
            use.operation in found or (isinstance(use.operation, DynamicOp) and use.index in use.operation.NUMBERS)
            for result in op.results
            for use in result.uses
        ):
            found.add(op)
    return found


def _is_few_integers(value: SSAValue) -> bool:
    """Whether a value has as many elements as a shape, about, and all are integers."""
    type = value.type
    if not is_tensor(type) or isinstance(type.element_type, AnyFloat):
        return False
    shape = type.get_shape()
    return len(shape) <= 1 and DYNAMIC not in shape and prod(shape) <= MOST_INTEGERS


def _is_constant(value: SSAValue) -> bool:
    return type(value) is OpResult and is_constant(value.op)


def _form_of_loops(op: FuseOp, machine: Machine, constants: frozenset[int]) -> OperatorForm:
    """The form of (1)."""
    program = lower_op(op)
    if not isinstance(program, LoopProgram):
        return UNKNOWN_OPERATOR
    return form_of_program(simplify(program), len(op.operands), machine, constants, only_reshapes(op))


def _form_of_kind(op: Operation, reads: Sequence[SSAValue]) -> OperatorForm:
    """The form of (2)."""
    kind = kind_of(op)
    if kind is None or len(op.results) != 1 or not is_tensor(op.results[0].type):
        return UNKNOWN_OPERATOR
    shape = tuple(op.results[0].type.get_shape())
    types = [value.type for value in reads]
    if DYNAMIC in shape or (op.regions and kind is PatternKind.OPAQUE):
        return UNKNOWN_OPERATOR
    space = tuple(size for size in shape if size != 1)
    match kind:
        case PatternKind.ELEMWISE | PatternKind.BROADCAST:
            access_of = {
                id(type): Access(Order.SAME, len(space), 1.0)
                if is_tensor(type) and tuple(type.get_shape()) == shape
                else Access(Order.BROADCAST, 0, float("inf"))
                for type in {id(type): type for type in types}.values()
            }
            accesses = {place: access_of[id(type)] for place, type in enumerate(types)}
            form = Form(Loops.MAP, space, len(space), accesses, dearest=FOREIGN_COST)
            return OperatorForm(form, product(space).times(FOREIGN_COST))
        case PatternKind.INJECTIVE:
            is_view = only_reshapes(op)
            order = Order.SAME if is_view else Order.ANYHOW
            accesses = dict.fromkeys(range(len(types)), Access(order, 0, 1.0))
            form = Form(Loops.MAP, space, len(space), accesses, is_view=is_view, pieces=len(types))
            return OperatorForm(form, Count())
        case PatternKind.OUT_EWISE_FUSABLE:
            # How it reads its operands is not known.
            return OperatorForm(Form(Loops.WINDOWS, space, 0, {}, reduces=True), Count())
        case _:
            return UNKNOWN_OPERATOR
