"""The generator of random programs: what it meets, and that it finds, shrinks and survives what is wrong."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import fuzz_programs
import numpy as np
import pytest
from fuzzing import comparing, running, ways
from fuzzing.arrays import ELEMENTS, FLOATS, INTEGERS, SIZE_CLASSES, name_of
from fuzzing.comparing import Given, Reference
from fuzzing.controlled import add_control_flow
from fuzzing.coverage import Coverage
from fuzzing.generator import make_program
from fuzzing.onnx_way import disagreeing
from fuzzing.op_edges import edges_met, possible
from fuzzing.program import RandomProgram, Source, Step
from fuzzing.reporting import write_finding
from fuzzing.shrinking import in_fork, shrink, smaller_programs
from xdsl.dialects.builtin import DenseArrayBase, f32, i1, i32, i64

from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.ops.activation import ReluOp
from fuse_dialect.dialect.ops.broadcast import MaximumOp
from fuse_dialect.dialect.ops.conversion import BitcastOp, CastOp
from fuse_dialect.dialect.ops.elementwise import ExpOp, NegativeOp, ReciprocalOp
from fuse_dialect.dialect.ops.opaque import ArgsortOp
from fuse_dialect.dialect.ops.reduction import ProdOp, SumOp
from fuse_dialect.dialect.types import Tensor, element_type_of, tensor
from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.interpreters.numpy import run_module
from fuse_dialect.pattern_kind import PatternKind

TOOL = Path(__file__).parents[2] / "tools" / "fuzz_programs.py"
FIRST, SEEDS = 9900, 9500
"""Seeds of programs that together meet what each op must be met with; which do changes with each op that is added."""
ALSO = (21220, 24303, 63581)
"""Seeds of what these meet seldom."""
ALL = frozenset(map(name_of, ELEMENTS))
ADMITTED = (
    (r"any|everything|as `resize2d`", ALL),
    (r"i1\.", frozenset({"i1"})),
    (r"i1 for the condition, any", ALL),
    (r"all but i1", ALL - {"i1"}),
    (r"(one type of |input and updates of one type of )?numbers", ALL - {"i1"}),
    (r"(one )?floating[ -]point|input and rois|boxes, scores and thresholds", frozenset(map(name_of, FLOATS))),
    (r"integers but i1", frozenset(map(name_of, INTEGERS))),
    (r"integer indices", ALL),
    (r"f32 for all but the weight", frozenset({"f32"})),
    (r"f32 or f64", frozenset({"f32", "f64"})),
    (r"i8, ui8 or i32", frozenset({"i8", "ui8", "i32"})),
    (r"`fill`|a tuple|any number of tensors", ALL),
)  # fmt: skip
"""What the docstring of an op says of its types, and which these are."""


IMPOSSIBLE = {"fuse.band": {"open"}, "fuse.full": {"open"}, "fuse.split": {"scalar"}}
"""Size classes that the shape rule of an op excludes, though its docstring says `any`."""


@pytest.fixture(scope="module")
def coverage() -> Coverage:
    """What the programs of all seeds meet."""
    found = Coverage()
    for seed in (*range(FIRST, FIRST + SEEDS), *ALSO):
        program = make_program(seed)
        if program is not None:
            found.add(program)
    return found


def admitted(op_class: type[FuseOp]) -> frozenset[str]:
    """The element types that the docstring promises."""
    words = re.search(r"Types: (.*)", op_class.__doc__ or "")
    assert words is not None, op_class.name
    for pattern, types in ADMITTED:
        if re.match(pattern, words.group(1)):
            return types
    raise AssertionError(f"{op_class.name}: {words.group(1)}")


@pytest.mark.slow
@pytest.mark.parametrize("op_class", ALL_OPS, ids=lambda op: op.name)
def test_an_op_is_met_in_every_element_type_that_it_admits(coverage: Coverage, op_class: type[FuseOp]) -> None:
    missing = admitted(op_class) - coverage.elements_of(op_class.name)
    assert not missing, f"never met by {SEEDS} seeds from {FIRST} on: {sorted(missing)}"


@pytest.mark.slow
@pytest.mark.parametrize("op_class", ALL_OPS, ids=lambda op: op.name)
def test_an_op_is_met_in_every_size_class(coverage: Coverage, op_class: type[FuseOp]) -> None:
    # An op whose docstring asks for axes has no scalars.
    takes_scalars = re.search(r"Shapes: (any[,;:.] |any\.|broadcast)", op_class.__doc__ or "") is not None
    expected = set(SIZE_CLASSES) - ({"scalar"} if not takes_scalars else set())
    missing = expected - IMPOSSIBLE.get(op_class.name, set()) - coverage.sizes_of(op_class.name)
    assert not missing, f"never met by {SEEDS} seeds from {FIRST} on: {sorted(missing)}"


@pytest.mark.slow
@pytest.mark.parametrize("op_class", ALL_OPS, ids=lambda op: op.name)
def test_an_op_is_met_with_every_structural_edge(coverage: Coverage, op_class: type[FuseOp]) -> None:
    missing = {edge for edge in possible(op_class) if not coverage.edges[op_class.name, edge]}
    assert not missing, f"never met by {SEEDS} seeds from {FIRST} on: {sorted(missing)}"


def test_edges_are_found_in_programs() -> None:
    def edges(program: RandomProgram) -> set[tuple[str, str]]:
        return set(edges_met(program))

    program = chain(NegativeOp, ExpOp)
    assert edges(program) == set()
    assert edges(replace(program, outputs=(2, 2))) == {("fuse.exp", "returned-twice")}
    assert edges(replace(program, outputs=(2, 1))) == {("fuse.negative", "read-and-returned")}
    assert edges(replace(program, outputs=(2, 0))) == {("fuse.negative", "source-returned")}
    again = replace(program.steps[0], results=(3,))
    assert edges(replace(program, steps=(*program.steps, again), outputs=(2, 3))) == {
        ("fuse.negative", "same-op-again")
    }
    other = replace(program.steps[1], op_class=ReluOp, results=(3,))
    assert edges(replace(program, steps=(*program.steps, other), outputs=(2, 3))) == {("fuse.negative", "read-by-two")}
    type = program.sources[0].type
    doubled = replace(program, steps=(Step(MaximumOp, (0, 0), (1,), (type,)),), outputs=(1,))
    assert edges(doubled) == {("fuse.maximum", "one-operand-twice")}


@pytest.mark.slow
def test_every_kind_reads_every_kind(coverage: Coverage) -> None:
    kinds = [kind for kind in PatternKind if any(op.traits is not None for op in ALL_OPS)]
    pairs = coverage.pairs
    # Only another tuple, and what takes one apart, reads a tuple.
    expected = {(a.name, b.name) for a in kinds for b in kinds if a is not PatternKind.TUPLE}
    expected |= {("TUPLE", "TUPLE"), ("TUPLE", "INJECTIVE")}
    assert expected <= set(pairs), sorted(expected - set(pairs))


@pytest.mark.slow
def test_every_op_makes_what_another_reads_and_reads_what_another_makes(coverage: Coverage) -> None:
    taking = {op.name for op in ALL_OPS if op.get_irdl_definition().operands}
    makers, readers = ({pair[side] for pair in coverage.neighbours} for side in (0, 1))
    assert not {op.name for op in ALL_OPS} - makers
    assert not taking - readers


def test_a_seed_makes_the_same_program_again() -> None:
    for seed in range(40):
        one, other = make_program(seed), make_program(seed)
        assert str(one and one.module()) == str(other and other.module())
        if one is not None and other is not None:
            assert [x.tobytes() for x in one.inputs] == [x.tobytes() for x in other.inputs]


def chain(*steps: type[FuseOp]) -> RandomProgram:
    """A program of unary ops on 3x5 numbers."""
    type = tensor([3, 5], f32)
    array = np.arange(15, dtype=np.float32).reshape(3, 5) / 8
    made = tuple(Step(op, (place,), (place + 1,), (type,)) for place, op in enumerate(steps))
    return RandomProgram(0, {0: Source(type, array)}, made, (len(steps),))


def test_rounding_is_no_mismatch_and_a_wrong_element_is() -> None:
    reference = Reference(chain(ExpOp, NegativeOp))
    (output,) = reference.outputs
    nearby = np.nextafter(output, np.float32(0))
    assert reference.mismatch([nearby]) is None
    wrong = output.copy()
    wrong[1, 2] *= np.float32(1.001)
    found = reference.mismatch([wrong])
    assert found is not None
    assert "first at [1, 2]" in found.text


def test_exact_ops_must_not_round() -> None:
    reference = Reference(chain(NegativeOp))
    (output,) = reference.outputs
    assert reference.mismatch([output.copy()]) is None
    assert reference.mismatch([np.nextafter(output, np.float32(9))]) is not None
    # -0.0 in place of 0.0
    assert reference.mismatch([np.abs(output) * np.where(output == 0, 1, -1).astype(np.float32)]) is not None


def test_an_element_that_depends_on_rounding_says_nothing() -> None:
    from fuse_dialect.dialect.ops.elementwise import FloorOp

    program = chain(ExpOp, FloorOp)
    program.sources[0].array[0, 0] = 0  # exp gives 1, on which floor jumps
    reference = Reference(program)
    (output,) = reference.outputs
    below, other = output.copy(), output.copy()
    below[0, 0] -= 1
    other[0, 1] -= 1
    assert reference.mismatch([below]) is None
    assert reference.mismatch([other]) is not None


def one_op(op_class: type[FuseOp], array: Array, result: Tensor, after: type[FuseOp] | None = None) -> RandomProgram:
    """A program of one op, and perhaps another one behind it that keeps the type or gives indices."""
    type = tensor(array.shape, element_type_of(array.dtype))
    steps = [Step(op_class, (0,), (1,), (result,))]
    if after is not None:
        steps.append(Step(after, (1,), (2,), (tensor(result.get_shape(), i32 if after is BitcastOp else i64),)))
    return RandomProgram(0, {0: Source(type, array)}, tuple(steps), (len(steps),))


def test_bits_of_a_nan_that_an_op_makes_say_nothing() -> None:
    array = np.array([np.nan, 2], np.float32)
    reference = Reference(one_op(NegativeOp, array, tensor([2], f32), BitcastOp))
    (output,) = reference.outputs
    nan, number = output.copy(), output.copy()
    nan[0] ^= np.int32(-(2**31))
    number[1] ^= np.int32(-(2**31))
    assert reference.mismatch([nan]) is None
    assert reference.mismatch([number]) is not None
    # Bits of what was given are moved, not made.
    given = Reference(one_op(BitcastOp, np.array([np.nan], np.float32), tensor([1], i32)))
    assert given.mismatch([given.outputs[0] ^ np.int32(-(2**31))]) is not None


def test_signs_of_zeros_that_an_op_leaves_open_say_nothing_as_bits() -> None:
    array = np.array([0, 2], np.float32)
    for op_class, is_open in ((ReluOp, True), (NegativeOp, False)):
        reference = Reference(one_op(op_class, array, tensor([2], f32), BitcastOp))
        for place, says_nothing in ((0, is_open), (1, False)):
            output = reference.outputs[0].copy()
            output[place] ^= np.int32(-(2**31))
            assert (reference.mismatch([output]) is None) == says_nothing


def test_signs_of_zeros_that_a_sum_leaves_open_say_nothing_in_a_quotient() -> None:
    for op_class, is_open in ((ReluOp, True), (NegativeOp, False)):
        program = one_op(op_class, np.array([0, 2], np.float32), tensor([2], f32))
        steps = (*program.steps, Step(ReciprocalOp, (1,), (2,), (tensor([2], f32),)))
        reference = Reference(replace(program, steps=steps, outputs=(2,)))
        assert (reference.mismatch([reference.outputs[0] * np.array([-1, 1], np.float32)]) is None) == is_open
        assert reference.mismatch([reference.outputs[0] * np.array([1, -1], np.float32)]) is not None


SAMPLED = """func.func @main(%x: tensor<1x{0}x1x4xf32>, %offset: tensor<1x2x1x4xf32>) -> tensor<1x1x1x4xf32> {{
  %mask = arith.constant dense<1.0> : tensor<1x1x1x4xf32>
  %weight = arith.constant dense<1.0> : tensor<1x{0}x1x1xf32>
  %y = fuse.deformable_conv2d %x, %offset, %mask, %weight : (tensor<1x{0}x1x4xf32>, tensor<1x2x1x4xf32>,
    tensor<1x1x1x4xf32>, tensor<1x{0}x1x1xf32>) -> tensor<1x1x1x4xf32>
  return %y : tensor<1x1x1x4xf32>
}}"""


def sampled(rows: Sequence[Sequence[float]], along: Sequence[float]) -> Reference:
    """Images of one line each, read at places moved along it, and summed."""
    offset = np.zeros((1, 2, 1, 4), np.float32)
    offset[0, 1, 0] = along
    image = np.array(rows, np.float32).reshape(1, -1, 1, 4)
    return Reference(Given(parse_mlir(SAMPLED.format(len(rows))), [image, offset]))


def test_a_place_beside_a_pixel_may_be_that_of_the_pixel() -> None:
    row = [1, 2, np.inf, 3]
    for offset, depends in ((1 + 2**-22, True), (1.5, False)):
        reference = sampled([row], [offset, 0, 1, 0])
        assert reference.outputs[0][0, 0, 0, 0] == np.inf
        for other in (2, np.nan):  # before the pixel, and at it: infinity counts 0 times
            output = reference.outputs[0].copy()
            output[0, 0, 0, 0] = other
            assert (reference.mismatch([output]) is None) == depends


def test_what_is_sampled_may_overflow_where_it_is_read() -> None:
    greatest = float(np.finfo(np.float32).max)
    for size, depends in ((greatest, True), (1, False)):
        # Read at the first pixel; places without signs would lie behind the last one.
        reference = sampled([[size, 0, 0, 0], [size, 0, 0, 0], [-size, 0, 0, 0]], [0, 0, 0, -3])
        output = reference.outputs[0].copy()
        output[0, 0, 0, 3] = np.nan
        assert (reference.mismatch([output]) is None) == depends


def test_a_sum_that_cancels_may_be_zero() -> None:
    array = np.array([[1, 2**-23 - 1], [1, 2]], np.float32)
    sums = one_op(SumOp, array, tensor([2], f32), CastOp)
    steps = (replace(sums.steps[0], properties={"axes": DenseArrayBase.from_list(i64, [1])}),)
    steps = (*steps, replace(sums.steps[1], result_types=(tensor([2], i1),)))
    reference = Reference(replace(sums, steps=steps))
    np.testing.assert_array_equal(reference.outputs[0], [True, True])
    assert reference.mismatch([np.array([False, True])]) is None
    assert reference.mismatch([np.array([True, False])]) is not None


def test_each_engine_speaks_of_the_outputs_that_it_gives() -> None:
    wanted = [np.array([1.0, 2.0], np.float32), np.array([3, 4]), np.array([5.0], np.float32)]
    nothing = np.zeros_like
    outputs = [np.array([1.0, 2.001], np.float32), np.array([3, 5]), np.array([-np.inf], np.float32)]
    assert disagreeing(outputs, wanted, lambda array: nothing(array, np.bool_)) == {1, 2}
    assert disagreeing(outputs, wanted, lambda array: np.array(array == 4) | (array == 5)) == set()


def test_the_order_of_what_overflows_says_nothing() -> None:
    greatest = float(np.finfo(np.float32).max)

    def sorted_sums(rows: Sequence[Sequence[float]]) -> Reference:
        program = one_op(SumOp, np.array(rows, np.float32), tensor([3], f32), ArgsortOp)
        along = replace(program.steps[0], properties={"axes": DenseArrayBase.from_list(i64, [1])})
        return Reference(replace(program, steps=(along, program.steps[1])))

    turned = [np.array([2, 1, 0])]
    overflown = sorted_sums([[greatest, greatest, -greatest]] * 2 + [[3, 2, 1]])
    np.testing.assert_array_equal(overflown.outputs[0], [2, 0, 1])
    assert overflown.mismatch(turned) is None
    assert sorted_sums([[7, 2, 1], [8, 2, 1], [3, 2, 1]]).mismatch(turned) is not None


def test_a_product_may_overflow_on_the_way_in_another_order() -> None:
    array = np.array([1e30, 1e-30, 1e30, 1e-30], np.float32)
    reference = Reference(one_op(ProdOp, array, tensor([], f32)))
    assert reference.mismatch([np.array(np.inf, np.float32)]) is None
    moderate = Reference(one_op(ProdOp, np.sqrt(np.sqrt(array)), tensor([], f32)))
    assert moderate.mismatch([np.array(np.inf, np.float32)]) is not None


@pytest.fixture
def wrong_way(monkeypatch: pytest.MonkeyPatch) -> str:
    """A way that is wrong wherever a program negates."""

    def run(program: RandomProgram, reference: Reference | None, random: Random, name: str) -> None:
        outputs = [np.array(output) for output in Reference(program).outputs]
        if any(step.op_class is NegativeOp for step in program.steps):
            outputs = [output + 1 for output in outputs]
        ways.compare(outputs, reference)

    monkeypatch.setitem(ways.WAYS, "wrong", (run, 1.0))
    return "wrong"


def test_a_finding_shrinks_to_the_op_that_is_wrong(wrong_way: str, tmp_path: Path) -> None:
    program = chain(ExpOp, NegativeOp, ExpOp)

    def holds(candidate: RandomProgram) -> bool:
        return ways.check(candidate, ways.reference_of(candidate), wrong_way) is not None

    finding = ways.check(program, ways.reference_of(program), wrong_way)
    assert finding is not None
    assert finding.kind == "mismatch"
    smallest = shrink(program, smaller_programs, holds, 20)
    assert [step.op_class for step in smallest.steps] == [NegativeOp]
    assert smallest.inputs[0].size == 1
    path = write_finding(tmp_path, finding, smallest)
    assert path.read_text().startswith("// RUN: fuse-run %s")
    module = parse_mlir(path.read_text())
    with np.load(path.with_suffix(".npz")) as arrays:
        np.testing.assert_array_equal(run_module(module, dict(arrays))[0], -smallest.inputs[0])


def test_a_fork_survives_faults_and_hangs() -> None:
    assert in_fork(lambda: 5) == 5
    assert in_fork(lambda: os.kill(os.getpid(), signal.SIGSEGV) or 0) == 128 + signal.SIGSEGV
    assert in_fork(lambda: signal.pause() or 0, seconds=1) == 128 + signal.SIGALRM


def test_every_op_that_rounds_is_no_exact_one() -> None:
    for op_class in ALL_OPS:
        if issubclass(op_class, comparing.activation.FormulaOp):
            assert op_class not in comparing.EXACT


def test_loops_and_branches_mean_what_the_ops_meant() -> None:
    met: set[str] = set()
    for seed in range(40):
        program = make_program(seed)
        reference = ways.reference_of(program) if program is not None else None
        if program is None or reference is None:
            continue
        module = program.module()
        add_control_flow(module, Random(seed))
        module.verify()
        text = str(module)
        words = ("limit(", "while(", "states(", "rows(", "fuse.if", "-> (tensor<?x")
        met.update(word for word in words if word in text)
        assert reference.mismatch(run_module(module, program.inputs)) is None
    assert met == {"limit(", "while(", "states(", "rows(", "fuse.if", "-> (tensor<?x"}


@pytest.mark.slow
def test_a_short_run_finds_nothing(tmp_path: Path) -> None:
    command = [sys.executable, TOOL, "--seed", "0", "--count", "300", "--no-table", "--out", tmp_path]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    # What it prints has the seed of each finding.
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    assert re.search(r"seeds 0 to 299: \d+ programs, .* 0 findings", result.stdout)


def test_a_fault_has_a_seed_and_does_not_end_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text(FAULTY_WORKER)
    monkeypatch.setattr(running, "SCRIPT", script)
    findings: list[ways.Finding] = []
    run = running.Run(0, 6, ("numpy",), 5.0, findings.append)
    run.go()
    assert [(finding.seed, finding.way, finding.kind) for finding in findings] == [
        (2, "numpy", "fault"),
        (4, "text", "hang"),
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--jobs", "0"], "expected 1 or more processes"), (["--jobs", "2", "--cluster", "local:2"], "not allowed")],
)
def test_processes_are_those_of_a_cluster(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        fuzz_programs.main(options)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


FAULTY_WORKER = """
import json, os, signal, sys, time

