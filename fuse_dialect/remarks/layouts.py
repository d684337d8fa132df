"""Why an op with images has the layout that it has."""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.remarks.wording import time_text
from fuse_dialect.transforms.convert_layout import ConvertLayoutPass
from fuse_dialect.transforms.layouts.choice import LayoutChoice


@dataclass(frozen=True, slots=True)
class LayoutRemark:
    """What `convert-layout{if-profitable}` does with one op that names its layout."""

    choice: LayoutChoice
    layout: str
    """The layout that the pass gives."""

    @property
    def message(self) -> str:
        """The op in quotes, then the code."""
        name = f"'{op_name(self.choice.op)}' op"
        return (
            f"{name} gets layout {self.layout}" if self.choice.is_converted else f"{name} keeps its layout: layout-kept"
        )

    @property
    def explanation(self) -> str:
        """What it takes in either layout, and what its own transposes would."""
        apart, other = time_text(self.choice.as_it_was), time_text(self.choice.converted)
        moves = time_text(self.choice.transposes)
        return f"takes {apart} as it is, {other} as {self.layout}; transposes of its own would take {moves}"

    @property
    def details(self) -> dict[str, int | str]:
        """The same for programs."""
        return {
            "layout": self.layout,
            "as-it-was": time_text(self.choice.as_it_was),
            "converted": time_text(self.choice.converted),
            "transposes": time_text(self.choice.transposes),
        }


def layout_remarks(module: ModuleOp, module_pass: ConvertLayoutPass) -> list[LayoutRemark]:
    """A remark on each op that the pass would or would not convert, as the costs of all ops together say.

    Without `if-profitable` nothing is weighed, and there is none.

    Raises:
        FuseError: There is no machine of the name.
    """
    if not module_pass.if_profitable:
        return []
    plans = module_pass.plans(module).values()
    return [LayoutRemark(choice, module_pass.layout) for plan in plans for choice in plan.choices]
