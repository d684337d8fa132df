"""A page in a notebook, or in a browser."""

import html
import os
import tempfile
from os import PathLike, fspath
from pathlib import Path

from fuse_dialect.diagnostics import FuseError, SourceLocation


def framed(page: str, height: int = 720) -> str:
    """A page inside another one, for notebooks: a frame that may run its own scripts and reaches nothing around it."""
    style = f"width: 100%; height: {height}px; border: 1px solid #ccc"
    return f'<iframe sandbox="allow-scripts" srcdoc="{html.escape(page)}" style="{style}" title="fusion"></iframe>'


def show_page(page: str, path: str | PathLike[str] | None = None) -> str:
    """Write a page, and open it in a browser if there is one.

    Args:
        page: The HTML.
        path: The file; by default a new one among the temporary files.

    Returns:
        The path of the page.

    Raises:
        FuseError: The file cannot be written.
    """
    import webbrowser

    try:
        if path is None:
            handle, place = tempfile.mkstemp(".html", "fusion-")
            os.close(handle)
        else:
            place = fspath(path)
        draft = f"{place}.{os.getpid()}.tmp"
        Path(draft).write_text(page, "utf-8")
        os.replace(draft, place)
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise FuseError(f"cannot write the page: {reason}", SourceLocation(fspath(path or "."))) from error
    webbrowser.open(Path(place).resolve().as_uri())
    return place
