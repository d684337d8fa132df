"""Pictures of a plan that Python code has."""

from typing import Literal

from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.pictures.page import page_of
from fuse_dialect.pictures.scene import SceneOptions, scene_of
from fuse_dialect.pictures.svg import svg_of
from fuse_dialect.remarks.module_plan import ModulePlan, ran_plan
from fuse_dialect.remarks.recorded_fusion import MadePlans


def shown_plan(module: ModuleOp, fuse_ops: FuseOpsPass, made: MadePlans) -> ModulePlan:
    """What a pass has decided about a module, as objects that name its ops and draw themselves.

    Args:
        module: The module, as it was planned.
        fuse_ops: The pass.
        made: What it has decided.
    """
    return ran_plan(module, fuse_ops, made, picture_of_plan)


def picture_of_plan(plan: ModulePlan, form: Literal["html", "svg"], title: str = "") -> str:
    """A page, or one picture, that shows a plan, and what the strategy tries on its module.

    Args:
        plan: The plan.
        form: A page, or one picture.
        title: What it is called; by default as the module, or its largest function.

    Raises:
        OpError: The module has changed, and a block cannot be grouped.
    """
    scene = scene_of(plan.module, plan.fuse_ops, SceneOptions(title), plan.made)
    return page_of(scene) if form == "html" else svg_of(scene)
