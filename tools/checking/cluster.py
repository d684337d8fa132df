"""Long work of the tools on a cluster of Dask, by the client that `fuse_dialect.map_rows` has.

    --cluster local:2                    two processes here
    --cluster tcp://host:8786            workers that see this clone under the same path, with the same packages

What is lost with a worker is done again by another. Needs the extra `cluster`.
"""

import argparse
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from fuse_dialect.rows.clusters import check_versions, client_of
from fuse_dialect.rows.extra_modules import imported

TOOLS = str(Path(__file__).resolve().parents[1])
_UNDER_WAY = 2
"""Tasks for each thread of a worker."""
T = TypeVar("T")
R = TypeVar("R")


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add the option that names a cluster."""
    parser.add_argument("--cluster", metavar="ADDRESS", help="work on a cluster of Dask, tcp://host:8786 or local:N")


def results_of(cluster: str | None, call: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[T, R]]:
    """What a function gives for items: here, in order, or on a cluster, as they come.

    Args:
        cluster: Its address, or `local:N`; `None` for this process.
        call: What to do; it and the items can be pickled.
        items: For what.

    Raises:
        FuseError: There is no such cluster, or its package has another version.
    """
    if cluster is None:
        yield from ((item, call(item)) for item in items)
        return
    distributed, cloudpickle = imported("distributed", "cluster"), imported("cloudpickle", "cluster")
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with client_of(cluster) as client:
        check_versions(client)
        client.run(_see_tools, TOOLS)
        waiting, places = deque(items), dict[Any, T]()
        done: Any = distributed.as_completed()
        room = _UNDER_WAY * max(1, sum(client.nthreads().values()))
        while waiting or places:
            while waiting and len(places) < room:
                item = waiting.popleft()
                future = client.submit(_with_tools, TOOLS, call, item, pure=False)
                places[future.key] = item
                done.add(future)
            future = next(done)
            yield places.pop(future.key), future.result()
            future.release()


def _see_tools(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _with_tools(folder: str, call: Callable[[Any], Any], item: object) -> Any:
    # A worker that was started again has not been told yet.
    _see_tools(folder)
    return call(item)
