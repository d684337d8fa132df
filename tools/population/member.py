"""A member of the population: how its module and its inputs are made."""

# torch is no dependency of the checks: it is not installed there, and says little about its types.
# pyright: basic, reportMissingImports=false

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

OpenAxes = Mapping[str, Mapping[int, str]]
"""Names of the open axes, by input and number of the axis."""


@dataclass(frozen=True)
class Member:
    """An architecture, its inputs and the forms in which it is measured."""

    build: Callable[[], Any]
    """The torch module; weights are random."""
    inputs: Callable[[], dict[str, Any]]
    """Inputs by name, in the order of the module's arguments."""
    open_inputs: Callable[[], dict[str, Any]] | None = None
    """Inputs of other sizes, to run the form with open axes with; `None`: there is no such form."""
    open_axes: OpenAxes = field(default_factory=dict)
    forms: tuple[str, ...] = ("static",)
    """Of `FORMS`."""


FORMS = ("static", "open", "f16", "int8-dynamic", "int8-qdq")
"""With static sizes; with open axes; in f16; quantised by onnxruntime, when it runs or before."""

MEMBERS: dict[str, Member] = {}
"""By name."""


def add(name: str, member: Member) -> None:
    """Enter a member.

    Raises:
        ValueError: There is one of this name.
    """
    if name in MEMBERS:
        raise ValueError(f"two members are named '{name}'")
    MEMBERS[name] = member


def as_if_trained(module: Any) -> Any:
    """The module with parameters that tell inputs apart.

    As made, many networks begin with zeros or ones where training puts other numbers: the last norm of a residual, a
    layer's scale of 1e-5. Through many layers nothing of the input is left then, and any output would be right.
    """
    import torch

    with torch.no_grad():
        for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
            if not tensor.is_floating_point() or tensor.numel() < 2 or float(tensor.std()) > 0:
                continue
            value = float(tensor.reshape(-1)[0])
            if name.endswith("running_var") or abs(value - 1) < 1e-6:
                tensor.uniform_(0.7, 1.3)
            elif tensor.ndim <= 1 and abs(value) < 0.2:
                tensor.normal_(std=0.1)
            elif tensor.ndim > 1 and value == 0:
                tensor.normal_(std=0.02)
    return module
