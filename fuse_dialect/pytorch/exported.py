"""Exported programs of PyTorch as modules, by ATen: for networks that PyTorch does not write as ONNX.

1. What the program lifts out of the network, parameters, buffers and constants, are constants of the module.
2. Calls that no result of the network needs are left out: checks, and updates of buffers. So a factorization of a
   matrix that has none gives nan, and no error.
3. All sizes are those of the examples.
"""

# PyTorch is no dependency of the checks.
# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from collections.abc import Sequence
from typing import Any

from torch.export.graph_signature import InputKind, OutputKind, TensorArgument
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from fuse_dialect.backends.runtime.tensors import array_of
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.aten.reader import module_of
from fuse_dialect.interpreters.entry import MODEL_NAME
from fuse_dialect.pytorch.decompositions import decompositions
from fuse_dialect.pytorch.graphs import aten_graph, ref_of

_LIFTED = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def in_core_aten(program: Any) -> Any:
    """A `torch.export.ExportedProgram` in the operators that are read here; what it changes in place is results."""
    return program.run_decompositions(decompositions())


def module_of_export(program: Any, names: Sequence[str]) -> ModuleOp:
    """A verified module whose function `main` computes what an exported program does.

    Args:
        program: A `torch.export.ExportedProgram` of static sizes, in the operators of `in_core_aten`.
        names: Of its results, those that are no tensors among them; an empty one says nothing.

    Raises:
        FuseError: An operator has no equal among `fuse` ops, and the text says which and why; or a size is open.
    """
    signature = program.graph_signature
    graph = aten_graph(program.graph_module)
    for spec in signature.input_specs:
        if spec.kind in _LIFTED:
            graph.constants[spec.arg.name] = array_of(_lifted(program, spec.target).detach())  # (1)
    known = {name for name, _ in graph.inputs}
    for spec in signature.input_specs:
        if spec.kind is InputKind.USER_INPUT and isinstance(spec.arg, TensorArgument) and spec.arg.name not in known:
            message = (
                f"operators of ATen are not read with input '{spec.arg.name}': a size is open, or a type is unknown"
            )
            raise FuseError(message, hint="export the network with the sizes of its examples")
    given = {spec.arg.name for spec in signature.input_specs if spec.kind in (*_LIFTED, InputKind.USER_INPUT)}
    graph.inputs = [(name, meta) for name, meta in graph.inputs if name in given]  # a token keeps checks in order
    nodes = {node.name: node for node in program.graph.nodes}
    results = [spec.arg for spec in signature.output_specs if spec.kind is OutputKind.USER_OUTPUT]
    tensors = [(arg.name, name) for arg, name in zip(results, names, strict=True) if isinstance(arg, TensorArgument)]
    graph.outputs = [ref_of(nodes[node]) for node, _ in tensors]
    graph.drop_unread()  # (2)
    module = module_of(graph)
    main = next(op for op in module.ops if isinstance(op, FuncOp))
    main.res_attrs = ArrayAttr([DictionaryAttr({MODEL_NAME: StringAttr(name)} if name else {}) for _, name in tensors])
    return module


def _lifted(program: Any, target: str | None) -> Any:
    """A parameter, a buffer or a constant by its name in the network."""
    assert target is not None, "what is lifted has a name in the network"
    return program.state_dict[target] if target in program.state_dict else program.constants[target]
