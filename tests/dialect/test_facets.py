"""Every op of the dialect declares all its facets, with the kind that TVM gives it."""

import json
import lzma
import re
from pathlib import Path

import numpy as np
import pytest
from checking.rounding import ROUNDOFF
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, f32, i1
from xdsl.ir import Block
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from fuse_dialect.dialect import scalars
from fuse_dialect.dialect.attributes import OpPatternKind
from fuse_dialect.dialect.fuse import ALL_OPS
from fuse_dialect.dialect.op import MapOp
from fuse_dialect.dialect.ops.broadcast import PowerOp
from fuse_dialect.dialect.ops.conversion import CastOp
from fuse_dialect.dialect.scalar_code import ScalarCode, literal
from fuse_dialect.dialect.scalars import signless
from fuse_dialect.dialect.types import element_dtype, element_type_of, is_float, is_unsigned, tensor
from fuse_dialect.interpreters.scalar import run_scalar_body
from fuse_dialect.loops.program import Literal
from fuse_dialect.pattern_kind import PatternKind

TESTS = Path(__file__).parents[1]

ops = pytest.mark.parametrize("op_class", ALL_OPS, ids=lambda op: op.name)
MAP_OPS = [op for op in ALL_OPS if issubclass(op, MapOp)]
map_ops = pytest.mark.parametrize("op_class", MAP_OPS, ids=lambda op: op.name)


@pytest.fixture(scope="module")
def relay_operators():
    """TVM's operators with their attributes, as TVM 0.18 reports them when it runs."""
    with lzma.open(TESTS / "data" / "tvm" / "op_patterns.json.xz", "rt") as file:
        return json.load(file)["ops"]


@ops
def test_op_declares_exactly_one_kind(op_class):
    assert len(op_class.get_traits_of_type(OpPatternKind)) == 1


RELAY_NAMES = {
    "bitcast": "reinterpret",
    "grid_sample": "image.grid_sample",
    **{f"dyn_{name}": f"dyn.{name}" for name in ("broadcast_to", "full", "one_hot", "reshape", "strided_slice")},
    **{f"dyn_{name}": f"dyn.{name}" for name in ("tile", "topk")},
    "dyn_arange": "arange",  # its bounds are operands in Relay
    "dyn_pad": "dyn.nn.pad",
    "dyn_resize2d": "dyn.image.resize2d",
    "mod": "floor_mod",
    "non_max_suppression": "vision.non_max_suppression",
    "resize2d": "image.resize2d",
    "roi_align": "vision.roi_align",
    "stop_fusion": "annotation.stop_fusion",
}
"""Relay's name of an op whose name is not Relay's, with or without the prefix `nn.`."""

WITHOUT_RELAY_KIND = {
    "band": PatternKind.INJECTIVE,
    "blockwise_dense": PatternKind.OUT_EWISE_FUSABLE,  # Relax fuses its parts by a pass of their own
    "col2im": PatternKind.OPAQUE,
    "det": PatternKind.OPAQUE,
    **dict.fromkeys(("cholesky", "lu", "householder_qr", "householder_product"), PatternKind.OPAQUE),
    **dict.fromkeys(("eigh", "eigvalsh", "svd", "svdvals"), PatternKind.OPAQUE),
    **dict.fromkeys(("solve", "triangular_solve", "inverse", "fft", "rfft", "irfft"), PatternKind.OPAQUE),
    "elu": PatternKind.ELEMWISE,
    "gelu": PatternKind.ELEMWISE,
    "get_tuple_element": PatternKind.INJECTIVE,  # a node of Relay's graph, not an operator
    "group_norm": PatternKind.OPAQUE,  # registered without a kind: TVM takes it apart before it fuses
    "hard_sigmoid": PatternKind.ELEMWISE,
    "hard_swish": PatternKind.ELEMWISE,
    "instance_norm": PatternKind.OPAQUE,  # as group_norm
    "layer_norm": PatternKind.OPAQUE,  # as group_norm
    "max_pool2d_indices": PatternKind.OPAQUE,
    "reciprocal": PatternKind.ELEMWISE,
    "requantize": PatternKind.BROADCAST,
    "requantize_sum": PatternKind.BROADCAST,
    "silu": PatternKind.ELEMWISE,
    "softplus": PatternKind.ELEMWISE,
    "tuple": PatternKind.TUPLE,  # a node of Relay's graph, not an operator
}
"""Kinds of the ops for which TVM records none."""


