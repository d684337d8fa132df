"""Details of loop programs that few programs have: what is kept apart, and what is left as it is."""

from dataclasses import replace

import numpy as np
from products import PRODUCT, SUM, convolution, matmul

from fuse_dialect.loops.bodies import BodyBuilder
from fuse_dialect.loops.contraction import as_matrices, contraction_of
from fuse_dialect.loops.grouping import cut_in_nests, shared_rows
from fuse_dialect.loops.indices import Guard, Index, holds, loop, number, remainder, simplified
from fuse_dialect.loops.iteration_space import split_axes, without_single_points
from fuse_dialect.loops.packing import Packing, Strided, packing_of
from fuse_dialect.loops.places import flat_place, place_of
from fuse_dialect.loops.program import Apply, Axis, Buffer, Extent, Inside, Literal, LoopProgram, Read, Role, Stage
from fuse_dialect.loops.scheduling import halves, has_rest, schedule
from fuse_dialect.loops.windowing import Interval, windowing_of, with_packed_constants
from fuse_dialect.machines.machine import Machine


def _read(buffer: str, *indices: Index, guards: tuple[Guard, ...] = ()) -> Read:
    return Read(buffer, indices, "f32", guards, Literal(0.0, "f32") if guards else None)


def test_zeros_of_two_signs_are_two_literals() -> None:
    builder = BodyBuilder((3,))
    assert builder.add(Literal(0.0, "f32")) == builder.add(Literal(0.0, "f32")) == 0
    assert builder.add(Literal(-0.0, "f32")) == 1


def test_what_was_only_made_wider_is_as_it_was() -> None:
    builder = BodyBuilder([3])
    byte = builder.add(Read("x", (loop(0),), "i8"))
    for function in ("arith.extui", "arith.extsi"):
        wide = builder.add(Apply(function, (byte,), "i32"))
        assert builder.add(Apply("arith.trunci", (wide,), "i8")) == byte
        assert builder.add(Apply("arith.trunci", (wide,), "i16")) > wide
    doubled = builder.add(Apply("arith.addi", (wide, wide), "i32"))
    assert builder.add(Apply("arith.trunci", (doubled,), "i8")) > doubled


def test_a_choice_by_guards_makes_those_by_the_same_guards_before_it() -> None:
    here, there = (Guard(loop(0) - shift, 4) for shift in (1, 2))
    builder = BodyBuilder([6])
    x, zero = builder.add(Read("x", (loop(0) - 1,), "f32", (here,), Literal(0.0, "f32"))), Literal(0.0, "f32")
    inner = builder.add(Apply("arith.select", (builder.add(Inside((here,))), x, builder.add(zero)), "f32"))
    other = builder.add(Apply("arith.select", (builder.add(Inside((there,))), inner, builder.add(zero)), "f32"))
    chain = builder.add(Apply("math.exp", (other,), "f32"))
    outer = builder.add(Apply("arith.select", (builder.add(Inside((here,))), chain, builder.add(zero)), "f32"))
    choices = [each for each in builder.finished(outer) if isinstance(each, Apply) and each.function == "arith.select"]
    assert len(choices) == 2  # that of other guards is left, and the last one


def test_a_choice_that_is_known_is_its_operand() -> None:
    builder = BodyBuilder((3,))
    one, other = builder.add(_read("x", loop(0))), builder.add(_read("y", loop(0)))
    for size, chosen in ((3, one), (0, other)):
        condition = builder.add(Inside((Guard(loop(0), size),)))
        assert builder.add(Apply("arith.select", (condition, one, other), "f32")) == chosen


def _converted(function: str, element: str, *bounds: tuple[str, float]) -> Apply:
    builder = BodyBuilder((3,))
    place = builder.add(_read("x", loop(0)))
    for name, bound in bounds:
        place = builder.add(Apply(name, (place, builder.add(Literal(bound, "f32"))), "f32"))
    converted = builder.instructions[builder.add(Apply(function, (place,), element))]
    assert isinstance(converted, Apply)
    return converted


def test_what_becomes_an_integer_needs_no_bounds_that_the_integer_has() -> None:
    low, high = ("arith.maximumf", 0.0), ("arith.minimumf", 255.0)
    assert _converted("arith.fptoui", "i8", low, high).operands == (0,)
    assert _converted("arith.fptoui", "i8", high, low).operands == (0,)
    assert _converted("arith.fptosi", "i8", ("arith.maximumf", -128.0), ("arith.minimumf", 127.0)).operands == (0,)
    # Others stay, and what stands before them.
    assert _converted("arith.fptosi", "i8", low, high).operands == (4,)
    assert _converted("arith.fptoui", "i8", ("arith.maximumf", 1.0), high).operands == (2,)
    assert _converted("arith.fptoui", "i16", low, high).operands == (4,)
    assert _converted("arith.fptoui", "i32", low).operands == (2,)


def test_a_read_that_is_never_inside_gives_what_is_outside() -> None:
    builder = BodyBuilder((3,))
    place = builder.add(_read("x", loop(0), guards=(Guard(loop(0) + 5, 4),)))
    assert builder.instructions[place] == Literal(0.0, "f32")


