"""Threads: compiling on several, calling on several, sharing rows with workers, and a worker that is missing."""

import ctypes
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.backends.runtime.driver import PARALLEL, native_driver
from fuse_dialect.backends.runtime.team import Team, team
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.building import building
from fuse_dialect.process_wide import Once

pytest.importorskip("llvmlite")

KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class Table:
    """Rows of the driver whose kernels write down when each part begins and ends."""

    def __init__(self, parallel: list[bool], parts: int):
        self.parallel, self.parts = parallel, parts
        self.slow_row = -1
        """Whose kernel takes some milliseconds."""
        self.events: list[tuple[str, int, int, int]] = []
        """("begin" or "end", row, part, parts), in the order in which they happened."""
        self._kernels = [KERNEL(self._kernel(row)) for row in range(len(parallel))]
        addresses = [ctypes.cast(kernel, ctypes.c_void_p).value or 0 for kernel in self._kernels]
        rows = [[address, 0, PARALLEL * flag] for address, flag in zip(addresses, parallel, strict=True)]
        self._rows = np.array(rows * parts, np.int64)

    def _kernel(self, row: int) -> Callable[[int, int, int], None]:
        def run(_: int, part: int, parts: int) -> None:
            self.events.append(("begin", row, part, parts))
            if row == self.slow_row:
                threading.Event().wait(0.005)
            self.events.append(("end", row, part, parts))

        return run

    def run(self, team: Team) -> None:
        count = len(self.parallel)
        team.run(self._rows.ctypes.data, count * self._rows.strides[0], count, self.parts)

    def check(self) -> None:
        """Each part of each row ran once, and no row began before the one above had ended."""
        rows = [row for _, row, _, _ in self.events]
        assert rows == sorted(rows)
        for row, is_parallel in enumerate(self.parallel):
            begun = [(part, parts) for what, at, part, parts in self.events if at == row and what == "begin"]
            (parts,) = {parts for _, parts in begun}
            assert parts in ({1, self.parts} if is_parallel else {1})
            assert sorted(part for part, _ in begun) == list(range(parts))


@pytest.fixture
def small_switch_interval() -> "np.random.Generator":
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield np.random.default_rng(0)
    sys.setswitchinterval(before)


@pytest.mark.parametrize("callers", [1, 3])
def test_rows_run_in_order_and_each_part_once(callers: int, small_switch_interval: "np.random.Generator") -> None:
    shared = Team()
    shared._most = 3
    random = small_switch_interval
    tables = [
        [
            Table([bool(flag) for flag in random.integers(0, 2, random.integers(1, 9))], int(parts))
            for parts in (2, 4, 7)
        ]
        for _ in range(callers)
    ]

    def call(own: list[Table]) -> None:
        for _ in range(15):
            for table in own:
                table.events.clear()
                table.run(shared)
                table.check()

    with ThreadPoolExecutor(callers) as pool:
        list(pool.map(call, tables))
    assert shared._has_caller.value == 0


def test_a_worker_that_never_comes_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading.Thread, "start", lambda self: None)
    lonely = Team()
    lonely._most = 2
    table = Table([True, False, True], 3)
    table.run(lonely)
    table.check()
    assert len(table.events) == 2 * (3 + 1 + 3)


def test_a_thread_that_cannot_be_started_costs_speed_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    lonely = Team()
    lonely._most = 2
    table = Table([True, True], 3)
    for _ in range(4):
        table.events.clear()
        table.run(lonely)
        table.check()
    assert lonely._most == 0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers that interrupt")
def test_an_interrupt_between_two_steps_leaves_the_team_free() -> None:
    class AlarmError(Exception):
        pass

    def interrupt(*_: object) -> None:
        raise AlarmError

    program = fd.compile(fd.parse(CHAIN), threads=2, cache=False)
    x = np.ones((250, 250), np.float32)  # results are below `recycling.SMALLEST`: its callbacks cannot raise
    program(x)  # starts the workers: Python's own `Thread.start` complains when it is interrupted
    before = signal.signal(signal.SIGALRM, interrupt)
    interrupts = 0
    try:
        for step in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 * (1 + step % 50))
                for _ in range(20):
                    program(x)
                # An alarm that comes late is raised here: the jump back to `for step` is outside of the `try`.
                signal.setitimer(signal.ITIMER_REAL, 0)
            except AlarmError:
                interrupts += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupts > 100
    assert team()._has_caller.value == 0


CHAIN = """
func.func @main(%x: tensor<250x250xf32>) -> tensor<250x250xf32> {
  %s = fuse.softmax %x : tensor<250x250xf32>
  %y = fuse.add %s, %x : tensor<250x250xf32>
  return %y : tensor<250x250xf32>
}
"""


@pytest.mark.parametrize("threads", [5, 256])
def test_no_more_threads_than_processors(threads: int) -> None:
    with pytest.warns(RuntimeWarning, match=f"{threads} threads were asked for, 4 are used"):
        program = fd.compile(fd.parse(CHAIN), backend="numpy", threads=threads)
    assert program.threads == 4


@pytest.mark.parametrize("threads", [0, -1, 257, 2.5, True, "2"])
def test_threads_are_a_number(threads: object) -> None:
    with pytest.raises(FuseError, match="expected 1 to 256 threads, got"):
        fd.compile(fd.parse(CHAIN), backend="numpy", threads=threads)  # pyright: ignore[reportArgumentType]


