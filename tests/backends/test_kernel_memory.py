"""Where local buffers of kernels live, and the check that finds two of them in one place."""

from dataclasses import replace

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.backends.checking.kernel_memory import check_kernel_memory
from fuse_dialect.backends.checking.points import UnknownPointError, storing_point
from fuse_dialect.backends.llvm.processors import target_of
from fuse_dialect.checked import CheckError
from fuse_dialect.loops.indices import loop
from fuse_dialect.loops.local_places import LocalPlaces, place_locals
from fuse_dialect.loops.program import Axis, LoopProgram, Role, Stage
from fuse_dialect.loops.schedule import Schedule
from fuse_dialect.loops.scheduling import schedule
from fuse_dialect.lowering.loop_program import lower
from fuse_dialect.machines.machine import Machine

EXTREMES = """func.func @main(%x: tensor<6x16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %a = fuse.max %x, axes = [0] : (tensor<6x16xf32>) -> tensor<16xf32>
  %b = fuse.min %x, axes = [0] : (tensor<6x16xf32>) -> tensor<16xf32>
  %c = fuse.subtract %a, %b : tensor<16xf32>
  %d = fuse.add %a, %b : tensor<16xf32>
  return %c, %d : tensor<16xf32>, tensor<16xf32>
}"""
EXPONENTIALS = """func.func @main(%x: tensor<6x16xf32>) -> (tensor<6x16xf32>, tensor<6x16xf32>) {
  %e = fuse.exp %x : tensor<6x16xf32>
  %s = fuse.softmax %e, axis = 1 : tensor<6x16xf32>
  %t = fuse.add %s, %e : tensor<6x16xf32>
  return %s, %t : tensor<6x16xf32>, tensor<6x16xf32>
}"""
SUM = """func.func @main(%x: tensor<6x16xf32>) -> (tensor<6x16xf32>, tensor<6xf32>) {
  %e = fuse.exp %x : tensor<6x16xf32>
  %s = fuse.softmax %e, axis = 1 : tensor<6x16xf32>
  %t = fuse.sum %e, axes = [1] : (tensor<6x16xf32>) -> tensor<6xf32>
  return %s, %t : tensor<6x16xf32>, tensor<6xf32>
}"""
HALVES = """func.func @main(%x: tensor<6x16xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x16xf32>) {
  %s = fuse.log_softmax %x, axis = 1 : tensor<6x16xf32>
  %p, %q = fuse.split %s, sizes = [8, 8], axis = 1 : (tensor<6x16xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>)
  return %p, %q, %s : tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x16xf32>
}"""
NORM = """func.func @main(%x: tensor<6x16xf32>) -> (tensor<6x16xf32>, tensor<6x16xf32>) {
  %a = fuse.tanh %x : tensor<6x16xf32>
  %m = fuse.max %a, axes = [1], keepdims = true : (tensor<6x16xf32>) -> tensor<6x1xf32>
  %b = fuse.subtract %a, %m : (tensor<6x16xf32>, tensor<6x1xf32>)
  %n = fuse.sum %b, axes = [1], keepdims = true : (tensor<6x16xf32>) -> tensor<6x1xf32>
  %c = fuse.multiply %a, %n : (tensor<6x16xf32>, tensor<6x1xf32>)
  return %b, %c : tensor<6x16xf32>, tensor<6x16xf32>
}"""
BACKWARDS = """func.func @main(%x: tensor<6x16xf32>) -> tensor<6x16xf32> {
  %e = fuse.exp %x : tensor<6x16xf32>
  %m = fuse.max %e, axes = [1], keepdims = true : (tensor<6x16xf32>) -> tensor<6x1xf32>
  %v = fuse.reverse %e, axes = [1] : tensor<6x16xf32>
  %r = fuse.subtract %v, %m : (tensor<6x16xf32>, tensor<6x1xf32>)
  return %r : tensor<6x16xf32>
}"""
COLUMNS = """func.func @main(%x: tensor<6x16xf32>) -> (tensor<6x16xf32>, tensor<16xf32>) {
  %e = fuse.exp %x : tensor<6x16xf32>
  %m = fuse.max %e, axes = [1], keepdims = true : (tensor<6x16xf32>) -> tensor<6x1xf32>
  %r = fuse.subtract %e, %m : (tensor<6x16xf32>, tensor<6x1xf32>)
  %c = fuse.sum %e, axes = [0] : (tensor<6x16xf32>) -> tensor<16xf32>
  return %r, %c : tensor<6x16xf32>, tensor<16xf32>
}"""
PADDED = """func.func @main(%x: tensor<6x16xf32>) -> (tensor<6x16xf32>, tensor<6x16xf32>) {
  %m = fuse.max %x, axes = [1], keepdims = true : (tensor<6x16xf32>) -> tensor<6x1xf32>
  %z = arith.constant dense<0.5> : tensor<f32>
  %p = fuse.pad %m, %z, low = [0, 3], high = [0, 12] : (tensor<6x1xf32>, tensor<f32>) -> tensor<6x16xf32>
  %a = fuse.add %x, %p : tensor<6x16xf32>
  %b = fuse.subtract %x, %m : (tensor<6x16xf32>, tensor<6x1xf32>)
  return %a, %b : tensor<6x16xf32>, tensor<6x16xf32>
}"""
PROGRAMS = {
    "extremes": EXTREMES,
    "exponentials": EXPONENTIALS,
    "sum": SUM,
    "halves": HALVES,
    "norm": NORM,
    "backwards": BACKWARDS,
    "columns": COLUMNS,
    "padded": PADDED,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_arrays_that_live_at_once_have_memory_of_their_own(text: str) -> None:
    module = fd.parse(text)
    x = np.random.default_rng(0).uniform(-1, 1, (6, 16)).astype(np.float32)
    expected = fd.run(module, x)
    for one, other in zip(expected, fd.compile(module, cache=False, strategy="cost")(x), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-5)


def scheduled(text: str) -> tuple[Schedule, LocalPlaces]:
    """The schedule of the one kernel of a program fused by cost, and where its buffers live."""
    module = fd.fuse_ops(fd.parse(text), strategy="cost")
    (primitive,) = [op for op in module.body.block.ops if "primitive" in op.attributes]
    program = lower(primitive)
    assert isinstance(program, LoopProgram)
    plan = schedule(program, machine())
    places = place_locals(plan)
    assert isinstance(places, LocalPlaces)
    return plan, places


def machine() -> Machine:
    """One that every test machine can write code for."""
    return target_of("haswell").machine


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_places_keep_what_they_promise(text: str) -> None:
    check_kernel_memory(*scheduled(text))


def test_two_buffers_in_one_result_are_found() -> None:
    plan, places = scheduled(EXTREMES)
    result, _ = places.shared.values()
    with pytest.raises(CheckError, match=r"reads 'a'.* stores 'b' before"):
        check_kernel_memory(plan, replace(places, shared=dict.fromkeys(places.shared, result)))


def test_a_result_that_is_written_before_the_last_read_is_found() -> None:
    """The difference to the maximum is stored while the tangent that it is made of is still to be read."""
    plan, places = scheduled(NORM)
    local, result = next(iter(places.shared.items()))
    (other,) = {buffer.name for buffer in plan.program.buffers if buffer.role is Role.RESULT} - {result}
    with pytest.raises(CheckError, match=f"reads '{local}'.* stores '{other}' before"):
        check_kernel_memory(plan, replace(places, shared={local: other}))


def test_a_buffer_without_memory_that_another_nest_reads_is_found() -> None:
    plan, places = scheduled(EXTREMES)
    with pytest.raises(CheckError, match="has no memory"):
        check_kernel_memory(plan, replace(places, shared={}, sizes={}))


def test_a_workspace_without_room_is_found() -> None:
    plan, places = scheduled(COLUMNS)
    small = {name: size - 1 for name, size in places.sizes.items()}
    with pytest.raises(CheckError, match="'e' needs room for 96 elements, and has 95"):
        check_kernel_memory(plan, replace(places, sizes=small))


def test_who_stores_where_axes_are_divided_is_found_by_trying() -> None:
    position = loop(0) * 3 + loop(1)
    stage = Stage("cut", "y", (Axis(2), Axis(3), Axis(5)), (), store=(position // 2, position % 2, loop(2)))
    for number in range(6):
        point = storing_point(stage, (number // 2, number % 2, 4), (2, 3, 5), {})
        assert point == (number // 3, number % 3, 4)
    assert storing_point(stage, (3, 0, 4), (2, 3, 5), {}) is None
    assert storing_point(stage, (2, 1, 4), (2, 3, 5), {0: 0}) is None
    with pytest.raises(UnknownPointError):
        storing_point(stage, (0, 0, 4), (2, 3000, 5), {})
