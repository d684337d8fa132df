"""How ops run on permuted operands: one row an op family.

A row says, for a permutation of the op's data, which form each operand must have, which form the results then have, and
which properties count axes. An elementwise op needs no row of its own, because `MapOp` says how its operands align.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Attribute

from fuse_dialect.dialect.fields import PropertyValue, property_attribute
from fuse_dialect.dialect.op import FuseOp, MapOp
from fuse_dialect.dialect.ops.concatenation import ConcatenateOp, SplitOp
from fuse_dialect.dialect.ops.convolution import WindowedProductOp
from fuse_dialect.dialect.ops.dynamic import DynResize2dOp
from fuse_dialect.dialect.ops.indexing import PadOp, StridedSliceOp
from fuse_dialect.dialect.ops.layout import BatchFlattenOp, BlockOp, ReshapeOp, ReverseOp, SqueezeOp
from fuse_dialect.dialect.ops.normalization import AxisOp, BatchNormOp, GroupNormOp, InstanceNormOp, LayerNormOp
from fuse_dialect.dialect.ops.opaque import IdentityOp, LineOp
from fuse_dialect.dialect.ops.pooling import SpatialOp
from fuse_dialect.dialect.ops.reduction import ArgReductionOp, ReductionOp
from fuse_dialect.dialect.ops.replication import BroadcastToOp, RepeatOp, TileOp
from fuse_dialect.dialect.ops.resizing import Resize2dOp
from fuse_dialect.dialect.types import DYNAMIC, element_count, is_tensor, normalize_axis
from fuse_dialect.transforms.layouts.axis_groups import AxisGroup, axis_groups
from fuse_dialect.transforms.layouts.permutations import Permutation, between, keeps_elements_in_order, permuted_shape


@dataclass(frozen=True, slots=True)
class Lifted:
    """An operand of lower rank that broadcasts: it gets axes in front up to `rank`, and is permuted then."""

    rank: int
    permutation: Permutation


OperandForm: TypeAlias = Permutation | Lifted | None
"""What an operand must be; `None` for as it is."""


@dataclass(frozen=True, slots=True)
class PermutedOp:
    """How an op runs on permuted data."""

    operands: tuple[OperandForm, ...]
    results: tuple[Permutation, ...]
    """The form of each result."""
    properties: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])
    """Those that change."""


Rule: TypeAlias = Callable[[FuseOp, Permutation], PermutedOp | None]


def permuted_op(op: FuseOp, permutation: Permutation) -> PermutedOp | None:
    """How the op runs when its data is permuted, or `None` when it must not be."""
    rule = next((RULES[cls] for cls in type(op).__mro__ if cls in RULES), None)
    if rule is None or not all(is_tensor(type) for type in (*op.operand_types, *op.result_types)):
        return None
    return rule(op, permutation)


def layout_of(op: FuseOp) -> str | None:
    """The layout that a property of the op names, or `None` for an op without such a property."""
    name = next((LAYOUT_PROPERTIES[cls] for cls in type(op).__mro__ if cls in LAYOUT_PROPERTIES), None)
    if name is None:
        return None
    value: Attribute = getattr(op, name)
    assert isinstance(value, StringAttr)
    return value.data


def _changed(op: FuseOp, **values: PropertyValue) -> dict[str, Attribute]:
    declared = op.get_irdl_definition().properties
    return {name: property_attribute(value, declared[name].constr) for name, value in values.items()}


def _rank(op: FuseOp, index: int = 0) -> int:
    type = op.operand_types[index]
    assert is_tensor(type)
    return type.get_num_dims()


def _same_for_all(op: FuseOp, permutation: Permutation, **values: PropertyValue) -> PermutedOp:
    """Every operand and result of the rank of the data is permuted alike; others are as they were."""
    forms = tuple(permutation if _rank(op, i) == len(permutation) else None for i in range(len(op.operands)))
    return PermutedOp(forms, (permutation,) * len(op.results), _changed(op, **values))


def _map(op: FuseOp, permutation: Permutation) -> PermutedOp | None:
    """Operands are aligned with the result by `operand_axes`; a vector along `axis` stays, and `axis` changes."""
    assert isinstance(op, MapOp)
    forms: list[OperandForm] = []
    changed: dict[str, PropertyValue] = {}
    for index, type in enumerate(op.operand_types):
        axes, rank = op.operand_axes(index), len(permutation)
        if axes == tuple(range(rank)):
            forms.append(permutation)
        elif "axis" in op.get_irdl_definition().properties and len(axes) == 1:
            changed["axis"] = permutation.index(axes[0])
            forms.append(None)
        elif element_count(type) == 1:
            forms.append(None)
        elif axes == tuple(range(rank - len(axes), rank)):
            forms.append(Lifted(rank, permutation))
        else:
            return None
    return PermutedOp(tuple(forms), (permutation,), _changed(op, **changed))


def _layout(op: FuseOp, permutation: Permutation) -> PermutedOp | None:
    """The property that names the layout is permuted; it must be one that the op has."""
    name = next(LAYOUT_PROPERTIES[cls] for cls in type(op).__mro__ if cls in LAYOUT_PROPERTIES)
    layout = layout_of(op)
    assert layout is not None
    target = "".join(layout[axis] for axis in permutation)
    if target not in (op.DATA_LAYOUTS if isinstance(op, WindowedProductOp) else ("NCHW", "NHWC")):
        return None
    forms = (permutation, *(None for _ in op.operands[1:]))
    return PermutedOp(forms, (permutation,), _changed(op, **{name: target}))


def _axis(op: FuseOp, permutation: Permutation) -> PermutedOp | None:
    """The property `axis` counts an axis of the data."""
    axis: Attribute = getattr(op, "axis")  # noqa: B009 - only the ops of the rows have it
    assert isinstance(axis, IntegerAttr)
    old = normalize_axis(axis.value.data, len(permutation))
    return _same_for_all(op, permutation, axis=permutation.index(old))


def _axis_and_batch(op: FuseOp, permutation: Permutation) -> PermutedOp | None:
    """As `_axis`, and axis 0 is the batch."""
    return _axis(op, permutation) if permutation[0] == 0 else None


def _without(op: FuseOp, permutation: Permutation, dropped: tuple[int, ...]) -> PermutedOp:
    """The axes that `axes` names vanish from the result."""
    kept = [axis for axis in range(len(permutation)) if axis not in dropped]
    result = tuple(kept.index(axis) for axis in permutation if axis in kept)
    axes = sorted(permutation.index(axis) for axis in dropped)
    return PermutedOp((permutation,), (result,), _changed(op, axes=axes))


def _reduction(op: FuseOp, permutation: Permutation) -> PermutedOp | None:
    """Reduced axes vanish or stay; an index among elements of several axes depends on their order."""
    assert isinstance(op, ReductionOp)
    reduced = op.reduced_axes()
    if isinstance(op, ArgReductionOp) and len(reduced) != 1:
        return None
    if not op.keepdims.value.data:
        return _without(op, permutation, reduced)
    return _same_for_all(op, permutation, axes=sorted(permutation.index(axis) for axis in reduced))


def _squeeze(op: FuseOp, permutation: Permutation) -> PermutedOp | None:
    assert isinstance(op, SqueezeOp)
    return _without(op, permutation, op.squeezed)


def _slice(op: FuseOp, permutation: Permutation) -> PermutedOp | None:
    assert isinstance(op, StridedSliceOp)
    named = range(len(op.begin.get_values())) if op.axes is None else op.axes.get_values()
    axes = [permutation.index(normalize_axis(axis, len(permutation))) for axis in named]
    return _same_for_all(op, permutation, axes=axes)


def _pad(op: FuseOp, permutation: Permutation) -> PermutedOp | None:
    assert isinstance(op, PadOp)
    low, high = op.low.get_values(), op.high.get_values()
    return _same_for_all(
        op, permutation, low=[low[axis] for axis in permutation], high=[high[axis] for axis in permutation]
    )


def _reverse(op: FuseOp, permutation: Permutation) -> PermutedOp | None:
    assert isinstance(op, ReverseOp)
    axes = [permutation.index(normalize_axis(axis, len(permutation))) for axis in op.axes.get_values()]
    return _same_for_all(op, permutation, axes=axes)


def _tile(op: FuseOp, permutation: Permutation) -> PermutedOp | None:
    assert isinstance(op, TileOp)
    reps = op.reps.get_values()
    if len(reps) != len(permutation):
        return None
    return _same_for_all(op, permutation, reps=[reps[axis] for axis in permutation])


def _broadcast_to(op: FuseOp, permutation: Permutation) -> PermutedOp | None:
    assert isinstance(op, BroadcastToOp)
    same_rank = op.result.type.get_num_dims() == _rank(op) == len(permutation)
    return _same_for_all(op, permutation) if same_rank else None


def _reshape(op: FuseOp, permutation: Permutation) -> PermutedOp | None:
    """Axes that are split or joined stay together, in their order, and move as one."""
    assert isinstance(op, ReshapeOp | BatchFlattenOp)
    source, target = op.shape, tuple(op.result.type.get_shape())
    groups = axis_groups(source, target)
    if groups is None or target.count(DYNAMIC) > 1:
        return None

    def place(group: AxisGroup) -> int:
        wide = [axis for axis in group.source if source[axis] != 1]
        return min(permutation.index(axis) for axis in wide or group.source)

    ordered = sorted(groups, key=place)
    operand = tuple(axis for group in ordered for axis in group.source)
    if keeps_elements_in_order(permuted_shape(source, permutation), between(permutation, operand)):
        operand = permutation
    result = tuple(axis for group in ordered for axis in group.target)
    if isinstance(op, BatchFlattenOp) and (operand[0] != 0 or result != (0, 1)):
        return None
    return PermutedOp((operand,), (result,))


LAYOUT_PROPERTIES: Mapping[type, str] = {
    WindowedProductOp: "data_layout",
    SpatialOp: "layout",
    Resize2dOp: "layout",
    DynResize2dOp: "layout",
    BlockOp: "layout",
}
"""Which property of an op names the layout of its first operand and its result."""

RULES: Mapping[type, Rule] = {
    **dict.fromkeys(LAYOUT_PROPERTIES, _layout),
    MapOp: _map,
    IdentityOp: _same_for_all,
    **dict.fromkeys((AxisOp, BatchNormOp, LayerNormOp, LineOp, ConcatenateOp, SplitOp, RepeatOp), _axis),
    **dict.fromkeys((InstanceNormOp, GroupNormOp), _axis_and_batch),
    ReductionOp: _reduction,
    SqueezeOp: _squeeze,
    StridedSliceOp: _slice,
    PadOp: _pad,
    ReverseOp: _reverse,
    TileOp: _tile,
    **dict.fromkeys((ReshapeOp, BatchFlattenOp), _reshape),
    BroadcastToOp: _broadcast_to,
}
"""By op class or a base of it. An op without a row runs on operands as they were."""
