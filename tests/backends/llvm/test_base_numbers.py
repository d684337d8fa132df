"""What code does about caches, registers and memory follows from a few numbers of the machine."""

import re
from dataclasses import replace

import pytest
from test_transposes import PLAIN, transpose

import fuse_dialect as fd
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.llvm.backend import EmittedKernel, LLVMBackend
from fuse_dialect.backends.llvm.processors import named
from fuse_dialect.loops.program import LoopProgram
from fuse_dialect.loops.scheduling import schedule
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.loops.tiling import packed_bytes
from fuse_dialect.lowering.loop_program import lower
from fuse_dialect.machines.machine import Cache, Machine
from fuse_dialect.machines.names import find_machine

PRODUCT = """func.func @f(%x: tensor<64x512xf32>, %w: tensor<512x512xf32>) -> tensor<64x512xf32> {
  %y = fuse.matmul %x, %w : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  return %y : tensor<64x512xf32>
}"""


def text_of(program: LoopProgram, machine: Machine) -> str:
    target = replace(named("skylake-avx512"), described=machine)
    emitted = LLVMBackend(target=target).emit(KernelRequest(program))
    assert isinstance(emitted, EmittedKernel)
    return emitted.ir_text


def product() -> LoopProgram:
    program = lower(fd.parse(PRODUCT).body.block.first_op)  # pyright: ignore[reportArgumentType]
    assert isinstance(program, LoopProgram)
    return simplify(program)


@pytest.mark.parametrize("ahead", [1024, 4096, 1 << 20])
def test_panels_are_asked_for_as_far_ahead_as_bytes_are_on_their_way(ahead: int) -> None:
    machine = replace(find_machine("skylake-avx512"), ahead_bytes=ahead)
    text = text_of(product(), machine)
    places = [int(at) for at in re.findall(r"%ahead\S* = getelementptr i8, ptr \S+, i64 (\d+)", text)]
    assert min(places) == ahead


def test_results_pass_the_last_cache_that_they_fill() -> None:
    machine = find_machine("skylake-avx512")
    # A quarter of the cache is enough for a transpose.
    for kib, streams in ((64, True), (65, False)):
        small = replace(machine, caches=(*machine.caches[:2], Cache(kib << 10, 1)))
        assert ("nontemporal" in text_of(transpose((64, 64), PLAIN), small)) == streams


@pytest.mark.parametrize(("registers", "lanes"), [(8, 8), (12, 8), (16, 16), (32, 16), (64, 16)])
def test_a_tile_of_a_transpose_is_in_registers(registers: int, lanes: int) -> None:
    (phase,) = schedule(transpose((64, 64), PLAIN), Machine("m", 64, registers)).phases
    assert phase.nests[0].lanes == lanes


def test_room_for_packed_columns_is_in_the_last_cache() -> None:
    one = Machine("one", caches=(Cache(64 << 10),))
    assert packed_bytes(one) <= one.last_cache.bytes
    assert packed_bytes(find_machine("haswell")) == 8 << 20
