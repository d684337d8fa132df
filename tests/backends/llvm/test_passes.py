"""Rows of open length that pass block by block: on every processor, by parts, beside forbidden pages, checked."""

import numpy as np
import pytest
from fuzzing.chains import random_pass
from guarded_memory import GuardedMemory
from native_run import HOSTS, Native
from test_strips import program_of, strips_of
from xdsl.dialects import func

import fuse_dialect as fd
from fuse_dialect.checked import VARIABLE
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.interpreters.loops import run_loops
from fuse_dialect.loops.pass_schedule import BLOCK
from fuse_dialect.loops.program import LoopProgram
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.loops.strip_schedule import by_function
from fuse_dialect.lowering.loop_program import lower
from fuse_dialect.machines.names import find_machine

LENGTHS = (0, 1, 5, 33, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 100)


def attention(heads: int, queries: int | str, width: int) -> str:
    q, k, s = (
        f"tensor<{heads}x{queries}x{width}xf32>",
        f"tensor<{heads}x?x{width}xf32>",
        f"tensor<{heads}x{queries}x?xf32>",
    )
    return f"""func.func @main(%q: {q}, %k: {k}, %v: {k}) -> {q} {{
  %s = fuse.batch_matmul %q, %k, transpose_b = true : ({q}, {k}) -> {s}
  %p = fuse.softmax %s : {s}
  %y = fuse.batch_matmul %p, %v : ({s}, {k}) -> {q}
  return %y : {q}
}}"""


def arrays_of(shapes: list[tuple[int, ...]], seed: int = 0) -> list[Array]:
    random = np.random.default_rng(seed)
    return [(random.standard_normal(shape) * 0.5).astype(np.float32) for shape in shapes]


def agrees(program: LoopProgram, native: Native, arrays: list[Array], parts: int) -> None:
    """Check results beside forbidden pages, of several parts, against the loops as they stand."""
    with np.errstate(all="ignore"):
        expected = run_loops(program, arrays)
    with GuardedMemory() as memory:
        for found, right in zip(native(*arrays, parts=parts, memory=memory), expected, strict=True):
            np.testing.assert_allclose(found, right, rtol=2e-4, atol=2e-5)


@pytest.mark.sums
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("queries", [1, 4, "?"])
def test_attention_to_any_length_is_one_kernel(queries: int | str, host: str) -> None:
    program = program_of(attention(3, queries, 20))
    strips = strips_of(program, HOSTS[host].machine)
    assert strips is not None
    assert strips.blocks is not None
    native = Native(program, HOSTS[host])
    for number, length in enumerate(LENGTHS):
        rows = queries if isinstance(queries, int) else (1, 30, 1, 4, 100)[number % 5]
        agrees(program, native, arrays_of([(3, rows, 20), (3, length, 20), (3, length, 20)]), 1 + number % 3)


@pytest.mark.parametrize("queries", [1, 4, 30])
def test_rows_of_no_numbers_are_what_they_are(queries: int) -> None:
    """Scores of 1e4, of infinities and nan, in the first block, in later ones, or in all."""
    program = program_of(attention(2, queries, 4))
    native = Native(program)
    length = 2 * BLOCK + 7
    for value in (1e4, -1e4, np.inf, -np.inf, np.nan):
        for low, stop in ((0, 1), (0, BLOCK), (BLOCK, BLOCK + 1), (length - 1, length), (0, length)):
            q, k, v = arrays_of([(2, queries, 4), (2, length, 4), (2, length, 4)])
            q[...] = 0
            q[:, :, 0] = 1
            k[:, low:stop, 0] = value
            agrees(program, native, [q, k, v], 1)


@pytest.mark.parametrize("host", HOSTS)
def test_without_infinities_rows_begin_as_ever(host: str) -> None:
    """A state begins with a maximum of -inf, also where kernels may take it that there are no infinities."""
    program = program_of(attention(2, 4, 20))
    native = Native(program, HOSTS[host], fast_math=True)
    for length in (1, 33, 2 * BLOCK + 9):
        agrees(program, native, arrays_of([(2, 4, 20), (2, length, 20), (2, length, 20)]), 1)


def test_the_workspace_does_not_grow_with_anything() -> None:
    strips = strips_of(program_of(attention(12, "?", 64)))
    assert strips is not None
    assert strips.rows == "n0"
    assert strips.workspace_bytes < 1 << 20


