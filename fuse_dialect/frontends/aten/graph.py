"""A graph of ATen operators, apart from PyTorch: what the reader reads, and what a test can keep in a file.

Operators are named as PyTorch names them, with their overload: `aten.add.Tensor`. Every value has a static shape.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from fuse_dialect.dialect.types import element_dtype, element_type_of

Array: TypeAlias = npt.NDArray[Any]
Argument: TypeAlias = Any
"""A `Ref`, an `np.dtype`, a number, a string, `None`, or a list of these."""


@dataclass(frozen=True, slots=True)
class TensorMeta:
    """What is known of a tensor."""

    shape: tuple[int, ...]
    dtype: "np.dtype[Any]"


@dataclass(frozen=True, slots=True)
class Ref:
    """A value: an input, a constant, or a result of a call."""

    name: str
    index: int = 0
    """Which result of the call."""


@dataclass(frozen=True, slots=True)
class Call:
    """One application of an operator."""

    name: str
    target: str
    """Such as `aten.add.Tensor`."""
    args: tuple[Argument, ...]
    kwargs: Mapping[str, Argument]
    results: tuple[TensorMeta | None, ...]
    """`None` for a result that is no tensor of known shape and type."""
    path: str = ""
    """The module of the network that it belongs to, `encoder.layer.0.attention`; empty if there is none."""
    line: tuple[str, int] | None = None
    """File and line of the user's program."""

    @property
    def where(self) -> str:
        """The place in the user's program in words; empty if nothing is known of it."""
        line = "" if self.line is None else ":".join(map(str, self.line))
        return f"{self.path} ({line})" if self.path and line else self.path or line


@dataclass(slots=True)
class AtenGraph:
    """Calls in the order of their computation."""

    inputs: list[tuple[str, TensorMeta]] = field(default_factory=list[tuple[str, TensorMeta]])
    calls: list[Call] = field(default_factory=list[Call])
    outputs: list[Ref] = field(default_factory=list[Ref])
    constants: dict[str, Array] = field(default_factory=dict[str, Array])
    """Values by name; an input of that name is no argument."""

    def drop_unread(self) -> None:
        """Leave out calls and constants that no output needs; inputs stay."""
        needed = {ref.name for ref in self.outputs}
        kept = list[Call]()
        for call in reversed(self.calls):
            if call.name in needed:
                kept.append(call)
                needed |= {ref.name for ref in refs_of([*call.args, *call.kwargs.values()])}
        self.calls = kept[::-1]
        arguments = {name for name, _ in self.inputs}
        self.constants = {name: each for name, each in self.constants.items() if name in needed or name in arguments}


def refs_of(arguments: Sequence[Argument]) -> list[Ref]:
    """The values among arguments, and in lists of them."""
    found = list[Ref]()
    for argument in arguments:
        if isinstance(argument, Ref):
            found.append(argument)
        elif isinstance(argument, list | tuple):
            found += refs_of(cast("Sequence[Argument]", argument))
    return found


def to_json(graph: AtenGraph) -> dict[str, Any]:
    """The graph as what `json` can write, without its constants."""

    def argument(value: Argument) -> Any:
        match value:
            case Ref():
                return {"ref": value.name, "index": value.index}
            case np.dtype():
                return {"dtype": _name(cast("np.dtype[Any]", value))}
            case list() | tuple():
                return [argument(each) for each in cast(Sequence[Any], value)]
            case float():
                return {"float": value.hex()}
            case _:
                return value

    def meta(value: TensorMeta | None) -> Any:
        return None if value is None else [list(value.shape), _name(value.dtype)]

    return {
        "inputs": [[name, meta(each)] for name, each in graph.inputs],
        "calls": [
            {
                "name": call.name,
                "target": call.target,
                "args": argument(call.args),
                "kwargs": {name: argument(value) for name, value in call.kwargs.items()},
                "results": [meta(each) for each in call.results],
                "path": call.path,
                "line": call.line,
            }
            for call in graph.calls
        ],
        "outputs": [argument(each) for each in graph.outputs],
    }


def from_json(data: Mapping[str, Any]) -> AtenGraph:
    """The graph that `to_json` has written."""

    def argument(value: Any) -> Argument:
        match value:
            case {"ref": name, "index": index}:
                return Ref(name, index)
            case {"dtype": name}:
                return _dtype(name)
            case {"float": digits}:
                return float.fromhex(digits)
            case list():
                return [argument(each) for each in cast(list[Any], value)]
            case _:
                return value

    def meta(value: Any) -> TensorMeta | None:
        return None if value is None else TensorMeta(tuple(value[0]), _dtype(value[1]))

    return AtenGraph(
        [(name, cast(TensorMeta, meta(each))) for name, each in data["inputs"]],
        [
            Call(
                call["name"],
                call["target"],
                tuple(argument(call["args"])),
                {name: argument(value) for name, value in call["kwargs"].items()},
                tuple(meta(each) for each in call["results"]),
                call["path"],
                None if call["line"] is None else tuple(call["line"]),
            )
            for call in data["calls"]
        ],
        [argument(each) for each in data["outputs"]],
    )


def _name(dtype: "np.dtype[Any]") -> str:
    return str(element_type_of(dtype)) if dtype.kind == "V" else dtype.name


def _dtype(name: str) -> "np.dtype[Any]":
    from xdsl.dialects.builtin import bf16

    return element_dtype(bf16) if name == "bfloat16" else np.dtype(name)
