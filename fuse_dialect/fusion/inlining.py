"""Calls of functions replaced by their ops: what `defuse-ops`, `inline` and others do, each with functions of its own.

Functions that call functions are resolved from the innermost on; those on a cycle of calls stay. The pages of these
passes say what becomes of attributes, locations and names.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr, UnknownLoc
from xdsl.ir import Attribute, Block, Operation, OpResult, ParametrizedAttribute, Region, SSAValue
from xdsl.utils.exceptions import PassFailedException

from fuse_dialect.budget import Budget, Limits, spelled
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.ops.hardware import PADDING_ATTRIBUTE, REASON_ATTRIBUTE, UNIT_ATTRIBUTE
from fuse_dialect.dialect.ops.regions import FusedOp, YieldOp
from fuse_dialect.dialect.places import place_at_call
from fuse_dialect.fusion.ir.function_like import is_function, is_private
from fuse_dialect.fusion.ir.fusible_blocks import PRIMITIVE_ATTRIBUTE
from fuse_dialect.fusion.ir.ssa import check_ssa_order
from fuse_dialect.fusion.ir.symbol_tables import blocks_of_functions, may_be_symbol_table, walk_table
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.fusion.outlining.copies import COMPUTED_AGAIN_ATTRIBUTE, Copies
from fuse_dialect.fusion.outlining.rewiring import replace_operands, resolve


@dataclass(frozen=True, slots=True)
class Inlining:
    """Which calls are replaced by the ops of the function, and what becomes of these."""

    pass_name: str
    takes: Callable[[func.FuncOp], bool]
    """Whether calls of the function are replaced."""
    undoes_fusion: bool
    """Whether the ops have been there before: they lose their unit, and get back the location and name of the call."""
    as_regions: bool = False
    """Whether the ops become the body of a `fuse.fused` in the place of the call."""


def inline_calls(module: ModuleOp, inlining: Inlining, max_ops: int) -> None:
    """Replace calls by the ops of the functions, and remove private functions that nothing refers to any more.

    Args:
        module: The module to change.
        inlining: Which calls.
        max_ops: Most copies of ops.

    Raises:
        OpError: A function that is inlined, or a block with calls of one, is not in SSA order, or there are more copies
            than `max_ops`.

    Complexity: O(ops + operands) of the result.
    """
    if max_ops < 0:
        raise PassFailedException(f"option 'max-ops' expects 0 or more, got {max_ops}")
    budget = Limits(ops=max_ops).budget()
    tables = [_CallsOfTable(block, inlining) for block in blocks_of_functions(module)]
    pinned = other_references(module, {call for table in tables for calls in table.calls.values() for call in calls})
    for table in tables:
        table.pinned = pinned
        table.run(budget)


def callee(call: func.CallOp) -> str:
    """Name of the function that is called."""
    return call.callee.root_reference.data


def calls_that_stay(module: ModuleOp) -> list[func.CallOp]:
    """Calls of primitives that `defuse-ops` does not inline for the sake of their attributes, in order."""
    return [
        call
        for table in (_CallsOfTable(block, DEFUSION) for block in blocks_of_functions(module))
        for calls in table.calls.values()
        for call in calls
        if callee(call) in table.primitives and not _can_go(call)
    ]


class _CallsOfTable:
    """The calls of one symbol table, not of those inside it: each has symbols of its own."""

    def __init__(self, block: Block, inlining: Inlining):
        self.inlining = inlining
        self.calls: dict[Operation, list[func.CallOp]] = {}
        """For each function of the table the calls inside; those of the table's own ops stand under the table."""
        table = block.parent_op()
        assert table is not None, "a symbol table is an op"
        for op in block.ops:
            if not may_be_symbol_table(op):
                calls = self.calls.setdefault(op if is_function(op) else table, [])
                calls.extend(inner for inner in walk_table(op) if type(inner) is func.CallOp)
        candidates = {op.sym_name.data: op for op in self.calls if isinstance(op, func.FuncOp) and inlining.takes(op)}
        self.primitives = self._innermost_first(candidates)
        """What will be inlined, by name; whatever a primitive calls stands before it."""
        self.calls_left = Counter(callee(call) for calls in self.calls.values() for call in calls)
        self.pinned: set[str] = set()
        """Names that something else than these calls refers to."""

    def _innermost_first(self, candidates: Mapping[str, func.FuncOp]) -> dict[str, func.FuncOp]:
        """The candidates that are on no cycle of calls and reach none, each after those that it calls.

        Source: A. B. Kahn, "Topological sorting of large networks", https://doi.org/10.1145/368996.369025.
        """
        callers: dict[str, list[str]] = {name: [] for name in candidates}
        waiting = dict.fromkeys(candidates, 0)
        for name, function in candidates.items():
            for inner in dict.fromkeys(callee(call) for call in self.calls[function]):
                if inner in candidates:
                    callers[inner].append(name)
                    waiting[name] += 1
        ordered = [name for name, count in waiting.items() if count == 0]
        for name in ordered:
            for caller in callers[name]:
                waiting[caller] -= 1
                if waiting[caller] == 0:
                    ordered.append(caller)
        return {name: candidates[name] for name in ordered}

    def run(self, budget: Budget) -> None:
        """Inline in the primitives, innermost first, and then everywhere else; remove what is left over."""
        self._check_copies(budget)
        inlined = set(self.primitives.values())
        for function in inlined:
            check_ssa_order(function.body.block)
        for op in (*self.primitives.values(), *(op for op in self.calls if op not in inlined)):
            self._inline_calls(op)
        for name, function in self.primitives.items():
            if self._is_private(name) and self.calls_left[name] == 0:
                function.detach()
                function.erase()

    def _check_copies(self, budget: Budget) -> None:
        """Count the copies before one is made: primitives that call primitives twice double at every level.

        Raises:
            OpError: There are more than the budget has.
        """
        size: dict[str, int] = {}
        """Ops of each primitive once all calls in it are inlined."""
        primitives = set(self.primitives.values())
        for op in (*self.primitives.values(), *(op for op in self.calls if op not in primitives)):
            total = 0
            for call in self.calls[op]:
                name = callee(call)
                if name not in size or not self._can_go(call):
                    continue
                total += size[name]
                is_last = self._is_private(name) and self.calls_left[name] == 1
                if not is_last and not budget.take(ops=size[name]):
                    raise OpError(
                        call,
                        f"'{op_name(call)}' op cannot be replaced by the {spelled(size[name])} ops of '@{name}': with "
                        "those before it, that is more than 'max-ops' allows",
                        f"{self.inlining.pass_name}{{max-ops=N}} raises the limit",
                    )
            if isinstance(op, func.FuncOp) and self.primitives.get(op.sym_name.data) is op:
                size[op.sym_name.data] = total + sum(1 for _ in walk_table(op))

    def _can_go(self, call: func.CallOp) -> bool:
        """Whether nothing is lost with the call; a region has its attributes."""
        return self.inlining.as_regions or _can_go(call)

    def _is_private(self, name: str) -> bool:
        """Whether nothing but the calls of the module refers to the primitive."""
        return is_private(self.primitives[name]) and name not in self.pinned

    def _inline_calls(self, op: Operation) -> None:
        """Inline all calls of primitives inside `op`."""
        calls = [call for call in self.calls[op] if callee(call) in self.primitives and self._can_go(call)]
        for block in dict.fromkeys(call.parent for call in calls):
            assert block is not None, "a call that was found inside an op stands in a block"
            check_ssa_order(block)
        replacement: dict[SSAValue, SSAValue] = {}
        copies = Copies()
        if self.inlining.undoes_fusion and any(call.attributes for call in calls):
            copies.add_originals(_ops_of(op))
        for call in calls:
            name = callee(call)
            self.calls_left[name] -= 1
            moves = self._is_private(name) and not self.calls_left[name]
            if self.inlining.as_regions:
                _put_region(call, self.primitives[name], replacement, moves=moves)
                continue
            ops = _inline(call, self.primitives[name], replacement, moves=moves)
            if self.inlining.undoes_fusion:
                _forget_fusion(call, ops, replacement)
                copies.add(call, ops)
            else:
                place_at_call(ops, call)
        if replacement:
            resolve(replacement)
            for inner in _ops_of(op):
                replace_operands(inner, replacement)
        copies.merge(lambda: _ops_of(op))
        for call in calls:
            call.drop_all_references()


