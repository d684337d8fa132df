"""Kernels in checked mode: every access is checked, what lies outside is reported, and results stay the same."""

import re

import numpy as np
import pytest
from native_run import Native
from programs import PROGRAMS, apply, buffer, layer_norm, literal, read, result, softmax, transpose

import fuse_dialect as fd
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.checking import violations
from fuse_dialect.backends.checking.violations import raise_violations
from fuse_dialect.backends.llvm import LLVMBackend
from fuse_dialect.backends.llvm.backend import EmittedKernel
from fuse_dialect.backends.runtime.cache import open_cache
from fuse_dialect.checked import VARIABLE, CheckError
from fuse_dialect.loops.indices import Guard, loop
from fuse_dialect.loops.program import Axis, LoopProgram, Read, Stage

N = 37
AT = loop(0)


@pytest.fixture(autouse=True)
def _checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")


def map_of(*body, store=(AT,), size: int = N, inputs=("x",), element: str = "f32") -> LoopProgram:
    """A program of one stage that stores the last value of a body."""
    buffers = (*(buffer(name, N) for name in inputs), result(N))
    return LoopProgram("shifted", buffers, (Stage("shifted", "y", (Axis(size),), body, store=store),))


def checks(text: str) -> tuple[int, int]:
    """How many accesses a text has, and how many of them have a check before them."""
    lines = text.splitlines()
    access = re.compile(
        r"^  (?:%[\w.]+ = )?(?:load (?!ptr)|store |call .*@llvm\.masked\.|call .*@llvm\.mem(?:set|cpy))"
    )
    # Nobody but the check itself fills a workspace with ones.
    accesses = [place for place, line in enumerate(lines) if access.match(line) and "i8 -1" not in line]
    found = sum("@fuse." in lines[place - 1] for place in accesses)
    return len(accesses), found


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_access_has_a_check(name: str) -> None:
    program, _ = PROGRAMS[name]
    emitted = LLVMBackend().emit(KernelRequest(program(5, 37)))
    assert isinstance(emitted, EmittedKernel)
    kernel = emitted.ir_text.partition("define internal void @fuse.check")[0]
    count, checked = checks(kernel)
    assert count == checked > 0


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("rows", [1, 3, 17])
def test_right_programs_give_the_same(name: str, rows: int) -> None:
    program, meaning = PROGRAMS[name]
    made = program(rows, 45)
    rng = np.random.default_rng(0)
    arguments = [
        rng.uniform(-1, 1, each.shape).astype(np.float32) for each in made.buffers if each.role.value == "argument"
    ]
    for part in (1, 3):
        (got, *_) = Native(made)(*arguments, parts=part)
        np.testing.assert_allclose(got, meaning(*arguments), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "program",
    [
        map_of(read("x", AT + 1)),
        map_of(read("x", AT - 1)),
        map_of(read("x", AT * 2)),  # a gather
        map_of(read("x", AT), store=(AT + 3,)),
        map_of(Read("x", (AT + 1,), "f32", (Guard(AT, N),), literal(0.0))),  # the guard lets too much in
    ],
    ids=["behind", "before", "gather", "store", "guard"],
)
@pytest.mark.parametrize("families", [(), ("generic",)], ids=["vectors", "scalars"])
def test_accesses_outside_are_reported(program: LoopProgram, families: tuple[str, ...]) -> None:
    with pytest.raises(CheckError, match=r"'shifted.*bytes at -?\d+ of an array of 148"):
        Native(program, families=families)(np.ones(N, np.float32))
    raise_violations()  # a report is told once


def test_an_array_next_to_another_one_is_not_read_from_it() -> None:
    """Both lie in one piece of memory, as in an arena: nothing but their bounds keeps them apart."""
    program = map_of(read("x", AT + 1), read("w", AT), apply("arith.addf", 0, 1), inputs=("x", "w"))
    native = Native(program)
    memory = np.ones(2 * N, np.float32)
    with pytest.raises(CheckError, match="of an array of 148"):
        native(memory[:N], memory[N:])


def test_what_several_stages_pass_on_is_checked() -> None:
    for made in (softmax("n", 45), layer_norm(4, 45), transpose(20, 33)):
        shapes = [[4 if size == "n" else size for size in each.shape] for each in made.buffers]
        arguments = [
            np.ones(shape, np.float32)
            for shape, each in zip(shapes, made.buffers, strict=True)
            if each.role.value == "argument"
        ]
        Native(made)(*arguments)


