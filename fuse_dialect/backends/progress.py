"""How far compiling has come, for those who wait."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, overload

from fuse_dialect.backends.backend import KernelRequest

Progress: TypeAlias = Callable[[int, int, str], object]
"""`(done, total, name)`: so many of `total` kernels are done, and this one begins; in the end the name is empty."""


class WatchedRequests(Sequence[KernelRequest]):
    """Kernels to compile, which say when they are begun; a backend that goes through them need not know."""

    def __init__(self, requests: Sequence[KernelRequest], progress: Progress):
        self._requests = requests
        self._progress = progress

    def __len__(self) -> int:
        return len(self._requests)

    @overload
    def __getitem__(self, index: int) -> KernelRequest: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[KernelRequest]: ...

    def __getitem__(self, index: int | slice) -> KernelRequest | Sequence[KernelRequest]:
        return self._requests[index]

    def __iter__(self) -> Iterator[KernelRequest]:
        """The requests in order; each is begun when it is taken."""
        for done, request in enumerate(self._requests):
            self._progress(done, len(self._requests), request.program.name)
            yield request
        self._progress(len(self._requests), len(self._requests), "")
