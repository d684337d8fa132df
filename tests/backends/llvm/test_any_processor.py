"""Code for any processor calls nothing but the C library: no runtime library of a compiler is in the process."""

import ctypes
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from op_examples import examples, functions
from test_ops_as_loops import WITHOUT_LOOPS

import fuse_dialect as fd
from fuse_dialect.backends.assembler.elf import undefined_symbols
from fuse_dialect.backends.assembler.engine import assembly, compile_object, host, object_for
from fuse_dialect.backends.assembler.host import Host
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.llvm import LLVMBackend
from fuse_dialect.backends.llvm.processors import named, target_of
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.loops.program import LoopProgram, Refusal
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower
from fuse_dialect.machines.environment import VARIABLE
from fuse_dialect.machines.processors import PROCESSORS

X86, ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
TARGETS = {
    **dict.fromkeys(("x86-64", "x86-64-v2", "haswell", "skylake-avx512", "znver3", "znver4", "sapphirerapids"), X86),
    "neoverse-n1": ARM,
}
TRANSCENDENTAL = "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp2 expm1 log1p log2 erf pow"
ALLOWED = frozenset(
    {
        "memcpy",
        "memset",
        *(f"{name}{suffix}" for name in f"{TRANSCENDENTAL} fmod fma ceil floor trunc".split() for suffix in ("", "f")),
    }
)
"""What kernels may call: every C library of the last twenty years has it."""
ELEMENTS = ("f32", "f64", "f16", "bf16", "i1", "i8", "ui8", "i64")
FLOATS = ("f32", "f64", "f16", "bf16")
BODIES: dict[str, tuple[tuple[str, ...], str]] = {
    "map": (
        FLOATS,
        """func.func @f(%x: tensor<5x37xE>, %s: tensor<1xE>) -> tensor<5x37xE> {
  %0 = fuse.multiply %x, %s : (tensor<5x37xE>, tensor<1xE>) -> tensor<5x37xE>
  %1 = fuse.minimum %0, %s : (tensor<5x37xE>, tensor<1xE>) -> tensor<5x37xE>
  %2 = fuse.less %1, %s : (tensor<5x37xE>, tensor<1xE>) -> tensor<5x37xi1>
  %3 = fuse.where %2, %0, %1 : (tensor<5x37xi1>, tensor<5x37xE>, tensor<5x37xE>) -> tensor<5x37xE>
  %4 = fuse.tanh %3 : tensor<5x37xE>
  return %4 : tensor<5x37xE>
}""",
    ),
    "transpose": (
        ELEMENTS,
        """func.func @f(%x: tensor<19x37xE>) -> tensor<37x19xE> {
  %0 = fuse.transpose %x, permutation = [1, 0] : (tensor<19x37xE>) -> tensor<37x19xE>
  return %0 : tensor<37x19xE>
}""",
    ),
    "rows": (
        FLOATS,
        """func.func @f(%x: tensor<5x37xE>) -> tensor<5x37xE> {
  %0 = fuse.softmax %x, axis = 1 : tensor<5x37xE>
  return %0 : tensor<5x37xE>
}""",
    ),
    "maximum": (
        tuple(each for each in ELEMENTS if each != "i1"),
        """func.func @f(%x: tensor<5x37xE>) -> tensor<5xE> {
  %0 = fuse.max %x, axes = [1] : (tensor<5x37xE>) -> tensor<5xE>
  return %0 : tensor<5xE>
}""",
    ),
    "product": (
        FLOATS,
        """func.func @f(%x: tensor<9x19xE>, %w: tensor<19x37xE>, %b: tensor<1xE>) -> tensor<9x37xE> {
  %0 = fuse.matmul %x, %w : (tensor<9x19xE>, tensor<19x37xE>) -> tensor<9x37xE>
  %1 = fuse.add %0, %b : (tensor<9x37xE>, tensor<1xE>) -> tensor<9x37xE>
  %2 = fuse.relu %1 : tensor<9x37xE>
  return %2 : tensor<9x37xE>
}""",
    ),
    "convolution": (
        FLOATS,
        """func.func @f(%x: tensor<1x9x9x16xE>, %w: tensor<3x3x16x24xE>) -> tensor<1x9x9x24xE> {
  %0 = fuse.conv2d %x, %w, padding = [1, 1, 1, 1], data_layout = "NHWC", kernel_layout = "HWIO"
    : (tensor<1x9x9x16xE>, tensor<3x3x16x24xE>) -> tensor<1x9x9x24xE>
  return %0 : tensor<1x9x9x24xE>
}""",
    ),
    "pool": (
        FLOATS,
        """func.func @f(%x: tensor<1x9x9x16xE>) -> tensor<1x4x4x16xE> {
  %0 = fuse.max_pool2d %x, pool_size = [2, 2], strides = [2, 2], layout = "NHWC"
    : (tensor<1x9x9x16xE>) -> tensor<1x4x4x16xE>
  return %0 : tensor<1x4x4x16xE>
}""",
    ),
}
"""Programs for each form of kernel, with `E` for the element type."""
targets = pytest.mark.parametrize("name", TARGETS)


