"""Loop programs to machine code through LLVM: text of LLVM IR, which llvmlite compiles in this process.

| module | what it knows |
|---|---|
| `values`, `builder` | LLVM IR as text |
| `host`, `processors`, `engine` | processors, the machines that they are; llvmlite |
| `elements`, `integers`, `floats`, `vector_math`, `trigonometry`, `scalars` | scalar functions on vectors |
| `kernel`, `addresses`, `memory`, `combining`, `nests`, `phases` | schedules as code |
| `family`, `maps`, `rows`, `generic`, `contractions` | which kernels there are |
| `backend` | the table of families |
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuse_dialect.backends.llvm.backend import EmittedKernel as EmittedKernel
    from fuse_dialect.backends.llvm.backend import LLVMBackend as LLVMBackend

__all__ = ["EmittedKernel", "LLVMBackend"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fuse_dialect.backends.llvm import backend

    return getattr(backend, name)
