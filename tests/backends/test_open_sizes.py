"""Programs of open sizes run natively for every length: shape arithmetic when a plan is made, moves, cut primitives."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import fuse_dialect as fd
from fuse_dialect.backends.runtime import executables, shapes, specializing
from fuse_dialect.backends.runtime import program as program_module

sys.path.append(str(Path(__file__).parents[1] / "transforms"))
from random_shapes import arguments, shape_programs

TORCH = Path(__file__).parents[1] / "data" / "torch"
SIZES = [(1, 1), (2, 3), (3, 1), (0, 2), (2, 7), (5, 13), (2, 3)]


@pytest.fixture(autouse=True)
def _general(monkeypatch):
    """Programs for given sizes would hide what that for all sizes does; plans are checked as well."""
    monkeypatch.setattr(specializing, "MAX_SECONDS", -1.0)
    monkeypatch.setenv("FUSE_CHECKED", "plans")


def outcome(run, inputs):
    """The results, or `None` when an op rejects what it gets."""
    try:
        return run(*inputs)
    except fd.FuseError:
        return None


@settings(max_examples=60, deadline=None)
@given(module=shape_programs())
def test_random_shape_arithmetic_is_right_for_every_size(module):
    program = fd.compile(module, cache=False)
    for b, s in SIZES:
        inputs = arguments({"b": b, "s": s}, seed=b * 100 + s)
        wanted = outcome(lambda *arrays: fd.run(module, *arrays), inputs)
        found = outcome(program, inputs)
        assert (found is None) == (wanted is None)
        for one, other in zip(found or (), wanted or (), strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


CACHE = """
func.func @main(%past: tensor<?x?x4xf32> {fuse.sizes = ["batch", "past", ""]},
                %new: tensor<?x1x4xf32> {fuse.sizes = ["batch", "", ""]}) -> (tensor<?x?x4xf32>, tensor<?x1x?xf32>) {
  %all = fuse.concatenate %past, %new, axis = 1 : (tensor<?x?x4xf32>, tensor<?x1x4xf32>) -> tensor<?x?x4xf32>
  %scores = fuse.batch_matmul %new, %all, transpose_b = true
      : (tensor<?x1x4xf32>, tensor<?x?x4xf32>) -> tensor<?x1x?xf32>
  %weights = fuse.softmax %scores, axis = 2 : tensor<?x1x?xf32>
  return %all, %weights : tensor<?x?x4xf32>, tensor<?x1x?xf32>
}
"""


def test_a_cache_that_grows_is_native_from_the_first_length_on():
    module = fd.parse(CACHE)
    program = fd.compile(module, cache=False)
    rng = np.random.default_rng(0)
    past = np.zeros((2, 0, 4), np.float32)
    tables = set()
    for length in range(40):
        new = rng.standard_normal((2, 1, 4)).astype(np.float32)
        grown, weights = program(past, new)
        for found, wanted in zip((grown, weights), fd.run(module, past, new), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
        executable = program._executable((past.shape, new.shape))
        assert executable is not None
        assert executable.is_native
        tables.add(id(executable.table))
        assert grown.shape[1] == length + 1
        past = grown
    # Laid out at first, and whenever twice the room was not enough.
    assert len(tables) <= 8
    assert not program._specializations._programs


def test_plans_of_many_sizes_are_bounded(monkeypatch):
    monkeypatch.setattr(executables, "MAX_PLANS", 8)
    monkeypatch.setattr(shapes, "MOST_SEEN", 32)
    monkeypatch.setenv("FUSE_CHECKED", "")
    program = fd.compile(fd.parse(CACHE), cache=False)
    for length in np.random.default_rng(1).integers(0, 90, 300):
        program(np.zeros((1, length, 4), np.float32), np.ones((1, 1, 4), np.float32))
    assert len(program._sizes.plans) == 8
    assert len(program._sizes.resolver._seen) <= 32 + len(program._graph.calls)
    assert len(program._sizes.laid_out.spare) <= program_module.MAX_SPARE_FRAMES


def one_op(inputs, body, result):
    arguments = ", ".join(f"%a{place}: {type}" for place, type in enumerate(inputs))
    return f"func.func @main({arguments}) -> {result} {{\n{body}\n  return %r : {result}\n}}"


OPEN = "tensor<?x?x?xf32>"
MOVES = [
    f"%r = fuse.concatenate %a0, %a1, %a0, axis = 1 : ({OPEN}, {OPEN}, {OPEN}) -> {OPEN}",
    f"%r = fuse.concatenate %a0, %a0, %a0, axis = 2 : ({OPEN}, {OPEN}, {OPEN}) -> {OPEN}",
    f"%r = fuse.concatenate %a1, %a1, %a1, %a1, axis = 0 : ({', '.join([OPEN] * 4)}) -> {OPEN}",
    f"%r = fuse.transpose %a0, permutation = [2, 0, 1] : ({OPEN}) -> {OPEN}",
    f"%r = fuse.reverse %a0, axes = [0, 2] : {OPEN}",
    "%r = fuse.strided_slice %a0, begin = [1, -1], end = [9, -9], strides = [2, -1], axes = [1, 2]\n"
    f": ({OPEN}) -> {OPEN}",
    f"%r = fuse.tile %a0, reps = [2, 1, 3] : ({OPEN}) -> {OPEN}",
    "%v = arith.constant dense<1.5> : tensor<f32>\n"
    f"%r = fuse.pad %a0, %v, low = [1, -1, 0], high = [0, 2, -2] : ({OPEN}, tensor<f32>) -> {OPEN}",
]


@pytest.mark.parametrize("body", MOVES)
def test_moves_are_what_numpy_moves(body):
    module = fd.parse(one_op([OPEN, OPEN], body, OPEN))
    program = fd.compile(module, cache=False)
    assert {kernel.family for kernel in program.kernels} <= {"move", "map", "view"}
    for shape in [(1, 1, 1), (2, 3, 4), (3, 5, 2), (2, 0, 3), (5, 2, 7)]:
        rng = np.random.default_rng(sum(shape))
        inputs = [rng.standard_normal(shape).astype(np.float32) for _ in range(2)]
        wanted, found = (outcome(run, inputs) for run in (lambda *arrays: fd.run(module, *arrays), program))
        assert (found is None) == (wanted is None)
        for one, other in zip(found or (), wanted or (), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("index", [-4, -3, 0, 2, 3])
@pytest.mark.parametrize("rows", [0, 3])
def test_an_index_along_an_open_axis_is_checked(index, rows):
    body = "%r = fuse.gather_nd %a0, %a1 : (tensor<?x2xf32>, tensor<?x1xi64>) -> tensor<?x2xf32>"
    module = fd.parse(one_op(["tensor<?x2xf32>", "tensor<?x1xi64>"], body, "tensor<?x2xf32>"))
    program = fd.compile(module, cache=False)
    assert [kernel.family for kernel in program.kernels] != ["numpy"]
    inputs = [np.arange(2 * rows, dtype=np.float32).reshape(rows, 2), np.array([[index]])]
    wanted, found = (outcome(run, inputs) for run in (lambda *arrays: fd.run(module, *arrays), program))
    assert (found is None) == (wanted is None) == (not -rows <= index < rows)
    if found is not None:
        np.testing.assert_array_equal(found[0], wanted[0])


def test_a_kernel_with_one_op_that_numpy_runs_is_cut_there():
    text = """
    func.func @main(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
      %e = fuse.exp %x : tensor<?x?xf32>
      %t = fuse.tanh %e : tensor<?x?xf32>
      %p = arith.constant dense<0.0> : tensor<f32>
      %w = fuse.pad %t, %p, low = [1, 1], high = [1, 1], mode = "reflect"
        : (tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xf32>
      %n = fuse.negative %w : tensor<?x?xf32>
      return %n : tensor<?x?xf32>
    }"""
    module = fd.parse(text)
    program = fd.compile(module, cache=False)
    assert [(kernel.family, kernel.ops) for kernel in program.kernels if kernel.family != "view"] == [
        ("map", ("exp", "tanh")),
        ("numpy", ("pad",)),
        ("map", ("negative",)),
    ]
    for shape in [(3, 4), (2, 2), (5, 9)]:
        x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        np.testing.assert_allclose(program(x)[0], fd.run(module, x)[0], rtol=1e-5, atol=1e-6)


def test_exported_transformers_leave_nothing_to_numpy():
    for name in ("bert.dynamo", "gpt2.dynamo", "llama.dynamo", "transformer_encoder.dynamo", "vit.dynamo"):
        program = fd.compile(str(TORCH / f"{name}.onnx"), cache=False)
        for number in (0, 1):
            with np.load(TORCH / f"{name}.{number}.npz") as arrays:
                inputs = [arrays[each] for each in program.input_names]
                results = [arrays[f"result{place}"] for place in range(len(program.output_names))]
            for found, wanted in zip(program(*inputs), results, strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
            executable = program._executable(tuple(array.shape for array in inputs))
            assert executable is not None, name
            assert executable.is_native, name


@pytest.mark.parametrize("strategy", ["tvm", "cost"])
def test_sizes_beside_other_numbers_leave_nothing_to_numpy(strategy):
    """A step of training whose batch is open: shapes are made of its size, in kernels of several results."""
    program = fd.compile(fd.read(TORCH.parent / "jax" / "symbolic_sgd.mlir"), strategy=strategy, cache=False)
    rng = np.random.default_rng(0)
    shapes = (16, 32), (32,), (32, 10), (10,), (7, 16)
    inputs = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    profile = program.profile(*inputs, rng.integers(0, 10, 7).astype(np.int32), repeat=1)
    assert not [timing.kernel.name for timing in profile.kernels if timing.kernel.family == "numpy"]


def test_formulas_say_of_every_size_what_the_calls_say_one_by_one():
    program = fd.compile(fd.parse(CACHE), cache=False)
    rng = np.random.default_rng(2)
    for batch, length in [(1, 1), (2, 0), (1, 7), (3, 1), (0, 4), *rng.integers(1, 300, (12, 2)).tolist()]:
        sizes = ((batch, length, 4), (batch, 1, 4))
        by_formulas = program._sizes.by_formulas(sizes, {})
        wanted = program._sizes.resolver.resolve(sizes)
        if by_formulas is None:
            continue  # sizes of another kind, for which there are no formulas yet
        found = by_formulas.plan
        assert list(found.shapes) == wanted.shapes
        assert list(found.sizes) == wanted.bytes
        assert by_formulas.output_shapes == [(batch, length + 1, 4), (batch, 1, length + 1)]


def test_a_new_length_asks_no_call(monkeypatch):
    program = fd.compile(fd.parse(CACHE), cache=False)
    monkeypatch.setattr(shapes.SizeResolver, "resolve", lambda self, sizes: pytest.fail("a call is asked"))
    for length in range(40):
        program(np.zeros((2, length, 4), np.float32), np.ones((2, 1, 4), np.float32))
    # All of them fit what was laid out when the program was made.
    assert len({id(each.table) for each in program._sizes.plans.values()}) == 1


@settings(max_examples=40, deadline=None)
@given(module=shape_programs())
def test_formulas_of_random_programs_agree_with_their_calls(module):
    program = fd.compile(module, cache=False)
    for b, s in [(3, 11), (2, 3), (1, 1), (0, 2), (5, 13)]:
        inputs = arguments({"b": b, "s": s}, seed=b)
        sizes = tuple(array.shape for array in inputs)
        if outcome(program, inputs) is None:
            continue
        wanted = program._sizes.resolver.resolve(sizes)
        by_formulas = None if wanted is None else program._sizes.by_formulas(sizes, {})
        if by_formulas is not None:
            assert list(by_formulas.plan.shapes)[: len(wanted.shapes)] == wanted.shapes
            assert by_formulas.plan.values.keys() == wanted.values.keys()
            for tensor, value in wanted.values.items():
                np.testing.assert_array_equal(by_formulas.plan.values[tensor], value)
