"""Opens a page in a browser, where there is one."""

import os
import tempfile
from pathlib import Path

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.loading.output_file import is_stdout, write_files, writer_of
from fuse_dialect.loading.streams import tell, write_stdout

_REMOTE = ("SSH_CONNECTION", "SSH_TTY")
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")


def is_remote() -> bool:
    """Whether the user sits at another machine, so that a browser of this one would show nothing."""
    return any(os.environ.get(name) for name in _REMOTE) and not any(os.environ.get(name) for name in _SCREENS)


def deliver_page(page: str, output: str | None, name: str | None, *, opens: bool) -> None:
    """Write a page, say where it is, and open it.

    Args:
        page: The HTML.
        output: The file; a new one if none is named.
        name: Name of the input, for the name of a new file.
        opens: Whether to open it.

    Raises:
        FuseError: The file cannot be written.
    """
    path = page_path(name or "module") if output is None or is_stdout(output) else output
    write_files([(path, writer_of(page))])
    write_stdout(f"{path}\n")
    if opens:
        open_page(path)


def page_path(name: str) -> str:
    """A new file for a page that nobody has named.

    Raises:
        FuseError: The folder for such files cannot be written to.
    """
    stem = "".join(char if char.isalnum() else "-" for char in Path(name).stem)[:40] or "module"
    try:
        handle, path = tempfile.mkstemp(".html", f"fusion-{stem}-")
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise FuseError(f"cannot write the page: {reason}", hint="-o names a file for it") from error
    os.close(handle)
    return path


def open_page(path: str) -> None:
    """Open a page; over ssh, and where there is no browser, say how to look at it."""
    import webbrowser

    if is_remote():
        tell("note: this is a remote session; copy the page to your machine, it needs no other file")
        return
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        tell("note: there is no browser to open the page in; it needs no other file")
        return
    if not browser.open(Path(path).resolve().as_uri()):
        tell("note: the browser did not open the page")
