"""What a program was made of, for people: the IR that runs, and the plan of its kernels.

The plan that ran is kept, and not made again: a strategy from outside may say something else when it is asked twice,
and what is put back together from primitives is not what was planned (`fuse.stop_fusion` is gone, for one). A plan
numbers the nodes of its block, so the ops as they were before fusion are kept with it: about 1 KB an op, without large
constants.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, ModuleOp
from xdsl.ir import Attribute, Operation

from fuse_dialect.backends.options import CompileOptions
from fuse_dialect.backends.runtime.arrays import address_of
from fuse_dialect.dialect.elision import ELIDED_RESOURCE
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.extensions import at_place
from fuse_dialect.fusion.core.plan import FusionPlan
from fuse_dialect.fusion.fuse_ops import BlockFusion, FuseOpsPass

if TYPE_CHECKING:
    from fuse_dialect.dialect.op import Array
    from fuse_dialect.remarks.module_plan import ModulePlan

SHOWN = "fuse_dialect.pictures.drawing:shown_plan"
"""Place of what makes a plan one to look at; whoever only runs a program does not need it."""
MOST_SHOWN_BYTES = 64
"""Bytes of elements up to which a constant keeps them; one that repeats counts once."""


@dataclass(frozen=True, slots=True)
class RanPlan:
    """What fusion has decided, and about which ops."""

    unfused: ModuleOp
    """The module right before its ops were moved; nobody changes it."""
    plans: Sequence[Sequence[tuple[FusionPlan, int]]]
    """For each function that fuses, in order, the plan of each block, and how many merges it counts."""

    @classmethod
    def of(cls, module: ModuleOp, plans: Mapping[Operation, Sequence[BlockFusion]]) -> Self:
        """What is about to be outlined.

        Args:
            module: The module as it was planned.
            plans: What `FuseOpsPass.plan_functions` has said.
        """
        unfused = module.clone()  # attributes are shared, until `let_go_of_constants`
        return cls(unfused, [[(fusion.plan, fusion.merges) for fusion in fusions] for fusions in plans.values()])


@dataclass(frozen=True, slots=True)
class Compilation:
    """A module that has been compiled."""

    module: ModuleOp
    """What runs; constants of more than `MOST_SHOWN_BYTES` are elided."""
    fuse_ops: FuseOpsPass
    """The pass that grouped its operators."""
    ran: RanPlan
    """How it did."""
    options: CompileOptions
    """How it was compiled."""
    weights: "Mapping[int, int | Attribute]"
    """Large constants of `RanPlan.unfused`, by their number among its constants: the tensor of the program that has the
    elements, or the attribute where no tensor has them as they are."""
    source: ModuleOp | None = None
    """The module before the first pass, with its constants, where it is compiled again for sizes of arguments."""

    def plan(self) -> "ModulePlan":
        """The plan of the kernels, on a copy of the ops as they were before fusion."""
        copy = self.ran.unfused.clone()
        return at_place(SHOWN)(copy, self.fuse_ops, self.fuse_ops.replanned(copy, self.ran.plans))


def let_go_of_constants(module: ModuleOp, tensors: "Mapping[int, Array]") -> "dict[int, int | Attribute]":
    """Elide large constants of a module, and say where their elements are: see `Compilation.weights`.

    Args:
        module: As it was planned; it changes.
        tensors: The constants of the program that is made of it, as views of the same attributes.
    """
    # Those of a mapped model need not be aligned.
    dense = {tensor: array for tensor, array in tensors.items() if array.flags.c_contiguous}
    known = {(address_of(array), array.nbytes): tensor for tensor, array in dense.items()}
    found: dict[int, int | Attribute] = {}
    for number, op in enumerate(constants_of(module)):
        value = op.value
        if not is_tensor(op.result.type) or not isinstance(value, DenseIntOrFPElementsAttr) or _is_short(value):
            continue
        data = np.frombuffer(value.data.data, np.uint8)
        found[number] = known.get((address_of(data), data.nbytes), value)
        op.properties["value"] = DenseResourceAttr.from_params(ELIDED_RESOURCE, op.result.type)
    return found


def constants_of(module: ModuleOp) -> list[ConstantOp]:
    """The constants of a module in the order of its text."""
    return [op for op in ops_inside(module) if isinstance(op, ConstantOp)]


def elide_constants(module: ModuleOp, kept: Collection[func.FuncOp]) -> None:
    """Let go of the elements of large constants.

    Args:
        module: The module; it changes.
        kept: Functions that need theirs.
    """
    for op in module.body.block.ops:
        if op in kept:
            continue
        for inner in ops_inside(op):
            if isinstance(inner, ConstantOp) and is_tensor(inner.result.type) and not _is_short(inner.value):
                inner.properties["value"] = DenseResourceAttr.from_params(ELIDED_RESOURCE, inner.result.type)


def _is_short(value: Attribute) -> bool:
    """Whether the elements take no room: they are few, or one that repeats."""
    return isinstance(value, DenseIntOrFPElementsAttr) and len(value.data.data) <= MOST_SHOWN_BYTES
