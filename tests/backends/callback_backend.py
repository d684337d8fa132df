"""Kernels that are Python functions behind the native interface: the runtime is tested without a code generator."""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute

from fuse_dialect.backends.backend import Packing, symbols_of
from fuse_dialect.backends.runtime.entry_graph import Primitive
from fuse_dialect.backends.runtime.entry_reader import read_entry
from fuse_dialect.backends.runtime.primitives import Compiled
from fuse_dialect.backends.runtime.program import Program
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.types import DYNAMIC
from fuse_dialect.loops.program import Buffer, LoopProgram, Role

_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
WORKSPACE_BYTES = 256


@dataclass(frozen=True)
class Reversed:
    """A packing that a kernel must undo: the elements from the last to the first."""

    def apply(self, array: Array) -> Array:
        return np.ascontiguousarray(array.reshape(-1)[::-1])


@dataclass
class CallbackKernel:
    """A kernel whose last part computes everything by NumPy."""

    compiled: Compiled
    parallel: bool
    packings: Mapping[int, Packing] = field(default_factory=dict)
    family: str = "callback"
    workspace_bytes: int = WORKSPACE_BYTES
    calls: list[tuple[int, int]] = field(default_factory=list)
    """(part, parts) of every call."""
    address: int = 0
    checked: int = 0

    def __post_init__(self) -> None:
        self._function = _FUNCTION(self.run)
        self.address = ctypes.cast(self._function, ctypes.c_void_p).value or 0

    def run(self, slots: int, part: int, parts: int) -> None:
        self.calls.append((part, parts))
        program = self.compiled.program
        assert program is not None
        symbols = symbols_of(program)
        words = (ctypes.c_int64 * (len(program.buffers) + 1 + len(symbols))).from_address(slots)
        sizes = dict(zip(symbols, list(words)[len(program.buffers) + 1 :], strict=True))
        self.use_workspace(words[len(program.buffers)], part)
        if part != parts - 1:
            return
        arrays = [
            array_at(address, tuple(sizes.get(size, size) for size in buffer.shape), DTYPES[buffer.element])
            for address, buffer in zip(list(words), program.buffers, strict=False)
        ]
        count = sum(buffer.role is Role.ARGUMENT for buffer in program.buffers)
        arguments = [
            array.reshape(-1)[::-1].reshape(array.shape) if place in self.packings else array
            for place, array in enumerate(arrays[:count])
        ]
        for target, result in zip(arrays[count:], self.compiled.evaluate(arguments), strict=True):
            target[...] = result

    def use_workspace(self, address: int, part: int) -> None:
        """Write to all of it, as a kernel may."""
        assert address % 64 == 0
        array_at(address, (WORKSPACE_BYTES,), np.dtype(np.uint8))[...] = part


DTYPES = {
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "i1": np.dtype(np.bool_),
}


def array_at(address: int, shape: tuple[Any, ...], dtype: "np.dtype[Any]") -> Array:
    """An array on memory of others."""
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = (ctypes.c_uint8 * count).from_address(address)
    return np.frombuffer(memory, dtype).reshape(shape) if count else np.empty(shape, dtype)


def loops_of(primitive: Primitive) -> LoopProgram:
    """A program of buffers alone; every `?` of the same axis is the same size."""
    types = primitive.function.function_type
    buffers = [
        Buffer(
            f"{role.value}{place}",
            str(type.element_type),
            tuple(f"n{axis}" if dim == DYNAMIC else dim for axis, dim in enumerate(type.get_shape())),
            role,
        )
        for role, group in ((Role.ARGUMENT, types.inputs), (Role.RESULT, types.outputs))
        for place, type in enumerate(_tensors(group))
    ]
    return LoopProgram(primitive.function.sym_name.data, tuple(buffers), ())


def _tensors(types: Sequence[Attribute]) -> list[Any]:
    """The tensor types, those in tuples in order."""
    return [
        tensor for type in types for tensor in (_tensors(type.types.data) if isinstance(type, TupleType) else [type])
    ]


def program_of(
    module: ModuleOp, *, threads: int = 1, numpy: Sequence[str] = (), parallel: bool = True, packs: bool = False
) -> Program:
    """A program whose primitives are callbacks.

    Args:
        module: Fused already.
        threads: As for `compile_program`.
        numpy: Names of primitives that have no kernel.
        parallel: Whether the kernels want several parts.
        packs: Whether constant arguments are packed.
    """
    graph = read_entry(module)
    primitives: list[Compiled] = []
    for primitive in graph.primitives:
        compiled = Compiled(primitive, loops_of(primitive), None, "named by the test")
        if compiled.name not in numpy:
            packings = {place: Reversed() for place in primitive.constants} if packs else {}
            compiled.kernel = CallbackKernel(compiled, parallel, packings)
        primitives.append(compiled)
    return Program(graph, primitives, "callback", threads)
