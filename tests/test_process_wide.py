"""What a process has once."""

import gc
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from fuse_dialect.process_wide import TURN, Once, collector_paused, keep_what_exists, short_turns


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


def test_what_exists_is_old_and_nothing_is_frozen() -> None:
    new = [object]
    assert any(each is new for each in gc.get_objects(generation=0))
    keep_what_exists()
    assert gc.get_freeze_count() == 0
    assert any(each is new for each in gc.get_objects(generation=2))


def test_what_a_process_has_frozen_stays_so() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    try:
        keep_what_exists()
        assert gc.get_freeze_count() == frozen
    finally:
        gc.unfreeze()


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


@pytest.fixture
def turns() -> Generator[float]:
    """How long a turn is before and after."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.004)
    yield sys.getswitchinterval()
    sys.setswitchinterval(before)


def test_turns_are_short_until_the_last_is_done(turns: float) -> None:
    with short_turns():
        with short_turns():
            assert sys.getswitchinterval() == pytest.approx(TURN)
        assert sys.getswitchinterval() == pytest.approx(TURN)
    assert sys.getswitchinterval() == turns


def test_turns_are_as_before_after_an_error(turns: float) -> None:
    with pytest.raises(KeyError), short_turns():
        raise KeyError
    assert sys.getswitchinterval() == turns


@pytest.mark.usefixtures("turns")
def test_turns_that_are_shorter_already_stay_so() -> None:
    sys.setswitchinterval(1e-5)
    with short_turns():
        assert sys.getswitchinterval() == pytest.approx(1e-5)
    assert sys.getswitchinterval() == pytest.approx(1e-5)
