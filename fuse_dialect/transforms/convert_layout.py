"""`convert-layout`: images with their channels last (NHWC), or in front of the pixels (NCHW), through whole functions.

1. An op with a property for the layout (convolutions, pools, `resize2d`, `depth_to_space`, `space_to_depth`) gets the
   layout that is asked for. Kernels keep theirs: it is for a backend to pack weights.
2. An op that computes each element, or along axes that a property names, or that splits or joins axes, runs on permuted
   data where some operand is at hand in that form, and where that takes no more transposes than to run it as it was.
   Constants are permuted here.
3. Every other op, a call, a return, an op of another dialect, runs on operands as they were: a transpose stands in
   front of it, right behind what it moves, once for all that need it. One that moves axes of size 1 alone is a
   `reshape`.
4. A transpose of the program is not computed but remembered: whoever reads it gets the form that it wants, so that two
   in a row, or one that undoes a layout, vanish.

A function without an op of 1 that has another layout is left as it is, and so are functions with `primitive` or
`fuse.compiler`. With `if-profitable` a function is left alone, too, where the transposes at its borders would move more
bytes than its ops of 1: a lone convolution between two NCHW images. How an op family takes part is a row of
`layouts/rules.py`; an op without a row is one of 3.

Source: TVM `ConvertLayout`, src/relay/transforms/convert_layout.cc (v0.18).
Differs from TVM: it infers layouts op by op and inserts `layout_transform`, which it then cancels in pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from fuse_dialect.dialect.axis_layout import AxisLayout
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.layout import LayoutTransformOp, TransposeOp
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.fusion.ir.op_costs import op_cost
from fuse_dialect.transforms.layouts.forms import Forms
from fuse_dialect.transforms.layouts.permutations import (
    Permutation,
    between,
    channels_moved,
    identity,
    permuted,
)
from fuse_dialect.transforms.layouts.rules import Lifted, OperandForm, PermutedOp, layout_of, permuted_op
from fuse_dialect.transforms.unfinished import walk_unfinished


@dataclass(frozen=True)
class ConvertLayoutPass(ModulePass):
    """Give all images one layout, with transposes where that layout meets another one."""

    name = "convert-layout"

    layout: Literal["NHWC", "NCHW"] = "NHWC"
    """`NHWC` for channels last, `NCHW` for channels in front of the pixels; the same with one or three spatial axes."""
    if_profitable: bool = False
    """Leave a function alone where transposes would move more bytes than the ops that want the layout."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert all functions of the module.

        Complexity: O(ops + operands + bytes of the constants that are permuted).
        """
        for top in list(op.body.block.ops):
            ops = list(walk_unfinished(top))
            wanting = [each for each in ops if isinstance(each, FuseOp) and _wanted(each, self.layout) is not None]
            if wanting and not (self.if_profitable and self._moves_too_much(top, wanting)):
                _Conversion(self.layout).run(top)

    def _moves_too_much(self, top: Operation, wanting: Sequence[FuseOp]) -> bool:
        """Whether converting a copy adds transposes that move more bytes than the ops that want the layout."""
        copy = top.clone()
        _Conversion(self.layout).run(copy)
        return _moved_bytes(copy) - _moved_bytes(top) > sum(map(_bytes_of, wanting))


def _moved_bytes(top: Operation) -> int:
    """Bytes that the transposes of a function read and write."""
    return sum(_bytes_of(op) for op in walk_unfinished(top) if isinstance(op, TransposeOp))


def _bytes_of(op: FuseOp) -> int:
    """Bytes that an op reads and writes, as far as they are known."""
    return op_cost(op).static_bytes


def _wanted(op: FuseOp, layout: str) -> Permutation | None:
    """The permutation that gives an op of rule 1 the layout asked for; `None` when it has that, or has none."""
    own = layout_of(op)
    if own is None or own.endswith("C") == (layout == "NHWC"):
        return None
    return channels_moved(len(own), layout)


@dataclass(eq=False, slots=True)
class _Conversion:
    """One function under conversion."""

    layout: str
    forms: Forms = field(default_factory=Forms)
    gone: list[Operation] = field(default_factory=list[Operation])
    """Ops whose results other values stand for now."""

    def run(self, top: Operation) -> None:
        """Visit the ops in order; rewire what stands before the ops that it reads, then erase what is left over."""
        for op in walk_unfinished(top):
            self.visit(op)
        dropped = dict.fromkeys(self.gone)
        ops = list(walk_unfinished(top))
        for op in ops:
            if op not in dropped and any(value.owner in dropped for value in op.operands):
                op.operands = [self._as_it_was(value) for value in op.operands]
        for op in dropped:
            op.detach()
            op.drop_all_references()
        for op in ops:
            if isinstance(op, arith.ConstantOp) and not op.result.uses:
                op.detach()
                op.erase()

    def visit(self, op: Operation) -> None:
        """Let the op run on permuted operands, or on operands as they were."""
        order = _order_of(op)
        if order is not None:
            self.forms.record_transpose(op.results[0], op.operands[0], order)  # (4)
            self.gone.append(op)
            return
        plan = self._plan(op) if isinstance(op, FuseOp) else None
        if plan is not None:
            self._convert(op, plan)
        elif any(self._is_elsewhere(value) for value in op.operands):
            op.operands = [self._as_it_was(value) for value in op.operands]

    def _is_elsewhere(self, value: SSAValue) -> bool:
        return is_tensor(value.type) and value not in self.forms.of(value).values()

    def _as_it_was(self, value: SSAValue) -> SSAValue:
        if not is_tensor(value.type):
            return value
        return self.forms.get(value, identity(value.type.get_num_dims()))

    def _plan(self, op: FuseOp) -> PermutedOp | None:
        """How the op runs on permuted operands, or `None` where it runs as it was."""
        wanted = _wanted(op, self.layout)
        if wanted is not None:
            return permuted_op(op, wanted)  # (1)
        if layout_of(op) is not None:
            return None  # (1): it has the layout already, whatever form its data is at hand in
        for value in op.operands:
            for permutation in self._forms_to_follow(value):
                plan = permuted_op(op, permutation)
                if plan is not None and self._transposes(op, plan.operands) <= self._transposes(op, None):
                    return plan  # (2)
        return None

    def _forms_to_follow(self, value: SSAValue) -> list[Permutation]:
        """Forms at hand that users shall run on: of what was not converted, the layout asked for alone."""
        if not is_tensor(value.type):
            return []
        rank = value.type.get_num_dims()
        forms = [form for form in self.forms.of(value) if form != identity(rank)]
        if self.forms.is_converted(value):
            return forms
        return [form for form in forms if rank > 2 and form == channels_moved(rank, self.layout)]

    def _transposes(self, op: FuseOp, wanted: tuple[OperandForm, ...] | None) -> int:
        """How many operands must be moved to be in the wanted forms, or as they were."""
        count = 0
        for index, value in enumerate(op.operands):
            form = None if wanted is None else wanted[index]
            if is_tensor(value.type):
                rank = value.type.get_num_dims()
                count += self.forms.needs_transpose(value, form if isinstance(form, tuple) else identity(rank))
        return count

    def _convert(self, op: Operation, plan: PermutedOp) -> None:
        """Put the op on permuted operands in the place of the old one."""
        operands: list[SSAValue] = []
        for value, form in zip(op.operands, plan.operands, strict=True):
            match form:
                case Lifted():
                    operands.append(self.forms.lift(value, form))
                case None:
                    operands.append(self._as_it_was(value))
                case _:
                    operands.append(self.forms.get(value, form))
        types = [
            permuted(type, order) for type, order in zip(op.result_types, plan.results, strict=True) if is_tensor(type)
        ]
        new = type(op).create(
            operands=operands,
            result_types=types,
            properties={**op.properties, **plan.properties},
            attributes=op.attributes,
        )
        new.location = op.location
        assert op.parent is not None, "an op that was found by a walk stands in a block"
        op.parent.insert_op_before(new, op)
        for old, result, order in zip(op.results, new.results, plan.results, strict=True):
            result.name_hint = old.name_hint
            self.forms.record(old, order, result)
        self.gone.append(op)


def _order_of(op: Operation) -> Permutation | None:
    """The permutation that the op is, or `None` for one that is more than that."""
    match op:
        case TransposeOp():
            return op.order
        case LayoutTransformOp():
            source, target = AxisLayout.parse(op.src_layout.data), AxisLayout.parse(op.dst_layout.data)
            return None if source.blocks or target.blocks else between(source.axes, target.axes)
        case _:
            return None
