"""Moving scales along the ops of a module: a pure plan of what can be folded, and its application.

A scale moves from value to value through ops that let it pass (`Passing`), and through additions of a constant
(`Shifting`), which is scaled as well, until a product takes it into its weight. Nobody else sees a value on the way
change: backward it has one use, forward all its users go the way. All ops on it stand in one block.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from fuse_dialect.budget import Budget
from fuse_dialect.dialect.constants import constant, with_dtype, without_repeats
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.broadcast import AddOp, BiasAddOp, DivideOp, MultiplyOp, SubtractOp
from fuse_dialect.dialect.types import element_dtype, is_tensor
from fuse_dialect.fusion.outlining.rewiring import replace_operands, resolve
from fuse_dialect.transforms.scale_folding.rules import PASSINGS, Passing, Product, is_constant, product_of
from fuse_dialect.transforms.scale_folding.scale import (
    MAX_SPREAD,
    NO_SCALE,
    KnownScales,
    Scale,
    Scaling,
    Shifting,
    rank_of,
    scaling_of,
    shifting_of,
)
from fuse_dialect.transforms.unfinished import walk_unfinished

_BYTES = 8
"""Of one element of a constant that is written, at most."""

Role: TypeAlias = Product | Passing | Shifting | Scaling
"""What an op is to a scale."""


@dataclass(frozen=True, slots=True)
class Way:
    """The way of a scale from a value to the weight that takes it."""

    axis: int
    """The axis along which a scale may run."""
    only_positive: bool = False
    """Whether an op on the way keeps positive scales alone."""
    only_nonzero: bool = False
    """Whether a constant on the way is divided by the scale."""
    spread: float = 0.0
    """Powers of two of the scales that are folded on the way already."""
    number_elements: int = 0
    """Of the constants that are written when a scale of one number goes the way."""
    vector_elements: int = 0
    """Of the constants that are written when a scale along the axis goes the way."""

    def with_scale(self, scale: Scale, budget: Budget) -> "Way | None":
        """The way with one more scale on it, or `None` when that one cannot go it."""
        refused = (
            scale.axis not in (None, self.axis)
            or (self.only_positive and not scale.is_positive)
            or (self.only_nonzero and scale.has_zero)
            or self.spread + scale.spread > MAX_SPREAD
        )
        elements = self.number_elements if scale.axis is None else self.vector_elements
        if refused or not budget.take(bytes=_BYTES * elements):
            return None
        return replace(self, spread=self.spread + scale.spread)

    def through(self, op: Operation, role: Passing | Shifting, *, divides: bool) -> "Way | None":
        """The way with one more op on it, or `None` when that one stops all scales."""
        if isinstance(role, Passing):
            assert isinstance(op, FuseOp)
            admitted = role.admits(op, self.axis)
            return replace(self, only_positive=self.only_positive or role.only_positive) if admitted else None
        if not role.admits(self.axis):
            return None
        assert is_tensor(role.data.type), "its elements are scaled"
        return replace(
            self,
            only_nonzero=self.only_nonzero or divides,
            number_elements=self.number_elements + without_repeats(role.term).size,
            vector_elements=self.vector_elements + max(role.term.size, role.data.type.get_shape()[self.axis]),
        )

    def beside(self, other: "Way") -> "Way | None":
        """The way to the weights of both, or `None` when no scale can go both."""
        if self.axis != other.axis:
            return None
        return Way(
            self.axis,
            self.only_positive or other.only_positive,
            self.only_nonzero or other.only_nonzero,
            max(self.spread, other.spread),
            self.number_elements + other.number_elements,
            self.vector_elements + other.vector_elements,
        )


@dataclass(eq=False, slots=True)
class Module:
    """The ops of a module in order, what each is to a scale, and what one fold changes."""

    ops: Sequence[Operation]
    budget: Budget
    """Bytes of constants that may be written: one that many ops share is written for each of them."""
    computed: set[SSAValue] = field(default_factory=set[SSAValue])
    """Weights that this pass computes from constants."""
    replacement: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """For the result of an op that goes the value that stands for it."""
    gone: list[Operation] = field(default_factory=list[Operation])
    _roles: dict[Operation, Role] = field(default_factory=dict[Operation, Role])
    _scales: KnownScales = field(default_factory=KnownScales)

    def __post_init__(self) -> None:
        self._roles = {op: role for op in self.ops if (role := self._role_of(op)) is not None}

    def role(self, op: Operation) -> Role | None:
        """What the op is to a scale; `None` for an op that stops it."""
        return self._roles.get(op)

    def _role_of(self, op: Operation) -> Role | None:
        match op:
            case MultiplyOp() | DivideOp():
                return scaling_of(op, self._scales)
            case AddOp() | SubtractOp() | BiasAddOp():
                return shifting_of(op)
            case _:
                return PASSINGS.get(type(op)) or product_of(op, lambda v: is_constant(v) or v in self.computed)

    def scale_weight(self, product: Product, factors: Array) -> None:
        """Multiply the weight of a product; `fold-constants` computes it."""
        weight = product.op.operands[product.weight]
        factor = self.insert(constant(factors.astype(dtype_of(weight))), product.op)
        scaled = self.insert(MultiplyOp(weight, factor), product.op)
        scaled.name_hint = weight.name_hint
        self.computed.add(scaled)
        product.op.operands[product.weight] = scaled

    def scale_term(self, op: Operation, shifting: Shifting, factors: Array) -> None:
        """Multiply the constant that the op adds."""
        old = op.operands[shifting.index]
        term = shifting.times(factors)
        term = with_dtype(term.reshape(-1) if shifting.is_vector else term, dtype_of(old))
        new = self.insert(constant(term), op)
        new.name_hint = old.name_hint
        op.operands[shifting.index] = new

    def insert(self, new: Operation, op: Operation) -> SSAValue:
        """Put an op before another one, at its location; its only result."""
        block = op.parent
        assert block is not None, "an op that was found by a walk stands in a block"
        new.location = op.location
        block.insert_op_before(new, op)
        return new.results[0]

    def drop(self, op: Operation, value: SSAValue) -> None:
        """Let `value` stand for the result of an op that does nothing any more."""
        self.replacement[op.results[0]] = value
        self.gone.append(op)

    def finish(self, module: ModuleOp) -> None:
        """Rewire what reads ops that are gone, and erase these, and constants that only they read."""
        resolve(self.replacement)
        for op in walk_unfinished(module):
            replace_operands(op, self.replacement)
        for op in self.gone:
            op.detach()
            op.drop_all_references()
        for op in self.ops:
            if isinstance(op, arith.ConstantOp) and not op.result.uses:
                op.detach()
                op.erase()


def dtype_of(value: SSAValue) -> "np.dtype[np.generic]":
    """The type of a tensor's elements."""
    assert is_tensor(value.type)
    return element_dtype(value.type.element_type)


