"""Functions whose rows the data counts, in one native call: they mean what the functions mean."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fuse_dialect as fd
from fuse_dialect.backends.runtime.program import Program

WIDTH = 4
KEYS = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "i1": "bool",
    "i8": "int8",
    "i32": "int32",
    "i64": "int64",
    "ui8": "uint8",
    "ui32": "uint32",
    "ui64": "uint64",
}


def one_native_call(program: Program) -> bool:
    """Whether nothing has been cut, or run step by step."""
    report = program.report
    return not report.stretches and not report.step_by_step


def check(program: Program, module: Any, *inputs: Any) -> None:
    for got, wanted in zip(program(*inputs), fd.run(module, *inputs), strict=True):
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def rows_above(size: str) -> str:
    """Rows of `%x` whose sum is positive, through a product; their places and number."""
    x = f"tensor<{size}x{WIDTH}xf32>"
    return f"""func.func @main(%x: {x}, %w: tensor<{WIDTH}x3xf32>)
        -> (tensor<?x3xf32>, tensor<?x1xi64>, tensor<1xi64>, tensor<f32>, {x}) {{
      %zero = arith.constant dense<0.0> : tensor<f32>
      %score = fuse.sum %x, axes = [1] : ({x}) -> tensor<{size}xf32>
      %above = fuse.greater %score, %zero : (tensor<{size}xf32>, tensor<f32>) -> tensor<{size}xi1>
      %found = fuse.argwhere %above : (tensor<{size}xi1>) -> tensor<?x1xi64>
      %places = fuse.squeeze %found, axes = [1] : (tensor<?x1xi64>) -> tensor<?xi64>
      %rows = fuse.take %x, %places, axis = 0 : ({x}, tensor<?xi64>) -> tensor<?x{WIDTH}xf32>
      %product = fuse.matmul %rows, %w : (tensor<?x{WIDTH}xf32>, tensor<{WIDTH}x3xf32>) -> tensor<?x3xf32>
      %active = fuse.relu %product : tensor<?x3xf32>
      %shape = fuse.shape_of %places : (tensor<?xi64>) -> tensor<1xi64>
      %float = fuse.cast %shape : (tensor<1xi64>) -> tensor<1xf32>
      %half = fuse.exp %float : tensor<1xf32>
      %number = fuse.reshape %half : (tensor<1xf32>) -> tensor<f32>
      %same = fuse.scatter_nd %x, %found, %rows : ({x}, tensor<?x1xi64>, tensor<?x{WIDTH}xf32>) -> {x}
      return %active, %found, %shape, %number, %same
        : tensor<?x3xf32>, tensor<?x1xi64>, tensor<1xi64>, tensor<f32>, {x}
    }}"""


MODULE = fd.parse(rows_above("?"))
PROGRAM = fd.compile(MODULE)


def some_rows(count: int, shift: float = 0.0, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((count, WIDTH)).astype(np.float32) + np.float32(shift)
    return [x, rng.standard_normal((WIDTH, 3)).astype(np.float32)]


@given(rows=st.integers(1, 40), shift=st.sampled_from([0.0, -10.0, 10.0, 0.5]), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=40)
def test_any_number_of_rows(rows: int, shift: float, seed: int) -> None:
    check(PROGRAM, MODULE, *some_rows(rows, shift, seed))


def test_sizes_that_are_known_or_zero() -> None:
    module = fd.parse(rows_above("8"))
    program = fd.compile(module)
    for shift in (0.0, -10.0, 10.0):
        check(program, module, *some_rows(8, shift))
    assert one_native_call(program)
    check(PROGRAM, MODULE, *some_rows(0))


def test_new_numbers_of_rows_are_one_native_call_each() -> None:
    program = fd.compile(MODULE, threads=2)
    for rows in (9, 30, 4, 2000):
        check(program, MODULE, *some_rows(rows))
    assert one_native_call(program)
    assert program.report.compiled_in_calls == 0
    assert [kernel.family for kernel in program.kernels if "argwhere" in kernel.name] == ["count"]


def test_results_have_memory_of_their_own_and_no_more_than_they_need() -> None:
    x = np.full((4096, WIDTH), -1.0, np.float32)
    x[5] = 1.0
    w = np.ones((WIDTH, 3), np.float32)
    results = PROGRAM(x, w)
    assert results[0].shape == (1, 3)
    for place, one in enumerate(results):
        assert one.flags.writeable
        assert one.base is None or np.asarray(one.base).nbytes <= 2 * one.nbytes + 64
        assert not any(np.shares_memory(one, other) for other in (x, w, *results[:place]))


def test_other_ways_to_run() -> None:
    x, w = some_rows(20)
    wanted = fd.run(MODULE, x, w)
    outputs = [np.empty_like(each) for each in wanted]
    PROGRAM.run_into([x, w], outputs)
    np.testing.assert_allclose(outputs[0], wanted[0], rtol=1e-5, atol=1e-5)
    assert any("argwhere" in timing.kernel.name for timing in PROGRAM.profile(x, w, repeat=2).kernels)
    assert PROGRAM.trace(x, w, repeat=1)
    with pytest.raises(fd.FuseError, match="the elements of the inputs decide"):
        PROGRAM.output_types(x.shape, w.shape)


def test_a_count_that_formulas_are_not_for_runs_step_by_step() -> None:
    module = fd.parse(
        """func.func @main(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?x1xi64>) {
          %zero = arith.constant dense<0.0> : tensor<f32>
          %four = arith.constant dense<4> : tensor<i64>
          %double = fuse.add %x, %x : tensor<?xf32>
          %above = fuse.greater %double, %zero : (tensor<?xf32>, tensor<f32>) -> tensor<?xi1>
          %found = fuse.argwhere %above : (tensor<?xi1>) -> tensor<?x1xi64>
          %shape = fuse.shape_of %found : (tensor<?x1xi64>) -> tensor<2xi64>
          %count = fuse.strided_slice %shape, begin = [0], end = [1] : (tensor<2xi64>) -> tensor<1xi64>
          %most = fuse.minimum %count, %four : (tensor<1xi64>, tensor<i64>) -> tensor<1xi64>
          %spread = fuse.dyn_broadcast_to %zero, %most : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
          %result = fuse.cos %spread : tensor<?xf32>
          return %result, %found : tensor<?xf32>, tensor<?x1xi64>
        }"""
    )
    program = fd.compile(module)
    for positive in (20, 3, 4, 5, 0, 20):
        x = np.full(32, -1.0, np.float32)
        x[:positive] = 1.0
        check(program, module, x)
    assert program.report.step_by_step == 0  # its sizes have formulas; some counts are of another kind
    assert program.report.stretches or program._stretches is None  # pyright: ignore[reportPrivateUsage]


def elements(element: str, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Few different ones, with those that are hard to put in order."""
    dtype = np.dtype(KEYS[element])
    if dtype.kind == "f":
        return rng.choice(np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 1e-7], dtype), shape)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    info = np.iinfo(KEYS[element])
    return rng.choice(np.array([info.min, info.max, 0, 1, 3, info.max // 2], dtype), shape)


@pytest.mark.parametrize("element", KEYS)
def test_distinct_elements_and_the_best_of_them(element: str) -> None:
    x, pair = f"tensor<?x{element}>", f"tensor<3x?x{element}>"
    unique = fd.parse(
        f"""func.func @main(%x: {x}) -> ({x}, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) {{
          %values, %first, %inverse, %counts = fuse.unique %x : {x}
          return %values, %first, %inverse, %counts : {x}, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>
        }}"""
    )
    best = None
    if element != "i1":
        best = fd.parse(
            f"""func.func @main(%x: {pair}, %k: tensor<i32>) -> ({pair}, tensor<3x?xi64>, tensor<3x?xi64>) {{
              %values, %places = fuse.dyn_topk %x, %k : ({pair}, tensor<i32>) -> ({pair}, tensor<3x?xi64>)
              %least, %others = fuse.dyn_topk %x, %k, is_ascend = true
                : ({pair}, tensor<i32>) -> ({pair}, tensor<3x?xi64>)
              return %values, %places, %others : {pair}, tensor<3x?xi64>, tensor<3x?xi64>
            }}"""
        )
    programs = fd.compile(unique), None if best is None else fd.compile(best)
    rng = np.random.default_rng(1)
    for size in (1, 2, 7, 8, 9, 40, 100, 0):
        check(programs[0], unique, elements(element, (size,), rng))
        if best is not None and programs[1] is not None:
            for k in {0, min(1, size), size // 2, size}:
                check(programs[1], best, elements(element, (3, size), rng), np.int32(k))


def test_more_than_there_are_is_rejected_as_by_the_op() -> None:
    module = fd.parse(
        """func.func @main(%x: tensor<?xf32>, %k: tensor<i64>) -> tensor<?xf32> {
          %values, %places = fuse.dyn_topk %x, %k : (tensor<?xf32>, tensor<i64>) -> (tensor<?xf32>, tensor<?xi64>)
          return %values : tensor<?xf32>
        }"""
    )
    program, x = fd.compile(module), np.arange(4, dtype=np.float32)
    for k in (5, -1):
        with pytest.raises(fd.FuseError) as said:
            program(x, np.int64(k))
        with pytest.raises(fd.FuseError) as wanted:
            fd.run(module, x, np.int64(k))
        assert str(k) in str(said.value)
        assert str(k) in str(wanted.value)
    np.testing.assert_array_equal(program(x, np.int64(2))[0], [3, 2])


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("has_centre", ["", ", center_point_box = true"])
def test_boxes_that_are_kept(element: str, has_centre: str) -> None:
    types = f"(tensor<2x?x4x{element}>, tensor<2x3x?x{element}>, tensor<i64>, tensor<{element}>, tensor<{element}>)"
    module = fd.parse(
        f"""func.func @main(%b: tensor<2x?x4x{element}>, %s: tensor<2x3x?x{element}>, %l: tensor<i64>,
            %o: tensor<{element}>, %t: tensor<{element}>) -> tensor<?x3xi64> {{
          %kept = fuse.non_max_suppression %b, %s, %l, %o, %t{has_centre} : {types} -> tensor<?x3xi64>
          return %kept : tensor<?x3xi64>
        }}"""
    )
    program, rng = fd.compile(module), np.random.default_rng(2)
    dtype = np.dtype(KEYS[element])
    for boxes in (1, 5, 64, 300, 0):
        for limit, overlap, least in ((3, 0.5, 0.3), (1000, 0.2, 0.0), (0, 0.5, 0.1), (7, -0.5, -1.0)):
            corners = rng.random((2, boxes, 4)).round(1).astype(dtype)
            scores = rng.random((2, 3, boxes)).round(2).astype(dtype)
            if boxes > 4:
                corners[0, 1], corners[1, 2, 0], scores[0, 0, 3], scores[1, 2, 4] = np.nan, np.inf, np.nan, np.inf
            check(program, module, corners, scores, np.int64(limit), dtype.type(overlap), dtype.type(least))


WHAT_IS_LEFT = """func.func @main(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xi64>) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %ends = arith.constant dense<4611686018427387904> : tensor<1xi64>
  %step = arith.constant dense<3> : tensor<1xi64>
  %one = arith.constant dense<1> : tensor<1xi64>
  %double = fuse.add %x, %x : tensor<?xf32>
  %above = fuse.greater %double, %zero : (tensor<?xf32>, tensor<f32>) -> tensor<?xi1>
  %found = fuse.argwhere %above : (tensor<?xi1>) -> tensor<?x1xi64>
  %places = fuse.squeeze %found, axes = [1] : (tensor<?x1xi64>) -> tensor<?xi64>
  %count = fuse.shape_of %places : (tensor<?xi64>) -> tensor<1xi64>
  %rest = fuse.dyn_strided_slice %double, %count, %ends, %one
    : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  %cos = fuse.cos %rest : tensor<?xf32>
  %some = fuse.dyn_strided_slice %double, %count, %ends, %step
    : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  %backwards = fuse.strided_slice %places, begin = [-1], end = [-4611686018427387904], strides = [-2]
    : (tensor<?xi64>) -> tensor<?xi64>
  return %cos, %some, %backwards : tensor<?xf32>, tensor<?xf32>, tensor<?xi64>
}"""


@pytest.mark.parametrize("size", [40, 300_000])
def test_what_is_largest_where_little_is_counted_has_room(size: int) -> None:
    module = fd.parse(WHAT_IS_LEFT)
    program = fd.compile(module)
    for positive in (0, 1, 7, 8, 9, size // 2, size - 1, size):
        x = np.full(size, -1.0, np.float32)
        x[:positive] = 1.0
        check(program, module, x)


def test_more_room_than_is_seldom_used_is_not_asked_for() -> None:
    module = fd.parse(
        """func.func @main(%x: tensor<?xf32>) -> tensor<?x64xf32> {
          %zero = arith.constant dense<0.0> : tensor<f32>
          %ones = arith.constant dense<1.0> : tensor<1x64xf32>
          %double = fuse.add %x, %x : tensor<?xf32>
          %above = fuse.greater %double, %zero : (tensor<?xf32>, tensor<f32>) -> tensor<?xi1>
          %found = fuse.argwhere %above : (tensor<?xi1>) -> tensor<?x1xi64>
          %float = fuse.cast %found : (tensor<?x1xi64>) -> tensor<?x1xf32>
          %wide = fuse.multiply %float, %ones : (tensor<?x1xf32>, tensor<1x64xf32>) -> tensor<?x64xf32>
          return %wide : tensor<?x64xf32>
        }"""
    )
    program = fd.compile(module)
    for size in (100, 2_000_000, 50):
        x = np.full(size, -1.0, np.float32)
        x[size // 2] = 1.0
        check(program, module, x)
    assert program.report.step_by_step == 1


def test_counts_of_another_kind_have_formulas_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first 20 of the rows that are counted are all of them, or not: a run that learns so runs again natively."""
    x = f"tensor<?x{WIDTH}xf32>"
    module = fd.parse(f"""func.func @main(%x: {x}) -> ({x}, tensor<?xi64>) {{
      %zero = arith.constant dense<0.0> : tensor<f32>
      %score = fuse.sum %x, axes = [1] : ({x}) -> tensor<?xf32>
      %above = fuse.greater %score, %zero : (tensor<?xf32>, tensor<f32>) -> tensor<?xi1>
      %found = fuse.argwhere %above : (tensor<?xi1>) -> tensor<?x1xi64>
      %places = fuse.squeeze %found, axes = [1] : (tensor<?x1xi64>) -> tensor<?xi64>
      %first = fuse.strided_slice %places, begin = [0], end = [20] : (tensor<?xi64>) -> tensor<?xi64>
      %rows = fuse.take %x, %first, axis = 0 : ({x}, tensor<?xi64>) -> {x}
      return %rows, %first : {x}, tensor<?xi64>
    }}""")
    program = fd.compile(module, cache=False, strategy="tvm")
    program._specializations = None
    called: list[int] = []
    stepwise = program._stepwise
    monkeypatch.setattr(program, "_stepwise", lambda *given: called.append(1) or stepwise(*given))
    rng = np.random.default_rng(0)
    for count in (3, 60, 19, 20, 21, 100, 1, 50):
        rows = -np.ones((200, WIDTH), np.float32)
        rows[rng.permutation(200)[:count]] = 1.0
        check(program, module, rows)
    assert not called
    assert one_native_call(program)
    check(program, module, -np.ones((200, WIDTH), np.float32))  # of no rows there are no formulas
    assert called
