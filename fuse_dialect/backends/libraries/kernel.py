"""A primitive that is one op of linear algebra as a native function around LAPACK."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from xdsl.dialects import func
from xdsl.ir import BlockArgument, OpResult

from fuse_dialect.backends.backend import Packing
from fuse_dialect.backends.libraries.lapack import routine_address
from fuse_dialect.backends.libraries.matrix_code import NAME, UnknownRoutineError, matrix_code
from fuse_dialect.dialect.op import FuseOp


@dataclass(frozen=True, slots=True)
class LibraryKernel:
    """A native function that calls a library."""

    address: int
    workspace_bytes: int
    owner: Any = field(repr=False)
    """Keeps the machine code."""

    @property
    def checked(self) -> int:
        """There is no fault to find: what fails gives nans."""
        return 0

    @property
    def family(self) -> str:
        """That of libraries."""
        return "library"

    @property
    def packings(self) -> Mapping[int, Packing]:
        """None."""
        return {}

    @property
    def parallel(self) -> bool:
        """The library has threads of its own."""
        return False


def single_op(function: func.FuncOp) -> tuple[FuseOp, Sequence[int], Sequence[int]] | None:
    """The one op that a primitive is, the argument that each operand is, and the results that it returns, in order."""
    ops = [op for op in function.body.block.ops if not isinstance(op, func.ReturnOp)]
    end = function.body.block.last_op
    op = ops[0] if len(ops) == 1 else None
    if not isinstance(op, FuseOp) or end is None:
        return None
    operands = [operand.index for operand in op.operands if isinstance(operand, BlockArgument)]
    returned = [value.index for value in end.operands if isinstance(value, OpResult)]
    is_whole = len(operands) == len(op.operands) and {*operands} == {*range(len(function.body.block.args))}
    if not is_whole or len(returned) != len(end.operands) or len({*returned}) < len(returned):
        return None
    return op, operands, returned


def library_kernel(function: func.FuncOp) -> LibraryKernel | None:
    """The kernel of a primitive that is one op on its arguments; `None` if no library has it, or SciPy is not there.

    Raises:
        ModuleNotFoundError: llvmlite is not installed.
    """
    found = single_op(function)
    return None if found is None else _kernel_of(*found)


def _kernel_of(op: FuseOp, operands: Sequence[int], returned: Sequence[int]) -> LibraryKernel | None:
    try:
        written = matrix_code(op, operands, returned)
    except UnknownRoutineError:
        return None
    if written is None:
        return None
    code = _loaded(written.text, tuple(written.symbols.items()))
    return LibraryKernel(code.addresses[NAME], written.workspace_bytes, code)


@lru_cache(maxsize=256)
def _loaded(text: str, symbols: Sequence[tuple[str, str]]) -> Any:
    from fuse_dialect.backends.assembler.engine import host, load, object_for

    imported = {name: routine_address(routine) for name, routine in symbols}
    return load(object_for(text, host()), [NAME], imported)
