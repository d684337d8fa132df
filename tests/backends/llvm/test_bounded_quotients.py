"""Quotients that become bytes are products, and give the bytes that divisions give."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from native_run import Native
from test_byte_products import TARGETS

from fuse_dialect.backends.assembler.host import AVX2, SSE2
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.llvm import LLVMBackend
from fuse_dialect.backends.llvm.backend import EmittedKernel
from fuse_dialect.backends.llvm.processors import named
from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.loops import run_loops
from fuse_dialect.loops.byte_rounding import with_rounding
from fuse_dialect.loops.functions import CUT_BYTE, Variant
from fuse_dialect.loops.indices import loop
from fuse_dialect.loops.program import Apply, Axis, Body, Buffer, Instruction, Literal, LoopProgram, Read, Role, Stage
from fuse_dialect.machines.machine import Machine

SIZE = 1111
EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-38, 3e38, -3e38, 1e30, -1e30, 2.0**-80, 1.5, 1e9, -1e9]
SCALES = [0.013, 1.0, 3.0, 0.1, 7e-5, 2.0**-60, 2.0**60, 1e-19, 1.9999999]
OTHERS = [0.0, -0.0, -0.3, 1e-30, 1e30, 1e-45, 3e38, np.inf, -np.inf, np.nan]
"""Of these no reciprocal does, or a quotient by them is of another sign."""
ZEROS = [0.0, 100.0, 255.0, 0.5, -3.0, 511.0, 600.0, -600.0, 5000.0, -1e9, np.inf, np.nan]
S, Z = Read("s", (), "f32"), Read("z", (), "f32")


def program(divisor: Instruction, zero: Instruction | None, *more: Instruction) -> LoopProgram:
    """`fptoui(roundeven(x / s) + z)`."""
    body: Body = (Read("x", (loop(0),), "f32"), divisor, Apply("arith.divf", (0, 1), "f32"))
    body = (*body, Apply("math.roundeven", (2,), "f32"))
    if zero is not None:
        body = (*body, zero, Apply("arith.addf", (3, 4), "f32"))
    body = (*body, Apply("arith.fptoui", (len(body) - 1,), "i8"), *more)
    numbers = [name for name, each in (("s", divisor), ("z", zero)) if isinstance(each, Read)]
    buffers = (
        Buffer("x", "f32", (SIZE,), Role.ARGUMENT),
        *(Buffer(name, "f32", (), Role.ARGUMENT) for name in numbers),
        Buffer("y", "ui8", (SIZE,), Role.RESULT),
    )
    return LoopProgram("f", buffers, (Stage("f", "y", (Axis(SIZE),), body),))


def dividends(scale: float) -> Array:
    """Edges, and what lies at and beside a step: halves of steps, and their neighbours."""
    random = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        halves = (np.arange(-300, 600) / 2 * np.float64(scale)).astype(np.float32)
        beside = [np.nextafter(halves, np.float32(to)) for to in (-np.inf, np.inf)]
        others = [random.uniform(-400, 400, 400) * scale, random.choice([*halves, *beside[0], *beside[1]], 1000)]
        return np.concatenate([EDGES, *others]).astype(np.float32)[:SIZE]


def assert_as_interpreted(wanted: LoopProgram, target: str, *arrays: Array) -> None:
    with np.errstate(all="ignore"):
        (expected,) = run_loops(wanted, arrays)
    np.testing.assert_array_equal(Native(wanted, TARGETS[target])(*arrays)[0], expected)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("zero", [None, Z])
def test_a_divisor_that_a_loop_shares(target: str, zero: Read | None) -> None:
    wanted = program(S, zero)
    native = Native(wanted, TARGETS[target])
    for scale in [*SCALES, *OTHERS]:
        for number in ZEROS if zero is not None else [None]:
            numbers = [scale] if number is None else [scale, number]
            arrays = [dividends(scale), *(np.array(each, np.float32) for each in numbers)]
            with np.errstate(all="ignore"):
                (expected,) = run_loops(wanted, arrays)
            np.testing.assert_array_equal(native(*arrays)[0], expected, f"{scale} {number}")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("scale", [*SCALES, *OTHERS])
@pytest.mark.parametrize("zero", [None, 100.0, 0.5, 600.0])
def test_a_divisor_that_is_known(target: str, scale: float, zero: float | None) -> None:
    wanted = program(Literal(float(np.float32(scale)), "f32"), None if zero is None else Literal(zero, "f32"))
    assert_as_interpreted(wanted, target, dividends(scale))


def marks(wanted: LoopProgram, machine: Machine = AVX2.machine) -> list[object]:
    stage = with_rounding(wanted, machine).stages[0]
    return [each.parameter for each in stage.body if isinstance(each, Apply) and each.function == "arith.divf"]


def test_quotients_that_become_bytes_are_bounded() -> None:
    assert marks(program(S, None)) == marks(program(S, Z)) == [Variant.BOUNDED]
    assert marks(program(Literal(0.5, "f32"), Literal(9.0, "f32"))) == [Variant.BOUNDED]
    assert marks(program(S, Literal(-512.0, "f32"))) == [Variant.BOUNDED]


@pytest.mark.parametrize(
    "wanted",
    [
        program(Literal(2.0**-61, "f32"), None),
        program(Literal(2.0**61, "f32"), None),
        program(Literal(-1.0, "f32"), None),
        program(Literal(0.5, "f32"), Z),
        program(S, Literal(513.0, "f32")),
        program(S, Literal(float("nan"), "f32")),
        program(S, None, Apply("arith.fptoui", (2,), "i8"), Apply("arith.addi", (4, 5), "i8")),
    ],
)
def test_others_are_not(wanted: LoopProgram) -> None:
    assert marks(wanted) == [None]


def test_processors_without_fused_products_divide() -> None:
    assert marks(program(S, None), named("nehalem").machine) == marks(program(S, None), SSE2.machine) == [None]


def test_a_computed_zero_point_is_added_as_it_is() -> None:
    stage = with_rounding(program(S, Z), AVX2.machine).stages[0]
    last = stage.body[-1]
    assert isinstance(last, Apply)
    assert (last.function, last.operands) == (CUT_BYTE, (5,))


def test_maps_that_end_in_bytes_are_four_vectors_at_once() -> None:
    emitted = LLVMBackend(target=AVX2).emit(KernelRequest(program(S, Z)))
    assert isinstance(emitted, EmittedKernel)
    assert "@llvm.x86.avx2.packuswb" in emitted.ir_text
