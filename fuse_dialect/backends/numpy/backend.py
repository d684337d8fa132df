"""The backend that refuses every kernel, so that the runtime runs all of them by their NumPy meaning."""

from collections.abc import Sequence
from dataclasses import dataclass

from fuse_dialect.backends.backend import Backend, KernelRequest
from fuse_dialect.backends.options import BackendSettings
from fuse_dialect.loops.program import Refusal


@dataclass(frozen=True, slots=True)
class NumPyBackend:
    """No native code: what defines the meaning of a program runs it."""

    name: str = "numpy"

    def compile(self, requests: Sequence[KernelRequest]) -> Sequence[Refusal]:
        """A refusal for each request."""
        return [Refusal("the NumPy backend was asked for") for _ in requests]


def make(settings: BackendSettings) -> Backend:
    """The backend; there is nothing to set."""
    return NumPyBackend()
