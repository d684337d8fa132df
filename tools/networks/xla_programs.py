"""Programs as text, compiled and run by the XLA that JAX ships: JAX's own parser reads them."""

# JAX is no extra of the checks, and has types for a part of what is used here.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportMissingParameterType=false
# pyright: reportUnknownLambdaType=false, reportPrivateImportUsage=false, reportAttributeAccessIssue=false
# pyright: reportArgumentType=false, reportCallIssue=false

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import xla_bridge
from jax._src.interpreters.mlir import make_ir_context
from jax._src.lib import xla_client
from jaxlib.mlir import ir

Arrays = list[np.ndarray]

_DTYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "bf16": jnp.bfloat16,
    "i1": np.bool_,
    "i32": np.int32,
    "ui32": np.uint32,
    "complex<f32>": np.complex64,
}


class XLAProgram:
    """A module that XLA has compiled for the CPU."""

    def __init__(self, text: str):
        with make_ir_context():
            module = ir.Module.parse(text)
            module.operation.verify()
            self._types = _argument_types(module)
            client = xla_bridge.get_backend("cpu")
            devices = xla_client.DeviceList(tuple(client.local_devices()[:1]))
            self._executable: Any = client.compile_and_load(module, devices, xla_client.CompileOptions())

    def arguments(self, seed: int) -> Arrays:
        """Arrays of the types that the program takes, always the same ones for a seed."""
        return [
            _array(shape, element, np.random.default_rng([seed, place]))
            for place, (shape, element) in enumerate(self._types)
        ]

    def __call__(self, arguments: Sequence[np.ndarray]) -> Arrays:
        """The results."""
        return [np.asarray(each) for each in self._executable.execute([jax.device_put(each) for each in arguments])]

    def hlo(self) -> str:
        """The optimised program as text of HLO."""
        return "\n".join(module.to_string() for module in self._executable.hlo_modules())


def load_lapack() -> None:
    """Let XLA know the custom calls of linear algebra; JAX loads them when it first needs them."""
    jnp.linalg.cholesky(jnp.eye(2))
    jax.lax.linalg.triangular_solve(jnp.eye(2), jnp.eye(2))


def _argument_types(module: Any) -> list[tuple[tuple[int, ...], str]]:
    for op in module.body.operations:
        if op.operation.name == "func.func" and ir.StringAttr(op.name).value == "main":
            types = [ir.RankedTensorType(each) for each in op.type.inputs]
            return [(tuple(each.shape), str(each.element_type)) for each in types]
    raise ValueError("the module has no function 'main'")


def _array(shape: tuple[int, ...], element: str, random: np.random.Generator) -> np.ndarray:
    dtype = _DTYPES[element]
    if element == "i1":
        return random.random(shape) < 0.7
    if element.startswith(("i", "ui")):
        return random.integers(0, 4, shape).astype(dtype)
    if element.startswith("complex"):
        return (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(dtype)
    return random.standard_normal(shape).astype(dtype)