def _ops_of(op: Operation) -> Iterable[Operation]:
    """All ops of a function, or those of a symbol table that stand outside its functions."""
    if is_function(op):
        return ops_inside(op)
    # A function may read values of the table that it stands in, unless it is known to be isolated.
    outside = [each for each in op.regions[0].block.ops if not isinstance(each, func.FuncOp)]
    return [inner for each in outside for inner in (each, *ops_inside(each))]


def has_one_block(function: func.FuncOp) -> bool:
    """Whether the function is one block that returns."""
    blocks = function.body.blocks
    return len(blocks) == 1 and isinstance(blocks[0].last_op, func.ReturnOp)


def is_primitive(function: func.FuncOp) -> bool:
    """Whether the function is a primitive of one block."""
    return PRIMITIVE_ATTRIBUTE in function.attributes and has_one_block(function)


DEFUSION = Inlining("defuse-ops", takes=is_primitive, undoes_fusion=True)
"""What `defuse-ops` does with calls."""


def _can_go(call: func.CallOp) -> bool:
    """Whether nothing is lost with the call: discardable attributes that nobody knows belong to the call itself.

    Why a trip starts is no longer true where there are no trips.
    """
    return not call.attributes.keys() - {COMPUTED_AGAIN_ATTRIBUTE, REASON_ATTRIBUTE}


