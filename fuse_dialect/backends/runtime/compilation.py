"""What a program was made of, for people: the IR that runs, and the plan of its kernels."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, ModuleOp
from xdsl.ir import Attribute

from fuse_dialect.dialect.elision import ELIDED_RESOURCE
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.transforms.fuse_ops import FuseOpsPass

if TYPE_CHECKING:
    from fuse_dialect.remarks.module_plan import ModulePlan

MOST_SHOWN_BYTES = 64
"""Bytes of elements up to which a constant keeps them; one that repeats counts once."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """A module that has been compiled."""

    module: ModuleOp
    """What runs; constants of more than `MOST_SHOWN_BYTES` are elided."""
    fuse_ops: FuseOpsPass
    """The pass that grouped its operators."""

    def plan(self) -> "ModulePlan":
        """The plan of the kernels: what the pass decides about the same operators once more."""
        # Whoever only runs a program needs neither.
        from fuse_dialect.pictures.drawing import picture_of_plan
        from fuse_dialect.remarks.module_plan import plan_module
        from fuse_dialect.transforms.defuse_ops import DefuseOpsPass

        copy = self.module.clone()
        DefuseOpsPass().apply(Context(), copy)
        return plan_module(copy, self.fuse_ops, picture_of_plan)


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
