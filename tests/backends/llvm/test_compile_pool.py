"""Kernels are compiled side by side, and are what one thread makes."""

from threading import Event, current_thread

import pytest

pytest.importorskip("llvmlite")

from xdsl.dialects.func import FuncOp

import fuse_dialect as fd
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.llvm import compile_pool
from fuse_dialect.backends.llvm.backend import EmittedKernel, LLVMBackend
from fuse_dialect.backends.llvm.compile_pool import CompilePool
from fuse_dialect.loops.program import LoopProgram
from fuse_dialect.lowering.loop_program import lower


@pytest.fixture
def four(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four threads, however many processors there are."""
    monkeypatch.setattr(compile_pool, "processors", lambda: 4)


def emitted(size: int) -> EmittedKernel:
    x, w, y = (f"tensor<{shape}xf32>" for shape in (f"5x{size}", f"{size}x33", "5x33"))
    function = next(
        iter(
            fd.parse(f"""func.func @f(%x: {x}, %w: {w}) -> {y} {{
  %y = fuse.matmul %x, %w : ({x}, {w}) -> {y}
  %z = fuse.tanh %y : {y}
  return %z : {y}
}}""").ops
        )
    )
    assert isinstance(function, FuncOp)
    program = lower(function)
    assert isinstance(program, LoopProgram)
    kernel = LLVMBackend().emit(KernelRequest(program))
    assert isinstance(kernel, EmittedKernel)
    return kernel


@pytest.mark.usefixtures("four")
def test_machine_code_is_that_of_one_thread() -> None:
    kernels = [emitted(size) for size in range(3, 19)]
    backend = LLVMBackend()
    alone = [backend.object_code(kernel) for kernel in kernels]
    with CompilePool(len(kernels)) as pool:
        begun = [pool.submit(lambda kernel=kernel: backend.object_code(kernel)) for kernel in kernels]
        assert [finish() for finish in begun] == alone


@pytest.mark.usefixtures("four")
def test_work_begins_before_the_next_is_written() -> None:
    began = Event()
    with CompilePool(2) as pool:
        finish = pool.submit(began.set)
        assert began.wait(60)
        finish()


@pytest.mark.usefixtures("four")
def test_an_error_comes_where_its_result_is_asked_for() -> None:
    with CompilePool(2) as pool:
        good, bad = pool.submit(lambda: 1), pool.submit(lambda: 1 // 0)
        assert good() == 1
        with pytest.raises(ZeroDivisionError):
            bad()


@pytest.mark.usefixtures("four")
def test_an_error_of_the_writer_stops_what_has_not_begun() -> None:
    stopped, ran = Event(), list[int]()

    class StopError(Exception):
        pass

    def write() -> None:
        with CompilePool(4) as pool:
            for _ in range(4):
                pool.submit(lambda: stopped.wait(0.2))
            pool.submit(lambda: ran.append(1))
            raise StopError

    with pytest.raises(StopError):
        write()
    assert not ran


def test_one_kernel_needs_no_thread() -> None:
    with CompilePool(1) as pool:
        assert pool.submit(current_thread)() is current_thread()
