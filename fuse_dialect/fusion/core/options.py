"""The options of fusion: what a user may ask for, as text or from Python. Passes that fuse have these fields."""

from dataclasses import dataclass, fields
from typing import Any

FORMS = ("outline", "inline")
"""What a group may become."""
FUSED_BY = "tvm"
"""The strategy of `fuse-ops` where none is named."""
COMPILED_BY = "cost"
"""The strategy for what is compiled, where none is named."""


@dataclass(frozen=True)
class FuseOptions:
    """Options of `fuse-ops`, spelled with `-` in text: `max-depth=8`."""

    opt_level: int = 2
    """0 makes every operator its own primitive; any other level fuses."""
    max_depth: int = 256
    """Most nodes that a primitive may count, in TVM's way of counting; 0 or less is no limit."""
    max_function_args: int = 0
    """Most arguments and results of a primitive, a dynamic dimension counting as one more; 0 is no limit."""
    link_params: bool = False
    """Copy constants into the primitives that use them, instead of passing them as arguments."""
    dedup: bool = True
    """Let groups of the same structure share one primitive."""
    form: str = "outline"
    """What becomes of a group: `outline` makes a primitive function and a call, `inline` a `fuse.fused` in its
    place."""
    strategy: str | None = None
    """How groups are found: `tvm`, `cost`, which fuses where that saves time, `separate`, which leaves every operator
    alone, or one that another package adds. By default `tvm`, and `cost` for what is compiled."""
    machine: str = ""
    """What `cost` counts for: the name of a machine or processor, as `--target-cpu` takes it, or the path of a file
    that ends in `.toml`; by default what code is made for, else what `FUSE_TARGET_CPU` names, else the processor at
    hand."""
    recompute: bool = True
    """Let `cost` compute an operator in several primitives."""
    horizontal: bool = True
    """Let `cost` join operators that read the same value, and not each other."""
    multi_output: bool = True
    """Let `cost` make primitives of several results."""
    open_size: int = 64
    """What `cost` takes an open size for."""
    fusion_limit: int | None = None
    """Make only the first so many merges of the module, to find a wrong one by halving; of a strategy that does not
    merge, kernels of several operators count as merges."""

    @property
    def grouped_by(self) -> str:
        """The strategy that groups: the one that is named, or the default."""
        return self.strategy or FUSED_BY

    def options(self) -> dict[str, Any]:
        """The options by name, to make a strategy's or another pass's of them."""
        return {each.name: getattr(self, each.name) for each in fields(FuseOptions)}

    def check(self) -> None:
        """Check what types do not say.

        Raises:
            ValueError: An option has no meaning; the text names it.
        """
        for name, value, least in (
            ("opt-level", self.opt_level, 0),
            ("max-function-args", self.max_function_args, 0),
            ("fusion-limit", self.fusion_limit, 0),
            ("open-size", self.open_size, 1),
        ):
            if value is not None and value < least:
                raise ValueError(f"option '{name}' expects {least} or more, got {value}")
        if self.form not in FORMS:
            raise ValueError(f"option 'form' expects {' or '.join(FORMS)}, got '{self.form}'")

    @property
    def most_nodes(self) -> int | None:
        """Most nodes of a group; `None` is no limit."""
        return self.max_depth if self.max_depth > 0 else None
