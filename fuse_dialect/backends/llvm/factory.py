"""The factory of the backend: machine code as the user asked for it."""

from fuse_dialect.backends.backend import Backend
from fuse_dialect.backends.llvm.backend import LLVMBackend
from fuse_dialect.backends.llvm.cached import CachedLLVMBackend
from fuse_dialect.backends.llvm.processors import target_of
from fuse_dialect.backends.options import BackendSettings
from fuse_dialect.backends.runtime.cache import open_cache


def make(settings: BackendSettings) -> Backend:
    """Machine code for a processor, from the cache where there is one that can be trusted."""
    compiler = LLVMBackend(fast_math=settings.fast_math, target=target_of(settings.target_cpu))
    objects = open_cache() if settings.cache else ""
    return compiler if isinstance(objects, str) else CachedLLVMBackend(compiler, objects)
