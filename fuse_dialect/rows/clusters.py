"""Blocks on a cluster of Dask: workers that see the files read and write them, and the client notes what is done.

1. A task is some blocks that follow each other: it costs some milliseconds of the scheduler and of its worker. If the
   worker is lost, Dask runs it on another; writing a block twice is writing it once.
2. Few tasks are under way at a time, so that neither the scheduler nor memory fills up with what waits.
3. Rows in memory go with their task, and results to memory come back with it: then a task is one block.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.loading.extra_packages import package_of_extra
from fuse_dialect.rows.sent import opened, sent
from fuse_dialect.rows.sinks import Sink
from fuse_dialect.rows.sources import ArraySource, Source, TableSource

if TYPE_CHECKING:
    from fuse_dialect.dialect.op import Array
    from fuse_dialect.rows.blocks import RowProgram

LOCAL = "local:"
_UNDER_WAY, _LEAST_TASKS, _MOST_BLOCKS = 3, 4, 8
"""Tasks for each thread of a worker: at one time, and in all if there are as many blocks; blocks of a task."""
_SECONDS = 10
"""Until an address answers."""
_SMALL = 1 << 20
"""Bytes of a job that may go with each task."""


class Run(Protocol):
    """A run over the blocks of a source."""

    rows: "RowProgram"
    source: Source
    sink: Sink

    def bounds(self, number: int, /) -> tuple[int, int]:
        """The first row of a block, and that behind its last."""
        ...

    def where(self, number: int, /) -> str:
        """A block in words."""
        ...


def run_on_cluster(cluster: Any, run: Run, blocks: Sequence[int], note: Callable[[int], None]) -> None:
    """Run blocks.

    Args:
        cluster: A client, an address, or `local:N`.
        run: What to run.
        blocks: Numbers of its blocks.
        note: Is told each block that has been written.

    Raises:
        FuseError: There is no such cluster, its package has another version, or a block is wrong.
    """
    distributed = package_of_extra("distributed", "cluster")
    with client_of(cluster) as client:
        check_versions(client)
        is_here = isinstance(run.source, ArraySource | TableSource)
        job = _sent(client, (run.rows, None if is_here else run.source, run.sink if run.sink.is_shared else None))
        threads = max(1, sum(client.nthreads().values()))
        size = len(blocks) // (_LEAST_TASKS * threads) if run.sink.is_shared and not is_here else 1
        waiting = deque(_groups(blocks, max(1, min(size, _MOST_BLOCKS))))
        places = dict[Any, tuple[int, ...]]()
        # What is written elsewhere has no result to be fetched from its worker.
        pool = distributed.as_completed(with_results=not run.sink.is_shared, raise_errors=False)

        def submit() -> None:
            while waiting and len(places) < _UNDER_WAY * threads:
                numbers = waiting.popleft()
                bounds = [(*run.bounds(number), run.where(number)) for number in numbers]
                arrays = run.source.read(*run.bounds(numbers[0])) if is_here else None
                future = client.submit(task, job, arrays, bounds, pure=False)
                places[future.key] = numbers
                pool.add(future)

        submit()
        while places:
            done: Any = next(pool)
            future: Any = done if run.sink.is_shared else done[0]
            numbers = places.pop(future.key)
            if future.status == "error":
                raise _error_of(future, run.where(numbers[0]))
            if not run.sink.is_shared:
                run.sink.write(run.bounds(numbers[0])[0], done[1])
            future.release()
            for number in numbers:
                note(number)
            submit()


def task(job: bytes, arrays: "list[Array] | None", bounds: Sequence[tuple[int, int, str]]) -> "list[Array] | None":
    """What a worker does with some blocks.

    Args:
        job: Program, source and sink, as `sent` makes it.
        arrays: The rows of a single block, if there is no source that a worker could read.
        bounds: The first row of each block, that behind its last, and the block in words, for errors.

    Returns:
        The results of a single block, if there is no sink that a worker could write to.
    """
    rows, source, sink = opened(job)
    for first, last, where in bounds:
        results = rows.run(source.read(first, last) if arrays is None else arrays, where)
        if sink is None:
            return results
        sink.write(first, results)
    return None


def _groups(items: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """Items in groups of a size, the last one of fewer."""
    return (tuple(items[first : first + size]) for first in range(0, len(items), size))


def _sent(client: Any, job: object) -> Any:
    """The job for tasks: a few bytes by themselves, more of them once for each worker."""
    data = sent(job)
    return data if len(data) <= _SMALL else client.scatter(data, broadcast=True, hash=False)


def _error_of(future: Any, where: str) -> FuseError:
    error = future.exception()
    if isinstance(error, FuseError):
        return error
    said = (str(error).splitlines() or [""])[0]
    hint = "the log of the worker says more; --resume (resume=True) goes on with the blocks that are missing"
    return FuseError(f"{where}: {type(error).__name__} on the cluster: {said}", hint=hint)


@contextmanager
def client_of(cluster: Any) -> "Generator[Any]":
    """The client of a cluster; one that was made here is closed.

    Raises:
        FuseError: There is no such cluster.
    """
    distributed = package_of_extra("distributed", "cluster")
    if not isinstance(cluster, str):
        if not hasattr(cluster, "submit"):
            hint = "a client of Dask, the address of its scheduler (tcp://host:8786), or local:2"
            raise FuseError(f"expected a cluster, got {type(cluster).__name__}", hint=hint)
        yield cluster
        return
    if cluster.startswith(LOCAL):
        count = cluster.removeprefix(LOCAL)
        if not count.isdigit() or not 1 <= int(count) <= 256:
            raise FuseError(f"expected local:N with 1 to 256 processes, got '{cluster}'")
        with (
            distributed.LocalCluster(int(count), threads_per_worker=1, dashboard_address=None) as made,
            distributed.Client(made) as client,
        ):
            yield client
        return
    try:
        client = distributed.Client(cluster, timeout=_SECONDS)
    except (OSError, ValueError, TypeError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        hint = "start one with `dask scheduler` and `dask worker tcp://host:8786`, or use local:2"
        raise FuseError(f"there is no cluster at '{cluster}': {said}", hint=hint) from error
    with client:
        yield client


def check_versions(client: Any) -> None:
    """Compare the package of the workers with that of the client.

    Raises:
        FuseError: There are no workers, or a version differs.
    """
    try:
        client.wait_for_workers(1, timeout=_SECONDS)
    except TimeoutError as error:
        raise FuseError("the cluster has no workers", hint="`dask worker ADDRESS` starts one") from error
    here = package_version()
    found: dict[str, Any] = client.run(package_version, on_error="return")
    for worker, version in found.items():
        if isinstance(version, Exception):
            said = (str(version).splitlines() or [type(version).__name__])[0]
            hint = "install the package, with the extras that the program needs, where the workers are"
            raise FuseError(f"worker '{worker}' cannot import fuse_dialect: {said}", hint=hint)
        if version != here:
            hint = "install the same version on both sides"
            raise FuseError(f"worker '{worker}' has fuse_dialect {version}, the client {here}", hint=hint)


def package_version() -> str:
    """The version of this package where it is called."""
    from fuse_dialect.loading.saving_version import package_version as version

    return version()