@pytest.mark.sums
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("first", range(0, 40, 10))
def test_random_attention_agrees(first: int, host: str) -> None:
    found = 0
    for seed in range(first, first + 10):
        chain = random_pass(seed)
        program = program_of(chain.text)
        if strips_of(program, HOSTS[host].machine) is None:
            continue
        found += 1
        native = Native(program, HOSTS[host])
        for number, length in enumerate((1, 40, BLOCK + 3)):
            shapes = chain.shapes_at({"b": 2, "m": 3 + 20 * number, "n": length})
            agrees(program, native, arrays_of(shapes, seed), 1 + number)
    assert found > 3


def test_every_access_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    for queries in (1, 4, 30, "?"):
        program = program_of(attention(2, queries, 20))
        native = Native(program)
        for rows in (queries,) if isinstance(queries, int) else (1, 30):
            for length in (1, BLOCK + 5):
                agrees(program, native, arrays_of([(2, rows, 20), (2, length, 20), (2, length, 20)]), 2)


def test_one_row_of_an_open_number_has_code_of_its_own() -> None:
    """A decoder that takes prompts, too, has one query most of the time: its scores are sums, and nothing is packed."""
    strips = strips_of(program_of(attention(2, "?", 20)))
    assert strips is not None
    assert strips.single is not None
    assert strips.single.strips.height == 1
    assert list(by_function(strips, "main")) == ["main_one", "main_more"]


DECODER = """func.func @main(%q: tensor<?x3x1x16xf32>, %past: tensor<?x3x?x16xf32>, %new: tensor<?x3x1x16xf32>)
    -> tensor<?x3x1x16xf32> {
  %k = fuse.concatenate %past, %new, axis = 2 : (tensor<?x3x?x16xf32>, tensor<?x3x1x16xf32>) -> tensor<?x3x?x16xf32>
  %s = fuse.batch_matmul %q, %k, transpose_b = true
    : (tensor<?x3x1x16xf32>, tensor<?x3x?x16xf32>) -> tensor<?x3x1x?xf32>
  %scale = arith.constant dense<0.25> : tensor<f32>
  %m = fuse.multiply %s, %scale : (tensor<?x3x1x?xf32>, tensor<f32>) -> tensor<?x3x1x?xf32>
  %p = fuse.softmax %m : tensor<?x3x1x?xf32>
  %y = fuse.batch_matmul %p, %k : (tensor<?x3x1x?xf32>, tensor<?x3x?x16xf32>) -> tensor<?x3x1x16xf32>
  return %y : tensor<?x3x1x16xf32>
}"""


@pytest.mark.sums
def test_a_step_of_a_decoder_has_one_kernel_for_its_attention() -> None:
    module = fd.parse(DECODER)
    program = fd.compile(fd.parse(DECODER), strategy="cost", threads=2, cache=False)
    assert [kernel.family for kernel in program.kernels].count("strips") == 1
    assert not {kernel.family for kernel in program.kernels} & {"rows", "contraction"}
    for batch, past in ((1, 0), (2, 1), (3, BLOCK), (1, 900)):
        arrays = arrays_of([(batch, 3, 1, 16), (batch, 3, past, 16), (batch, 3, 1, 16)])
        (found,), (right,) = program(*arrays), fd.run(module, *arrays)
        np.testing.assert_allclose(found, right, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", ["cpu-avx512", "cpu-avx2"])
def test_what_cost_joins_has_a_schedule(name: str) -> None:
    """The law decides on forms, and strips on loops: a softmax that joins a product of open length is one pass."""
    machine, found = find_machine(name), 0
    for seed in range(60):
        module = fd.fuse_ops(fd.parse(random_pass(seed).text), strategy="cost", machine=name)
        for function in module.body.block.ops:
            assert isinstance(function, func.FuncOp)
            symbol, results = function.sym_name.data, function.function_type.outputs.data
            if "softmax" not in symbol or "matmul" not in symbol:
                continue
            # Of one column a product is a sum of each row, and rows run in step.
            if all(is_tensor(each) and each.get_shape()[-1] == 1 for each in results):
                continue
            program = lower(function)
            assert isinstance(program, LoopProgram)
            assert strips_of(simplify(program), machine) is not None, symbol
            found += 1
    assert found > 20
