"""Kernels from the cache on disk: what was compiled once is neither written as text nor compiled again.

The key names the loop program, what is known of its arguments, the processor, options, the version of LLVM, and the
source of everything that generates code: a changed generator never meets the code of an older one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.backend import Packing as AnyPacking
from fuse_dialect.backends.llvm.backend import EmittedKernel, LLVMBackend, NativeKernel
from fuse_dialect.backends.llvm.engine import VERSION, EngineError, MissingFunctionError, load
from fuse_dialect.backends.runtime.cache import Entry, ObjectCache, key_of
from fuse_dialect.kernels.packing import Packing, Strided
from fuse_dialect.kernels.program import Refusal

_PACKAGE = Path(__file__).resolve().parents[2]
_GENERATORS = ("backends/llvm", "kernels")
"""Folders whose code decides what a kernel is."""


@cache
def generator_digest() -> str:
    """A hash of the source of all that generates code."""
    digest = sha256()
    for folder in _GENERATORS:
        for path in sorted((_PACKAGE / folder).rglob("*.py")):
            digest.update(path.relative_to(_PACKAGE).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class CachedLLVMBackend:
    """An LLVM backend that looks on disk first."""

    backend: LLVMBackend
    cache: ObjectCache

    @property
    def name(self) -> str:
        """As without a cache."""
        return self.backend.name

    def compile(self, requests: Sequence[KernelRequest]) -> list[NativeKernel | Refusal]:
        """A kernel for each request, or why there is none."""
        return [self._from_cache(request) or self._compiled(request) for request in requests]

    def _key(self, request: KernelRequest) -> str:
        target, backend = self.backend.target, self.backend
        options = f"{backend.fast_math} {sorted(backend.families)} {sorted(request.constants)}"
        return key_of(generator_digest(), VERSION, repr(target), options, repr(request.program))

    def _from_cache(self, request: KernelRequest) -> NativeKernel | Refusal | None:
        entry = self.cache.load(self._key(request))
        if entry is None:
            return None
        header = entry.header
        if "refusal" in header:
            return Refusal(str(header["refusal"]))
        kernel = EmittedKernel(
            "",
            header["symbol"],
            header["family"],
            header["workspace_bytes"],
            header["parallel"],
            {int(place): _packing(fields) for place, fields in header["packings"].items()},
        )
        try:
            return NativeKernel(kernel, load(entry.payload, [kernel.symbol]))
        except EngineError:
            return None

    def _compiled(self, request: KernelRequest) -> NativeKernel | Refusal:
        emitted = self.backend.emit(request)
        if isinstance(emitted, Refusal):
            self.cache.store(self._key(request), Entry({"refusal": emitted.reason}, b""))
            return emitted
        try:
            code = self.backend.object_code(emitted)
        except MissingFunctionError as error:
            return Refusal(str(error))  # not kept: it is this process that lacks the function
        header = {
            "symbol": emitted.symbol,
            "family": emitted.family,
            "workspace_bytes": emitted.workspace_bytes,
            "parallel": emitted.parallel,
            "packings": {str(place): _fields(packing) for place, packing in emitted.packings.items()},
        }
        self.cache.store(self._key(request), Entry(header, code))
        return NativeKernel(emitted, load(code, [emitted.symbol]))


def _fields(packing: AnyPacking) -> dict[str, Any]:
    assert isinstance(packing, Packing), "the kernels of this backend have one form of packing"
    return asdict(packing)


def _packing(fields: Mapping[str, Any]) -> Packing:
    def axes(items: Sequence[Mapping[str, int]]) -> tuple[Strided, ...]:
        return tuple(Strided(**item) for item in items)

    return Packing(
        fields["element"],
        fields["start"],
        axes(fields["outer"]),
        Strided(**cast("Mapping[str, int]", fields["columns"])),
        axes(fields["reduced"]),
        fields["width"],
        fields["has_points"],
    )
