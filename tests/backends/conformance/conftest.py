"""The backends that the conformance suite runs on: those of the package, and the loop reference as a backend."""

from importlib.util import find_spec
from typing import Any

import pytest
from loops_backend import LoopsBackend

from fuse_dialect.backends.backend import Backend
from fuse_dialect.backends.numpy import NumPyBackend

BACKENDS: dict[str, Any] = {"numpy": NumPyBackend, "loops": LoopsBackend}

if find_spec("llvmlite") is not None and find_spec("fuse_dialect.backends.llvm.backend") is not None:
    from fuse_dialect.backends.llvm.backend import LLVMBackend

    BACKENDS["llvm"] = LLVMBackend


@pytest.fixture(params=BACKENDS, scope="session")
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each backend that is installed."""
    return BACKENDS[request.param]()
