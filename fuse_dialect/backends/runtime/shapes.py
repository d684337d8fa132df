"""Sizes of all tensors from those of the inputs, before anything runs."""

from collections.abc import Mapping, Sequence

from fuse_dialect.backends.runtime.entry_graph import EntryGraph, Shape, TensorType
from fuse_dialect.backends.runtime.plan import How
from fuse_dialect.backends.runtime.primitives import Compiled
from fuse_dialect.kernels.program import LoopProgram, Role


def resolve_shapes(
    graph: EntryGraph,
    primitives: Sequence[Compiled],
    input_shapes: Sequence[Shape],
) -> list[Shape] | None:
    """The sizes of each tensor, or `None` when some are known only while the function runs.

    Args:
        graph: The function.
        primitives: What runs each primitive.
        input_shapes: Sizes of the inputs; they fit the function's types.

    Raises:
        FuseError: A tensor takes more bytes than a value may, or a view has another number of elements than what it
            shows; nothing that the function makes has been made by then.
    """
    shapes = [type.shape for type in graph.tensors]
    for tensor, shape in zip(graph.inputs, input_shapes, strict=True):
        shapes[tensor] = shape
    for call in graph.calls:
        compiled = primitives[call.kernel]
        types = [graph.tensors[tensor] for tensor in call.results]
        found = _result_shapes(compiled, types, [shapes[tensor] for tensor in call.arguments])
        if found is None:
            return None
        compiled.check_sizes(found, [type.dtype for type in types])
        compiled.check_workspace()
        for tensor, shape in zip(call.results, found, strict=True):
            shapes[tensor] = shape
    return shapes


def _result_shapes(
    compiled: Compiled, types: Sequence[TensorType], arguments: Sequence[Shape]
) -> Sequence[Shape] | None:
    match compiled.how:
        case How.NATIVE:
            assert compiled.program is not None, "a native primitive has loops"
            sizes = bind_sizes(compiled.program, arguments)
            return None if sizes is None else result_shapes(compiled.program, sizes)
        case How.VIEW:
            return [compiled.view_shape(arguments[0])]
        case How.NUMPY:
            return [type.shape for type in types] if all(type.is_static for type in types) else None


def bind_sizes(program: LoopProgram, arguments: Sequence[Shape]) -> Mapping[str, int] | None:
    """The values of a program's symbolic sizes, or `None` when the arrays are not for this program.

    They are not where a name stands for two sizes, or a size differs from the known one: one operand is broadcast
    along an axis whose size the type does not say, for example.
    """
    sizes: dict[str, int] = {}
    buffers = [buffer for buffer in program.buffers if buffer.role is Role.ARGUMENT]
    for buffer, shape in zip(buffers, arguments, strict=True):
        for size, actual in zip(buffer.shape, shape, strict=True):
            if (sizes.setdefault(size, actual) if isinstance(size, str) else size) != actual:
                return None
    return sizes if all(_is_bound(sizes, buffer.shape) for buffer in program.buffers) else None


def _is_bound(sizes: Mapping[str, int], shape: Sequence[int | str]) -> bool:
    return all(isinstance(size, int) or size in sizes for size in shape)


def result_shapes(program: LoopProgram, sizes: Mapping[str, int]) -> list[Shape]:
    """The sizes of the program's results."""
    return [
        tuple(sizes[size] if isinstance(size, str) else size for size in buffer.shape)
        for buffer in program.buffers
        if buffer.role is Role.RESULT
    ]
