"""Primitives of open sizes that would run on NumPy as a whole, cut into such that kernels run.

One op without a kernel costs all others of its primitive theirs: a gather whose sizes nobody knows, a reshape that cuts
an open axis, an array between two loops whose size a workspace cannot have.

1. Ops are taken in order. Each joins the part of its last operand if that part still has a kernel with it, else it
   begins a part. What a part reads comes from parts before it, so that they can run one after the other.
2. Parts of several ops are primitives. The function that was cut is none any more, and calls them.

3. A constant in a primitive of one op leaves it with the function's mark: whatever runs the op finds it in memory.

Fusion does not change: plans, pictures and remarks show what the strategy decided.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from fuse_dialect.dialect.dynamic_form import DynamicOp
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.types import DYNAMIC, is_tensor
from fuse_dialect.fusion.ir.fusible_blocks import PRIMITIVE_ATTRIBUTE
from fuse_dialect.loops.choosing import choose
from fuse_dialect.loops.program import LoopProgram, Refusal
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower
from fuse_dialect.machines.machine import Machine

MOST_OPS = 64
"""Of a primitive that is cut: every op is tried with what stands before it."""


def cut_primitives(module: ModuleOp, machine: Machine) -> None:
    """Cut the primitives of a module that have open sizes and no kernel.

    Args:
        module: The module, outlined; it changes.
        machine: What kernels are chosen for.

    Complexity: linear in the number of ops, times `MOST_OPS`.
    """
    for function in list(module.ops):
        if not isinstance(function, func.FuncOp) or PRIMITIVE_ATTRIBUTE not in function.attributes:
            continue
        ops = _operators(function)
        if not 0 < len(ops) <= MOST_OPS or not _is_open(function) or _has_kernel(function, machine):
            continue
        if len(ops) > 1:
            _cut(module, function, ops, machine)
        elif any(isinstance(op, arith.ConstantOp) for op in function.body.block.ops):
            del function.attributes[PRIMITIVE_ATTRIBUTE]  # condition 3


def _operators(function: func.FuncOp) -> list[FuseOp]:
    """The ops of a primitive; none if it holds others than those on tensors."""
    if len(function.body.blocks) != 1:
        return []
    found: list[FuseOp] = []
    for op in function.body.block.ops:
        if isinstance(op, arith.ConstantOp | func.ReturnOp):
            continue
        if not isinstance(op, FuseOp) or op.regions or not all(is_tensor(result.type) for result in op.results):
            return []
        found.append(op)
    return found if all(is_tensor(argument.type) for argument in function.body.block.args) else []


def _is_open(function: func.FuncOp) -> bool:
    values = [*function.body.block.args, *(result for op in function.body.block.ops for result in op.results)]
    return any(is_tensor(value.type) and DYNAMIC in value.type.get_shape() for value in values)


def _has_kernel(function: func.FuncOp, machine: Machine) -> bool:
    if any(isinstance(op, DynamicOp) for op in function.body.block.ops):
        return False  # a kernel is told the sizes that its numbers say, and these come from outside
    program = lower(function, knows_results=True)
    return isinstance(program, LoopProgram) and not isinstance(choose(simplify(program), machine), Refusal)


@dataclass(eq=False, slots=True)
class _Part:
    """Ops that are one primitive."""

    ops: list[FuseOp]
    has_kernel: bool
    results: list[SSAValue] = field(default_factory=list[SSAValue])


def _cut(module: ModuleOp, function: func.FuncOp, ops: Sequence[FuseOp], machine: Machine) -> None:
    parts: list[_Part] = []
    part_of: dict[Operation, int] = {}
    for op in ops:
        owners = [value.owner for value in op.operands]
        before = [part_of[owner] for owner in owners if isinstance(owner, Operation) and owner in part_of]
        place = max(before, default=-1)
        # Condition 1: all operands are of this part or of parts before it.
        joined = place >= 0 and parts[place].has_kernel
        if joined:
            trial, _ = _outlined("trial", [*parts[place].ops, op])
            joined = _has_kernel(trial, machine)
        if joined:
            parts[place].ops.append(op)
        else:
            place = len(parts)
            trial, _ = _outlined("trial", [op])
            parts.append(_Part([op], _has_kernel(trial, machine)))
        part_of[op] = place
    if len(parts) > 1:
        _call_parts(module, function, [part.ops for part in parts])


def _outlined(name: str, ops: Sequence[FuseOp]) -> tuple[func.FuncOp, list[SSAValue]]:
    """A primitive of copies of the ops, and the values that it takes; it gives what others read of them."""
    own = set(ops)
    taken: list[SSAValue] = []
    constants: list[arith.ConstantOp] = []
    for value in dict.fromkeys(operand for op in ops for operand in op.operands):
        if isinstance(value.owner, arith.ConstantOp):
            constants.append(value.owner)
        elif value.owner not in own:
            taken.append(value)
    body = Block(arg_types=[value.type for value in taken])
    mapped: dict[SSAValue, SSAValue] = dict(zip(taken, body.args, strict=True))
    for value, argument in zip(taken, body.args, strict=True):
        argument.name_hint = value.name_hint
    for op in (*constants, *ops):
        copy = op.clone(mapped)
        copy.location = op.location
        body.add_op(copy)
    given = _given(ops)
    body.add_op(func.ReturnOp(*(mapped[value] for value in given)))
    types = [value.type for value in taken], [value.type for value in given]
    function = func.FuncOp(name, types, Region(body), "private")
    function.attributes[PRIMITIVE_ATTRIBUTE] = UnitAttr()
    return function, taken


def _given(ops: Sequence[FuseOp]) -> list[SSAValue]:
    """The results that others read than these ops."""
    own = set[Operation](ops)
    return [result for op in ops for result in op.results if any(use.operation not in own for use in result.uses)]


def _call_parts(module: ModuleOp, function: func.FuncOp, parts: Sequence[Sequence[FuseOp]]) -> None:
    """Let the function call its parts (2); an op that is a part by itself stays in it."""
    name = function.sym_name.data
    taken_names = {op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp)}
    block = function.body.block
    end = block.last_op
    assert end is not None, "a function has a return"
    made: list[func.FuncOp] = []
    number = 0
    for part in parts:
        if len(part) == 1:
            part[0].detach()
            block.insert_op_before(part[0], end)
            continue
        while f"{name}_part{number}" in taken_names:
            number += 1
        part_name = f"{name}_part{number}"
        number += 1
        outlined, values = _outlined(part_name, part)
        given = _given(part)
        call = func.CallOp(part_name, values, [value.type for value in given])
        call.location = part[0].location
        block.insert_op_before(call, end)
        for old, new in zip(given, call.results, strict=True):
            new.name_hint = old.name_hint
            old.replace_uses_with_if(new, lambda use, part=part: use.operation not in part)
        for op in reversed(part):
            op.detach()
            op.erase()
        made.append(outlined)
    del function.attributes[PRIMITIVE_ATTRIBUTE]
    for each in made:
        module.body.block.insert_op_before(each, function)
