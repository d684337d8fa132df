"""Tuples, which `fuse` ops have as well."""

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.ops.tuples import GetTupleElementOp, TupleOp
from fuse_dialect.frontends.fuse_values import result
from fuse_dialect.frontends.stablehlo.rules.building import Rule, number


def _tuple(op: Operation) -> Sequence[SSAValue]:
    return [result(TupleOp(*op.operands))]


def _get_tuple_element(op: Operation) -> Sequence[SSAValue]:
    return [result(GetTupleElementOp(op.operands[0], index=number(op, "index")))]


TUPLES: Mapping[str, Rule] = {"stablehlo.get_tuple_element": _get_tuple_element, "stablehlo.tuple": _tuple}
"""Rules by the name of the op."""