@ops
def test_op_has_the_kind_that_tvm_gives_it(op_class, relay_operators):
    name = op_class.name.removeprefix("fuse.")
    candidates = [RELAY_NAMES[name]] if name in RELAY_NAMES else [name, f"nn.{name}"]
    kinds = [
        relay_operators[relay]["TOpPattern"] for relay in candidates if "TOpPattern" in relay_operators.get(relay, {})
    ]
    if name in WITHOUT_RELAY_KIND:
        kinds = [*kinds, WITHOUT_RELAY_KIND[name]]
    own = op_class.get_trait(OpPatternKind).kind
    assert kinds, (
        f"TVM's records have no operator '{name}' or 'nn.{name}'. In tests/dialect/test_facets.py add a line to "
        f'RELAY_NAMES if it has another name there, else to WITHOUT_RELAY_KIND: "{name}": {own},'
    )
    assert kinds == [own], f"TVM says {kinds}, the traits of {op_class.__name__} say {own}"


@ops
def test_op_documents_its_facets(op_class):
    sections = re.findall(r"^    ?(Shapes|Types|Kind|Cost|Source): \S", op_class.__doc__, re.MULTILINE)
    assert sections == ["Shapes", "Types", "Kind", "Cost", "Source"]
    assert f"Kind: {op_class.get_trait(OpPatternKind).kind.keyword}." in op_class.__doc__


@ops
def test_op_stands_in_a_filecheck_file(op_class):
    files = sorted((TESTS / "filecheck" / "dialect").glob("**/*.mlir"))
    valid = [file.read_text() for file in files if not file.stem.endswith("-invalid")]
    assert any(re.search(rf"{re.escape(op_class.name)}\b", text) for text in valid), (
        f"no file of tests/filecheck/dialect shows '{op_class.name}'; in the one of its family add a function: "
        f"%0 = {op_class.name} ..., and what is printed behind CHECK:"
    )


ELEMENT_TYPES = [
    BFloat16Type(),
    *(element_type_of(np.dtype(code)) for code in ["e", "f", "d", "?", "b", "h", "i", "q", "B", "H", "I", "Q"]),
]

PROPERTIES = {
    "fuse.clip": [{}, {"min": -1.5, "max": 2.5}, {"min": 1.0}, {"max": 1e30}, {"min": -300.0, "max": float("inf")}],
    "fuse.gelu": [{}, {"approximate": "tanh"}],
    "fuse.isinf": [{}, {"detect_negative": False}, {"detect_positive": False}],
    "fuse.leaky_relu": [{}, {"alpha": 0.3}],
    "fuse.elu": [{}, {"alpha": 0.3}],
    "fuse.hard_sigmoid": [{}, {"alpha": 0.2, "beta": 0.3}],
    "fuse.mod": [{}, {"fmod": True}],
    "fuse.bias_add": [{}, {"axis": -1}, {"axis": 0}],
    "fuse.prelu": [{}, {"axis": -1}, {"axis": 0}],
    "fuse.requantize": [
        {},
        {"axis": 0, "input_zero": 3, "zero": 2, "low": 2, "high": 100},
        {"axis": -1, "zero": 128, "out_dtype": "ui8"},
    ],
    "fuse.requantize_sum": [
        {"lhs_scale": 0.5, "rhs_scale": 1.75, "rhs_zero": -3},
        {"lhs_scale": 3.0, "rhs_scale": 0.1, "scale": 0.3, "zero": 9, "low": 9, "out_dtype": "ui8"},
    ],
}
"""The property values with which a map op's body is checked."""

