"""`eliminate-common-subexpr`: of ops that compute the same value, one stays.

Two ops are the same when

1. they are pure: ops of the `fuse` dialect, or `arith.constant`;
2. they have the same name, operands, properties, attributes and result types; locations may differ;
3. the first stands before the second in the same block, or in a block around it. Nothing crosses into an op that is
   isolated from above.

The first stays, with its name and location. Functions with `primitive` or `fuse.compiler` are left alone.

Why not xDSL's `cse`: it leaves functions of several blocks alone, changes finished functions, recurses into regions,
and rewires one use at a time, which takes n^2 steps where one op reads n duplicates (4.5 s for n = 8000, here 0.2 s).

Source: TVM `EliminateCommonSubexpr`, src/relay/transforms/eliminate_common_subexpr.cc (v0.18).
Differs from TVM: scalar constants are compared as all others; operands are never swapped, in neither.
"""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeGuard

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove

from fuse_dialect.dialect.mapped_file import release
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.fusion.outlining.rewiring import replace_operands
from fuse_dialect.transforms.unfinished import is_left_alone, walk_unfinished

_END = 1024
"""Bytes of an end of a large constant."""


@dataclass(frozen=True)
class EliminateCommonSubexprPass(ModulePass):
    """Let one op stand for all that compute the same value."""

    name = "eliminate-common-subexpr"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Merge in all functions of the module.

        Complexity: O(ops + operands + bytes of constants).
        """
        merging = _Merging({}, [])
        stack = [_Scope(iter([op]), {})]
        while stack:
            scope = stack[-1]
            inner = next(scope.ops, None)
            if inner is None:
                scope.close()
                stack.pop()
                continue
            merging.visit(inner, scope)
            if inner.regions and not is_left_alone(inner):
                # (3) What is isolated from above sees nothing of what stands around it; nor may an unknown op.
                is_isolated = inner.has_trait(IsolatedFromAbove, value_if_unregistered=True)
                known = {} if is_isolated else scope.known
                blocks = [block for region in inner.regions for block in region.blocks]
                stack.extend(_Scope(iter(list(block.ops)), known) for block in reversed(blocks))
        merging.finish(op)


@dataclass(eq=False, slots=True)
class _Scope:
    """A block that is being visited."""

    ops: Iterator[Operation]
    """Those that were not visited yet."""
    known: dict[Hashable, Operation]
    """By key the ops that may stand for others here, those of the blocks around included."""
    own: list[Hashable] = field(default_factory=list[Hashable])
    """Keys that this block added."""

    def add(self, key: Hashable, op: Operation) -> None:
        """Let the op stand for later ones of the same key, until the block ends."""
        self.known[key] = op
        self.own.append(key)

    def close(self) -> None:
        """Forget the ops of the block: those in its siblings do not see them."""
        for key in self.own:
            del self.known[key]


@dataclass(frozen=True, slots=True)
class _ManyElements:
    """A large constant as part of a key: its ends are hashed, and the rest is read where two have the same ends.

    A weight may be in a mapped file. Nobody should bring all of it into memory to find that no other is like it.
    """

    value: DenseIntOrFPElementsAttr

    def __hash__(self) -> int:
        """Of the type and both ends."""
        data = self.value.data.data
        return hash((self.value.type, len(data), bytes(data[:_END]), bytes(data[-_END:])))

    def __eq__(self, other: object) -> bool:
        """Whether type and all elements are the same."""
        if not isinstance(other, _ManyElements):
            return False
        if self.value is other.value:
            return True
        one, another = self.value.data.data, other.value.data.data
        is_same = hash(self) == hash(other) and self.value.type == other.value.type and _bytes_are_equal(one, another)
        for data in (one, another):
            release(data)
        return is_same


def _bytes_are_equal(one: bytes | memoryview, other: bytes | memoryview) -> bool:
    return np.array_equal(np.frombuffer(one, np.uint8), np.frombuffer(other, np.uint8))


def _has_many_elements(value: Attribute) -> TypeGuard[DenseIntOrFPElementsAttr]:
    return isinstance(value, DenseIntOrFPElementsAttr) and len(value.data.data) > 16 * _END


@dataclass(frozen=True, slots=True)
class _Merging:
    """What was found so far."""

    replacement: dict[SSAValue, SSAValue]
    gone: list[Operation]

    def visit(self, op: Operation, scope: _Scope) -> None:
        """Let an earlier op stand for this one, or this one for later ones."""
        replace_operands(op, self.replacement)
        if not isinstance(op, FuseOp | arith.ConstantOp):  # (1)
            return
        key = _key(op)
        first = scope.known.get(key)
        if first is None:
            scope.add(key, op)
            return
        self.replacement.update(zip(op.results, first.results, strict=True))
        self.gone.append(op)

    def finish(self, module: ModuleOp) -> None:
        """Rewire users that stand before what they read, then erase the ops that others stand for."""
        for op in walk_unfinished(module):
            replace_operands(op, self.replacement)
        for op in self.gone:
            op.detach()
            op.drop_all_references()


def _key(op: Operation) -> Hashable:
    """What makes two pure ops the same (2)."""
    properties: Iterable[tuple[str, Hashable]] = op.properties.items()
    if isinstance(op, arith.ConstantOp) and _has_many_elements(op.value):
        properties = [("value", _ManyElements(op.value))]
    return (
        op.name,
        tuple(op.operands),
        frozenset(properties),
        frozenset(op.attributes.items()),
        tuple(op.result_types),
    )
