"""What `--version` prints."""

from importlib.metadata import PackageNotFoundError, version


def version_text(tool: str) -> str:
    """Versions of the package and of xDSL, on one line."""
    return f"{tool} {_version_of('fuse_dialect')} on xDSL {_version_of('xdsl')}\n"


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"
