"""What kernels of contractions share: tasks of a part, groups of columns, their panels."""

from collections.abc import Mapping
from typing import Protocol

from fuse_dialect.backends.assembler.values import Value
from fuse_dialect.backends.llvm.contractions.operands import Copies
from fuse_dialect.backends.llvm.elements import register_type
from fuse_dialect.backends.llvm.kernel import frame_of
from fuse_dialect.backends.llvm.request import Request
from fuse_dialect.loops.contraction import Contraction
from fuse_dialect.loops.packing import Packing


class ColumnPlan(Protocol):
    """What is decided about columns."""

    @property
    def contraction(self) -> Contraction: ...
    @property
    def lanes(self) -> int: ...
    @property
    def vectors(self) -> int:
        """Vectors of a panel."""
        ...

    @property
    def packing(self) -> Packing | None:
        """How the columns factor was packed at compile time."""
        ...

    @property
    def packings(self) -> Mapping[str, Packing]:
        """The buffers that were packed at compile time."""
        ...

    @property
    def rows_room(self) -> int:
        """Elements of the workspace in front of packed columns."""
        ...


class Blocks:
    """Writes what surrounds tiles."""

    def __init__(self, request: Request, plan: ColumnPlan):
        self.plan, self.f = plan, request.entry
        f = request.entry
        self.slots = f.parameters[0]
        self.frame = frame_of(request, f)
        self.copies = Copies(request, plan.contraction, plan.lanes)
        self.type = register_type(plan.contraction.element)
        self.packed_type = self.type if plan.packing is None else register_type(plan.packing.element)
        """What panels of columns hold: of columns that expand bytes."""
        self.width = plan.vectors * plan.lanes
        self.column = plan.contraction.column_axes[-1]
        self.panels = self.ceiling(self.axis(self.column), self.width)
        self.depth = self.count_of(plan.contraction.reduced)

    def axis(self, axis: int) -> Value:
        """The size of an axis."""
        return self.frame.size(self.plan.contraction.stage.axes[axis].size)

    def ceiling(self, value: Value, by: int) -> Value:
        """How many pieces of a known size cover a value."""
        return self.f.quotient(self.f.add(value, self.f.i64(by - 1)), by)

    def covering(self, value: Value, by: Value) -> Value:
        """How many pieces of a size cover a value."""
        if by.number is not None:
            return self.ceiling(value, by.number)
        f = self.f
        return f.binary("udiv", f.subtract(f.add(value, by), f.i64(1)), by)

    def larger(self, lhs: Value, rhs: Value) -> Value:
        """The larger of two signed integers."""
        if lhs.number is not None and rhs.number is not None:
            return self.f.i64(max(lhs.number, rhs.number))
        return self.f.intrinsic("smax", lhs.type, [lhs, rhs])

    def count_of(self, axes: tuple[int, ...]) -> Value:
        """How many points axes have."""
        total = self.f.i64(1)
        for axis in axes:
            total = self.f.multiply(total, self.axis(axis))
        return total

    def point_of(self, number: Value, axes: tuple[int, ...]) -> dict[int, Value]:
        """The values of axes from the number of their point."""
        return self.frame.point_of(number, {axis: self.plan.contraction.stage.axes[axis].size for axis in axes})[1]

    def panel_size(self, depth: Value) -> Value:
        """How many elements a panel of some points of the reduced axes takes."""
        size = self.f.multiply(depth, self.f.i64(self.width))
        is_halved = self.plan.packing is not None and self.plan.packing.is_halves
        return self.f.quotient(size, 2) if is_halved else size

    def group_of(self, point: dict[int, Value]) -> Value:
        """The number of the point of the outer axes that the columns depend on."""
        number = self.f.i64(0)
        for axis in self.plan.contraction.outer:
            if axis in self.plan.contraction.columns.axes:
                number = self.f.add(self.f.multiply(number, self.axis(axis)), point[axis])
        return number

    def columns(self, point: dict[int, Value], group: tuple[Value, Value], is_new: Value) -> Value:
        """Address of the first panel of a group of columns; packs them if they are not packed, and new.

        Args:
            point: Values of the outer axes.
            group: Its first panel and the number of panels.
            is_new: Whether the task before had another group.
        """
        f, plan = self.f, self.plan
        first, count = group
        # Tasks that follow each other share columns, so a part packs them at the first one.
        if plan.packing is None:
            to = f.offset(self.frame.workspace, f.i64(plan.rows_room), self.type)
            with f.when(is_new):
                block = (f.multiply(first, f.i64(self.width)), count)
                self.copies.panels(f, self.slots, to, point, block, plan.vectors)
            return to
        buffer = next(name for name, packing in plan.packings.items() if packing == plan.packing)
        # Panels lie behind each other for all points of the axes that the columns depend on.
        first = f.add(f.multiply(self.group_of(point), self.panels), first)
        place = f.multiply(first, self.panel_size(self.depth))
        return f.offset(self.frame.pointers[buffer], place, self.packed_type)
