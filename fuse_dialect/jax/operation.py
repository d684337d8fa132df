"""A compiled program as an op of a function that JAX traces: `jax.jit(lambda x: g(*program(x)))`.

1. The op is `jax.pure_callback`: XLA hands the arrays to Python, which calls the program, and copies its results. That
   takes some tenths of a millisecond, so it is for programs that take longer.
2. Types of results are the program's; sizes that are open follow from those of the inputs, while JAX traces.
3. Under `jax.vmap` the program runs once for each row, one after the other: it is compiled for the shapes that it has.
4. It has no gradient: `fuse_dialect.jit(jax.grad(f))` compiles one, and `jax.custom_vjp` joins two programs.
5. Where JAX has no 64 bits (`jax_enable_x64`), inputs and results of 64 bits are those of 32, as in the rest of JAX.
"""

# JAX is no dependency of the checks.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.core
import jax.dtypes
import numpy as np

from fuse_dialect.backends.runtime.arrays import Port, as_input
from fuse_dialect.diagnostics import FuseError

if TYPE_CHECKING:
    from fuse_dialect.backends.runtime.program import Program
    from fuse_dialect.backends.types import TensorType


@dataclass(frozen=True, slots=True)
class _Call:
    """What XLA calls; equal for calls of one program, so that what is traced again is the same."""

    program: "Program"
    taken: tuple[Any, ...]
    """The dtype of each input."""
    given: tuple[Any, ...]
    """That of each result in JAX."""

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        inputs = [np.asarray(array).astype(dtype, copy=False) for array, dtype in zip(arrays, self.taken, strict=True)]
        results = self.program(*inputs)
        return tuple(array.astype(dtype, copy=False) for array, dtype in zip(results, self.given, strict=True))


def call_traced(program: "Program", inputs: Sequence[Any]) -> tuple[Any, ...]:
    """The results of a program in a function that JAX is tracing.

    Args:
        program: A program.
        inputs: One for each argument; some are tracers of JAX.

    Returns:
        An array of JAX for each result, as a tracer.

    Raises:
        FuseError: An input does not fit; or the sizes of results are not known before the program runs.
    """
    ports = [Port(f"input '{form.name}'", form.type) for form in program.interface.inputs]
    arrays = [_checked(port, value) for port, value in zip(ports, inputs, strict=True)]
    shapes = [tuple(array.shape) for array in arrays]
    if any(not isinstance(size, int) for shape in shapes for size in shape):
        raise FuseError(f"'{program.name}' runs for sizes that are numbers, and JAX traces with symbols")
    types = program.output_types(*shapes)
    results = [jax.ShapeDtypeStruct(type.shape, _dtype_in_jax(type)) for type in types]
    call = _Call(program, tuple(port.type.dtype for port in ports), tuple(result.dtype for result in results))

    @jax.custom_jvp
    def operation(*arrays: Any) -> tuple[Any, ...]:
        return jax.pure_callback(call, tuple(results), *arrays, vmap_method="sequential")

    @operation.defjvp
    def refuse(primals: Any, tangents: Any) -> Any:
        raise FuseError(
            f"the program '{program.name}' has no gradient",
            hint="fuse_dialect.jit(jax.grad(f)) compiles the gradient of a function; jax.custom_vjp takes it",
        )

    return operation(*arrays)


def _dtype_in_jax(type: "TensorType") -> Any:
    """The dtype that JAX has for elements of a type (5)."""
    return jax.dtypes.canonicalize_dtype(type.dtype)


def _checked(port: Any, value: Any) -> Any:
    """An input, as JAX hands it on.

    Raises:
        FuseError: It has another dtype or shape than the program takes.
    """
    expected = _dtype_in_jax(port.type)
    if not isinstance(value, jax.core.Tracer):
        return as_input(port, value).astype(expected, copy=False)
    if value.dtype != expected:
        raise port.mismatch(f"{value.dtype} of shape {value.shape}", f"convert it: value.astype('{expected}')")
    if not port.fits(tuple(value.shape)):
        raise port.mismatch(f"{value.dtype} of shape {value.shape}")
    return value
