"""Inputs for the functions of a module: arrays of files made to fit, or made up from a seed."""

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError, VerifyException

from fuse_dialect.budget import MOST_VALUE_BYTES
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.size_names import size_names
from fuse_dialect.dialect.types import DYNAMIC, Tensor, check_bytes, element_dtype, is_tensor, tensor, with_shape
from fuse_dialect.interpreters.entry import argument_names
from fuse_dialect.loading.array_archives import random_array


def match_bfloat16(function: func.FuncOp, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays, those of an unnamed two-byte dtype read as bf16: `.npz` archives lose the name of that dtype."""
    if not any(array.dtype.kind == "V" for array in arrays.values()):
        return dict(arrays)
    bf16 = [
        element_dtype(type.element_type)
        for type in function.function_type.inputs
        if is_tensor(type) and str(type.element_type) == "bf16"
    ]
    if not bf16:
        return dict(arrays)
    return {name: array.view(bf16[0]) if array.dtype == np.dtype("V2") else array for name, array in arrays.items()}


def random_inputs(
    function: func.FuncOp,
    seed: int,
    dynamic_dim: int,
    named: Mapping[str, int] | None = None,
    most_bytes: int = MOST_VALUE_BYTES,
) -> list[Array]:
    """Inputs for a function; each depends on the seed, its position and its type alone.

    Args:
        function: What is to be called.
        seed: Not negative.
        dynamic_dim: Size of every `?`, but those of these names.
        named: Sizes by the names that `fuse.sizes` gives them.
        most_bytes: Of one input.

    Returns:
        Arrays as `random_array` makes them.

    Raises:
        InterpretationError: An argument is no tensor and no number, or too large; or no argument has a size of a name.
    """
    types: Sequence[object] = function.function_type.inputs.data
    names = size_names(function)
    sizes = named or {}
    if unknown := [name for name in sizes if not any(name in own for own in names)]:
        raise InterpretationError(f"no argument has a size '{unknown[0]}'")
    inputs: list[Array] = []
    for index, (name, type) in enumerate(zip(argument_names(function), types, strict=True)):
        try:
            own = [sizes.get(each, dynamic_dim) for each in names[index]]
            sized = _static_type(type, own, dynamic_dim)
            check_bytes(sized, most_bytes)
            inputs.append(np.asarray(random_array(sized.get_shape(), element_dtype(sized.element_type), seed, index)))
        except (VerifyException, ValueError, MemoryError) as error:
            message = str(error) or "not enough memory"
            raise InterpretationError(f"no random value for input '{name}': {message}") from error
    return inputs


def _static_type(type: object, named: Sequence[int], size: int) -> Tensor:
    if isinstance(type, AnyFloat | IntegerType):
        return tensor((), cast("Attribute", type))
    if not is_tensor(type):  # pyright: ignore[reportArgumentType]
        raise VerifyException(f"expects a tensor, got {type}")
    dims = type.get_shape()
    shape = [own if dim == DYNAMIC else dim for dim, own in zip(dims, named or [size] * len(dims), strict=True)]
    return with_shape(type, shape)
