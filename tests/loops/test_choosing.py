"""Which kernel a program becomes: asked without a code generator, and the one that is written."""

import subprocess
import sys
from dataclasses import replace

import pytest
from xdsl.dialects import func

import fuse_dialect as fd
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.llvm.backend import EmittedKernel, LLVMBackend
from fuse_dialect.backends.llvm.processors import named
from fuse_dialect.loops.choosing import choose
from fuse_dialect.loops.families import FAMILIES
from fuse_dialect.loops.kernel_schedule import KernelSchedule, Sums
from fuse_dialect.loops.loop_nests import LoopNests
from fuse_dialect.loops.matrix_schedule import Matrices
from fuse_dialect.loops.program import Apply, LoopProgram, Refusal
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.lowering.loop_program import lower
from fuse_dialect.machines.names import find_machine

MAP = """func.func @main(%x: tensor<6x16xf32>) -> tensor<6x16xf32> {
  %y = fuse.exp %x : tensor<6x16xf32>
  return %y : tensor<6x16xf32>
}"""
ROWS = """func.func @main(%x: tensor<6x16xf32>) -> tensor<6x16xf32> {
  %y = fuse.softmax %x, axis = 1 : tensor<6x16xf32>
  return %y : tensor<6x16xf32>
}"""
PRODUCT = """func.func @main(%x: tensor<64x32xf32>, %w: tensor<32x48xf32>) -> tensor<64x48xf32> {
  %y = fuse.matmul %x, %w : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  return %y : tensor<64x48xf32>
}"""
FEW_ROWS = """func.func @main(%x: tensor<1x32xf32>, %w: tensor<48x32xf32>) -> tensor<1x48xf32> {
  %y = fuse.matmul %x, %w, transpose_b = true : (tensor<1x32xf32>, tensor<48x32xf32>) -> tensor<1x48xf32>
  return %y : tensor<1x48xf32>
}"""
GATE = """func.func @main(%x: tensor<64x32xf32>, %w: tensor<32x48xf32>, %v: tensor<32x48xf32>) -> tensor<64x48xf32> {
  %a = fuse.matmul %x, %w : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  %b = fuse.matmul %x, %v : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  %y = fuse.multiply %a, %b : tensor<64x48xf32>
  return %y : tensor<64x48xf32>
}"""
SIBLINGS = """func.func @main(
    %x: tensor<64x32xf32>, %w: tensor<32x48xf32>, %v: tensor<32x48xf32>, %z: tensor<64x32xf32>)
    -> (tensor<64x48xf32>, tensor<64x48xf32>, tensor<64x48xf32>) {
  %a = fuse.matmul %x, %w : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  %b = fuse.matmul %x, %v : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  %c = fuse.matmul %z, %w : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  return %a, %b, %c : tensor<64x48xf32>, tensor<64x48xf32>, tensor<64x48xf32>
}"""
POOL = """func.func @main(%x: tensor<1x8x8x16xf32>) -> tensor<1x7x7x16xf32> {
  %y = fuse.max_pool2d %x, pool_size = [2, 2], layout = "NHWC" : (tensor<1x8x8x16xf32>) -> tensor<1x7x7x16xf32>
  return %y : tensor<1x7x7x16xf32>
}"""
PROGRAMS = {"map": MAP, "rows": ROWS, "contraction": PRODUCT, "few rows": FEW_ROWS, "gate": GATE, "pool": POOL}
EXPECTED = {"few rows": "rows", "gate": "contraction", "pool": "contraction"}


def program_of(text: str) -> LoopProgram:
    (function,) = [op for op in fd.parse(text).body.block.ops if isinstance(op, func.FuncOp)]
    program = lower(function)
    assert isinstance(program, LoopProgram)
    return simplify(program)