def test_guards_and_divisions_of_negative_numbers() -> None:
    assert holds(Guard(loop(0) - 1, 9), (3,)) is None
    assert holds(Guard(loop(0) * -1 + 2, 3), (3,)) is True
    assert holds(Guard(loop(0) * -1 - 1, 3), (3,)) is False
    assert [remainder(loop(0) + 5, 4, (2,)).constant, remainder(number(7), 4, ())] == [1, number(3)]
    assert simplified((loop(0) * 4 + loop(1) - 1) % 8, (5, 2)) != (loop(0) % 2) * 4 + loop(1) - 1
    assert simplified((loop(0) * 4 + loop(1)) % 8, (5, 2)) == (loop(0) % 2) * 4 + loop(1)
    for plain in ((loop(0) * 4 - loop(1)) // 8, (loop(0) * 4 - loop(1)) % 8):
        assert simplified(plain, (5, 2)) == plain
    assert loop(0) % 9 % 6 != loop(0) % 6
    assert loop(0) // 4 * 8 + loop(0) % 4 != loop(0)
    assert loop(0) // 4 * 8 + loop(0) % 4 * 2 == loop(0) * 2


def _loops_of_a_map(*body: Read) -> list[int | None]:
    """Sizes of all loops that write 6x8 elements, outermost first."""
    shapes = {"x": (6, 8), "wide": (6, 9), "row": (8,), "y": (6, 8)}
    roles = {"y": Role.RESULT}
    buffers = tuple(Buffer(name, "f32", shape, roles.get(name, Role.ARGUMENT)) for name, shape in shapes.items())
    stage = Stage("s", "y", (Axis(6), Axis(8)), body)
    (phase,) = schedule(LoopProgram("s", buffers, (stage,)), Machine("avx2", 32, 16)).phases
    return [axis.size.number for axis in (*phase.rows, *phase.nests[0].loops)]


def test_loops_merge_where_every_place_runs_on_and_no_guard_needs_them_apart() -> None:
    whole = _read("x", loop(0), loop(1))
    assert _loops_of_a_map(whole) == [48]
    assert _loops_of_a_map(_read("wide", loop(0), loop(1))) == [6, 8]
    assert _loops_of_a_map(whole, _read("row", loop(1))) == [6, 8]
    for guard in (Guard(loop(0), 5), Guard(loop(1), 5)):
        assert _loops_of_a_map(_read("x", loop(0), loop(1), guards=(guard,))) == [6, 8]


def test_what_is_computed_of_sizes_alone_makes_no_vectors_shorter() -> None:
    read = Read("x", (loop(0),), "f32")
    is_empty = Extent("n", "i64"), Literal(0, "i64"), Apply("arith.cmpi", (1, 2), "i1", "eq")
    body = read, *is_empty, Literal(1.0, "f32"), Apply("arith.select", (3, 4, 0), "f32")
    widened = read, Apply("arith.fptosi", (0,), "i64"), Apply("arith.sitofp", (1,), "f32")
    lanes: list[int] = []
    for each in (body, widened):
        buffers = Buffer("x", "f32", ("n",), Role.ARGUMENT), Buffer("y", "f32", ("n",), Role.RESULT)
        program = LoopProgram("f", buffers, (Stage("f", "y", (Axis("n"),), each),))
        (phase,) = schedule(program, Machine("avx2", 32, 16)).phases
        lanes += [nest.lanes for nest in phase.nests]
    assert lanes == [8, 4]


def test_points_are_the_sums_of_taps_that_the_paper_has() -> None:
    taps = np.arange(18, dtype=np.float32).reshape(3, 3, 1, 2) ** 2
    packing = Packing("f32", 0, (), Strided(2, 1), (Strided(3, 6), Strided(3, 2), Strided(1, 2)), 2, has_points=True)
    both = packing.apply(taps)
    along = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]], np.float32)
    points = np.einsum("rt,cs,tsio->rcio", along, along, taps)
    np.testing.assert_array_equal(both[:32].reshape(4, 4, 1, 2), points)
    np.testing.assert_array_equal(both[32:].reshape(3, 3, 1, 2), taps)


