"""One function under conversion: its ops run on permuted data, and transposes stand where others need it as it was."""

from collections.abc import Container
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.axis_layout import AxisLayout
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.layout import LayoutTransformOp, TransposeOp
from fuse_dialect.dialect.types import is_tensor
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


def wanted_order(op: FuseOp, layout: str) -> Permutation | None:
    """The permutation that gives an op the layout asked for; `None` when it has that, or has none."""
    own = layout_of(op)
    if own is None or own.endswith("C") == (layout == "NHWC"):
        return None
    return channels_moved(len(own), layout)


def order_of(op: Operation) -> Permutation | None:
    """The permutation that the op is, or `None` for one that is more than that."""
    match op:
        case TransposeOp():
            return op.order
        case LayoutTransformOp():
            source, target = AxisLayout.parse(op.src_layout.data), AxisLayout.parse(op.dst_layout.data)
            return None if source.blocks or target.blocks else between(source.axes, target.axes)
        case _:
            return None


@dataclass(eq=False, slots=True)
class Conversion:
    """One function under conversion; the numbers are those of `convert-layout`."""

    layout: str
    may_convert: Container[Operation] | None = None
    """Ops that may run on permuted data; `None` for all."""
    forms: Forms = field(default_factory=Forms)
    gone: list[Operation] = field(default_factory=list[Operation])
    """Ops whose results other values stand for now."""
    plans: dict[Operation, PermutedOp] = field(default_factory=dict[Operation, PermutedOp])
    """How each op that was converted runs; by the op as it was."""

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
        order = order_of(op)
        if order is not None:
            self.forms.record_transpose(op.results[0], op.operands[0], order)  # (4)
            self.gone.append(op)
            return
        is_left = self.may_convert is not None and op not in self.may_convert
        plan = self._plan(op) if isinstance(op, FuseOp) and not is_left else None
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
        wanted = wanted_order(op, self.layout)
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
        self.plans[op] = plan
