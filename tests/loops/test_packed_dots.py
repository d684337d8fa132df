"""Which sums of products of bytes are sums of products of quads."""

from dataclasses import replace

import pytest
from xdsl.dialects import func

import fuse_dialect as fd
from fuse_dialect.loops.functions import DOT, FLOAT_DOT, PAIR_DOT, SIGNED_DOT, UNSIGNED_DOT
from fuse_dialect.loops.indices import loop
from fuse_dialect.loops.packed_dots import in_float_pairs, in_pairs, in_quads, rounds_to_bytes
from fuse_dialect.loops.program import Apply, Literal, LoopProgram, Read
from fuse_dialect.loops.simplify import simplify
from fuse_dialect.loops.tiling import tile_size
from fuse_dialect.lowering.loop_program import lower
from fuse_dialect.machines.machine import Machine, Unit


def program_of(text: str) -> LoopProgram:
    (primitive,) = (
        op for op in fd.fuse_ops(fd.parse(text)).walk() if isinstance(op, func.FuncOp) and "primitive" in op.attributes
    )
    program = lower(primitive)
    assert isinstance(program, LoopProgram)
    return simplify(program)


def dense(x: str, w: str) -> LoopProgram:
    return program_of(f"""func.func @main(%x: tensor<{x}>, %w: tensor<{w}>) -> tensor<3x5xi32> {{
  %y = fuse.dense %x, %w, out_dtype = "i32" : (tensor<{x}>, tensor<{w}>) -> tensor<3x5xi32>
  return %y : tensor<3x5xi32>
}}""")


def conv(attributes: str, x: str, w: str, y: str) -> LoopProgram:
    return program_of(f"""func.func @main(%x: tensor<{x}>, %w: tensor<{w}>) -> tensor<{y}> {{
  %y = fuse.conv2d %x, %w, {attributes}, out_dtype = "i32" : (tensor<{x}>, tensor<{w}>) -> tensor<{y}>
  return %y : tensor<{y}>
}}""")


def test_a_matrix_product_has_a_quarter_of_the_points() -> None:
    quads = in_quads(dense("3x16xui8", "5x16xi8"))
    assert quads is not None
    assert [(buffer.shape, buffer.element) for buffer in quads.buffers[:2]] == [((3, 4), "i32"), ((5, 4), "i32")]
    (stage,) = quads.stages
    assert [axis.size for axis in stage.axes] == [3, 5, 4]
    assert stage.body[-1] == Apply(DOT, (0, 1), "i32")


def test_the_factor_without_signs_is_the_first_operand() -> None:
    quads = in_quads(dense("3x16xi8", "5x16xui8"))
    assert quads is not None
    assert quads.stages[0].body[-1] == Apply(DOT, (1, 0), "i32")


@pytest.mark.parametrize(
    ("x", "w"),
    [
        ("3x16xi8", "5x16xi8"),
        ("3x16xui8", "5x16xui8"),
        ("3x15xui8", "5x15xi8"),
    ],
)
def test_equal_signs_and_odd_depths_are_left_alone(x: str, w: str) -> None:
    assert in_quads(dense(x, w)) is None


def test_padding_is_a_quad_of_equal_bytes() -> None:
    nhwc = 'data_layout = "NHWC", kernel_layout = "OHWI", padding = [1, 1, 1, 1], pad_value = 130'
    quads = in_quads(conv(nhwc, "1x6x6x8xui8", "7x3x3x8xi8", "1x6x6x7xi32"))
    assert quads is not None
    read = quads.stages[0].body[0]
    assert isinstance(read, Read)
    assert read.otherwise == Literal(0x82828282 - (1 << 32), "i32")
    assert len(read.guards) == 2


