"""Where operators run, by the names of their results: a JSON file that a person can read, change and load again.

    {"format": "fuse-placement/1", "nodes": {"conv1": "ethos-u", "relu1": "ethos-u", "prob": "host"}}

`fuse-ops-hw{placement=file.json}` keeps what stands under `host` on the host, and everything else on the engine that is
named; operators that the file does not name are free. `-t placement` writes where the operators of a fused module are:
with `dedup=false`, of all of them, since trips of equal structure share a function, and with it the names inside.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import IO, Any, cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.utils.target import Target

from fuse_dialect.diagnostics import SourceLocation
from fuse_dialect.dialect.errors import TemplateError
from fuse_dialect.dialect.op import FuseOp
from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE
from fuse_dialect.read_files import read_regular_file

FORMAT = "fuse-placement/1"
HOST = "host"
"""What keeps an operator on the host."""
MOST_BYTES = 16 << 20
"""Bytes that a file may have: some 400,000 names."""


def read_placement(path: str, module: ModuleOp, engines: list[str]) -> Mapping[str, str]:
    """The engine of each name of a file.

    Args:
        path: The file.
        module: The module that it is for.
        engines: Names of the engines that there are.

    Raises:
        TemplateError: The file cannot be read, is no placement, or names a node or an engine that does not exist.
    """
    place = SourceLocation(path)
    try:
        found: object = json.loads(read_regular_file(path, MOST_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        reason = ((error.strerror if isinstance(error, OSError) else None) or str(error)).lower()
        raise TemplateError(f"cannot read the placement: {reason}", place) from error
    given = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    nodes: object = given.get("nodes")
    if not isinstance(nodes, dict) or given.get("format") != FORMAT:
        raise TemplateError(f'expects {{"format": "{FORMAT}", "nodes": {{...}}}}', place)
    names = {name for op in module.walk() for name in _names(op)}
    known = [*engines, HOST]
    for name, engine in cast("dict[str, Any]", nodes).items():
        if name not in names:
            close = get_close_matches(name, names, n=1)
            hint = f"did you mean '{close[0]}'?" if close else "-t placement writes the names that there are"
            raise TemplateError(f"the placement names '{name}', which no operator gives", place, hint=hint)
        if engine not in known:
            raise TemplateError(f"the placement puts '{name}' on '{engine}'; there are {', '.join(known)}", place)
    return cast("dict[str, str]", nodes)


def _names(op: Operation) -> Iterator[str]:
    return (result.name_hint for result in op.results if result.name_hint is not None)


def placement_of(op: Operation, placement: Mapping[str, str]) -> str | None:
    """Where a placement puts an op; `None` if it says nothing."""
    return next((placement[name] for name in _names(op) if name in placement), None) if placement else None


@dataclass(frozen=True)
class PlacementTarget(Target):
    """Where each operator of a fused module runs, as JSON."""

    name = "placement"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the object."""
        nodes: dict[str, str] = {}
        for function in module.walk():
            if isinstance(function, func.FuncOp):
                hardware = function.attributes.get(HARDWARE_ATTRIBUTE)
                engine = hardware.data if isinstance(hardware, StringAttr) else HOST
                for op in function.walk():
                    if isinstance(op, FuseOp):
                        nodes.update(dict.fromkeys(_names(op), engine))
        json.dump({"format": FORMAT, "nodes": nodes}, output, indent=1)
        output.write("\n")
