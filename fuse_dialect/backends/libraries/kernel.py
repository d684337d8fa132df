"""A primitive that is one op of linear algebra as a native function around LAPACK."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from xdsl.dialects import func

from fuse_dialect.backends.backend import NativeFunction
from fuse_dialect.backends.libraries.lapack import routine_address
from fuse_dialect.backends.libraries.matrix_code import NAME, UnknownRoutineError, matrix_code
from fuse_dialect.backends.runtime.single_ops import single_op
from fuse_dialect.dialect.op import FuseOp


def library_kernel(function: func.FuncOp) -> NativeFunction | None:
    """The kernel of a primitive that is one op on its arguments; `None` if no library has it, or SciPy is not there.

    Raises:
        ModuleNotFoundError: llvmlite is not installed.
    """
    found = single_op(function)
    return None if found is None else _kernel_of(found.op, found.operands, found.returned)


def _kernel_of(op: FuseOp, operands: Sequence[int], returned: Sequence[int]) -> NativeFunction | None:
    try:
        written = matrix_code(op, operands, returned)
    except UnknownRoutineError:
        return None
    if written is None:
        return None
    code = _loaded(written.text, tuple(written.symbols.items()))
    return NativeFunction(code.addresses[NAME], "library", code, workspace_bytes=written.workspace_bytes)


@lru_cache(maxsize=256)
def _loaded(text: str, symbols: Sequence[tuple[str, str]]) -> Any:
    from fuse_dialect.backends.assembler.engine import host, load, object_for

    imported = {name: routine_address(routine) for name, routine in symbols}
    return load(object_for(text, host()), [NAME], imported)
