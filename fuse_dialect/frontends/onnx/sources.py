"""Where a node comes from: its name, and the module and line that PyTorch's exporter notes beside it.

`loc("layers.0.fc/node_linear"("layers.0.fc"("model.py":52:1)))` is the name behind the path of the module, with the
path inside, so that who writes a model can tell the two apart, and the line in that. What is unknown is left out.

Source: torch/onnx/_internal/exporter/_core.py of PyTorch, which writes `pkg.torch.onnx.name_scopes` and
`pkg.torch.onnx.stack_trace` into the metadata of nodes.
"""

from ast import literal_eval
from typing import cast

import onnx_ir as ir
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, NameLoc, StringAttr, UnknownLoc
from xdsl.ir import Attribute

from fuse_dialect.frontends.onnx.support import node_name
from fuse_dialect.frontends.torch_stacks import user_line
from fuse_dialect.source_names import TORCH_SCOPES, TORCH_STACK

_MOST_CHARACTERS = 1 << 14
"""Of metadata that is read: models are untrusted."""


def node_location(node: ir.Node) -> NameLoc:
    """The path of the innermost module and the node's name in it, with the line of the user's program inside.

    A node without such metadata has its name alone.
    """
    path = module_path(node.metadata_props.get(TORCH_SCOPES, ""))
    line = _line(node.metadata_props.get(TORCH_STACK, ""))
    if not path:
        return NameLoc(StringAttr(node_name(node)), line)
    return NameLoc(StringAttr(f"{path}/{node_name(node)}"), NameLoc(StringAttr(path), line))


def module_path(scopes: str) -> str:
    """The path of the innermost module, `encoder.layer.0`, in a list of scopes as Python prints it.

    The last scope is the operator's own name. Empty for anything else than such a list.
    """
    if not scopes or len(scopes) > _MOST_CHARACTERS:
        return ""
    try:
        found: object = literal_eval(scopes)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ""
    names = [name for name in cast("list[object]", found) if isinstance(name, str)] if isinstance(found, list) else []
    return next((name for name in reversed(names[:-1]) if name), "")


def _line(stack: str) -> Attribute:
    """The line of the user's program in a stack, as a location."""
    found = user_line(stack)
    if found is None:
        return UnknownLoc()
    file, line = found
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(1))