def test_an_axis_is_split_where_the_divisor_divides_it() -> None:
    for size, sizes in ((6, [3, 2]), (7, [7]), (2, [2])):
        stage = Stage("s", "y", (Axis(size),), (_read("x", loop(0) // 2),))
        assert [axis.size for axis in split_axes(stage).axes] == sizes


def test_a_place_that_divides_an_axis_has_no_stride_along_it() -> None:
    place = place_of((loop(0) // 2 + loop(0), loop(1)), (9, 4), 2)
    assert (place.stride(0), place.stride(1)) == (None, 1)
    flat = flat_place((loop(0) + 2, loop(1) + 1), (9, 4), 2)
    assert flat is not None
    assert flat.constant.number == 9


def test_axes_of_one_element_vanish_wherever_they_stand() -> None:
    stage = without_single_points(
        Stage("s", "y", (Axis(1), Axis(3), Axis(1), Axis(4)), (_read("x", loop(1), loop(3)),))
    )
    assert [axis.size for axis in stage.axes] == [3, 4]
    assert stage.store == (number(0), loop(0), number(0), loop(1))
    assert stage.body == (_read("x", loop(0), loop(1)),)


def test_a_read_under_guards_needs_another_nest() -> None:
    space = (Axis(3), Axis(4))
    first = without_single_points(Stage("a", "t", space, (_read("x", loop(0), loop(1)),)))
    for guards, count in (((), 1), ((Guard(loop(1) - 1, 3),), 2)):
        second = without_single_points(Stage("b", "y", space, (_read("t", loop(0), loop(1), guards=guards),)))
        assert len(cut_in_nests([first, second], 1)) == count


def test_pieces_of_one_buffer_share_the_rows_that_their_reader_keeps() -> None:
    piece = without_single_points(Stage("a", "a", (Axis(3), Axis(4)), (_read("x", loop(0), loop(1)),)))
    pieces = [piece, replace(piece, store=(loop(0), loop(1) + 4))]
    assert shared_rows(pieces) == 2
    for indices, rows in (((loop(0), loop(1)), 1), ((loop(1), loop(0)), 0)):
        reader = without_single_points(Stage("y", "y", (Axis(3), Axis(8)), (_read("a", *indices),)))
        assert shared_rows([*pieces, reader]) == rows


def test_tiles_cover_an_axis_but_for_a_few() -> None:
    for size in range(1, 70):
        widths = halves(16, size)
        left = size
        for width in widths:
            assert left >= width
            left %= width
        assert left < 4
        assert has_rest(widths, size) == (left > 0)


def test_a_packed_constant_begins_where_it_is_read() -> None:
    program = matmul(5, 6, 7)
    stage, buffers = program.stages[0], program.buffers
    moved = (stage.body[0], _read("b", loop(2) + 1, loop(1)), PRODUCT)
    buffers = tuple(replace(each, shape=(8, 7)) if each.name == "b" else each for each in buffers)
    program = replace(program, buffers=buffers, stages=(replace(stage, body=moved),))
    found = contraction_of(program, program.stages[0])
    assert found is not None
    packing = packing_of(program, found, frozenset("b"), 8)
    assert packing is not None
    array = np.arange(56, dtype=np.float32).reshape(8, 7)
    np.testing.assert_array_equal(packing.apply(array).reshape(6, 8)[:, :7], array[1:7])


def test_rows_that_an_end_needs_apart_stay_apart() -> None:
    program = convolution(8, 16, 32, 1)
    stage = program.stages[0]
    found = contraction_of(program, stage)
    assert found is not None
    assert as_matrices(program, found).stage.axes[0].size == 64
    finish = (_read("r", loop(1)), Apply("arith.addf", (0, 1), "f32"))
    row = replace(program.buffers[0], name="r", shape=(8,))
    program = replace(program, buffers=(row, *program.buffers), stages=(replace(stage, finish=finish),))
    found = contraction_of(program, program.stages[0])
    assert found is not None
    assert [axis.size for axis in as_matrices(program, found).stage.axes[:2]] == [8, 8]


def test_a_factor_of_both_sides_makes_no_columns() -> None:
    program = matmul(5, 6, 7)
    both = (_read("a", loop(1), loop(2)), _read("b", loop(2), loop(1)), PRODUCT)
    buffers = tuple(replace(each, shape=(7, 6)) if each.name == "a" else each for each in program.buffers)
    program = replace(program, buffers=buffers, stages=(replace(program.stages[0], body=both, reduction=SUM),))
    assert contraction_of(program, program.stages[0]) is None


def test_constants_that_are_read_twice_are_not_packed() -> None:
    program = convolution(9, 16, 16, 3, groups=16)
    stage = program.stages[0]
    kernel = replace(program.buffers[1], shape=(16, 3, 3))
    weight = _read("w", loop(3), loop(4), loop(5))
    body = (stage.body[0], weight, PRODUCT)
    end = (_read("w", loop(3), number(0), number(0)), Apply("arith.addf", (0, 1), "f32"))
    for finish, packed in (((), {"w"}), (end, set[str]())):
        changed = replace(stage, body=body, finish=finish)
        whole = replace(program, buffers=(program.buffers[0], kernel, program.buffers[2]), stages=(changed,))
        windowing = windowing_of(whole, changed)
        assert windowing is not None
        assert set(with_packed_constants(whole, windowing, frozenset("w"))[2]) == packed


def test_windows_are_whole_where_all_guards_hold() -> None:
    program = convolution(9, 16, 16, 3, pad=1, groups=16)
    stage = program.stages[0]
    read = stage.body[0]
    assert isinstance(read, Read)
    narrow = replace(read, guards=(Guard(read.guards[0].index - 1, 8), *read.guards))
    windowing = windowing_of(program, replace(stage, body=(narrow, *stage.body[1:])))
    assert windowing is not None
    assert windowing.inside is not None
    assert list(windowing.inside.values()) == [Interval(2, 8), Interval(1, 8)]
