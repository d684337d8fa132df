"""Ctrl-C ends calls whose kernels run long; what is left behind harms nobody."""

import signal
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.backends.runtime import walk
from fuse_dialect.backends.runtime.interrupts import run_interruptibly

pytest.importorskip("llvmlite")

SIZE = 3000
PRODUCTS = "\n".join(
    f"  %{number + 1} = fuse.matmul %{number}, %{number} : tensor<{SIZE}x{SIZE}xf32>" for number in range(1, 6)
)
LONG = f"""
func.func @main(%0: tensor<{SIZE}x{SIZE}xf32>) -> tensor<{SIZE}x{SIZE}xf32> {{
  %1 = fuse.matmul %0, %0 : tensor<{SIZE}x{SIZE}xf32>
{PRODUCTS}
  return %6 : tensor<{SIZE}x{SIZE}xf32>
}}
"""


@contextmanager
def interrupt_after(seconds: float) -> Generator[None]:
    """Raise SIGINT later; workers of pytest ignore it otherwise."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(seconds, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_a_signal_ends_a_call_in_the_middle_of_a_kernel(threads: int) -> None:
    program = fd.compile(fd.parse(LONG), cache=False, threads=threads)
    x = np.eye(SIZE, dtype=np.float32)
    start = time.perf_counter()
    (whole,) = program(x)
    needed = time.perf_counter() - start
    assert (whole == x).all()
    for _ in range(2):
        start = time.perf_counter()
        with interrupt_after(needed / 20), pytest.raises(KeyboardInterrupt):
            program(x)
        assert time.perf_counter() - start < needed / 20 + 1
    # What was left behind ends by itself, and a call beside it is right.
    (again,) = program(x)
    assert (again == x).all()


def test_long_calls_of_all_threads_give_what_short_ones_give(monkeypatch: pytest.MonkeyPatch) -> None:
    text = LONG.replace(str(SIZE), "16")
    short = fd.compile(fd.parse(text), cache=False)
    monkeypatch.setattr(walk, "LONG_WORK", 0)
    program = fd.compile(fd.parse(text), cache=False)
    x = np.random.default_rng(0).uniform(-0.3, 0.3, (16, 16)).astype(np.float32)
    expected = short(x)[0].tobytes()
    found: list[bytes] = []

    def call() -> None:
        found.extend(program(x)[0].tobytes() for _ in range(20))

    others = [threading.Thread(target=call) for _ in range(3)]
    for other in others:
        other.start()
    call()
    for other in others:
        other.join()
    assert found == [expected] * 80


def test_errors_of_long_calls_are_those_of_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "LONG_WORK", 0)
    program = fd.compile(
        fd.parse("""
func.func @main(%t: tensor<4x2xf32>, %i: tensor<3x2xi64>) -> tensor<3x2xf32> {
  %r = fuse.gather %t, %i, axis = 0 : (tensor<4x2xf32>, tensor<3x2xi64>)
  return %r : tensor<3x2xf32>
}"""),
        cache=False,
    )
    table = np.arange(8, dtype=np.float32).reshape(4, 2)
    with pytest.raises(fd.FuseError, match="4"):
        program(table, np.array([[0, 4], [1, 1], [2, 0]]))
    indices = np.array([[0, 3], [1, 1], [2, 0]])
    assert (program(table, indices)[0] == np.take_along_axis(table, indices, 0)).all()


def test_what_is_interrupted_is_told_to_stop() -> None:
    goes_on, stopped = threading.Event(), threading.Event()

    def work() -> None:
        goes_on.wait(20)
        stopped.set()

    with interrupt_after(0.1), pytest.raises(KeyboardInterrupt):
        run_interruptibly(work, goes_on.set)
    assert stopped.wait(20)


def test_results_and_errors_come_from_the_other_thread() -> None:
    assert run_interruptibly(lambda: 3, lambda: None) == 3
    error = ValueError("mine")

    def fail() -> None:
        raise error

    with pytest.raises(ValueError, match="mine") as caught:
        run_interruptibly(fail, lambda: None)
    assert caught.value is error