@cache
def programs_of_families() -> tuple[LoopProgram, ...]:
    """Lowered once: what is written for a processor begins with the same loops."""
    return tuple(_programs_of_families())


@cache
def programs_of_ops() -> tuple[LoopProgram, ...]:
    """Every op on every element type, in one form; lowered once, too."""
    return tuple(_programs_of_ops())


def _programs_of_families() -> Iterator[LoopProgram]:
    for elements, text in BODIES.values():
        for element in elements:
            function = next(iter(fd.parse(text.replace("E", element)).ops))
            program = lower(function)
            assert isinstance(program, LoopProgram), program
            yield simplify(program)


def _programs_of_ops() -> Iterator[LoopProgram]:
    seen: set[tuple[object, ...]] = set()
    for op in ALL_OPS:
        if op.name in WITHOUT_LOOPS:
            continue
        for example in examples().get(op.name, []):
            for function in functions(example):
                elements = [value.type.element_type for value in function.body.block.args if is_tensor(value.type)]
                program = None if (op.name, *elements) in seen else lower(function)
                if isinstance(program, LoopProgram):
                    seen.add((op.name, *elements))
                    yield simplify(program)


def called(programs: Iterable[LoopProgram], name: str, families: tuple[str, ...] = ()) -> tuple[set[str], set[str]]:
    """What the kernels of programs call, in one module for all; and of which families they are."""
    backend = LLVMBackend(target=named(name), families=families)
    module = backend.module()
    found: set[str] = set()
    for number, program in enumerate(programs):
        emitted = backend.emit(KernelRequest(replace(program, name=f"f{number}")), module)
        assert not isinstance(emitted, Refusal) or "is not known" in emitted.reason, emitted
        found |= set() if isinstance(emitted, Refusal) else {emitted.family}
    return set(undefined_symbols(object_for(module.text(), backend.target, TARGETS[name]))), found


@targets
def test_kernels_of_every_family_and_element_type_call_only_the_c_library(name: str) -> None:
    symbols, families = called(programs_of_families(), name)
    tiles = {"tiles"} if name == "sapphirerapids" else set[str]()
    assert families == {"contraction", "map", "rows"} | tiles
    assert symbols <= ALLOWED


@targets
def test_plain_loops_call_only_the_c_library(name: str) -> None:
    symbols, families = called(programs_of_families(), name, ("generic",))
    assert families == {"generic"}
    assert symbols <= ALLOWED


@pytest.mark.slow
@pytest.mark.parametrize("name", ["x86-64", "haswell", "znver4", "neoverse-n1"])
def test_kernels_of_every_op_call_only_the_c_library(name: str) -> None:
    symbols, _ = called(programs_of_ops(), name)
    assert symbols <= ALLOWED


def test_what_kernels_may_call_is_in_this_process() -> None:
    process = ctypes.CDLL(None)
    assert [symbol for symbol in sorted(ALLOWED) if not hasattr(process, symbol)] == []