def test_once_makes_one_for_all_threads() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        threading.Event().wait(0.02)
        return made[-1]

    once = Once(make)
    with ThreadPoolExecutor(8) as pool:
        results = set(pool.map(lambda _: once(), range(8)))
    assert len(made) == len(results) == 1


def test_what_failed_once_is_tried_again() -> None:
    answers = iter([ValueError("not yet"), 7])

    def make() -> int:
        answer = next(answers)
        if isinstance(answer, ValueError):
            raise answer
        return answer

    once = Once(make)
    with pytest.raises(ValueError, match="not yet"):
        once()
    assert once() == once() == 7


def test_the_driver_exists_once() -> None:
    with ThreadPoolExecutor(4) as pool:
        assert len(set(map(id, pool.map(lambda _: native_driver(), range(8))))) == 1


def test_building_on_one_thread_takes_no_ops_of_another(small_switch_interval: object) -> None:
    from xdsl.dialects.arith import ConstantOp
    from xdsl.ir import Block

    def build(_: int) -> list[int]:
        sizes: list[int] = []
        for count in range(30):
            block = Block()
            with building(block):
                for number in range(count):
                    ConstantOp.from_int_and_width(number, 32)
            ConstantOp.from_int_and_width(0, 32)  # belongs to no block
            sizes.append(len(block.ops))
        return sizes

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(build, range(4))) == [list(range(30))] * 4


SCRIPT = """
import sys, threading
import numpy as np
import fuse_dialect as fd

sys.path.append("tools")
from checking.rounding import assert_sums

sys.setswitchinterval(1e-6)
backend, threads, each = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
TEXT = '''
func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %c = arith.constant dense<SCALE> : tensor<f32>
  %m = fuse.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>)
  %s = fuse.softmax %m : tensor<64x64xf32>
  %y = fuse.multiply %s, %c : (tensor<64x64xf32>, tensor<f32>)
  return %y : tensor<64x64xf32>
}'''
x = np.random.default_rng(0).random((64, 64), np.float32)
product = x.astype(np.float64) @ x
exponents = np.exp(product - product.max(-1, keepdims=True))
expected = exponents / exponents.sum(-1, keepdims=True)
# All numbers are positive, and an exponential is off by what its operand is off by: 64 roundings of a product.
roundings = 2 * 64 * product.max() + 64 + 8
one = fd.parse(TEXT.replace("SCALE", "2.0"))
barrier, problems = threading.Barrier(threads), []

def work(number):
    try:
        barrier.wait()
        for step in range(each):
            scale = 2.0 if step % 2 else float(number * each + step + 1)
            module = one if step % 2 else fd.parse(TEXT.replace("SCALE", str(scale)))
            program = fd.compile(module, backend=backend, threads=1 + step % 2, cache=False)
            for _ in range(2):
                assert_sums(program(x, x)[0], scale * expected, roundings, scale * expected)
    except BaseException as error:
        problems.append(repr(error))

workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print(len(problems), *problems[:3])
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_first_compilations_of_a_process_on_several_threads(backend: str) -> None:
    """The first call of everything, at once: a process of its own for each try."""
    for threads, each in ((8, 2), (4, 1), (2, 1)):
        command = [
            sys.executable,
            "-X",
            "faulthandler",
            "-c",
            SCRIPT,
            backend,
            str(threads),
            str(each),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == "0", done.stdout


@pytest.mark.parametrize("parts", [1, 3])
def test_rows_are_timed_where_they_run(parts: int) -> None:
    shared = Team()
    shared._most = 2
    table = Table([True, False, True, False], parts)
    table.slow_row = 2
    rows = table._rows
    seconds, reached = shared.run_timed(rows.ctypes.data, 4 * rows.strides[0], 4, parts)
    table.check()
    assert (len(seconds), reached) == (4, 4)
    assert all(each > 0 for each in seconds)
    assert max(seconds) == seconds[2]


def test_rows_of_a_caller_without_workers_share_its_time() -> None:
    shared = Team()
    shared._has_caller.value = 1
    table = Table([True, False], 2)
    seconds, _ = shared.run_timed(table._rows.ctypes.data, 2 * table._rows.strides[0], 2, 2)
    table.check()
    assert seconds[0] == seconds[1] > 0


DYNAMIC = """
func.func @main(%x: tensor<?x4xf32>, %i: tensor<?xi64>) -> tensor<?x4xf32> {
  %e = fuse.exp %x : tensor<?x4xf32>
  %s = fuse.shape_of %e : (tensor<?x4xf32>) -> tensor<2xi64>
  %r = fuse.dyn_reshape %e, %s : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %t = fuse.take %r, %i, axis = 0 : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  return %t : tensor<?x4xf32>
}
"""


def test_programs_of_open_sizes_are_profiled() -> None:
    program = fd.compile(fd.parse(DYNAMIC), cache=False)
    x, i = np.ones((100, 4), np.float32), np.array([0, 2], np.int64)
    profile = program.profile(x, i, repeat=3)
    assert len(profile.seconds) == 3
    assert [len(kernel.seconds) for kernel in profile.kernels] == [3] * len(profile.kernels)
    assert {op for kernel in profile.kernels for op in kernel.kernel.ops} >= {"exp", "take"}
    exp = next(kernel.kernel for kernel in profile.kernels if "exp" in kernel.kernel.ops)
    assert exp.bytes == 1600 + 1600  # no kernel has room for a table of open size: what picks from it is another one
    assert "exp" in str(profile)
