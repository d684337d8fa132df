"""How large a value may be: every backend refuses a larger one before there is memory for it, with its op's name."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from callback_backend import program_of
from checking.rounding import assert_sums

import fuse_dialect as fd
from fuse_dialect.backends.backend import Backend
from fuse_dialect.backends.compile import compile_program
from fuse_dialect.backends.options import CompileOptions
from fuse_dialect.budget import Limits
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.op import Array
from fuse_dialect.fusion.fuse_ops import FuseOpsPass

HUGE = 1 << 32
CASES = {
    "a result of open size": (
        """func.func @main(%x: tensor<?x1xf32>, %y: tensor<1x?xf32>) -> tensor<?x?xf32> {
          %z = fuse.add %x, %y : (tensor<?x1xf32>, tensor<1x?xf32>) -> tensor<?x?xf32>
          return %z : tensor<?x?xf32>
        }""",
        ((100, 1), (1, 100)),
        "'fuse.add'",
    ),
    "a static result": (
        """func.func @main(%x: tensor<100xf32>) -> tensor<100x100xf32> {
          %b = fuse.broadcast_to %x : (tensor<100xf32>) -> tensor<100x100xf32>
          %s = fuse.exp %b : tensor<100x100xf32>
          return %s : tensor<100x100xf32>
        }""",
        ((100,),),
        r"'fuse\.(exp|broadcast_to)'",
    ),
    "a value between two kernels": (
        """func.func @main(%x: tensor<?xf32>) -> tensor<f32> {
          %b = fuse.expand_dims %x, axis = 1 : (tensor<?xf32>)
          %c = fuse.add %b, %x : (tensor<?x1xf32>, tensor<?xf32>)
          %t = fuse.sort %c : tensor<?x?xf32>
          %s = fuse.sum %t : (tensor<?x?xf32>) -> tensor<f32>
          return %s : tensor<f32>
        }""",
        ((100,),),
        "'fuse.add'",
    ),
    "a constant that is returned": (
        """func.func @main(%x: tensor<1xf32>) -> tensor<2048x2048xf32> {
          %c = arith.constant dense<1.0> : tensor<2048x2048xf32>
          return %c : tensor<2048x2048xf32>
        }""",
        ((1,),),
        "2048x2048",
    ),
    "more bytes than 64 bits count": (
        f"""func.func @main(%x: tensor<1x1xf32>) -> tensor<{HUGE}x{HUGE}xf32> {{
          %b = fuse.broadcast_to %x : (tensor<1x1xf32>) -> tensor<{HUGE}x{HUGE}xf32>
          %s = fuse.exp %b : tensor<{HUGE}x{HUGE}xf32>
          return %s : tensor<{HUGE}x{HUGE}xf32>
        }}""",
        ((1, 1),),
        r"'fuse\.(exp|broadcast_to)'",
    ),
}


WITHOUT_END = {
    "a sum of more than 64 bits count": (
        f"""func.func @main(%x: tensor<1x1xf32>) -> tensor<f32> {{
          %b = fuse.broadcast_to %x : (tensor<1x1xf32>) -> tensor<{HUGE}x{HUGE}xf32>
          %s = fuse.sum %b : (tensor<{HUGE}x{HUGE}xf32>) -> tensor<f32>
          return %s : tensor<f32>
        }}""",
        (1, 1),
        "'fuse.broadcast_to'",
    ),
    "a pool of 2**40 places": (
        f"""func.func @main(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x1x4xf32> {{
          %b = fuse.avg_pool2d %x, pool_size = [{1 << 40}, 1], padding = [{1 << 39}, 0, {(1 << 39) - 4}, 0]
            : (tensor<1x1x4x4xf32>) -> tensor<1x1x1x4xf32>
          return %b : tensor<1x1x1x4xf32>
        }}""",
        (1, 1, 4, 4),
        "'fuse.avg_pool2d'",
    ),
    "a great image": (
        f"""func.func @main(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x{1 << 31}x{1 << 31}xf32> {{
          %y = fuse.resize2d %x, size = [{1 << 31}, {1 << 31}]
            : (tensor<1x1x2x2xf32>) -> tensor<1x1x{1 << 31}x{1 << 31}xf32>
          return %y : tensor<1x1x{1 << 31}x{1 << 31}xf32>
        }}""",
        (1, 1, 2, 2),
        r"'fuse\.(resize2d|reshape)'",
    ),
}


@pytest.fixture
def no_large_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody ask NumPy for more than a megabyte."""
    for name in ("empty", "zeros"):
        monkeypatch.setattr(np, name, _guarded(getattr(np, name)))


def _guarded(make: Callable[..., Array]) -> Callable[..., Array]:
    def guarded(shape: int | Sequence[int], *rest: Any, **options: Any) -> Array:
        assert int(np.prod(np.array(shape, object))) < 1 << 20, f"memory for {shape} was asked for"
        return make(shape, *rest, **options)

    return guarded


@pytest.mark.usefixtures("no_large_memory")
@pytest.mark.parametrize("opt_level", [0, 2])
@pytest.mark.parametrize("case", CASES)
def test_a_value_that_is_too_large_is_refused(backend: Backend, case: str, opt_level: int) -> None:
    text, shapes, words = CASES[case]
    inputs = [np.ones(shape, np.float32) for shape in shapes]
    module = fd.parse(text)

    def run_compiled() -> object:
        return compile_program(
            module,
            CompileOptions(backend=backend, limits=Limits(value_bytes=1000), fuse=FuseOpsPass(opt_level=opt_level)),
        )(*inputs)

    for run in (run_compiled, lambda: fd.run(module, *inputs, max_value_bytes=1000)):
        with pytest.raises(FuseError, match=words) as error:
            run()
        assert "1000" in str(error.value)


@pytest.mark.usefixtures("no_large_memory")
@pytest.mark.parametrize("case", WITHOUT_END)
def test_what_would_never_end_is_refused(backend: Backend, case: str) -> None:
    text, shape, words = WITHOUT_END[case]
    x = np.ones(shape, np.float32)
    for run in (
        lambda: compile_program(fd.parse(text), CompileOptions(backend=backend))(x),
        lambda: fd.run(fd.parse(text), x),
    ):
        with pytest.raises(FuseError, match=words):
            run()


def test_a_sum_of_open_size_that_would_never_end_is_refused() -> None:
    pytest.importorskip("llvmlite")
    text = """func.func @main(%x: tensor<1x1xf32>, %n: tensor<2xi64>) -> tensor<f32> {
      %b = fuse.dyn_broadcast_to %x, %n : (tensor<1x1xf32>, tensor<2xi64>) -> tensor<?x?xf32>
      %s = fuse.sum %b : (tensor<?x?xf32>) -> tensor<f32>
      return %s : tensor<f32>
    }"""
    for size in (1 << 32, 1 << 20):
        with pytest.raises(FuseError, match=r"'fuse\.dyn_broadcast_to'"):
            fd.compile(fd.parse(text), cache=False)(np.ones((1, 1), np.float32), np.array([size, size]))


@pytest.mark.parametrize("size", [3, 7, 8, 1000, (1 << 63) - 1])
def test_a_window_beyond_its_line_is_as_wide_as_the_line(backend: Backend, size: int) -> None:
    text = f"""func.func @main(%x: tensor<2x4x3xf32>) -> tensor<2x4x3xf32> {{
      %y = fuse.lrn %x, size = {size}, alpha = 2.0 : tensor<2x4x3xf32>
      return %y : tensor<2x4x3xf32>
    }}"""
    x = np.random.default_rng(0).uniform(1, 2, (2, 4, 3)).astype(np.float32)
    squares = np.square(x.astype(np.float64))
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    sums = np.stack([squares[:, max(0, c - before) : c + after + 1].sum(1) for c in range(4)], 1)
    expected = x / (1 + 2.0 / size * sums) ** 0.75
    for (actual,) in (fd.run(fd.parse(text), x), compile_program(fd.parse(text), CompileOptions(backend=backend))(x)):
        assert_sums(actual, expected, 4 + 8, expected)


def test_values_up_to_the_limit_are_made(backend: Backend) -> None:
    text, _, _ = CASES["a result of open size"]
    inputs = [np.ones((10, 1), np.float32), np.ones((1, 25), np.float32)]
    (got,) = compile_program(fd.parse(text), CompileOptions(backend=backend, limits=Limits(value_bytes=1000)))(*inputs)
    assert got.shape == (10, 25)
    with pytest.raises(FuseError, match="at most 999 bytes"):
        compile_program(fd.parse(text), CompileOptions(backend=backend, limits=Limits(value_bytes=999)))(*inputs)


def test_a_constant_is_not_written_out_beyond_the_limit(backend: Backend) -> None:
    text = """func.func @main(%x: tensor<?xf32>) -> tensor<?x2xi64> {
      %c = arith.constant dense<1.0> : tensor<2048x2048xf32>
      %p = fuse.argwhere %c : (tensor<2048x2048xf32>) -> tensor<?x2xi64>
      return %p : tensor<?x2xi64>
    }"""
    program = compile_program(fd.parse(text), CompileOptions(backend=backend, limits=Limits(value_bytes=1000)))
    with pytest.raises(FuseError, match="a constant of shape 2048x2048 takes 16777216 bytes"):
        program(np.ones(1, np.float32))


def test_memory_between_loops_counts() -> None:
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n%y = fuse.exp %x : tensor<4xf32>\n"
    module = fd.fuse_ops(fd.parse(text + "return %y : tensor<4xf32>\n}"))
    program = program_of(module)
    (compiled,) = program._primitives
    compiled.check_workspace()
    compiled.kernel.workspace_bytes = compiled.limits.value_bytes + 1
    with pytest.raises(FuseError, match="for intermediate values"):
        compiled.check_workspace()


def test_memory_that_the_system_does_not_have_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    text, _, _ = CASES["a result of open size"]
    program = program_of(fd.fuse_ops(fd.parse(text)))
    inputs = [np.ones((1024, 1), np.float32), np.ones((1, 1024), np.float32)]

    def refuse(size: int, alignment: int = 64) -> Array:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("fuse_dialect.backends.runtime.recycling.aligned_bytes", refuse)
        with pytest.raises(FuseError, match="out of memory for the results"):
            program(*inputs)
    monkeypatch.setattr("fuse_dialect.backends.runtime.walk.aligned_bytes", refuse)
    with pytest.raises(FuseError, match=r"out of memory: \d+ bytes are needed for intermediate values"):
        program(*inputs)