@pytest.mark.parametrize("name", sorted(PROCESSORS))
def test_the_table_says_what_llvm_knows(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """LLVM uses an instruction where the table has its feature, by the processor's name alone."""
    features = PROCESSORS[name]
    triple = ARM if "neon" in features else X86
    fma = "%y = call float @llvm.fma.f32(float %x, float %x, float %x)"
    rint = "%y = call float @llvm.rint.f32(float %x)"
    half = "%h = fptrunc float %x to half\n  %y = fpext half %h to float"

    def is_instruction(body: str) -> bool:
        text = f"define float @f(float %x) {{\n  {body}\n  ret float %y\n}}\n"
        text += "declare float @llvm.fma.f32(float, float, float)\ndeclare float @llvm.rint.f32(float)"
        return undefined_symbols(object_for(text, Host(name, ""), triple)) == []

    assert is_instruction(fma) == bool(features & {"fma", "neon"})
    assert is_instruction(rint) == bool(features & {"sse4.1", "neon"})
    assert is_instruction(half) == bool(features & {"f16c", "neon"})
    assert "not a recognized" not in capfd.readouterr().err


@pytest.mark.skipif("+sse2" not in host().features, reason="the names are of x86")
@pytest.mark.parametrize("name", [name for name, features in PROCESSORS.items() if "sse2" in features])
def test_no_target_has_more_than_this_processor(name: str) -> None:
    mine, target = set(host().features.split(",")), target_of(name)
    on = {feature for feature in target.features.split(",") if feature.startswith("+")}
    assert on <= mine
    assert {feature for feature in mine if feature.startswith("-")} <= set(target.features.split(","))
    assert (target.cpu, target.machine.vector_bytes <= host().machine.vector_bytes) == (name, True)
    assert compile_object("define void @f() {\n  ret void\n}", target)


def test_a_feature_that_is_missing_is_not_used() -> None:
    text = "define <8 x float> @f(<8 x float> %x) {\n  %y = fadd <8 x float> %x, %x\n  ret <8 x float> %y\n}"
    if "+avx" in host().features:
        assert "ymm" in assembly(text, target_of("haswell"))
        assert "ymm" not in assembly(text, target_of("x86-64-v2"))


def test_unknown_processors_are_named_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FuseError, match="unknown machine 'haswel'") as caught:
        target_of("haswel")
    assert caught.value.diagnostic.hint == "did you mean 'haswell'?"
    foreign = "neoverse-n1" if "+sse2" in host().features else "haswell"
    with pytest.raises(FuseError, match="does not run on this one"):
        target_of(foreign)
    monkeypatch.setenv(VARIABLE, "haswel")
    with pytest.raises(FuseError, match="unknown machine"):
        LLVMBackend()


@pytest.mark.skipif("+avx2" not in host().features, reason="the processor has no AVX2")
def test_the_environment_names_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "haswell")
    assert LLVMBackend().target.cpu == "haswell"
    assert target_of("x86-64-v2").cpu == "x86-64-v2"
    monkeypatch.setenv(VARIABLE, "")
    assert target_of() == host()


@pytest.mark.skipif("+avx2" not in host().features, reason="the processor has no AVX2")
@pytest.mark.parametrize("cpu", ["x86-64", "haswell", "native"])
def test_compile_takes_a_processor(cpu: str) -> None:
    module = fd.parse(
        """func.func @main(%x: tensor<5xbf16>, %y: tensor<5xf16>) -> (tensor<5xbf16>, tensor<5xf16>) {
  %0 = fuse.exp %x : tensor<5xbf16>
  %1 = fuse.exp %y : tensor<5xf16>
  return %0, %1 : tensor<5xbf16>, tensor<5xf16>
}"""
    )
    program = fd.compile(module, target_cpu=cpu)
    assert {kernel.family for kernel in program.kernels} == {"map"}
    x = np.linspace(-3, 3, 5, dtype=np.float32)
    wide = np.exp(x.astype(np.float16).astype(np.float32))
    bf16 = fd.run(module, x.astype(np.dtype("bfloat16")), x.astype(np.float16))[0]
    results = program(x.astype(np.dtype("bfloat16")), x.astype(np.float16))
    np.testing.assert_array_equal(results[0].view(np.uint16), bf16.view(np.uint16))
    np.testing.assert_allclose(results[1].astype(np.float32), wide, rtol=2**-10)
