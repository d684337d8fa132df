"""What a process has once."""

import gc
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from fuse_dialect.process_wide import Once, collector_paused


@pytest.fixture(autouse=True)
def collector() -> Generator[None]:
    gc.enable()
    yield
    gc.enable()


def test_the_collector_goes_on_when_the_last_is_done() -> None:
    with collector_paused():
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_the_collector_goes_on_after_an_error() -> None:
    with pytest.raises(KeyError), collector_paused():
        raise KeyError
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    with collector_paused():
        pass
    assert not gc.isenabled()


def test_threads_that_pause_the_collector_at_once_leave_it_on() -> None:
    together = Barrier(4)

    def work() -> bool:
        together.wait()
        with collector_paused():
            together.wait()
            return gc.isenabled()

    with ThreadPoolExecutor(4) as pool:
        seen = [future.result() for future in [pool.submit(work) for _ in range(4)]]
    assert not any(seen)
    assert gc.isenabled()


def test_what_is_supplied_is_not_made() -> None:
    calls: list[int] = []
    once = Once(lambda: calls.append(1) or 5)
    once.supply(7)
    assert (once(), calls) == (7, [])
    once.supply(8)
    assert once() == 7
