"""Sizes of all tensors from those of the inputs, before anything runs."""

from collections.abc import Mapping, Sequence

from fuse_dialect.backends.runtime.entry_graph import Call, EntryGraph, Shape
from fuse_dialect.backends.runtime.plan import How
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.kernels.program import LoopProgram, Role


def resolve_shapes(
    graph: EntryGraph,
    how: Sequence[How],
    programs: Sequence[LoopProgram | None],
    input_shapes: Sequence[Shape],
) -> list[Shape] | None:
    """The sizes of each tensor, or `None` when some are known only while the function runs.

    Args:
        graph: The function.
        how: How each primitive is run.
        programs: The loops of each primitive; those of native ones are needed.
        input_shapes: Sizes of the inputs; they fit the function's types.
    """
    shapes = [type.shape for type in graph.tensors]
    for tensor, shape in zip(graph.inputs, input_shapes, strict=True):
        shapes[tensor] = shape
    for call in graph.calls:
        if all(DYNAMIC not in shapes[tensor] for tensor in call.results) and how[call.kernel] is not How.NATIVE:
            continue
        arguments = [shapes[tensor] for tensor in call.arguments]
        found = _result_shapes(call, how[call.kernel], programs[call.kernel], arguments, shapes)
        if found is None:
            return None
        for tensor, shape in zip(call.results, found, strict=True):
            shapes[tensor] = shape
    return shapes


def _result_shapes(
    call: Call, how: How, program: LoopProgram | None, arguments: Sequence[Shape], shapes: Sequence[Shape]
) -> Sequence[Shape] | None:
    match how:
        case How.NATIVE:
            assert program is not None, "a native primitive has loops"
            sizes = bind_sizes(program, arguments)
            return None if sizes is None else result_shapes(program, sizes)
        case How.VIEW:
            shape = _reshaped(arguments[0], shapes[call.results[0]])
            return None if shape is None else [shape]
        case How.NUMPY:
            return None


def _reshaped(source: Shape, target: Shape) -> Shape | None:
    """The target with its only unknown size computed."""
    if target.count(DYNAMIC) != 1:
        return None
    count, known = 1, 1
    for dim in source:
        count *= dim
    for dim in target:
        known *= 1 if dim == DYNAMIC else dim
    if not known:
        return None
    return tuple(count // known if dim == DYNAMIC else dim for dim in target)


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
