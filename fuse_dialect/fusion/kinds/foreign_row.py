"""A row of the tables of foreign ops."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Operation

from fuse_dialect.fusion.kinds.edges import EdgeRule, plain_edges
from fuse_dialect.pattern_kind import PatternKind

KindRule: TypeAlias = PatternKind | Callable[[Operation], PatternKind | None]
"""A kind, or how to tell it from the op; `None` says that this op is unknown after all."""


@dataclass(frozen=True, slots=True)
class ForeignOp:
    """What a row says about an op."""

    kind: KindRule | None = None
    """Its pattern kind. An op that has one also has no effects."""
    edges: EdgeRule = plain_edges
    """How it reads each operand."""
    is_constant: bool = False
    """Its value is known or of no importance: it moves into a primitive with an operator, or becomes an argument."""
    reads_tuple: bool = False
    """Its operands form one tuple, as in Relay's `concatenate`."""
    reshape_only: bool = False
    """Its result holds the operand's elements in the same row-major order."""
    is_product: bool = False
    """It multiplies by weights, and the last axis of its result is channels, which hardware may want aligned."""
    has_no_effects: bool = False
    """It may stand in a region of an operator although it has no kind."""
    is_barrier: bool = False
    """It has no kind on purpose: it may have effects, or holds code that is fused by itself."""
    has_scalar_regions: bool = False
    """Its regions combine two elements, and nothing in them is fused."""


def rows(dialect: str, row: ForeignOp, names: str) -> dict[str, ForeignOp]:
    """The same row for several ops of a dialect."""
    return {f"{dialect}.{name}": row for name in names.split()}
