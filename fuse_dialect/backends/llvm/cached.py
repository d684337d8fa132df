"""Kernels from the cache on disk: what was compiled once is neither written as text nor compiled again.

The key names the loop program, what is known of its arguments, the processor and all numbers of the machine, options,
the versions of LLVM and of NumPy, which computes tables and folded numbers, and the source of the whole package: code
comes from much of it, byte tables from the meanings of ops for one, and a changed package never meets the code of an
older one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from hashlib import sha256
from typing import Any, TypeVar, cast

import numpy as np

from fuse_dialect.backends.assembler.engine import VERSION, EngineError, MissingFunctionError, load
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.backend import Packing as AnyPacking
from fuse_dialect.backends.llvm.backend import EmittedKernel, LLVMBackend, NativeKernel
from fuse_dialect.backends.llvm.compile_pool import CompilePool
from fuse_dialect.backends.options import Layout
from fuse_dialect.backends.runtime.cache import Entry, ObjectCache, key_of
from fuse_dialect.backends.runtime.driver import driver_object
from fuse_dialect.backends.runtime.own_files import PACKAGE, own_files
from fuse_dialect.loops.packing import Packing, Strided
from fuse_dialect.loops.program import Refusal
from fuse_dialect.machines.machine import Machine

T = TypeVar("T")


@cache
def generator_digest() -> str:
    """A hash of the source of all that generates code: 5 ms for the whole package, which misses no module.

    Raises:
        FuseError: The source cannot be read.
    """
    digest = sha256(np.__version__.encode())
    for item in own_files():
        with open(item.path, "rb", buffering=0) as stream:
            source = stream.read()
        # Wherever the package is installed.
        name = item.path.removeprefix(str(PACKAGE))
        digest.update(f"{name}\0{len(source)}\0".encode(errors="surrogateescape"))
        digest.update(source)
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

    @property
    def layout(self) -> Layout:
        """As without a cache."""
        return self.backend.layout

    @property
    def machine(self) -> Machine:
        """As without a cache."""
        return self.backend.machine

    def compile(self, requests: Sequence[KernelRequest]) -> list[NativeKernel | Refusal]:
        """A kernel for each request, or why there is none."""
        keys = [self._key(request) for request in requests]
        known = [self._from_cache(key) for key in keys]
        if None not in known:
            return [kernel for kernel in known if kernel is not None]
        with CompilePool(known.count(None)) as pool:
            begun = [
                self._begun(request, key, pool) if kernel is None else partial(_itself, kernel)
                for request, key, kernel in zip(requests, keys, known, strict=True)
            ]
            pool.submit(driver_object)
            return [finish() for finish in begun]

    def _key(self, request: KernelRequest) -> str:
        target, backend = self.backend.target, self.backend
        options = f"{backend.fast_math} {sorted(backend.families)} {sorted(request.constants)}"
        return key_of(generator_digest(), VERSION, repr(target), repr(target.machine), options, repr(request.program))

    def _from_cache(self, key: str) -> NativeKernel | Refusal | None:
        entry = self.cache.load(key)
        # What lies on disk is checked like any input: a header of another form is dropped, and the kernel made again.
        if entry is None:
            return None
        kernel = _emitted(entry.header)
        if kernel is None:
            self.cache.drop(key)
            return None
        if isinstance(kernel, Refusal):
            return kernel
        try:
            return NativeKernel(kernel, load(bytes(entry.payload), kernel.symbols), from_cache=True)
        except EngineError:
            return None

    def _begun(self, request: KernelRequest, key: str, pool: CompilePool) -> Callable[[], NativeKernel | Refusal]:
        emitted = self.backend.emit(request)
        if isinstance(emitted, Refusal):
            self.cache.store(key, Entry({"refusal": emitted.reason}, b""))
            return partial(_itself, emitted)
        code = pool.submit(partial(self.backend.object_code, emitted))
        return partial(self._finished, key, emitted, code)

    def _finished(self, key: str, emitted: EmittedKernel, made: Callable[[], bytes]) -> NativeKernel | Refusal:
        try:
            code = made()
        except MissingFunctionError as error:
            return Refusal(str(error))  # not kept: it is this process that lacks the function
        header = {
            "symbol": emitted.symbol,
            "family": emitted.family,
            "workspace_bytes": emitted.workspace_bytes,
            "parallel": emitted.parallel,
            "checked": emitted.checked,
            "packings": {str(place): _fields(packing) for place, packing in emitted.packings.items()},
        }
        self.cache.store(key, Entry(header, code))
        return NativeKernel(emitted, load(code, emitted.symbols))


def _itself(kernel: NativeKernel | Refusal) -> NativeKernel | Refusal:
    return kernel


def _fields(packing: AnyPacking) -> dict[str, Any]:
    assert isinstance(packing, Packing), "the kernels of this backend have one form of packing"
    return asdict(packing)


def _emitted(header: Mapping[str, Any]) -> EmittedKernel | Refusal | None:
    """What a header says; `None` for one that this module has not written, whatever its hash."""
    try:
        if "refusal" in header:
            return Refusal(_checked(header["refusal"], str))
        packings = _table(header["packings"])
        return EmittedKernel(
            "",
            _checked(header["symbol"], str),
            _checked(header["family"], str),
            _natural(header["workspace_bytes"]),
            _checked(header["parallel"], bool),
            {int(place): _packing(_table(fields)) for place, fields in packings.items()},
            _checked(header["checked"], str),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _checked(value: Any, type: type[T]) -> T:
    """The value, which is of the type: exactly, for true is no number.

    Raises:
        TypeError: It is not.
    """
    if value.__class__ is not type:
        raise TypeError(f"expected {type}, got {value!r}")
    return value


def _natural(value: Any) -> int:
    number = _checked(value, int)
    if number < 0:
        raise ValueError(f"expected 0 or more, got {number}")
    return number


def _table(value: Any) -> "dict[str, Any]":
    return cast("dict[str, Any]", _checked(value, dict))


def _packing(fields: Mapping[str, Any]) -> Packing:
    def axis(item: Mapping[str, Any]) -> Strided:
        return Strided(_natural(item["size"]), _checked(item["stride"], int))

    def axes(items: Any) -> tuple[Strided, ...]:
        found = cast("list[Any]", _checked(items, list))
        return tuple(axis(_table(item)) for item in found)

    return Packing(
        _checked(fields["element"], str),
        _checked(fields["start"], int),
        axes(fields["outer"]),
        axis(_table(fields["columns"])),
        axes(fields["reduced"]),
        _natural(fields["width"]),
        _checked(fields["has_points"], bool),
        _checked(fields["is_pairs"], bool),
        _checked(fields["is_halves"], bool),
        _natural(fields["apart"]),
    )