def is_own(value: SSAValue, op: Operation) -> bool:
    """Whether the op alone reads the value, and stands in the block where it is computed."""
    return value.has_one_use() and isinstance(value.owner, Operation) and value.owner.parent is op.parent


def data_of(op: Operation, role: Role) -> SSAValue:
    """The operand that a scale comes from, or goes to."""
    match role:
        case Product():
            return op.operands[role.data]
        case Passing():
            return op.operands[0]
        case Shifting() | Scaling():
            return role.data


def fold_backward(module: Module) -> None:
    """Fold scales of results into the weights of the products before them."""
    folded = _plan_backward(module)
    pending: dict[SSAValue, Scale] = {}
    for op in reversed(module.ops):
        scale = pending.pop(op.results[0], NO_SCALE) if op.results else NO_SCALE
        role = module.role(op)
        if op in folded and isinstance(role, Scaling):
            pending[role.data] = role.scale.times(scale)
            module.drop(op, role.data)
        elif scale is not NO_SCALE and role is not None:
            if isinstance(role, Product):
                module.scale_weight(role, role.output_factors(scale))
                continue
            if isinstance(role, Shifting):
                module.scale_term(op, role, scale.aligned(rank_of(role.data)))
            pending[data_of(op, role)] = scale


def _plan_backward(module: Module) -> set[Operation]:
    """The multiplications that a weight above can take."""
    ways: dict[SSAValue, Way] = {}
    folded: set[Operation] = set()
    for op in module.ops:
        role = module.role(op)
        if role is None:
            continue
        if isinstance(role, Product):
            ways[op.results[0]] = Way(role.output_axis, vector_elements=role.output_elements, number_elements=1)
            continue
        data = data_of(op, role)
        way = ways.get(data) if is_own(data, op) else None
        if way is None:
            continue
        if isinstance(role, Scaling):
            further = way.with_scale(role.scale, module.budget)
            if further is not None:
                folded.add(op)
        else:
            further = way.through(op, role, divides=False)
        if further is not None:
            ways[op.results[0]] = further
    return folded


def fold_forward(module: Module) -> None:
    """Fold scales of data into the weights of the products behind them."""
    folded = _plan_forward(module)
    pending: dict[SSAValue, Scale] = {}
    for op in module.ops:
        role = module.role(op)
        if role is None:
            continue
        scale = pending.get(data_of(op, role), NO_SCALE)
        if op in folded and isinstance(role, Scaling):
            pending[op.results[0]] = role.scale.times(scale)
            module.drop(op, role.data)
        elif scale is not NO_SCALE:
            if isinstance(role, Product):
                module.scale_weight(role, role.input_factors(scale))
                continue
            if isinstance(role, Shifting):
                module.scale_term(op, role, 1 / scale.aligned(rank_of(role.data)))
            pending[op.results[0]] = scale


def _plan_forward(module: Module) -> set[Operation]:
    """The multiplications that weights below can take."""
    unread = Counter(value for op in module.ops for value in op.operands)
    ways: dict[SSAValue, Way | None] = {}
    folded: set[Operation] = set()
    for op in reversed(module.ops):
        role = module.role(op)
        if role is None:
            continue
        # A value that is read by anything else keeps reads that no way accounts for.
        way = None if unread[op.results[0]] else ways.get(op.results[0])
        further = _further(op, role, way, module.budget)
        if isinstance(role, Scaling) and further is not None:
            folded.add(op)
        data = data_of(op, role)
        if further is not None and isinstance(data.owner, Operation) and data.owner.parent is op.parent:
            unread[data] -= 1
            before = ways.get(data, further)
            ways[data] = None if before is None else before.beside(further)
    return folded


def _further(op: Operation, role: Role, way: Way | None, budget: Budget) -> Way | None:
    """The way from an op's data on, for the way from its result on."""
    if isinstance(role, Product):
        return Way(role.input_axis, vector_elements=role.input_elements, number_elements=1)
    if way is None:
        return None
    if isinstance(role, Scaling):
        return way.with_scale(role.scale, budget)
    return way.through(op, role, divides=True)
