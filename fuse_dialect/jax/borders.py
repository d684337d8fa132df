"""Arrays between JAX and programs: what goes in, what comes out, and in what form a call is looked up.

JAX's arrays on the processor are read where they are, and results are handed over where they are. Both are immutable
to JAX; a program never writes to what it was given, and never gives the same memory twice while somebody holds it.
"""

# JAX is no dependency of the checks.
# pyright: basic, reportMissingImports=false, reportPrivateImportUsage=false, reportAttributeAccessIssue=false

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

import jax
import numpy as np

from fuse_dialect.backends.runtime.arrays import address_of, is_dense
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.jax.capture import physical


def _class_of(modules: Sequence[str], name: str, make: Callable[[], Any]) -> Any:
    """A class of JAX; asked of an array only if it has moved, as the first array starts JAX's devices."""
    for module in modules:
        try:
            return getattr(import_module(module), name)
        except (ImportError, AttributeError):
            continue
    return type(make())


ArrayImpl: Any = _class_of(["jax._src.array"], "ArrayImpl", lambda: jax.numpy.zeros(()))
"""The type of JAX's arrays that have elements."""
KeyArray: Any = _class_of(["jax._src.random.prng", "jax._src.prng"], "PRNGKeyArray", lambda: jax.random.key(0))
"""The type of its arrays of typed random keys."""


def _batched_device_put() -> Callable[..., Any] | None:
    """What makes arrays of JAX in a tenth of the time that `jax.device_put` takes; it may be gone in some release."""
    try:
        from jax._src.lib import xla_client
    except ImportError:
        return None
    return getattr(xla_client, "batched_device_put", None)


_PUT = _batched_device_put()


class Form(NamedTuple):
    """What a program needs to know of an argument that is no array of JAX."""

    kind: type
    shape: tuple[int, ...] = ()
    dtype: Any = None


def form_of(leaf: Any) -> Any:
    """What calls with one program have in common of a leaf; `None` for a tracer, and what is none.

    Arrays of JAX say it by their abstract value, which the caller takes from them.
    """
    kind = type(leaf)
    if kind is ArrayImpl:
        return leaf.aval
    if kind is KeyArray:  # whose abstract value is made anew each time
        base = getattr(leaf, "_base_array", None)
        return leaf.aval if base is None else Form(kind, base.shape, leaf.dtype.name)
    if isinstance(leaf, np.ndarray | np.generic):
        return Form(kind, leaf.shape, leaf.dtype)
    if kind in (bool, int, float, complex):
        return Form(kind)
    return None


def is_tracer(leaf: Any) -> bool:
    """Whether JAX traces the function that makes the call."""
    return isinstance(leaf, jax.core.Tracer)


def check_leaf(leaf: Any, name: str, function: str) -> None:
    """Refuse what is no array.

    Raises:
        FuseError: The leaf is none.
    """
    if form_of(leaf) is None and not isinstance(leaf, jax.Array):
        raise FuseError(
            f"'{name}' of '{function}' is of type {type(leaf).__name__}, and no array",
            hint="static_argnames or static_argnums make it a part of the program",
        )


def is_complex(value: Any) -> bool:
    """Whether the elements of an array, or of what stands for one, are complex numbers."""
    return getattr(getattr(value, "dtype", None), "kind", "") == "c"


def with_elements(tree: Any) -> Any:
    """The tree with arrays of zeros where `jax.ShapeDtypeStruct`s stand for some."""

    def filled(leaf: Any) -> Any:
        return jax.numpy.zeros(leaf.shape, leaf.dtype) if isinstance(leaf, jax.ShapeDtypeStruct) else leaf

    return jax.tree.map(filled, tree)


def taker(leaf: Any, aval: Any) -> Callable[[Any], Any]:
    """What makes leaves of the form of this one arrays that a program reads.

    Args:
        leaf: The leaf of the first call.
        aval: What JAX takes it for.
    """
    dtype: Any = physical(aval).dtype
    if dtype.kind == "c":
        return lambda value: _as_pairs(np.asarray(value, dtype))
    if type(leaf) is KeyArray:
        return _key_data
    if isinstance(leaf, np.ndarray) and leaf.dtype == dtype:
        return _as_it_is
    if isinstance(leaf, jax.Array):
        return np.asarray
    # `numpy.asarray` takes a float for an integer; a form has one type of numbers, so it cannot come.
    return lambda value: np.asarray(value, dtype)


def _as_pairs(numbers: Any) -> Any:
    """Complex numbers as a program takes them: both parts along a last axis, where they lie."""
    part = np.float32 if numbers.dtype == np.complex64 else np.float64
    return np.ascontiguousarray(numbers).reshape((*numbers.shape, 1)).view(part)


