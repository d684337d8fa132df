"""Transposes, alone and in maps, mean what NumPy says, whatever their sizes leave over of tiles and blocks."""

from dataclasses import replace

import numpy as np
import pytest
from native_run import HOSTS, Native

from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.llvm import LLVMBackend
from fuse_dialect.dialect.op import Array
from fuse_dialect.loops.elements import dtype_named
from fuse_dialect.loops.indices import Index, loop
from fuse_dialect.loops.program import Apply, Axis, Buffer, LoopProgram, Read, Refusal, Role, Stage
from fuse_dialect.machines.machine import Cache, Unit

NHWC, NCHW, PLAIN = (0, 2, 3, 1), (0, 3, 1, 2), (1, 0)
CASES = [
    *[
        ((rows, columns), PLAIN)
        for rows, columns in [(16, 16), (1, 40), (40, 3), (37, 61), (300, 18), (17, 530), (0, 20), (20, 0), (0, 3)]
    ],
    *[((2, channels, 5, 7), NHWC) for channels in (2, 3, 4, 5, 7, 8, 12, 24, 31)],
    *[((2, 5, 7, channels), NCHW) for channels in (2, 3, 4, 5, 7, 8, 12, 24, 31)],
    ((3, 20, 2, 9), (3, 1, 0, 2)),
    ((2, 9, 3, 17), (0, 2, 3, 1)),
]
hosts = pytest.mark.parametrize("target", HOSTS)
cases = pytest.mark.parametrize("case", CASES, ids=lambda case: "x".join(map(str, case[0])))


def indices(perm: tuple[int, ...]) -> tuple[Index, ...]:
    return tuple(loop(perm.index(axis)) for axis in range(len(perm)))


def transpose(shape: tuple[int | str, ...], perm: tuple[int, ...], element: str = "f32") -> LoopProgram:
    turned = tuple(shape[axis] for axis in perm)
    buffers = (Buffer("x", element, shape, Role.ARGUMENT), Buffer("y", element, turned, Role.RESULT))
    stage = Stage("turn", "y", tuple(Axis(size) for size in turned), (Read("x", indices(perm), element),))
    return LoopProgram("transpose", buffers, (stage,))


def numbers(shape: tuple[int, ...], element: str = "f32") -> Array:
    return (np.arange(np.prod(shape)) % (2 if element == "i1" else 113)).reshape(shape).astype(dtype_named(element))


def check(native: Native, given: list[Array], expected: Array) -> None:
    for parts, offset in ((1, 0), (3, 8)):
        (actual,) = native(*given, parts=parts, offset=offset)
        np.testing.assert_array_equal(actual, expected)


