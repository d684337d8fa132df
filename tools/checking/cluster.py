"""Long work of the tools on a cluster of Dask, by the client that `fuse_dialect.map_rows` has.

    --cluster local:2, --jobs 2          two processes here
    --cluster tcp://host:8786            workers that see this clone under the same path, with the same packages

What is lost with a worker is done again by another. Needs the extra `cluster`.
"""

import argparse
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.loading.extra_packages import package_of_extra
from fuse_dialect.rows.clusters import LOCAL, check_versions, client_of

CLONE = Path(__file__).resolve().parents[2]
_UNDER_WAY = 2
"""Tasks for each thread of a worker."""
T = TypeVar("T")
R = TypeVar("R")


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a cluster, or processes here; `cluster` is `None` for this process."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--cluster", metavar="ADDRESS", help="work on a cluster of Dask, tcp://host:8786 or local:N")
    where.add_argument("--jobs", dest="cluster", type=_local, metavar="N", help="processes; 2 are --cluster local:2")


def _local(text: str) -> str | None:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"expected 1 or more processes, got {count}")
    return None if count == 1 else f"{LOCAL}{count}"


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
    distributed, cloudpickle = package_of_extra("distributed", "cluster"), package_of_extra("cloudpickle", "cluster")
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    folders = [folder for folder in sys.path if Path(folder).is_relative_to(CLONE)]
    with client_of(cluster) as client:
        check_versions(client)
        client.run(_see, folders)
        waiting, places = deque(items), dict[Any, T]()
        done: Any = distributed.as_completed()
        room = _UNDER_WAY * max(1, sum(client.nthreads().values()))
        while waiting or places:
            while waiting and len(places) < room:
                item = waiting.popleft()
                future = client.submit(_seeing, folders, call, item, pure=False)
                places[future.key] = item
                done.add(future)
            future = next(done)
            yield places.pop(future.key), future.result()
            future.release()


def in_order(cluster: str | None, call: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """What a function gives for items, in their order; see `results_of`."""
    numbered = list(enumerate(items))
    found = {number: result for (number, _), result in results_of(cluster, partial(_of_numbered, call), numbered)}
    return [found[number] for number, _ in numbered]


def spread(
    cluster: str,
    script: str,
    arguments: Sequence[str] | None,
    seeds: range,
    portion: int,
    *,
    first_by: str = "--seed",
    counted_by: str = "--count",
    minutes: float = float("inf"),
) -> int:
    """A tool that tries seeds, as the same command for portions of them, each in a process of its own.

    Args:
        cluster: Its address, or `local:N`.
        script: The tool: it prints what it finds, and ends with 1 if there is something.
        arguments: Of the tool; `None` for those of this process.
        seeds: All of them.
        portion: Seeds of one process.
        first_by: The option that names the first seed.
        counted_by: The option that says how many.
        minutes: Begin no portion after so long.

    Returns:
        1 if a portion ends with another exit code than 0; what it printed is printed.
    """
    own = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    add_cluster(own)
    for name in (first_by, counted_by):
        own.add_argument(name)
    command = [sys.executable, str(Path(script).resolve()), *own.parse_known_args(arguments)[1]]
    starts = range(seeds.start, seeds.stop, portion)
    commands = [[*command, first_by, str(at), counted_by, str(min(portion, seeds.stop - at))] for at in starts]
    until, done, failed = monotonic() + 60 * minutes, 0, 0
    try:
        for tried, (code, said) in results_of(cluster, _run, commands):
            done += 1
            failed += code != 0
            print(said, end="", flush=True)
            if code not in (0, 1):
                print(f"exit code {code}: {' '.join(tried[1:])}", flush=True)
            if monotonic() > until:
                break
    except FuseError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{done} of {len(commands)} portions of {portion} seeds, {failed} with findings")
    return 1 if failed else 0


def _run(command: Sequence[str]) -> tuple[int, str]:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def _of_numbered(call: Callable[[Any], R], item: tuple[int, Any]) -> R:
    return call(item[1])


def _see(folders: Sequence[str]) -> None:
    sys.path[:0] = [folder for folder in folders if folder not in sys.path]


def _seeing(folders: Sequence[str], call: Callable[[Any], Any], item: object) -> Any:
    # A worker that was started again has not been told yet.
    _see(folders)
    return call(item)
