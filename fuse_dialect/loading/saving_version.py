"""The version of this package, for files that it writes."""


def package_version() -> str:
    """The version; `unknown` for a clone that was not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("fuse_dialect")
    except PackageNotFoundError:
        return "unknown"
