"""The sizes that a loop program has by name, for arrays of given shapes."""

from collections.abc import Mapping, Sequence

from fuse_dialect.backends.types import Shape
from fuse_dialect.loops.program import LoopProgram, Role


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