def _of_pairs(pairs: Any) -> Any:
    """The complex numbers that a program gives as pairs."""
    number = np.complex64 if pairs.dtype == np.float32 else np.complex128
    return np.ascontiguousarray(pairs).view(number).reshape(pairs.shape[:-1])


def _as_it_is(leaf: Any) -> Any:
    return leaf


def _key_data(leaf: Any) -> Any:
    base = getattr(leaf, "_base_array", None)
    return np.asarray(jax.random.key_data(leaf) if base is None else base)


Reader: TypeAlias = Callable[[Any, list[Any]], int]
"""Says where the elements of a leaf are, and adds to a list what keeps them there."""


def reader(leaf: Any, aval: Any) -> Reader | None:
    """What says where the elements of leaves of the form of this one are, for programs that take addresses.

    It raises whatever it likes for one that does not lie there as a program reads it.

    Args:
        leaf: The leaf of the first call.
        aval: What JAX takes it for.

    Returns:
        `None` for leaves that have to be made arrays.
    """
    own = physical(aval)
    if type(leaf) is np.ndarray:
        return _read_array if leaf.dtype == own.dtype else None
    if type(leaf) is ArrayImpl:
        read: Reader = _read
    elif type(leaf) is KeyArray and hasattr(leaf, "_base_array"):
        leaf, read = leaf._base_array, _read_key
    else:
        return None
    try:  # types that the protocol of buffers has no letter for have none, and devices with memory of their own
        if memoryview(leaf).nbytes == own.dtype.itemsize * own.size and leaf.unsafe_buffer_pointer():
            return read
    except Exception:
        pass
    return None


def read_all(leaves: Sequence[Any], held: list[Any]) -> list[int]:
    """What the readers of arrays of JAX say, where all leaves are such: a call of Python less for each."""
    held += map(memoryview, leaves)
    for view in held:
        if not view.c_contiguous:
            raise ValueError("another layout")
    return [leaf.unsafe_buffer_pointer() for leaf in leaves]


def is_plain(read: Reader | None) -> bool:
    """Whether a reader is that of arrays of JAX."""
    return read is _read


def _read(leaf: Any, held: list[Any]) -> int:
    # The view waits until the elements are there, and keeps them where they are: another thread may donate the array.
    view = memoryview(leaf)
    if not view.c_contiguous:
        raise ValueError("another layout")
    held.append(view)
    return leaf.unsafe_buffer_pointer()


def _read_key(leaf: Any, held: list[Any]) -> int:
    return _read(leaf._base_array, held)


def _read_array(leaf: Any, held: list[Any]) -> int:
    if not is_dense(leaf):
        raise ValueError("strided")
    held.append(leaf)
    return address_of(leaf)


def giver(aval: Any, *, as_jax: bool) -> Callable[[Any], Any] | None:
    """What makes results of programs leaves; `None` for those that stay as they are.

    Args:
        aval: What JAX says of the result: shape, type, whether the type is weak.
        as_jax: Whether the result is an array of JAX.
    """
    own = physical(aval)
    if own is not aval:
        put, implementation = _putter(own), aval.dtype._impl
        return lambda array: KeyArray(implementation, put(array))
    if is_complex(own):
        put = _putter(own) if as_jax else _as_it_is
        return lambda array: put(_of_pairs(array))
    return _putter(own) if as_jax else None


def _putter(aval: Any) -> Callable[[Any], Any]:
    """What makes an array of NumPy one of JAX, in its memory where that is aligned as XLA wants it."""
    device = jax.local_devices(backend="cpu")[0]
    sharding = jax.sharding.SingleDeviceSharding(device)
    put, devices = _PUT, [device]
    if put is not None:
        try:
            made = put(aval, sharding, [np.zeros(aval.shape, aval.dtype)], devices, False)
            if made.shape == aval.shape:
                return lambda array: put(aval, sharding, [array], devices, False)
        except Exception:  # internals of JAX have changed
            pass
    return lambda array: jax.numpy.asarray(array)


def forms_of(leaves: Sequence[Any]) -> list[Any]:
    """The forms of the leaves of a call."""
    return [leaf.aval if type(leaf) is ArrayImpl else form_of(leaf) for leaf in leaves]


def paths_of(tree: Any) -> list[str]:
    """Where each leaf of a tree stands in it: `['w1'][0].bias`."""
    trees = jax.tree_util
    return [trees.keystr(path) for path, _ in trees.tree_flatten_with_path(tree)[0]]


def state_of_jax() -> tuple[Callable[[], object], Callable[[], bool]]:
    """What tells the settings that lowering depends on, and whether JAX is not tracing anything."""
    try:
        from jax._src.config import trace_context
        from jax._src.core import trace_state_clean
    except ImportError:  # internals of JAX have changed; tracers among the arguments are found nevertheless
        return lambda: jax.config.jax_enable_x64, lambda: True
    return trace_context, trace_state_clean