@hosts
@cases
def test_every_size_is_transposed(target: str, case: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    shape, perm = case
    x = numbers(shape)
    check(Native(transpose(shape, perm), HOSTS[target]), [x], x.transpose(perm))


@hosts
@pytest.mark.parametrize("channels", range(2, 9))
def test_few_channels_may_be_read_in_two_orders(target: str, channels: int) -> None:
    for size in (5, 14, 20):
        x = numbers((size, size, channels))
        reads = tuple(Read("x", indices(perm), "f32") for perm in ((2, 0, 1), (2, 1, 0)))
        axes = tuple(Axis(each) for each in (channels, size, size))
        stage = Stage("both", "y", axes, (*reads, Apply("arith.addf", (0, 1), "f32")))
        buffers = (Buffer("x", "f32", x.shape, Role.ARGUMENT), Buffer("y", "f32", (channels, size, size), Role.RESULT))
        expected = x.transpose(2, 0, 1) + x.transpose(2, 1, 0)
        check(Native(LoopProgram("both", buffers, (stage,)), HOSTS[target]), [x], expected)


@hosts
@pytest.mark.parametrize("element", ["f64", "i64", "i32", "i16", "f16", "bf16", "i8", "i1"])
@pytest.mark.parametrize("shape", [(70, 45), (50, 3), (3, 50)], ids=str)
def test_every_element_type_is_transposed(target: str, element: str, shape: tuple[int, int]) -> None:
    x = numbers(shape, element)
    check(Native(transpose(shape, PLAIN, element), HOSTS[target]), [x], x.T)


@hosts
@pytest.mark.parametrize("shape", [(20, 35), (64, 3), (0, 4), (1, 1)], ids=str)
def test_sizes_may_be_known_only_when_the_kernel_runs(target: str, shape: tuple[int, int]) -> None:
    x = numbers(shape)
    check(Native(transpose(("n", "m"), PLAIN), HOSTS[target]), [x], x.T)


@hosts
@cases
def test_a_map_may_read_across_and_along_and_what_is_the_same_in_a_row_or_column(
    target: str, case: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    """`(x^T + y) * r / c` in one stage, with everything of every lane and vector of a tile."""
    shape, perm = case
    turned = tuple(shape[axis] for axis in perm)
    here = tuple(loop(axis) for axis in range(len(perm)))
    body = (
        Read("x", indices(perm), "f32"),
        Read("y", here, "f32"),
        Read("r", here[:1], "f32"),
        Read("c", here[-1:], "f32"),
        Apply("arith.addf", (0, 1), "f32"),
        Apply("arith.mulf", (4, 2), "f32"),
        Apply("arith.divf", (5, 3), "f32"),
    )
    shapes = {"x": shape, "y": turned, "r": turned[:1], "c": turned[-1:]}
    buffers = [Buffer(name, "f32", size, Role.ARGUMENT) for name, size in shapes.items()]
    stage = Stage("map", "z", tuple(Axis(size) for size in turned), body)
    program = LoopProgram("map", (*buffers, Buffer("z", "f32", turned, Role.RESULT)), (stage,))
    x, y, r = numbers(shape), numbers(turned) + 1, numbers(turned[:1]) + 2
    c = np.exp2(numbers(turned[-1:]) % 5).astype(np.float32)
    rows = r.reshape(-1, *[1] * (len(turned) - 1))
    check(Native(program, HOSTS[target]), [x, y, r, c], (x.transpose(perm) + y) * rows / c)


@hosts
@pytest.mark.parametrize("shape", [(37, 61), (3, 50), (50, 3)], ids=str)
def test_long_functions_of_what_is_transposed_are_computed_in_lower_tiles(target: str, shape: tuple[int, int]) -> None:
    plain = transpose(shape, PLAIN)
    stage = replace(plain.stages[0], body=(*plain.stages[0].body, Apply("math.exp", (0,), "f32")))
    native = Native(replace(plain, stages=(stage,)), HOSTS[target])
    x = numbers(shape) / np.float32(113)
    np.testing.assert_allclose(native(x, parts=3)[0], np.exp(x.T), rtol=1e-6)


@hosts
@pytest.mark.parametrize("shape", [(48, 80), (35, 64), (64, 35)], ids=str)
def test_large_results_pass_the_caches(target: str, shape: tuple[int, int]) -> None:
    host = HOSTS[target]
    small = replace(host, described=replace(host.machine, caches=(*host.machine.caches[:2], Cache(2048, 1))))
    x = numbers(shape)
    native = Native(transpose(shape, PLAIN), small)
    if shape == (48, 80) and Unit.STREAMS in host.machine.units and host.machine.vector_bytes == 64:
        assert "nontemporal" in native.kernel.emitted.ir_text
    check(native, [x], x.T)


@hosts
@pytest.mark.parametrize(("shape", "perm"), [((32, 48), PLAIN), ((2, 3, 8, 8), NHWC), ((2, 8, 8, 3), NCHW)], ids=str)
def test_what_tiles_cover_is_read_and_written_in_whole_vectors(
    target: str, shape: tuple[int, ...], perm: tuple[int, ...]
) -> None:
    emitted = LLVMBackend(target=HOSTS[target]).emit(KernelRequest(transpose(shape, perm)))
    assert not isinstance(emitted, Refusal), emitted.reason
    assert "shufflevector" in emitted.ir_text
    assert "gather" not in emitted.ir_text
    assert "scatter" not in emitted.ir_text