def test_a_compiled_program_raises_what_its_kernels_report(monkeypatch: pytest.MonkeyPatch) -> None:
    module = fd.parse("""func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %y = fuse.tanh %x : tensor<4x8xf32>
      return %y : tensor<4x8xf32>
    }""")
    program = fd.compile(module)
    monkeypatch.setattr(violations, "_SITES", ["'main': a store"])
    violations._REPORT[:] = (2, 0, 128, 4, 128)
    with pytest.raises(CheckError, match="'main': a store: 4 bytes at 128 of an array of 128, and 1 more"):
        program(np.ones((4, 8), np.float32))


def test_kernels_of_checked_mode_are_not_kept() -> None:
    assert isinstance(open_cache(), str)


@pytest.mark.parametrize("target", ["haswell", "x86-64-v2"])
def test_models_of_all_families_have_no_access_outside(target: str) -> None:
    module = fd.parse("""
func.func @main(%x: tensor<1x5x9x11xf32>, %w: tensor<7x5x3x3xf32>, %m: tensor<33x17xf32>, %i: tensor<4xi64>)
    -> (tensor<1x7x5x6xf32>, tensor<33x33xf32>, tensor<4x17xf32>, tensor<17x33xi64>, tensor<1x5x4x5xf32>) {
  %c = fuse.conv2d %x, %w, strides = [2, 2], padding = [1, 1, 1, 1]
      : (tensor<1x5x9x11xf32>, tensor<7x5x3x3xf32>) -> tensor<1x7x5x6xf32>
  %t = fuse.transpose %m, permutation = [1, 0] : (tensor<33x17xf32>) -> tensor<17x33xf32>
  %p = fuse.matmul %m, %t : (tensor<33x17xf32>, tensor<17x33xf32>) -> tensor<33x33xf32>
  %s = fuse.softmax %p, axis = 1 : tensor<33x33xf32>
  %g = fuse.take %m, %i, axis = 0 : (tensor<33x17xf32>, tensor<4xi64>) -> tensor<4x17xf32>
  %o = fuse.argsort %t, axis = 1 : (tensor<17x33xf32>) -> tensor<17x33xi64>
  %q = fuse.max_pool2d %x, pool_size = [2, 2], strides = [2, 2] : (tensor<1x5x9x11xf32>) -> tensor<1x5x4x5xf32>
  return %c, %s, %g, %o, %q
      : tensor<1x7x5x6xf32>, tensor<33x33xf32>, tensor<4x17xf32>, tensor<17x33xi64>, tensor<1x5x4x5xf32>
}""")
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((1, 5, 9, 11), (7, 5, 3, 3), (33, 17))]
    inputs.append(rng.integers(0, 33, 4))
    for threads in (1, 2):
        program = fd.compile(module, target_cpu=target, threads=threads)
        for one, other in zip(fd.run(module, *inputs), program(*inputs), strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("operand", "moved", "result", "op"),
    [
        ("1x1x1x1x0xf32", "1x1x0x1xf32", "1x1x0x1xf32", "abs %r"),
        ("1x0xf32", "0x1xf32", "1xf32", "sum %r, axes = [0]"),
        ("1x0xf32", "0xf32", "f32", "prod %r, axes = [0]"),
        ("1x0xf32", "1x0x1xf32", "300x0x1xf32", "tile %r, reps = [300, 1, 1]"),
    ],
)
@pytest.mark.parametrize("strategy", ["tvm", "cost"])
def test_nothing_is_read_where_there_is_nothing(operand: str, moved: str, result: str, op: str, strategy: str) -> None:
    """An index along an axis without points is simplified to a constant, so its read is written before the loops."""
    module = fd.parse(f"""func.func @main(%x: tensor<{operand}>) -> tensor<{result}> {{
  %a = fuse.negative %x : tensor<{operand}>
  %r = fuse.reshape %a : (tensor<{operand}>) -> tensor<{moved}>
  %y = fuse.{op} : (tensor<{moved}>) -> tensor<{result}>
  return %y : tensor<{result}>
}}""")
    x = np.zeros([int(size) for size in operand.split("x")[:-1]], np.float32)
    (got,) = fd.compile(module, strategy=strategy)(x)
    np.testing.assert_array_equal(got, fd.run(module, x)[0])