def test_groups_move_by_whole_quads() -> None:
    nhwc = 'data_layout = "NHWC", kernel_layout = "OHWI", groups = 2'
    quads = in_quads(conv(nhwc, "1x3x3x16xui8", "6x1x1x8xi8", "1x3x3x6xi32"))
    assert quads is not None
    read = quads.stages[0].body[0]
    assert isinstance(read, Read)
    assert str(read.indices[-1]) == str(loop(3) // 3 * 2 + loop(4))


@pytest.mark.parametrize(
    ("attributes", "x", "w", "y"),
    [
        ("padding = [0, 0, 0, 0]", "1x8x6x6xui8", "7x8x3x3xi8", "1x7x4x4xi32"),
        ('data_layout = "NHWC", kernel_layout = "HWIO"', "1x6x6x8xui8", "3x3x8x7xi8", "1x4x4x7xi32"),
        ('data_layout = "NHWC", kernel_layout = "OHWI", groups = 4', "1x6x6x4xui8", "4x3x3x1xi8", "1x4x4x4xi32"),
    ],
)
def test_factors_that_lie_otherwise_are_left_alone(attributes: str, x: str, w: str, y: str) -> None:
    assert in_quads(conv(attributes, x, w, y)) is None


def test_a_sum_of_floats_may_be_contracted_and_a_rounding_to_bytes_not() -> None:
    text = """func.func @main(%x: tensor<8xf32>) -> tensor<8xE> {
  %0 = fuse.multiply %x, %x : tensor<8xf32>
  %1 = fuse.cast %0 : (tensor<8xf32>) -> tensor<8xE>
  return %1 : tensor<8xE>
}"""
    assert rounds_to_bytes(program_of(text.replace("E", "ui8")))
    assert not rounds_to_bytes(program_of(text.replace("E", "i32")))
    assert not rounds_to_bytes(dense("3x16xui8", "5x16xi8"))


def test_a_constant_factor_is_pairs_of_16_bits() -> None:
    program = dense("3x6xui8", "5x6xi8")
    assert in_quads(program) is None
    assert in_pairs(program, frozenset()) is None
    pairs = in_pairs(program, frozenset({program.buffers[1].name}))
    assert pairs is not None
    assert [(buffer.shape, buffer.element) for buffer in pairs.buffers[:2]] == [((3, 3), "i16"), ((5, 3), "i32")]
    product = pairs.stages[0].body[-1]
    assert isinstance(product, Apply)
    assert product.function == PAIR_DOT


def of_bf16(op: str, x: str, w: str) -> LoopProgram:
    return program_of(f"""func.func @main(%x: tensor<{x}xbf16>, %w: tensor<{w}xbf16>) -> tensor<3x5xbf16> {{
  %y = {op} : (tensor<{x}xbf16>, tensor<{w}xbf16>) -> tensor<3x5xbf16>
  return %y : tensor<3x5xbf16>
}}""")


@pytest.mark.parametrize(
    ("op", "w", "is_constant", "buffer", "apart"),
    [
        ("fuse.dense %x, %w", "5x6", False, ((5, 3), "f32"), 1),
        ("fuse.dense %x, %w", "5x6", True, ((5, 3), "f32"), 1),
        ("fuse.matmul %x, %w", "6x5", True, ((3, 5), "f32"), 5),
        ("fuse.matmul %x, %w", "6x5", False, ((6, 5), "i16"), 1),
    ],
)
def test_pairs_of_bf16_lie_side_by_side_or_are_put_so(
    op: str, w: str, buffer: tuple[tuple[int, ...], str], apart: int, *, is_constant: bool
) -> None:
    program = of_bf16(op, "3x6", w)
    names = [each.name for each in program.buffers]
    pairs = in_float_pairs(program, frozenset(names[1:2] if is_constant else ()))
    assert pairs is not None
    assert [(each.shape, each.element) for each in pairs.buffers[:2]] == [((3, 3), "f32"), buffer]
    product = pairs.stages[0].body[-1]
    assert isinstance(product, Apply)
    assert (product.function, product.parameter) == (FLOAT_DOT, apart)
    assert [axis.size for axis in pairs.stages[0].axes] == [3, 5, 3]


def test_pairs_of_bf16_are_even_in_number() -> None:
    assert in_float_pairs(of_bf16("fuse.dense %x, %w", "3x7", "5x7"), frozenset()) is None
    assert in_float_pairs(dense("3x6xui8", "5x6xi8"), frozenset()) is None


def test_bytes_of_equal_signs_are_quads_where_they_may_be() -> None:
    for sign, name in (("i8", SIGNED_DOT), ("ui8", UNSIGNED_DOT)):
        quads = in_quads(dense(f"3x16x{sign}", f"5x16x{sign}"), of_equal_signs=True)
        assert quads is not None
        assert quads.stages[0].body[-1] == Apply(name, (0, 1), "i32")


def test_pairs_of_an_odd_depth_are_left_alone() -> None:
    program = dense("3x7xui8", "5x7xi8")
    assert in_pairs(program, frozenset({program.buffers[1].name})) is None


def test_tiles_leave_registers_for_even_and_odd_bytes() -> None:
    machine = Machine("small", 32, 16, Unit.FMA | Unit.PAIR_DOTS)
    assert tile_size(machine, 8, 100, 64).rows == 6
    assert tile_size(machine, 8, 100, 64, DOT).rows == 4
    assert tile_size(Machine("large", 32, 16, Unit.BYTE_DOTS), 8, 100, 64, DOT).rows == 6
    assert tile_size(Machine("least", 16, 8), 4, 100, 64, DOT).rows == 1


def by_heads(program: LoopProgram, heads: int, size: int, step: int = 1) -> LoopProgram:
    """A product whose rows are those of some heads, one behind the other; of `step`, every other number of a head."""
    (stage,), (x, *others) = program.stages, program.buffers
    read, *rest = stage.body
    assert isinstance(read, Read)
    depth = loop(2)
    read = replace(read, indices=(depth // size, loop(0), (depth % size) * step))
    buffers = (replace(x, shape=(heads, 3, size * step)), *others)
    return replace(program, buffers=buffers, stages=(replace(stage, body=(read, *rest)),))


@pytest.mark.parametrize(("size", "is_quads", "is_pairs"), [(8, True, True), (6, False, True), (3, False, False)])
def test_heads_are_units_where_none_reaches_into_the_next(size: int, *, is_quads: bool, is_pairs: bool) -> None:
    quads = in_quads(by_heads(dense("3x24xui8", "5x24xi8"), 24 // size, size))
    assert (quads is not None) == is_quads
    if quads is not None:
        read = quads.stages[0].body[0]
        assert isinstance(read, Read)
        assert [str(index) for index in read.indices] == [str(each) for each in (loop(2) // 2, loop(0), loop(2) % 2)]
        assert quads.buffers[0].shape == (3, 3, 2)
    pairs = in_float_pairs(by_heads(of_bf16("fuse.dense %x, %w", "3x24", "5x24"), 24 // size, size), frozenset())
    assert pairs is not None
    # Else it is the other factor that lies along the sum, and each pair of this one is two reads.
    assert pairs.buffers[0].element == ("f32" if is_pairs else "i16")


def test_every_other_number_is_no_pair() -> None:
    program = by_heads(of_bf16("fuse.matmul %x, %w", "3x24", "24x5"), 3, 8, step=2)
    assert in_float_pairs(program, frozenset()) is None


def test_a_head_that_begins_inside_of_a_quad_is_left_alone() -> None:
    program = by_heads(dense("3x24xui8", "5x24xi8"), 3, 8)
    (stage,) = program.stages
    read, *rest = stage.body
    assert isinstance(read, Read)
    moved = replace(read, indices=(*read.indices[:-1], loop(2) % 8 + 2))
    buffers = (replace(program.buffers[0], shape=(3, 3, 12)), *program.buffers[1:])
    assert in_quads(replace(program, buffers=buffers, stages=(replace(stage, body=(moved, *rest)),))) is None