@pytest.mark.parametrize("machine", ["x86-64-v2", "haswell", "skylake-avx512", "neoverse-n1"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_chosen_is_what_is_written(name: str, machine: str) -> None:
    program = program_of(PROGRAMS[name])
    constants = frozenset({1}) if "matmul" in PROGRAMS[name] and name != "few rows" else frozenset[int]()
    chosen = choose(program, named(machine).machine, constants)
    written = LLVMBackend(target=named(machine)).emit(KernelRequest(program, constants))
    assert isinstance(chosen, KernelSchedule)
    assert isinstance(written, EmittedKernel)
    assert chosen.family == written.family == EXPECTED.get(name, name)
    facts = (written.workspace_bytes, written.parallel, written.packings)
    assert (chosen.workspace_bytes, chosen.is_parallel, chosen.packings) == facts


def test_a_choice_depends_on_its_arguments_alone() -> None:
    program, machine = program_of(GATE), named("haswell").machine
    assert choose(program, machine) == choose(program_of(GATE), machine)
    assert choose(program, machine) != choose(program, named("skylake-avx512").machine)


def test_a_gate_is_passed_on_in_the_workspace() -> None:
    chosen = choose(program_of(GATE), named("haswell").machine)
    assert isinstance(chosen, KernelSchedule)
    assert isinstance(chosen.form, Sums)
    assert chosen.form.gate is not None
    assert chosen.form.gate.bytes == 64 * 48 * 4
    assert chosen.form.gate.is_shared
    assert chosen.workspace_bytes >= chosen.form.gate.bytes


@pytest.mark.parametrize(("rows", "family"), [(1024, "contraction"), (1025, "strips")])
def test_a_gate_that_passes_more_than_a_thread_has_memory_for_runs_in_strips(rows: int, family: str) -> None:
    chosen = choose(program_of(GATE.replace("64x", f"{rows}x").replace("48x", "1024x")), named("haswell").machine)
    assert isinstance(chosen, KernelSchedule)
    assert chosen.family == family


def test_parts_share_a_gate_only_where_both_products_are_cut_alike() -> None:
    machine = named("haswell").machine
    for constants, is_shared in (((), True), ((1, 2), True), ((1,), False)):
        chosen = choose(program_of(GATE), machine, frozenset(constants))
        assert isinstance(chosen, KernelSchedule)
        assert isinstance(chosen.form, Sums)
        assert chosen.form.gate is not None
        # Packed columns are cut otherwise than those that a part packs.
        assert chosen.form.gate.is_shared == chosen.is_parallel == is_shared
        assert set(chosen.packings) == set(constants)


def test_a_constant_that_several_stages_read_is_not_packed() -> None:
    chosen = choose(program_of(SIBLINGS), named("haswell").machine, frozenset({1, 2}))
    assert isinstance(chosen, KernelSchedule)
    assert isinstance(chosen.form, Sums)
    assert len(chosen.form.stages) == 3
    # Each reader of `%w` would want an order of its own; `%v` has one.
    assert set(chosen.packings) == {2}


def test_families_may_be_left_out() -> None:
    machine = named("haswell").machine
    for families in (("generic",), ("rows", "generic"), FAMILIES[1:]):
        chosen = choose(program_of(PRODUCT), machine, families=families)
        assert isinstance(chosen, KernelSchedule)
        assert chosen.family == families[0]
    assert isinstance(choose(program_of(MAP), machine, families=("rows",)), Refusal)


def test_tiles_are_a_family_where_the_processor_has_them() -> None:
    program = program_of(PRODUCT.replace("f32", "bf16"))
    for name, families, family in (
        ("sapphirerapids", FAMILIES, "tiles"),
        ("sapphirerapids", FAMILIES[1:], "contraction"),
        ("icelake-server", FAMILIES, "contraction"),
    ):
        chosen = choose(program, named(name).machine, frozenset({1}), families)
        assert isinstance(chosen, KernelSchedule)
        assert chosen.family == family


def test_what_has_no_kernel_says_why() -> None:
    program = program_of(MAP)
    narrow = replace(program, buffers=tuple(replace(buffer, element="f8E4M3FN") for buffer in program.buffers))
    refusal = choose(narrow, named("haswell").machine)
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "no native code for elements of type f8E4M3FN"


def test_choosing_needs_no_code_generator() -> None:
    code = "import sys, fuse_dialect.loops.choosing; print({'llvmlite', 'xdsl'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"


def test_a_function_without_native_code_is_named() -> None:
    program = program_of(MAP)
    (stage,) = program.stages
    body = tuple(replace(each, function="math.cbrt") if isinstance(each, Apply) else each for each in stage.body)
    refusal = choose(replace(program, stages=(replace(stage, body=body),)), named("haswell").machine)
    assert refusal == Refusal("'math.cbrt' has no native code")


@pytest.mark.parametrize(
    ("columns", "machine", "lanes"),
    [(9, "cpu-avx512", 16), (8, "cpu-avx512", 8), (4, "cpu-avx512", 4), (3, "cpu-avx2", 4), (5, "cpu-avx2", 8)],
)
def test_few_columns_are_short_vectors(columns: int, machine: str, lanes: int) -> None:
    chosen = choose(program_of(PRODUCT.replace("48x", f"{columns}x")), find_machine(machine))
    assert isinstance(chosen, KernelSchedule)
    assert isinstance(chosen.form, Sums)
    (stage,) = chosen.form.stages
    assert isinstance(stage.plan, Matrices)
    assert stage.plan.lanes == lanes


@pytest.mark.parametrize(
    ("channels", "machine", "widths"),
    [
        (24, "cpu-avx2", [32, 16, 8, 0]),
        (45, "cpu-avx2", [32, 8, 4, 0]),
        (3, "cpu-avx2", [32, 0]),
        (24, "cpu-sse2", [16, 8, 0]),
        (24, "cpu-avx512", [64, 64]),
        (16, "cpu-avx512", [16, 64]),
    ],
)
def test_a_rest_is_shorter_vectors_where_no_mask_does_as_well(channels: int, machine: str, widths: list[int]) -> None:
    x = f"tensor<9x9x{channels}xui8>"
    text = f"""func.func @main(%x: {x}, %y: tensor<9x9x1xui8>) -> {x} {{
      %r = fuse.add %x, %y : ({x}, tensor<9x9x1xui8>) -> {x}
      return %r : {x}
    }}"""
    chosen = choose(program_of(text), find_machine(machine))
    assert isinstance(chosen, KernelSchedule)
    assert isinstance(chosen.form, LoopNests)
    ((form,),) = chosen.form.forms
    found = [part.lanes for part in form.vector_loops if part.unroll == 1]
    assert found == widths
