"""What the numbers in a StableHLO op must be, so that whoever reads the op may rely on it.

An op has a list of checks; each says what it expects of properties, operand types and regions. Types of results and
sizes are for the compilers that run the op: a pass that converts it infers them anew.

Source: the verifiers of stablehlo/dialect/TypeInference.cpp and StablehloOps.cpp of openxla/stablehlo, August 2026.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, TensorType, TupleType, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.types import DYNAMIC, are_compatible, is_tensor, with_element
from fuse_dialect.frontends.stablehlo.attributes import (
    ConvDimensionNumbersAttr,
    DotDimensionNumbersAttr,
    GatherDimensionNumbersAttr,
    ScatterDimensionNumbersAttr,
)
from fuse_dialect.frontends.stablehlo.clauses import ints_of

Check: TypeAlias = Callable[[Operation], None]
"""Raises `VerifyException` for an op that is wrong."""
Values: TypeAlias = Callable[[Operation], SSAValue | None]


def operand(index: int) -> Values:
    """That operand."""
    return lambda op: op.operands[index] if index < len(op.operands) else None


def _result(op: Operation) -> SSAValue | None:
    return op.results[0] if op.results else None


def _rank(value: SSAValue | None) -> int | None:
    """Axes of a tensor; `None` for what is no tensor with known axes."""
    return None if value is None or not is_tensor(value.type) else value.type.get_num_dims()


def _list(op: Operation, name: str) -> Sequence[int] | None:
    value = op.properties.get(name)
    return None if value is None else ints_of(value)


def _expect(is_right: bool, expected: str) -> None:
    if not is_right:
        raise VerifyException(f"expects {expected}")


def _expect_axes(name: str, axes: Sequence[int], rank: int) -> None:
    _expect(
        all(0 <= axis < rank for axis in axes) and len(set(axes)) == len(axes),
        f"'{name}' to be distinct axes of a tensor with {rank}, got {list(axes)}",
    )


def axes(name: str, of: Values) -> Check:
    """The property names axes of a value, each once at most."""

    def check(op: Operation) -> None:
        found, rank = _list(op, name), _rank(of(op))
        if found is not None and rank is not None:
            _expect_axes(name, found, rank)

    return check


def axis(name: str, of: Values, *, lowest: Callable[[int], int] = lambda rank: 0) -> Check:
    """The property is an axis of a value."""

    def check(op: Operation) -> None:
        rank = _rank(of(op))
        if name not in op.properties or rank is None:
            return
        found = cast(IntegerAttr, op.properties[name]).value.data
        _expect(lowest(rank) <= found < rank, f"'{name}' to be an axis of a tensor with {rank}, got {found}")

    return check


def for_each_axis(of: Values, *names: str, least: int | None = None) -> Check:
    """The properties have a number for each axis of a value."""

    def check(op: Operation) -> None:
        rank = _rank(of(op))
        for name in names:
            found = _list(op, name)
            if found is None or rank is None:
                continue
            _expect(len(found) == rank, f"'{name}' to have a number for each of {rank} axes, got {list(found)}")
            _expect(least is None or min(found, default=least) >= least, f"'{name}' to be at least {least}")

    return check


def operands_for_each_axis(of: Values, before: int) -> Check:
    """Behind some operands there is one for each axis of a value."""

    def check(op: Operation) -> None:
        rank = _rank(of(op))
        if rank is not None:
            _expect(len(op.operands) == before + rank, f"{before + rank} operands, got {len(op.operands)}")

    return check


def some_operands(op: Operation) -> None:
    """There is an operand."""
    _expect(bool(op.operands), "an operand")


def pads_for_each_axis(of: Values, less: int = 0) -> Check:
    """The property `padding` is two numbers for each axis, some axes left out, or one for all."""

    def check(op: Operation) -> None:
        value, rank = op.properties.get("padding"), _rank(of(op))
        if isinstance(value, DenseIntOrFPElementsAttr) and rank is not None:
            found = list(cast("TensorType[Attribute]", value.type).get_shape())
            _expect(found == [rank - less, 2], f"'padding' to have two numbers for each of {rank - less} axes")

    return check


def _broadcast_dimensions(op: Operation) -> None:
    found, source, target = _list(op, "broadcast_dimensions"), _rank(op.operands[0]), _rank(_result(op))
    if found is None or source is None or target is None:
        return
    _expect(len(found) == source, f"'broadcast_dimensions' to name an axis for each of {source}, got {list(found)}")
    _expect_axes("broadcast_dimensions", found, target)


def _dot(op: Operation) -> None:
    numbers = cast(DotDimensionNumbersAttr, op.properties["dot_dimension_numbers"])
    for value, side in zip(op.operands, ("lhs", "rhs"), strict=True):
        both = [f"{side}_batching_dimensions", f"{side}_contracting_dimensions"]
        rank = _rank(value)
        if rank is not None:
            _expect_axes(" and ".join(both), [axis for name in both for axis in numbers.list_named(name)], rank)
    for kind in ("batching", "contracting"):
        left, right = (numbers.list_named(f"{side}_{kind}_dimensions") for side in ("lhs", "rhs"))
        _expect(len(left) == len(right), f"as many {kind} axes of one side as of the other")
        sizes = [
            [value.type.get_shape()[axis] for axis in named]
            for value, named in zip(op.operands, (left, right), strict=True)
            if is_tensor(value.type)
        ]
        if len(sizes) == 2:
            _expect(
                all(one == two or DYNAMIC in (one, two) for one, two in zip(*sizes, strict=True)), f"{kind} axes alike"
            )


def _dot_of_matrices(op: Operation) -> None:
    for value in op.operands:
        rank = _rank(value)
        _expect(rank is None or 1 <= rank <= 2, "operands with one or two axes")


def _convolution(op: Operation) -> None:
    numbers = cast(ConvDimensionNumbersAttr, op.properties["dimension_numbers"]).data
    for value, named, what in zip((*op.operands[:2], _result(op)), numbers, ("input", "kernel", "result"), strict=True):
        rank = _rank(value)
        _expect(rank is None or rank == len(named), f"dimension numbers for each axis of the {what}")
    spatial = len(numbers[0]) - 2
    for name in ("window_strides", "lhs_dilation", "rhs_dilation", "window_reversal"):
        found = _list(op, name)
        if found is not None:
            _expect(len(found) == spatial, f"'{name}' to have a number for each of {spatial} axes")
            _expect(name == "window_reversal" or min(found, default=1) >= 1, f"'{name}' to be at least 1")


def _gather(op: Operation) -> None:
    numbers = cast(GatherDimensionNumbersAttr, op.properties["dimension_numbers"])
    _windows(op, numbers, 1, _result(op), "a result")


def _scatter(op: Operation) -> None:
    numbers = cast(ScatterDimensionNumbersAttr, op.properties["scatter_dimension_numbers"])
    _expect(len(op.operands) % 2 == 1 and len(op.operands) >= 3, "operands, indices, and as many updates as operands")
    several = len(op.operands) // 2
    _windows(op, numbers, several, op.operands[several + 1], "updates")


def _windows(
    op: Operation,
    numbers: GatherDimensionNumbersAttr | ScatterDimensionNumbersAttr,
    indices: int,
    parts: SSAValue | None,
    what: str,
) -> None:
    """A gather reads, and a scatter writes, windows of the first operand at the places that index vectors say.

    Args:
        op: The gather or scatter.
        numbers: Its dimension numbers: fields of both attributes stand in the same order.
        indices: Which operand the index vectors are.
        parts: The windows, all of them in one tensor.
        what: What the op calls them.
    """
    whole, places, rank = (_rank(value) for value in (op.operands[0], op.operands[indices], parts))
    if whole is None or places is None or rank is None:
        return
    names = list(numbers.FIELDS)[:5]
    window, single, batches, of_indices, mapped = (numbers.list_named(name) for name in names)
    _expect_axes(names[0], window, rank)
    _expect_axes(f"{names[1]} and {names[2]}", [*single, *batches], whole)
    _expect_axes(f"{names[4]} and {names[2]}", [*mapped, *batches], whole)
    kept = whole - len(single) - len(batches)
    _expect(len(window) == kept, f"'{names[0]}' to be {kept} axes, those of a window")
    axes = kept + _without_vectors(op, numbers, places, mapped, indices)
    _expect(rank == axes, f"{what} of {axes} axes, got {rank}")
    _index_batches(numbers, batches, of_indices, places)


def _without_vectors(
    op: Operation,
    numbers: GatherDimensionNumbersAttr | ScatterDimensionNumbersAttr,
    places: int,
    mapped: Sequence[int],
    indices: int,
) -> int:
    """Axes of the indices besides that of the index vectors, which have a number for each indexed axis."""
    vector = numbers.number_named("index_vector_dim")
    _expect(0 <= vector <= places, f"'index_vector_dim' to be at most {places}, got {vector}")
    type = op.operands[indices].type
    assert is_tensor(type), "its axes are known"
    length = 1 if vector == places else type.get_shape()[vector]
    _expect(length in (len(mapped), DYNAMIC), f"index vectors of {len(mapped)} numbers, got {length}")
    return places - (vector < places)


def _index_batches(
    numbers: GatherDimensionNumbersAttr | ScatterDimensionNumbersAttr,
    batches: Sequence[int],
    of_indices: Sequence[int],
    places: int,
) -> None:
    _expect_axes("batching axes of the indices", of_indices, places)
    _expect(numbers.number_named("index_vector_dim") not in of_indices, "index vectors not to be a batching axis")
    _expect(len(batches) == len(of_indices), "as many batching axes of the operand as of the indices")


def _slice_bounds(op: Operation) -> None:
    begin, end, strides = (_list(op, name) or () for name in ("start_indices", "limit_indices", "strides"))
    type = op.operands[0].type
    sizes = type.get_shape() if is_tensor(type) else ()
    for start, limit, stride, size in zip(begin, end, strides, sizes, strict=False):
        is_inside = 0 <= start <= limit and (size == DYNAMIC or limit <= size) and stride >= 1
        _expect(is_inside, f"a slice of an axis of {size} elements, got [{start}:{limit}:{stride}]")


def _slice_sizes(of: int, name: str = "slice_sizes") -> Check:
    def check(op: Operation) -> None:
        type = op.operands[of].type
        for part, size in zip(_list(op, name) or (), type.get_shape() if is_tensor(type) else (), strict=False):
            _expect(part >= 0 and (size == DYNAMIC or part <= size), f"'{name}' to fit an axis of {size}, got {part}")

    return check


def regions(count: Callable[[Operation], Iterator[tuple[int, int]]]) -> Check:
    """Each region is a block with so many arguments that ends by returning so many values."""

    def check(op: Operation) -> None:
        for index, (region, (arguments, returned)) in enumerate(zip(op.regions, count(op), strict=False)):
            block = region.first_block
            if block is None or block.next_block is not None:
                raise VerifyException(f"expects region #{index} to be one block")
            _expect(
                len(block.args) == arguments, f"region #{index} to take {arguments} arguments, got {len(block.args)}"
            )
            last = block.last_op
            if last is not None and last.name == "stablehlo.return":
                got = len(last.operands)
                _expect(got == returned, f"region #{index} to return {returned} values, got {got}")

    return check


def _combines(op: Operation) -> Iterator[tuple[int, int]]:
    yield 2 * len(op.results), len(op.results)


def _chooses(op: Operation) -> Iterator[tuple[int, int]]:
    for _ in op.regions:
        yield 0, len(op.results)


def _repeats(op: Operation) -> Iterator[tuple[int, int]]:
    yield len(op.operands), 1
    yield len(op.operands), len(op.operands)


def _loop_values(op: Operation) -> None:
    """What goes round a loop has the types of the operands, up to sizes that are open (C1 to C3 of `while`)."""
    condition, body = (region.block for region in op.regions)
    groups: list[tuple[str, Sequence[SSAValue]]] = [
        ("result", op.results),
        ("argument of region #0", condition.args),
        ("argument of region #1", body.args),
        ("value returned by region #1", _returned(body)),
    ]
    for what, values in groups:
        for index, (value, start) in enumerate(zip(values, op.operands, strict=False)):
            expected = f"{what}, number {index}, to be like the operand of type {start.type}, got {value.type}"
            _expect(_are_alike(value.type, start.type), expected)
    for value in _returned(condition):
        _expect(value.type == TensorType(i1, []), f"region #0 to return tensor<i1>, got {value.type}")


def _returned(block: Block) -> Sequence[SSAValue]:
    last = block.last_op
    return last.operands if last is not None and last.name == "stablehlo.return" else ()


def _are_alike(one: Attribute, other: Attribute) -> bool:
    """Whether a value may be of both types; what quantized elements stand for is not looked at."""
    if (
        is_tensor(one)
        and is_tensor(other)
        and any(each.element_type.name.startswith("quant.") for each in (one, other))
    ):
        one, other = with_element(one, i1), with_element(other, i1)
    return are_compatible(one, other)


def _scan(op: Operation) -> None:
    """Operands and results are said to be two sorts each, with a carry for each init, and inputs have the dimension."""
    counts: list[Sequence[int]] = []
    for name, values in (("operandSegmentSizes", op.operands), ("resultSegmentSizes", op.results)):
        sizes = _list(op, name)
        _expect(sizes is not None and len(sizes) == 2 and min(sizes) >= 0, f"'{name}' of two numbers")
        counts.append(sizes or ())
        _expect(sum(counts[-1]) == len(values), f"'{name}' to add up to {len(values)}")
    _expect(counts[0][1] == counts[1][1], f"a carry for each of {counts[0][1]} inits, got {counts[1][1]}")
    for value in op.operands[: counts[0][0]]:
        rank, axis = _rank(value), cast(IntegerAttr, op.properties["dimension"]).value.data
        _expect(rank is None or 0 <= axis < rank, f"'dimension' to be an axis of a tensor with {rank}, got {axis}")


def _scans(op: Operation) -> Iterator[tuple[int, int]]:
    yield len(op.operands), len(op.results)


def _orders(op: Operation) -> Iterator[tuple[int, int]]:
    yield 2 * len(op.operands), 1


def _selects(op: Operation) -> Iterator[tuple[int, int]]:
    yield 2, 1
    yield 2, 1


def _maps(op: Operation) -> Iterator[tuple[int, int]]:
    yield len(op.operands), 1


def same_shape_as_value(op: Operation) -> None:
    """The result has the shape of the elements that the property `value` holds."""
    held, result = getattr(op.properties.get("value"), "type", None), op.results[0].type
    if isinstance(held, TensorType) and is_tensor(result):
        _expect(held.get_shape() == result.get_shape(), f"a result of the shape of 'value', got {result}")


def as_many_results(op: Operation) -> None:
    """There is a result for each operand."""
    _expect(len(op.operands) == len(op.results), f"{len(op.operands)} results, got {len(op.results)}")


def inputs_and_starts(op: Operation) -> None:
    """There are an input and a start for each result."""
    _expect(len(op.operands) == 2 * len(op.results), f"an input and a start for each of {len(op.results)} results")
    _expect(bool(op.results), "a result")


def _fields(op: Operation) -> None:
    """The result is the tuple of the operands (`tuple_c1`)."""
    fields = op.results[0].type
    _expect(
        isinstance(fields, TupleType)
        and len(fields.types) == len(op.operands)
        and all(map(_are_alike, fields.types, op.operand_types)),
        f"the tuple of its {len(op.operands)} operands, got {fields}",
    )


def _formats(op: Operation) -> None:
    """Bits of the exponent and of the mantissa (`reduce_precision_c2` and `c3`)."""
    for name, least in (("exponent_bits", 1), ("mantissa_bits", 0)):
        bits = cast(IntegerAttr, op.properties[name]).value.data
        _expect(bits >= least, f"'{name}' to be at least {least}, got {bits}")


_FIRST, _SECOND = operand(0), operand(1)
_SLICE = ("start_indices", "limit_indices", "strides")
_PADS = ("edge_padding_low", "edge_padding_high")
_WINDOW = ("window_strides", "base_dilations", "window_dilations", "window_dimensions")
_BATCH_NORM = (axis("feature_index", _FIRST),)

CHECKS: Mapping[str, Sequence[Check]] = {
    "all_reduce": (regions(lambda op: iter([(2, 1)])),),
    "batch_norm_grad": _BATCH_NORM,
    "batch_norm_inference": _BATCH_NORM,
    "batch_norm_training": _BATCH_NORM,
    "broadcast_in_dim": (_broadcast_dimensions,),
    "case": (regions(_chooses),),
    "concatenate": (some_operands, axis("dimension", _FIRST)),
    "constant": (same_shape_as_value,),
    "convolution": (_convolution, pads_for_each_axis(_FIRST, less=2)),
    "dot": (_dot_of_matrices,),
    "dot_general": (_dot,),
    "dynamic_broadcast_in_dim": (_broadcast_dimensions,),
    "dynamic_iota": (axis("iota_dimension", _result),),
    "dynamic_slice": (
        some_operands,
        operands_for_each_axis(_FIRST, 1),
        for_each_axis(_FIRST, "slice_sizes"),
        _slice_sizes(0),
    ),
    "dynamic_update_slice": (some_operands, operands_for_each_axis(_FIRST, 2)),
    "gather": (for_each_axis(_FIRST, "slice_sizes"), _slice_sizes(0), _gather),
    "get_dimension_size": (axis("dimension", _FIRST),),
    "if": (regions(_chooses),),
    "iota": (axis("iota_dimension", _result),),
    "map": (regions(_maps),),
    "optimization_barrier": (as_many_results,),
    "pad": (for_each_axis(_FIRST, *_PADS), for_each_axis(_FIRST, "interior_padding", least=0)),
    "reduce": (inputs_and_starts, axes("dimensions", _FIRST), regions(_combines)),
    "reduce_precision": (_formats,),
    "reduce_scatter": (regions(lambda op: iter([(2, 1)])),),
    "reduce_window": (
        inputs_and_starts,
        for_each_axis(_FIRST, *_WINDOW, least=1),
        pads_for_each_axis(_FIRST),
        regions(_combines),
    ),
    "reverse": (axes("dimensions", _FIRST),),
    "scan": (_scan, regions(_scans)),
    "scatter": (_scatter, regions(_combines)),
    "select_and_scatter": (
        for_each_axis(_FIRST, "window_dimensions", "window_strides", least=1),
        pads_for_each_axis(_FIRST),
        regions(_selects),
    ),
    "set_dimension_size": (axis("dimension", _FIRST),),
    "slice": (for_each_axis(_FIRST, *_SLICE), _slice_bounds),
    "sort": (
        some_operands,
        as_many_results,
        axis("dimension", _FIRST, lowest=lambda rank: -rank),
        regions(_orders),
    ),
    "transpose": (for_each_axis(_FIRST, "permutation"), axes("permutation", _FIRST)),
    "tuple": (_fields,),
    "while": (as_many_results, regions(_repeats), _loop_values),
}
"""By the name of the op, without its dialect."""
