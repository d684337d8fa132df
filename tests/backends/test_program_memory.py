"""The check of a program's memory: what it takes for one content, and that it finds values that share bytes."""

from dataclasses import replace

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.backends.runtime.checking.contents import UNKNOWN, Piece, Region, agrees, content_of, joined, part
from fuse_dialect.backends.runtime.checking.program_memory import check_program_memory
from fuse_dialect.backends.runtime.executable import Executable
from fuse_dialect.backends.runtime.plan import Home, Place
from fuse_dialect.checked import CheckError

CHAIN = """
func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = fuse.matmul %x, %w : tensor<8x8xf32>
  %b = fuse.matmul %a, %w : tensor<8x8xf32>
  %c = fuse.matmul %a, %b : tensor<8x8xf32>
  %d = fuse.matmul %c, %w : tensor<8x8xf32>
  return %d : tensor<8x8xf32>
}"""


def executable_of(text: str, threads: int = 1) -> Executable:
    """What runs a function of known sizes."""
    program = fd.compile(fd.parse(text), cache=False, threads=threads, strategy="tvm")
    executable = program._static
    assert isinstance(executable, Executable)
    return executable


def test_pieces_of_one_atom_join() -> None:
    row = part(content_of(3, 12), 4, 4)
    assert row == (Piece(3, 4, 8),)
    assert joined([part(content_of(3, 12), 0, 4), row]) == (Piece(3, 0, 8),)
    assert joined([row, row]) == (Piece(3, 4, 8), Piece(3, 4, 8))


def test_memory_holds_what_was_written_last() -> None:
    region = Region("memory", 16)
    region.write(0, content_of(1, 16))
    region.write(4, content_of(2, 4))
    assert region.read(0, 16) == (Piece(1, 0, 4), Piece(2, 0, 4), Piece(1, 8, 16))
    region.write(2, content_of(3, 12))
    assert region.read(1, 14) == (Piece(1, 1, 2), Piece(3, 0, 12), Piece(1, 14, 15))
    region.write(0, content_of(4, 16))
    assert region.read(0, 16) == content_of(4, 16)


def test_memory_that_nobody_has_written_is_unknown() -> None:
    region = Region("memory", 16)
    region.write(8, content_of(1, 4))
    assert region.read(4, 12) == (Piece(UNKNOWN, 0, 4), Piece(1, 0, 4), Piece(UNKNOWN, 0, 4))
    assert agrees(region.read(8, 8), (Piece(1, 0, 4), Piece(UNKNOWN, 0, 4)))
    assert not agrees(region.read(4, 8), content_of(1, 8))


def test_values_that_share_bytes_are_found() -> None:
    executable = executable_of(CHAIN)
    in_arena = [number for number, place in enumerate(executable.plan.places) if place.home is Home.ARENA]
    assert len(in_arena) >= 3
    first = executable.plan.places[in_arena[0]].at
    places = [Place(Home.ARENA, first) if place.home is Home.ARENA else place for place in executable.plan.places]
    plan = replace(executable.plan, places=places)
    with pytest.raises(CheckError, match="overlaps"):
        check_program_memory(Executable(executable.graph, plan, executable.primitives, executable.constants, 1))


def test_a_value_that_is_gone_before_it_is_read_is_found() -> None:
    """The third product reads the first one, in whose place the second one lies."""
    executable = executable_of(CHAIN)
    places = list(executable.plan.places)
    in_arena = [number for number, place in enumerate(places) if place.home is Home.ARENA]
    places[in_arena[2]] = places[in_arena[0]]  # written while the first is read for the last time
    plan = replace(executable.plan, places=places)
    with pytest.raises(CheckError, match="overlaps argument"):
        check_program_memory(Executable(executable.graph, plan, executable.primitives, executable.constants, 1))


def test_results_in_inputs_are_found() -> None:
    executable = executable_of(CHAIN)
    places = [Place(Home.INPUT, 0) if place.home is Home.OUTPUT else place for place in executable.plan.places]
    plan = replace(executable.plan, places=places)
    with pytest.raises(CheckError, match=r"result 0 of .* would be written to input 0"):
        check_program_memory(Executable(executable.graph, plan, executable.primitives, executable.constants, 1))


def test_workspaces_of_parts_lie_apart() -> None:
    executable = executable_of(CHAIN, threads=2)
    check_program_memory(executable)
    words, table = list(executable.table.words), executable.table
    per_part = len(table.rows) // 2
    for row in range(per_part):  # the workspace's word comes behind two arguments and a result
        words[table.rows[row + per_part][1] + 3] = words[table.rows[row][1] + 3]
    executable.table = replace(table, words=words)
    executable.workspace_bytes = max(executable.workspace_bytes, 64)
    with pytest.raises(CheckError, match="have one workspace"):
        check_program_memory(executable)


def test_a_right_program_runs_after_its_check() -> None:
    module = fd.parse(CHAIN)
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(-1, 1, (8, 8)).astype(np.float32) for _ in range(2)]
    (got,) = fd.compile(module, cache=False)(*inputs)
    np.testing.assert_allclose(got, fd.run(module, *inputs)[0], rtol=1e-4, atol=1e-5)
