"""The backends that the conformance suite runs on: those of the package, and the loop reference as a backend."""

from importlib.util import find_spec
from typing import Any

import pytest
from loops_backend import LoopsBackend

from fuse_dialect.backends.backend import Backend
from fuse_dialect.backends.numpy import NumPyBackend
from fuse_dialect.backends.runtime.counting import native_sections
from fuse_dialect.backends.runtime.driver import native_driver

BACKENDS: dict[str, Any] = {"numpy": NumPyBackend, "loops": LoopsBackend}

if find_spec("llvmlite") is not None and find_spec("fuse_dialect.backends.llvm.backend") is not None:
    from fuse_dialect.backends.llvm.backend import LLVMBackend

    BACKENDS["llvm"] = LLVMBackend


@pytest.fixture(autouse=True)
def nothing_is_compiled_by_interpreters(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that `tools/check.py` does not repeat for other processors make no machine code of their programs.

    The driver of entry lists and what evaluates sizes are of the process, not of a program: whichever test comes first
    makes them.
    """
    if request.node.get_closest_marker("interpreted") is None or find_spec("llvmlite") is None:
        return
    native_driver()
    native_sections()

    def refuse(*_: object, **__: object) -> bytes:
        raise AssertionError("a test with the mark `interpreted` makes machine code")

    monkeypatch.setattr("fuse_dialect.backends.assembler.engine.object_for", refuse)


@pytest.fixture(params=BACKENDS, scope="session")
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each backend that is installed."""
    return BACKENDS[request.param]()
