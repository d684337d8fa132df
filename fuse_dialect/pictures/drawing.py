"""Pictures of a plan that Python code has."""

from typing import Literal

from fuse_dialect.pictures.page import page_of
from fuse_dialect.pictures.scene import SceneOptions, scene_of
from fuse_dialect.pictures.svg import svg_of
from fuse_dialect.remarks.module_plan import ModulePlan


def picture_of_plan(plan: ModulePlan, form: Literal["html", "svg"], title: str = "module") -> str:
    """A page, or one picture, that shows a plan, and what the strategy tries on its module.

    Raises:
        OpError: The module has changed, and a block cannot be grouped.
    """
    scene = scene_of(plan.module, plan.fuse_ops, SceneOptions(title), plan.made)
    return page_of(scene) if form == "html" else svg_of(scene)