BODIES = [(op, properties) for op in MAP_OPS for properties in PROPERTIES.get(op.name, [{}])]

SHAPE = (3, 4, 5)
SHAPES = {"lhs": (3, 1, 5), "rhs": (4, 1), "condition": (4, 5), "fill": (), "input": SHAPE}


def random_array(random, shape, element):
    """Numbers of either sign, integers small and not zero; one float in three is special."""
    dtype = element_dtype(element)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        least = 1 if dtype.kind == "u" else -6
        numbers = random.integers(least, 6, shape)
        return np.where(numbers == 0, 1, numbers).astype(dtype)
    special = random.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0], shape)
    return np.where(random.random(shape) < 1 / 3, special, random.normal(size=shape) * 4).astype(dtype)


def operand_shape(name, properties):
    """The shape with which an operand is checked: `lhs`, `rhs` and `condition` broadcast to `input`."""
    return SHAPES.get(name) if name in SHAPES else (SHAPE[properties.get("axis", 1)],)


def build_map_op(op_class, element, properties, result_element=None):
    """The op on operands of the element type, or `None` when it is not defined on it."""
    names = [name for name, _ in op_class.get_irdl_definition().operands]
    given = {"condition": i1, "scale": f32}
    elements = [given.get(name, element) for name in names]
    is_sum = op_class.name == "fuse.requantize_sum"
    properties = properties or PROPERTIES.get(op_class.name, [{}])[0]
    shapes = [SHAPE if is_sum else operand_shape(name, properties) for name in names]
    types = [tensor(shape, own) for shape, own in zip(shapes, elements, strict=True)]
    result_types = (
        None
        if op_class.name not in ("fuse.bitcast", "fuse.cast", "fuse.full")
        else [tensor(SHAPE, result_element or element)]
    )
    try:
        return op_class(*map(create_ssa_value, types), result_types=result_types, **properties)
    except VerifyException:
        return None


def random_operands(op, random):
    """Operands on which the op is defined."""
    arrays = [random_array(random, type.get_shape(), type.element_type) for type in op.operand_types]
    if op.name in ("fuse.left_shift", "fuse.right_shift"):
        arrays[1] = np.abs(arrays[1])
    if op.name == "fuse.cast" and not is_float(op.result.type) and is_float(op.input.type):
        arrays[0] = np.nan_to_num(arrays[0].astype(np.float32), posinf=3.7, neginf=-3.7).astype(arrays[0].dtype)
        if is_unsigned(op.result.type) and op.result.type.element_type != i1:
            arrays[0] = np.abs(arrays[0])
    return arrays


def assert_close(actual, expected, *, context):
    """Equal, for floats within a few units in the last place of numbers about 1."""
    assert actual.dtype == expected.dtype, context
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(actual, expected, err_msg=context)
        return
    unit = ROUNDOFF[expected.dtype.name]
    wide = [array.astype(np.float64) for array in (actual, expected)]
    np.testing.assert_allclose(*wide, rtol=4 * unit, atol=4 * unit, err_msg=context)


def check_body(op, random):
    """The body gives what the op means."""
    arrays = random_operands(op, random)
    (expected,) = op.evaluate(*arrays)
    assert expected.dtype == element_dtype(op.result.type.element_type)
    assert_close(run_scalar_body(op, *arrays), expected, context=str(op))


@pytest.mark.parametrize(("op_class", "properties"), BODIES, ids=lambda value: getattr(value, "name", None))
def test_scalar_body_gives_the_meaning_of_the_op(op_class, properties, random):
    supported = [op for element in ELEMENT_TYPES if (op := build_map_op(op_class, element, properties))]
    assert supported
    for op in supported:
        check_body(op, random)


