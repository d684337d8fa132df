"""Ops of CHLO whose operands are broadcast: what StableHLO says of operands of one shape, `fuse` ops say of any."""

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from fuse_dialect.frontends.fuse_values import shape
from fuse_dialect.frontends.stablehlo.dialect import BY_NAME
from fuse_dialect.frontends.stablehlo.rules.building import Rule, ints, of_passing
from fuse_dialect.frontends.stablehlo.rules.elementwise import ELEMENTWISE
from fuse_dialect.frontends.stablehlo.rules.sizes import insert_axes

_PREFIX = "chlo.broadcast_"


def _rule(name: str) -> Rule:
    """The rule of the op of this name on the operands as they are, axes of the smaller one where they belong."""

    def rule(op: Operation) -> Sequence[SSAValue]:
        properties = {key: value for key, value in op.properties.items() if key != "broadcast_dimensions"}
        made = BY_NAME[name].create(
            operands=_aligned(op), result_types=[each.type for each in op.results], properties=properties
        )
        return of_passing(made, ELEMENTWISE[name])

    return rule


def _aligned(op: Operation) -> list[SSAValue]:
    """The operands; `broadcast_dimensions` says which axes of the larger one those of the smaller one are."""
    rank = len(shape(op.results[0]))
    axes = ints(op, "broadcast_dimensions", range(rank))
    operands: list[SSAValue] = []
    for value in op.operands:
        own = len(shape(value))
        is_spread = "broadcast_dimensions" in op.properties and own < rank and own == len(axes)
        missing = [place - min(axes) for place in range(min(axes, default=rank), rank) if place not in axes]
        operands.append(insert_axes(value, missing) if is_spread else value)
    return operands


def _equal(name: str) -> str | None:
    """The op that does the same to operands of one shape; `None` if it has no rule."""
    word = name.removeprefix(_PREFIX)
    return next((each for each in (f"stablehlo.{word}", f"chlo.{word}") if each in ELEMENTWISE), None)


IMPLICIT_BROADCASTS: Mapping[str, Rule] = {
    name: _rule(equal) for name in BY_NAME if name.startswith(_PREFIX) and (equal := _equal(name)) is not None
}
"""Rules by the name of the op."""