first, end = map(int, sys.argv[2:4])
for seed in range(first, end):
    way = "text" if seed == 4 else "numpy"
    print(json.dumps({"seed": seed, "way": way}), flush=True)
    if seed == 2:
        os.kill(os.getpid(), signal.SIGSEGV)
    if seed == 4:
        time.sleep(60)
empty = {"programs": 0, "met": [], "pairs": [], "neighbours": [], "edges": [], "structures": [], "own": []}
print(json.dumps({"coverage": empty, "done": True}), flush=True)
"""


def test_vectors_of_equal_singular_values_may_be_turned() -> None:
    text = """func.func @main(%x: tensor<3x3xf64>) -> tensor<3x3xf64> {
      %u, %s, %v = fuse.svd %x, full_matrices = true
        : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xf64>, tensor<3x3xf64>)
      func.return %v : tensor<3x3xf64>
    }"""
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    turned = np.eye(3)
    turned[1:, 1:] = turn
    for values, agrees in (([5.0, 2.0, 2.0], True), ([5.0, 2.0, 1.0], False)):
        reference = Reference(Given(parse_mlir(text), [np.diag(values)]))
        assert (reference.mismatch([turned @ reference.outputs[0]]) is None) is agrees


@pytest.mark.parametrize("is_singular", [True, False])
def test_the_inverse_of_a_matrix_that_is_singular_but_for_rounding_may_be_nans(is_singular: bool) -> None:
    text = """func.func @main(%x: tensor<3x3xf64>) -> tensor<3x3xf64> {
      %y = fuse.inverse %x : tensor<3x3xf64>
      func.return %y : tensor<3x3xf64>
    }"""
    matrix = np.array([[1.1, 2.3, 3.7], [0.3, 0.7, 0.1], [1.1, 2.3, 7.4]])
    if is_singular:
        matrix[2] = matrix[0] + matrix[1]
    reference = Reference(Given(parse_mlir(text), [matrix]))
    assert (reference.mismatch([np.full((3, 3), np.nan)]) is None) is is_singular


def test_programs_on_complex_numbers_meet_every_step_and_agree() -> None:
    from fuzzing.complex_way import STEPS, program_of, through_complex

    assert [program_of(seed).text for seed in range(5)] == [program_of(seed).text for seed in range(5)]
    assert {name for seed in range(200) for name in program_of(seed).steps} == {*STEPS, "compare"}
    for seed in range(3):
        through_complex(seed)


def test_a_wrong_complex_number_is_a_mismatch(monkeypatch: pytest.MonkeyPatch) -> None:
    from fuzzing import complex_way

    run = complex_way.interpreted
    monkeypatch.setattr(complex_way, "interpreted", lambda *given: [x * (1 + 1e-3) + 1e-3 for x in run(*given)])
    seed = next(seed for seed in range(99) if complex_way.program_of(seed).outputs[-1].array.dtype.kind == "c")
    with pytest.raises(ways.MismatchError, match="beside NumPy's complex numbers"):
        complex_way.through_complex(seed)


def test_vendor_operators_agree_with_onnxruntime() -> None:
    pytest.importorskip("onnxruntime")
    from fuzzing.vendor_way import NAMES, operator_of, through_vendor

    assert {operator_of(seed) for seed in range(len(NAMES))} == set(NAMES)
    for name in ("SkipLayerNormalization", "LinearClassifier"):
        through_vendor(NAMES.index(name))


def test_help_names_the_ways() -> None:
    result = subprocess.run([sys.executable, TOOL, "--help"], capture_output=True, text=True, check=True)
    assert all(way in result.stdout for way in ways.WAYS)