@pytest.mark.parametrize("source", ELEMENT_TYPES, ids=str)
def test_scalar_body_of_cast_converts_between_all_types(source, random):
    for target in ELEMENT_TYPES:
        check_body(build_map_op(CastOp, source, {}, target), random)


@pytest.mark.parametrize("base", ELEMENT_TYPES, ids=str)
def test_scalar_body_of_power_takes_exponents_of_all_types(base, random):
    for exponent in ELEMENT_TYPES:
        if i1 in (base, exponent):
            continue
        op = PowerOp(create_ssa_value(tensor((7,), base)), create_ssa_value(tensor((7,), exponent)))
        arrays = [np.arange(1, 8).astype(element_dtype(base)), np.arange(7).astype(element_dtype(exponent)) % 3]
        (expected,) = op.evaluate(*arrays)
        assert_close(run_scalar_body(op, *arrays), expected, context=f"{base} to the {exponent}")


@pytest.mark.parametrize(("op_class", "properties"), BODIES, ids=lambda value: getattr(value, "name", None))
def test_scalar_body_is_valid_scalar_code(op_class, properties):
    for element in ELEMENT_TYPES:
        op = build_map_op(op_class, element, properties)
        if op is None:
            continue
        block = Block(arg_types=[signless(type.element_type) for type in op.operand_types])
        with ImplicitBuilder(block):
            result = op.scalar_body(*block.args)
        assert result.type == signless(op.result.type.element_type)
        for inner in block.ops:
            inner.verify()
            assert len(inner.results) == 1
            assert inner.name.partition(".")[0] in ("arith", "math")


@map_ops
def test_map_op_runs_every_axis_of_an_operand_along_one_of_the_result(op_class):
    op = next(op for element in ELEMENT_TYPES if (op := build_map_op(op_class, element, {})))
    for index, type in enumerate(op.operand_types):
        axes = op.operand_axes(index)
        assert list(axes) == sorted(set(axes))
        for axis, size in zip(axes, type.get_shape(), strict=True):
            assert size in (1, op.result.type.get_shape()[axis])


def said_by_ops(block):
    """Name, operands by number, type and value of each op; arguments come first."""
    numbers = {value: number for number, value in enumerate(block.args)}
    for op in block.ops:
        numbers[op.results[0]] = len(numbers)
        name, value = op.name, scalars.predicate_of(op)
        if isinstance(op, arith.ConstantOp):
            value = repr(literal(op.value.value.data, op.results[0].type).value)
        yield name, tuple(numbers[operand] for operand in op.operands), str(op.results[0].type), value


def said_by_instructions(code, arguments):
    """The same of recorded code."""
    numbers = {value: number for number, value in enumerate(code.values)}
    for value in code.values[arguments:]:
        places = tuple(numbers[operand] for operand in value.operands)
        made = value.make(places)
        if isinstance(made, Literal):
            yield "arith.constant", places, made.element, repr(made.value)
        else:
            assert made.operands == places
            yield made.function, places, made.element, made.parameter


@pytest.mark.parametrize(("op_class", "properties"), BODIES, ids=lambda value: getattr(value, "name", None))
def test_recorded_scalar_code_says_what_the_ops_say(op_class, properties):
    for element in ELEMENT_TYPES:
        op = build_map_op(op_class, element, properties)
        if op is None:
            continue
        block = Block(arg_types=[signless(type.element_type) for type in op.operand_types])
        with ImplicitBuilder(block):
            op.scalar_body(*block.args)
        code = ScalarCode()
        elements = [code.add(argument.type, (), None) for argument in block.args]
        with code.recording():
            result = op.scalar_body(*elements)
        assert result.type == signless(op.result.type.element_type)
        assert list(said_by_instructions(code, len(elements))) == list(said_by_ops(block))


def test_ops_that_are_built_by_hand_are_no_scalar_code():
    code = ScalarCode()
    x = code.add(i1, (), None)
    with code.recording(), pytest.raises(TypeError, match="functions of 'scalars'"):
        scalars.select(arith.XOrIOp(x, x).result, x, x)
