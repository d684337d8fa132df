"""The pattern kind of a `linalg.generic`, and of the edge from each operand, told from its loops and its index maps.

1. All loops parallel: each input's map is compared with the output's. The same axes are elementwise; some of them, in
   order, are a broadcast, and so are axes of size 1 in place of some; axes in another order, or anything computed, are
   injective.
2. The kind of such an op is the greatest of its edges. An op that reads an operand elementwise is a broadcast at most:
   what the kind forbids to that operand, the other edges need not.
3. A reduction is commutative if every map takes plain loop variables, and no two inputs share a loop that is reduced:
   then it only sums up. Else it is a contraction, a convolution or a pool: complex.
4. An op whose body reads elsewhere, with `linalg.index` or by places that depend on data, is at least injective.
5. The init is read where the result is written: elementwise, also into a sum.

Source: TVM `AnalyzeOpPatternKind`, src/relax/analysis/tir_op_pattern_kind.cc, from loads and stores to index maps.
"""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, TensorType
from xdsl.ir import Attribute, Data, Operation
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap

from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.pattern_kind import PatternKind

_READS_ELSEWHERE = frozenset({"linalg.index", "tensor.extract"})
"""Ops in the body by which an element depends on more than the elements that the maps give."""


def generic_kind(op: Operation) -> PatternKind | None:
    """Kind of a `linalg.generic` on tensors."""
    inputs, outputs, loops = _maps_and_loops(op)
    if all(loop == "parallel" for loop in loops):
        kind = _joint_kind(_parallel_edges(op, inputs, outputs))
    elif "window" not in loops and _only_sums_up(inputs, loops):
        kind = PatternKind.COMM_REDUCE
    else:
        return PatternKind.OUT_EWISE_FUSABLE
    reads_elsewhere = any(inner.name in _READS_ELSEWHERE for inner in ops_inside(op))
    return max(kind, PatternKind.INJECTIVE) if reads_elsewhere else kind


def generic_edges(op: Operation, kind: PatternKind) -> Sequence[PatternKind]:
    """Edges of a `linalg.generic`: from its maps; inits are elementwise."""
    inputs, outputs, loops = _maps_and_loops(op)
    inits = [PatternKind.ELEMWISE] * len(outputs)  # (5)
    if all(loop == "parallel" for loop in loops):
        return [*_parallel_edges(op, inputs, outputs), *inits]
    # What is not summed is repeated for each term.
    reduced = {index for index, loop in enumerate(loops) if loop == "reduction"}
    edges = [
        PatternKind.BROADCAST
        if kind is PatternKind.COMM_REDUCE and not reduced.intersection(_dimensions(map) or ())
        else kind
        for map in inputs
    ]
    return [*edges, *inits]


def elementwise_kind(op: Operation) -> PatternKind:
    """Kind of a `linalg.elementwise`: from its inputs' maps; these are identities if it has none."""
    edges = elementwise_edges(op, PatternKind.ELEMWISE)[: -len(op.results)]
    # Two operands meet in a broadcast, as in the named ops.
    return max(PatternKind.BROADCAST, _joint_kind(edges)) if len(op.operands) > 2 else _joint_kind(edges)


def elementwise_edges(op: Operation, kind: PatternKind) -> Sequence[PatternKind]:
    """Edges of a `linalg.elementwise`: from its maps; the init is elementwise."""
    maps = cast(ArrayAttr[AffineMapAttr] | None, op.properties.get("indexing_maps"))
    if maps is None:
        return [PatternKind.ELEMWISE] * len(op.operands)
    data = [map.data for map in maps.data]
    return [*_parallel_edges(op, data[:-1], data[-1:]), PatternKind.ELEMWISE]


def _maps_and_loops(op: Operation) -> tuple[list[AffineMap], list[AffineMap], list[str]]:
    """Maps of the inputs and of the outputs, and the kinds of the loops."""
    maps = [map.data for map in cast(ArrayAttr[AffineMapAttr], op.properties["indexing_maps"])]
    loops = [str(iterator.data) for iterator in cast(ArrayAttr[Data[str]], op.properties["iterator_types"])]
    return maps[: -len(op.results)], maps[-len(op.results) :], loops


def _parallel_edges(op: Operation, inputs: Sequence[AffineMap], outputs: Sequence[AffineMap]) -> list[PatternKind]:
    """(1) Edges of the inputs of an op whose loops are all parallel."""
    order = _dimensions(outputs[0])
    if order is None or sorted(order) != list(range(outputs[0].num_dims)) or any(map != outputs[0] for map in outputs):
        return [PatternKind.INJECTIVE] * len(inputs)
    place = {dimension: number for number, dimension in enumerate(order)}
    return [_edge(map, operand.type, place) for map, operand in zip(inputs, op.operands, strict=False)]


def _edge(map: AffineMap, type: Attribute, place: dict[int, int]) -> PatternKind:
    """(1) The edge of one input, by the place of each loop in the output."""
    shape = type.get_shape() if isinstance(type, TensorType) else ()
    taken: list[int] = []
    is_whole = True
    for axis, result in enumerate(map.results):
        if isinstance(result, AffineDimExpr):
            taken.append(place[result.position])
        elif isinstance(result, AffineConstantExpr) and axis < len(shape) and shape[axis] == 1:
            is_whole = False
        else:
            return PatternKind.INJECTIVE
    if taken != sorted(set(taken)):
        return PatternKind.INJECTIVE
    return PatternKind.ELEMWISE if is_whole and len(taken) == len(place) else PatternKind.BROADCAST


def _joint_kind(edges: Sequence[PatternKind]) -> PatternKind:
    """(2) The kind of an op that reads its inputs so."""
    if PatternKind.ELEMWISE in edges:
        return PatternKind.ELEMWISE if max(edges) is PatternKind.ELEMWISE else PatternKind.BROADCAST
    return max(edges, default=PatternKind.ELEMWISE)


def _dimensions(map: AffineMap) -> list[int] | None:
    """The loop variables that the map returns, or `None` if it computes with them."""
    dims = [result.position for result in map.results if isinstance(result, AffineDimExpr)]
    return dims if len(dims) == len(map.results) else None


def _only_sums_up(inputs: Sequence[AffineMap], loops: Sequence[str]) -> bool:
    reduced = {index for index, loop in enumerate(loops) if loop == "reduction"}
    readers = 0
    for map in inputs:
        dims = _dimensions(map)
        if dims is None:
            return False
        readers += bool(reduced & set(dims))
    return readers <= 1
