"""`-t html`, `svg`, `dot` and `model-explorer`: the plan of a module as pictures.

`fuse-opt` draws the plan of the last pass that fuses, on the module as it was before that pass. Tools that know targets
alone, such as `xdsl-opt`, draw what `fuse-ops` would do to the module.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.pictures.dot import dot_of
from fuse_dialect.pictures.model_explorer import model_explorer_of, node_data_of
from fuse_dialect.pictures.page import page_of
from fuse_dialect.pictures.scene import scene_of
from fuse_dialect.pictures.svg import svg_of


@dataclass(frozen=True)
class PictureTarget(Target, ABC):
    """A form of pictures."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the picture.

        Raises:
            OpError: A block cannot be grouped.
        """
        output.write(self.text_of(scene_of(module, FuseOpsPass())))

    @abstractmethod
    def text_of(self, scene: Mapping[str, Any]) -> str:
        """The picture of a scene."""


@dataclass(frozen=True)
class HtmlTarget(PictureTarget):
    """A page that shows the kernels of a plan, and tells the story of every op."""

    name = "html"

    def text_of(self, scene: Mapping[str, Any]) -> str:
        """The page of a scene."""
        return page_of(scene)


@dataclass(frozen=True)
class SvgTarget(PictureTarget):
    """One picture of the kernels of a plan, of the block that has most of them."""

    name = "svg"

    def text_of(self, scene: Mapping[str, Any]) -> str:
        """The picture of a scene."""
        return svg_of(scene)


@dataclass(frozen=True)
class DotTarget(PictureTarget):
    """The kernels of a plan in the language of Graphviz."""

    name = "dot"

    def text_of(self, scene: Mapping[str, Any]) -> str:
        """The graph of a scene."""
        return dot_of(scene)


@dataclass(frozen=True)
class ModelExplorerTarget(PictureTarget):
    """The kernels of a plan as a graph of Google's Model Explorer, or numbers beside its nodes."""

    name = "model-explorer"

    data: Literal["graph", "bytes", "flops", "seconds"] = "graph"
    """The graph, or node data for it: bytes that ops store, arithmetic, or seconds of a profile."""

    def text_of(self, scene: Mapping[str, Any]) -> str:
        """The graph of a scene, or the numbers."""
        return model_explorer_of(scene) if self.data == "graph" else node_data_of(scene, self.data)


PICTURES: Mapping[str, type[PictureTarget]] = {
    target.name: target for target in (HtmlTarget, SvgTarget, DotTarget, ModelExplorerTarget)
}
"""All forms by name."""
