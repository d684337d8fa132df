"""Command-line tools that have started already: FileCheck tests start hundreds of short processes, mostly to import.

    python tools/checking/warm_tools.py FOLDER PIPE fuse-opt filecheck ...

A server imports the tools once and makes a copy of itself (`fork`) for each command. In FOLDER it puts an executable of
each tool's name, which hands its arguments, folder, variables and the three standard streams to the server, and ends
with the exit code of the copy. Each command has memory of its own, so that none sees what another one has done.

1. The server ends when nobody has the other end of PIPE any more, a file descriptor: then whoever started it is gone.
2. A copy that dies without an exit code lets its command end with 134, as an abort does.
"""

import gc
import importlib
import io
import os
import pkgutil
import select
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path

ABORTED = 134
"""Exit code of a command whose process ended without one (2)."""
_CLIENT = """#!{python} -IS
import _socket, os, struct, sys
s = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
s.connect({path!r})
fields = [{name!r}, os.getcwd(), str(len(sys.argv) - 1), *sys.argv[1:]]
fields += [f"{{name}}={{value}}" for name, value in os.environ.items()]
data = "\\0".join(fields).encode("utf-8", "surrogateescape")
s.sendmsg([struct.pack("q", len(data))], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("3i", 0, 1, 2))])
while data:
    data = data[s.send(data):]
code = s.recv(1)
os._exit(code[0] if code else {aborted})
"""
_SOCKET = "socket"


def start(folder: Path, names: Sequence[str]) -> None:
    """Start a server that ends with this process and its copies, and wait until its tools are there.

    Args:
        folder: Where the executables go; it exists, and its path is short: sockets have at most 100 characters.
        names: Of console scripts that are installed.

    Raises:
        RuntimeError: The server did not start; it has said why.
    """
    read, write = os.pipe()
    command = [sys.executable, "-P", __file__, str(folder), str(read), *names]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, pass_fds=[read]) as server:
        os.close(read)
        assert server.stdout is not None, "a pipe was asked for"
        is_ready = server.stdout.readline() == b"ready\n"
        if not is_ready:
            os.close(write)
            raise RuntimeError("the server of warm tools did not start")
        # The process stays; `write` stays open as long as this process or a copy of it lives (1).
        server.returncode = 0


def _tool(name: str) -> Callable[[], object]:
    """The function of a console script."""
    (found,) = {point.value: point for point in entry_points(group="console_scripts", name=name)}.values()
    return found.load()


_OF_FRAMEWORKS = ("fuse_dialect.jax.", "fuse_dialect.pytorch.")


def _import_all(package: str) -> None:
    """Import every module of a package, but those whose own packages are missing, and those of frameworks.

    No tool needs these, and a framework has threads, of which a copy would have none.
    """
    root = importlib.import_module(package)
    for module in pkgutil.walk_packages(root.__path__, f"{package}."):
        if not module.name.endswith("__main__") and not module.name.startswith(_OF_FRAMEWORKS):
            try:
                importlib.import_module(module.name)
            except ImportError:
                continue  # an optional package is missing; whoever needs it will say so


def serve(folder: Path, pipe: int, names: Sequence[str]) -> None:
    """Run commands until the other end of the pipe is closed."""
    tools = {name: _tool(name) for name in names}
    _import_all("fuse_dialect")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / _SOCKET))
    listener.listen(64)
    for name in names:
        client = folder / name
        client.write_text(_CLIENT.format(python=sys.executable, path=str(folder / _SOCKET), name=name, aborted=ABORTED))
        client.chmod(0o755)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets copies that have ended
    gc.collect()
    gc.freeze()  # what is there stays, and no copy looks at it
    os.write(1, b"ready\n")
    os.dup2(0, 1)  # whoever has started the server reads no more, and no connection may get the number
    while True:
        ready, _, _ = select.select([listener, pipe], [], [])
        if pipe in ready:
            return
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _run(connection, tools)
        connection.close()


def _run(connection: socket.socket, tools: dict[str, Callable[[], object]]) -> None:
    """Be a command, in a process of its own; does not return."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    head, streams, _, _ = socket.recv_fds(connection, 8, 3)
    (size,) = struct.unpack("q", head)
    data = bytearray()
    while len(data) < size and (chunk := connection.recv(1 << 16)):
        data += chunk
    name, folder, count, *rest = data.decode("utf-8", "surrogateescape").split("\0")
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(dict(variable.split("=", 1) for variable in rest[int(count) :]))
    sys.argv = [name, *rest[: int(count)]]
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, "r", closefd=False)))
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)))
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(2, "w", closefd=False)), errors="backslashreplace", write_through=True
    )
    code = _exit_code(tools[name])
    connection.send(bytes([code & 0xFF]))
    os._exit(code)


def _exit_code(tool: Callable[[], object]) -> int:
    """Call a tool as its console script does."""
    try:
        result = tool()
        code = result if isinstance(result, int) else 0 if result is None else 1
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or 120  # as the interpreter ends when the other side of a pipe is gone
    return code


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
