"""Where nodes of a model come from: names and metadata of locations, as PyTorch's exporter writes them.

1. The node that gives an op's results has the name that the op's location has; nodes before it that the op needs, too,
   have that name and their operator behind it. A call of a kernel has that name and the kernel's behind it.
2. Path and line stand in the metadata under PyTorch's keys, so that whoever reads those finds them, our reader too.
3. A call of a kernel that nothing else calls says under `SOURCES` where each of its ops comes from, as a list in JSON.
4. The nodes of a function that several calls share have no names: they come from as many places. A reader that puts
   them in the place of a call names them after it.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import onnx
from xdsl.dialects.builtin import FileLineColLoc, NameLoc
from xdsl.ir import Attribute, Operation

from fuse_dialect.dialect.op_sources import source_of
from fuse_dialect.dialect.places import place_of
from fuse_dialect.source_names import TORCH_SCOPES, TORCH_STACK

SOURCES = "fuse.sources"
"""In the metadata of a call: where the ops of the kernel come from."""


@dataclass(frozen=True, slots=True)
class NodeSource:
    """Where a node comes from."""

    name: str
    """Of the node, in its module."""
    path: str
    """Of the module; empty if it is not known."""
    place: FileLineColLoc | None
    """In the user's program."""

    def metadata(self) -> dict[str, str]:
        """What a node says of it (2)."""
        found: dict[str, str] = {}
        if self.path:
            found[TORCH_SCOPES] = repr([self.path, self.name])
        if self.place is not None and not {'"', "\n"} & {*self.place.filename.data}:
            found[TORCH_STACK] = f'File "{self.place.filename.data}", line {self.place.line.data}'
        return found


def node_source(location: Attribute) -> NodeSource | None:
    """The source that a location names; `None` for one without a name, such as a line of MLIR."""
    if not isinstance(location, NameLoc) or not location.desc.data:
        return None
    name, inner = location.desc.data, location.location
    if isinstance(inner, NameLoc) and name.startswith(f"{inner.desc.data}/"):
        return NodeSource(name.removeprefix(f"{inner.desc.data}/"), inner.desc.data, place_of(inner))
    return NodeSource(name, "", place_of(inner))


def note_sources(node: onnx.NodeProto, ops: Iterable[Operation]) -> None:
    """Say of a call where the ops of its kernel come from (3)."""
    sources = list(dict.fromkeys(source for op in ops if (source := source_of(op))))
    if sources:
        node.metadata_props.add(key=SOURCES, value=json.dumps(sources))


def note_place(nodes: Sequence[onnx.NodeProto], source: NodeSource) -> None:
    """Put path and line into the metadata of the nodes of one op (2); constants, which ops share, have none."""
    for node in nodes:
        if node.op_type != "Constant":
            for key, value in source.metadata().items():
                node.metadata_props.add(key=key, value=value)
