"""Plans that leave their process: the module as text, and what was decided about each of its blocks."""

from typing import TYPE_CHECKING, Any

from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.loading.module_file import module_of_text
from fuse_dialect.pictures.drawing import picture_of_plan
from fuse_dialect.remarks.module_plan import ModulePlan, ran_plan

if TYPE_CHECKING:
    from fuse_dialect.fusion.core.plan import FusionPlan

_SHOWN_ELEMENTS = 16
"""Constants of more elements are elided: a plan is for looking at."""


def reduced(plan: ModulePlan) -> "tuple[str, FuseOpsPass, list[list[tuple[FusionPlan, int]]]]":
    """What a plan is pickled as: text, pass, and plans of the blocks of each function."""
    from io import StringIO

    from fuse_dialect.frontends.mlir.reader import context
    from fuse_dialect.targets.mlir import FuseMLIRTarget

    text = StringIO()
    FuseMLIRTarget(elide_larger_than=_SHOWN_ELEMENTS, print_debuginfo=True).emit(context(), plan.module, text)
    plans: dict[int, list[tuple[Any, int]]] = {}
    for function, fusion in plan.fusions:
        plans.setdefault(id(function), []).append((fusion.plan, fusion.merges))
    return text.getvalue(), plan.fuse_ops, list(plans.values())


def restored(text: str, fuse_ops: FuseOpsPass, plans: "list[list[tuple[FusionPlan, int]]]") -> ModulePlan:
    """The plan that was pickled; pictures and stories tell of what was decided then."""
    module = module_of_text(text, "<pickle>", allow_unregistered=True).module
    fusions = fuse_ops.replanned(module, plans)
    return ran_plan(module, fuse_ops, fusions, picture_of_plan)
