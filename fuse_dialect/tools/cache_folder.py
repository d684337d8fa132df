"""What `fuse-run` says and does about the machine code on disk."""

from fuse_dialect.backends.runtime.cache import SAVED_HEADER, ObjectCache, open_cache
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.loading.streams import write_stdout


def tell_of_cache() -> None:
    """Print the folder, the entries in it, their bytes, and how many there may be.

    Raises:
        FuseError: The folder is not used, or cannot be read.
    """
    cache = _cache()
    try:
        entries = cache.entries()
    except OSError as error:
        raise FuseError(f"the cache directory cannot be read: {error}") from error
    programs = sum(header == SAVED_HEADER for _, header in entries)
    total = sum(size for size, _ in entries)
    write_stdout(
        f"folder: {cache.directory}\nprograms: {programs}\nkernels: {len(entries) - programs}\n"
        f"bytes: {total}\nbytes at most: {cache.max_bytes}\n"
    )


def clear_cache() -> None:
    """Remove what is kept; processes that use it go on.

    Raises:
        FuseError: The folder is not used, or a file in it cannot be removed.
    """
    cache = _cache()
    try:
        count, size = cache.clear()
    except OSError as error:
        raise FuseError(f"the cache cannot be cleared: {error}") from error
    write_stdout(f"removed {count} files of {size} bytes from {cache.directory}\n")


def _cache() -> ObjectCache:
    cache = open_cache()
    if isinstance(cache, str):
        raise FuseError(f"no machine code is kept on disk: {cache}")
    return cache
