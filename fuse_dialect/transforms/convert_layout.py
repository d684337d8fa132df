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
`fuse.compiler`. With `if-profitable` those ops alone are converted for which everything together takes the least time
on a machine: arithmetic in each layout, and transposes between ops of different ones (`layouts/choice.py`). One
function may have both layouts. How an op family takes part is a row of `layouts/rules.py`; an op without a row is one
of 3.

Source: TVM `ConvertLayout`, src/relay/transforms/convert_layout.cc (v0.18).
Differs from TVM: it infers layouts op by op and inserts `layout_transform`, which it then cancels in pairs.
"""

from copy import copy
from dataclasses import dataclass, field
from typing import Literal, Self

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.machines.machine import Machine
from fuse_dialect.machines.names import find_machine
from fuse_dialect.transforms.layouts.choice import LayoutPlan, choose_layouts
from fuse_dialect.transforms.layouts.conversion import Conversion, wanted_order
from fuse_dialect.transforms.layouts.costs import LayoutCosts
from fuse_dialect.transforms.unfinished import walk_unfinished


@dataclass(frozen=True)
class ConvertLayoutPass(ModulePass):
    """Give all images one layout, with transposes where that layout meets another one."""

    name = "convert-layout"

    layout: Literal["NHWC", "NCHW"] = "NHWC"
    """`NHWC` for channels last, `NCHW` for channels in front of the pixels; the same with one or three spatial axes."""
    if_profitable: bool = False
    """Convert those ops alone for which everything together takes less time so."""
    machine: str = ""
    """What `if-profitable` counts for: the name of a machine or processor, as `--target-cpu` takes it, or the path of a
    file that ends in `.toml`; by default what code is made for."""
    target: Machine | None = field(default=None, init=False)
    """What code is made for, where `machine` names nothing; see `using`."""

    def using(self, target: Machine | None) -> Self:
        """The same pass for a machine from outside."""
        other = copy(self)
        vars(other)["target"] = target
        return other

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert all functions of the module.

        Raises:
            FuseError: There is no such machine.

        Complexity: O(ops + operands + bytes of the constants that are permuted).
        """
        if self.if_profitable:
            for top, plan in self.plans(op).items():
                if plan.ops:
                    Conversion(self.layout, plan.ops).run(top)
            return
        for top in list(op.body.block.ops):
            if any(isinstance(each, FuseOp) and wanted_order(each, self.layout) for each in walk_unfinished(top)):
                Conversion(self.layout).run(top)

    def plans(self, module: ModuleOp) -> dict[Operation, LayoutPlan]:
        """What `if-profitable` decides about each function of a module; nothing is changed.

        Raises:
            FuseError: There is no such machine.
        """
        tops = [
            top
            for top in module.body.block.ops
            if any(isinstance(each, FuseOp) and wanted_order(each, self.layout) for each in walk_unfinished(top))
        ]
        if not tops:
            return {}  # no machine is asked for
        # The reader of descriptions: a module without images needs none.
        from fuse_dialect.machines.description import with_rates

        machine = find_machine(self.machine) if self.machine or self.target is None else self.target
        costs = LayoutCosts(with_rates(machine))
        return {top: choose_layouts(top, self.layout, costs) for top in tops}