def _inline(
    call: func.CallOp, function: func.FuncOp, replacement: dict[SSAValue, SSAValue], *, moves: bool
) -> Sequence[Operation]:
    """Put the ops of the function, or copies of them, in the place of the call; `replacement` gets the new values."""
    body = function.body.block
    *ops, terminator = body.ops
    values: dict[SSAValue, SSAValue] = {
        arg: replacement.get(value, value) for arg, value in zip(body.args, call.operands, strict=True)
    }
    if moves:
        for op in ops:
            op.detach()
        replacement.update(values)
    else:
        ops = [op.clone(values) if op.regions else op.clone_without_regions(values) for op in ops]
    block = call.parent
    assert block is not None, "each call is inlined once"
    block.insert_ops_before(ops, call)
    for old, result in zip(terminator.operands, call.results, strict=True):
        replacement[result] = values.get(old, old)
    call.detach()
    return ops


def _put_region(
    call: func.CallOp, function: func.FuncOp, replacement: dict[SSAValue, SSAValue], *, moves: bool
) -> None:
    """Put the ops of the function, or copies of them, in the place of the call, as the body of a `fuse.fused`."""
    region = Region()
    if moves:
        function.body.move_blocks(region)
        function.body.add_block(Block([func.ReturnOp()]))  # a function that is erased has a body
    else:
        function.body.clone_into(region)
    terminator = region.block.last_op
    assert terminator is not None, "a function that is taken returns"
    end = YieldOp(*terminator.operands)
    end.location = terminator.location
    region.block.insert_op_before(end, terminator)
    region.block.erase_op(terminator)
    marks = {name: value for name, value in function.attributes.items() if name != PRIMITIVE_ATTRIBUTE}
    fused = FusedOp.create(
        operands=[replacement.get(value, value) for value in call.operands],
        result_types=call.result_types,
        properties={"kernel": function.sym_name, **({"function_attributes": DictionaryAttr(marks)} if marks else {})},
        attributes=dict(call.attributes),
        regions=[region],
        location=call.location,
    )
    block = call.parent
    assert block is not None, "each call is replaced once"
    block.insert_op_before(fused, call)
    for old, new in zip(call.results, fused.results, strict=True):
        new.name_hint = old.name_hint
        replacement[old] = new
    call.detach()


def _forget_fusion(call: func.CallOp, ops: Sequence[Operation], replacement: Mapping[SSAValue, SSAValue]) -> None:
    """Take the units from the ops, and give those that the call's results come from its names and location."""
    inlined = {*ops}
    for op in ops:
        op.attributes.pop(UNIT_ATTRIBUTE, None)
        op.attributes.pop(PADDING_ATTRIBUTE, None)
    for result in call.results:
        new = replacement[result]
        if isinstance(new, OpResult) and new.op in inlined:
            new.name_hint = result.name_hint or new.name_hint
            if not isinstance(call.location, UnknownLoc):
                new.op.location = call.location


_SYMBOL_IN_TEXT = re.compile(r"@([\w$.-]+)")


def other_references(module: ModuleOp, calls: Collection[Operation]) -> set[str]:
    """Names of symbols that anything in the module refers to, apart from the callees of `calls`.

    Attributes of every op count, the module's own and those inside symbol tables too, also where a symbol is named in
    the text of an attribute that nobody knows.
    """
    seen: dict[int, Attribute] = {}
    for op in (module, *ops_inside(module)):
        if op.attributes:
            seen.update((id(attribute), attribute) for attribute in op.attributes.values())
        if op not in calls:
            seen.update((id(attribute), attribute) for attribute in op.properties.values())
    names: set[str] = set()
    pending = list(seen.values())
    while pending:
        attribute = pending.pop()
        if isinstance(attribute, SymbolRefAttr):
            names.update((attribute.root_reference.data, *(name.data for name in attribute.nested_references)))
        elif isinstance(attribute, ParametrizedAttribute):
            pending.extend(attribute.parameters)
        elif isinstance(attribute, ArrayAttr):
            pending.extend(cast(ArrayAttr[Attribute], attribute))
        elif isinstance(attribute, DictionaryAttr):
            pending.extend(attribute.data.values())
        elif isinstance(attribute, StringAttr) and "@" in attribute.data:
            names.update(_SYMBOL_IN_TEXT.findall(attribute.data))
    return names
