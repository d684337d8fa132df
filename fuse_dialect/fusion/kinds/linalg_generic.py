"""The pattern kind of a `linalg.generic`, told from its loops and its index maps.

1. All loops parallel: what each input's map does decides. The identity is elementwise; axes left out, in order, are a
   broadcast; axes out of order, or anything computed, are injective. The greatest of these counts.
2. A reduction is commutative if every map takes plain loop variables, and no two inputs share a loop that is reduced:
   then it only sums up. Else it is a contraction, a convolution or a pool: complex.
3. Anything else, `linalg.index` and data-dependent reads included, is at least injective.

Source: TVM `AnalyzeOpPatternKind`, src/relax/analysis/tir_op_pattern_kind.cc, from loads and stores to index maps.
"""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr
from xdsl.ir import Data, Operation
from xdsl.ir.affine import AffineDimExpr, AffineMap

from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.pattern_kind import PatternKind

_READS_ELSEWHERE = frozenset({"linalg.index", "tensor.extract"})
"""Ops in the body by which an element depends on more than the elements that the maps give."""


def generic_kind(op: Operation) -> PatternKind | None:
    """Kind of a `linalg.generic` on tensors."""
    maps = [map.data for map in cast(ArrayAttr[AffineMapAttr], op.properties["indexing_maps"])]
    inputs, outputs = maps[: -len(op.results)], maps[-len(op.results) :]
    loops = [str(iterator.data) for iterator in cast(ArrayAttr[Data[str]], op.properties["iterator_types"])]
    if all(loop == "parallel" for loop in loops):
        kind = max((_map_kind(map) for map in inputs), default=PatternKind.ELEMWISE)
        if any(not _is_identity(map) for map in outputs):
            kind = max(kind, PatternKind.INJECTIVE)
    elif "window" not in loops and _only_sums_up(inputs, loops):
        kind = PatternKind.COMM_REDUCE
    else:
        return PatternKind.OUT_EWISE_FUSABLE
    reads_elsewhere = any(inner.name in _READS_ELSEWHERE for inner in ops_inside(op))
    return max(kind, PatternKind.INJECTIVE) if reads_elsewhere else kind


def elementwise_kind(op: Operation) -> PatternKind:
    """Kind of a `linalg.elementwise`: the greatest of its inputs' maps; these are identities if it has none."""
    maps = cast(ArrayAttr[AffineMapAttr] | None, op.properties.get("indexing_maps"))
    kinds = [] if maps is None else [_map_kind(map.data) for map in maps.data[:-1]]
    is_joint = len(op.operands) > 2  # two operands meet in a broadcast, as in the named ops
    return max(kinds, default=PatternKind.ELEMWISE) if not is_joint else max(PatternKind.BROADCAST, *kinds)


def _dimensions(map: AffineMap) -> list[int] | None:
    """The loop variables that the map returns, or `None` if it computes with them."""
    dims = [result.position for result in map.results if isinstance(result, AffineDimExpr)]
    return dims if len(dims) == len(map.results) else None


def _is_identity(map: AffineMap) -> bool:
    return _dimensions(map) == list(range(map.num_dims))


def _map_kind(map: AffineMap) -> PatternKind:
    if _is_identity(map):
        return PatternKind.ELEMWISE
    dims = _dimensions(map)
    is_in_order = dims is not None and dims == sorted(set(dims))
    return PatternKind.BROADCAST if is_in_order else PatternKind.INJECTIVE


def _only_sums_up(inputs: Sequence[AffineMap], loops: Sequence[str]) -> bool:
    reduced = {index for index, loop in enumerate(loops) if loop == "reduction"}
    readers = 0
    for map in inputs:
        dims = _dimensions(map)
        if dims is None:
            return False
        readers += bool(reduced & set(dims))
    return readers <= 1
