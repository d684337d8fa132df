"""Arrays in `.npz` archives, in and out, and arrays made up from a seed; without any IR."""

import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
from numpy.lib.npyio import NpzFile

from fuse_dialect.budget import MOST_VALUE_BYTES, SIZE_HINT, spelled
from fuse_dialect.diagnostics import FuseError, SourceLocation, printable
from fuse_dialect.loading.output_file import write_file

if TYPE_CHECKING:
    from fuse_dialect.dialect.op import Array

MAX_RANDOM_INTEGER = 1
"""Greatest integer in made-up inputs: a valid index into every dimension of two or more."""

_MOST_HEADER = 1 << 16
"""Bytes that stand in a member besides the elements."""


def read_arrays(path: str, most_bytes: int = MOST_VALUE_BYTES) -> "dict[str, Array]":
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


def _array_in(archive: NpzFile, name: str, place: SourceLocation) -> "Array":
    """A member of an archive; NumPy gives one that is no array as bytes."""
    array: Any = archive[name]
    if not isinstance(array, np.ndarray):
        hint = "numpy.savez writes such archives"
        raise FuseError(f"cannot read the arrays: '{printable(name)}' is no array", place, hint=hint)
    return cast("Array", array)


def write_arrays(path: str, arrays: "Mapping[str, Array]") -> None:
    """Write an `.npz` archive; on an error the file is as it was before.

    Raises:
        FuseError: The file cannot be written.
    """
    # Without `allow_pickle=False`, which NumPy 2.0 would write as an array of that name; outputs are numbers anyway.
    write_file(path, lambda stream: np.savez(stream, **cast("dict[str, Any]", arrays)))


def random_array(shape: tuple[int, ...], dtype: "np.dtype[Any]", seed: int, position: int) -> "Array":
    """An input of a type; it depends on these numbers alone.

    Returns:
        Standard normal numbers for floating-point types, integers in [0, `MAX_RANDOM_INTEGER`], booleans.

    Raises:
        ValueError: The shape is too large for an array.
        MemoryError: Likewise.
    """
    generator = np.random.default_rng([seed, position])
    if dtype.kind in "iub":
        return generator.integers(0, MAX_RANDOM_INTEGER, shape, dtype=np.uint8, endpoint=True).astype(dtype)
    single = generator.standard_normal(shape, dtype=np.float64 if dtype == np.float64 else np.float32)
    return np.asarray(single).astype(dtype, copy=False)
