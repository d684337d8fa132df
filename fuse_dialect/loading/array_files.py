"""Arrays in files: `.npz` archives in and out, and inputs made up from a seed."""

import zipfile
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.lib.npyio import NpzFile
from xdsl.dialects import func
from xdsl.utils.exceptions import InterpretationError, VerifyException

from fuse_dialect.budget import MOST_VALUE_BYTES, spelled
from fuse_dialect.diagnostics import FuseError, SourceLocation, printable
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.size_names import size_names
from fuse_dialect.dialect.types import DYNAMIC, Tensor, check_bytes, element_dtype, is_tensor, with_shape
from fuse_dialect.interpreters.entry import argument_names
from fuse_dialect.interpreters.sizes import SIZE_HINT
from fuse_dialect.loading.output_file import write_file

MAX_RANDOM_INTEGER = 1
"""Greatest integer in made-up inputs: a valid index into every dimension of two or more."""

_MOST_HEADER = 1 << 16
"""Bytes that stand in a member besides the elements."""


def read_arrays(path: str, most_bytes: int = MOST_VALUE_BYTES) -> dict[str, Array]:
    """The arrays of an `.npz` archive by name; pickled objects are refused.

    Args:
        path: The archive.
        most_bytes: Of one array; a few bytes of an archive may expand to gigabytes.

    Raises:
        FuseError: The file cannot be read, is no such archive, or holds something else.
    """
    place = SourceLocation(path)
    try:
        with open(path, "rb") as file:
            if not zipfile.is_zipfile(file):
                raise FuseError("expected an .npz archive of arrays", place, hint="numpy.savez writes such archives")
            _check_members(file, most_bytes, place)
            file.seek(0)
            with cast(NpzFile, np.load(file, allow_pickle=False)) as archive:
                return {name: _array_in(archive, name, place) for name in archive.files}
    except FuseError:
        raise
    except MemoryError as error:
        raise FuseError("cannot read the arrays: not enough memory", place) from error
    except OSError as error:
        raise FuseError((error.strerror or str(error)).lower(), place) from error
    except Exception as error:
        # zipfile, its decompressors and NumPy raise a dozen unrelated types on archives that are damaged.
        message = str(error).splitlines()[0] if str(error) else "truncated"
        raise FuseError(f"cannot read the arrays: {message}", place) from error


def _check_members(file: BinaryIO, most_bytes: int, place: SourceLocation) -> None:
    """Refuse an archive with a member that expands to more bytes than a value may take, besides its header."""
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if member.file_size > most_bytes + _MOST_HEADER:
                size = f"{spelled(member.file_size)} bytes, more than the {most_bytes} that one value may take"
                raise FuseError(f"'{printable(member.filename)}' takes {size}", place, hint=SIZE_HINT)


def _array_in(archive: NpzFile, name: str, place: SourceLocation) -> Array:
    """A member of an archive; NumPy gives one that is no array as bytes."""
    array: Any = archive[name]
    if not isinstance(array, np.ndarray):
        hint = "numpy.savez writes such archives"
        raise FuseError(f"cannot read the arrays: '{printable(name)}' is no array", place, hint=hint)
    return cast(Array, array)


def write_arrays(path: str, arrays: Mapping[str, Array]) -> None:
    """Write an `.npz` archive; on an error the file is as it was before.

    Raises:
        FuseError: The file cannot be written.
    """
    # Without `allow_pickle=False`, which NumPy 2.0 would write as an array of that name; outputs are numbers anyway.
    write_file(path, lambda stream: np.savez(stream, **cast("dict[str, Any]", arrays)))


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
        Standard normal numbers for floating-point types, integers in [0, `MAX_RANDOM_INTEGER`], booleans.

    Raises:
        InterpretationError: An argument is no tensor, or too large; or no argument has a size of a name.
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
            inputs.append(_random_array(sized, np.random.default_rng([seed, index])))
        except (VerifyException, ValueError, MemoryError) as error:
            message = str(error) or "not enough memory"
            raise InterpretationError(f"no random value for input '{name}': {message}") from error
    return inputs


def _static_type(type: object, named: Sequence[int], size: int) -> Tensor:
    if not is_tensor(type):  # pyright: ignore[reportArgumentType]
        raise VerifyException(f"expects a tensor, got {type}")
    dims = type.get_shape()
    shape = [own if dim == DYNAMIC else dim for dim, own in zip(dims, named or [size] * len(dims), strict=True)]
    return with_shape(type, shape)


def _random_array(type: Tensor, generator: np.random.Generator) -> Array:
    shape, dtype = type.get_shape(), element_dtype(type.element_type)
    if dtype.kind in "iub":
        return generator.integers(0, MAX_RANDOM_INTEGER, shape, dtype=np.uint8, endpoint=True).astype(dtype)
    single = generator.standard_normal(shape, dtype=np.float64 if dtype == np.float64 else np.float32)
    return np.asarray(single).astype(dtype, copy=False)
