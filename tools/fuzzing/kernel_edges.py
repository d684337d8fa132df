"""Structural edges of kernels and their plans: what shares a kernel, a shape, memory, or a producer."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from fuzzing.structure_writer import Rows, StructureWriter, Value

Edge: TypeAlias = Callable[[StructureWriter], None]
"""Writes one thing of a kind into a program."""


def _two_reductions(w: StructureWriter) -> None:
    """Two reductions of one shape along one axis, of which difference and sum are returned."""
    x, axis = w.pick(), w.random.randrange(2)
    keepdims = w.random.random() < 0.3
    one, other = (
        w.reduced(name, x, axis, keepdims=keepdims) for name in w.random.sample(("max", "min", "sum", "mean"), 2)
    )
    w.give(w.op("subtract", one, other), w.op("add", one, other))


def _three_reductions(w: StructureWriter) -> None:
    """Reductions of values that are made of each other, all returned."""
    x = w.pick()
    y = w.unary(x)
    w.give(w.reduced("max", x, 0), w.reduced("sum", y, 0), w.reduced("min", w.binary(x, y), 0))


def _reductions_along_both_axes(w: StructureWriter) -> None:
    """One value reduced along rows and along columns, and both taken from it again."""
    x = w.unary(w.pick())
    down, across = w.reduced("max", x, 0, keepdims=True), w.reduced("sum", x, 1, keepdims=True)
    w.give(w.keep(w.op("subtract", w.op("subtract", x, down), across)), down, across)


def _normalised(w: StructureWriter, axis: int) -> tuple[Value, Value]:
    """A softmax that is written out, and its sum."""
    x = w.pick()
    raised = w.op("exp", w.op("subtract", x, w.reduced("max", x, axis, keepdims=True)))
    total = w.reduced("sum", raised, axis, keepdims=True)
    return w.op("divide", raised, total), total


def _softmax_written_out(w: StructureWriter) -> None:
    """A softmax that is written out, of which its parts are returned as well."""
    share, total = _normalised(w, w.random.randrange(2))
    w.give(w.keep(share), total)


def _softmax_and_sum(w: StructureWriter) -> None:
    """An exponential, then a softmax of it and a sum of that."""
    x = w.op("exp", w.op("minimum", w.pick(), w.constant(2.0)))
    axis = w.random.randrange(2)
    share = w.op("softmax", x, more=f"axis = {axis}")
    w.give(share, w.reduced("sum", share, axis), x)


def _log_softmax_and_split(w: StructureWriter) -> None:
    """A log-softmax of which the parts are read apart."""
    shares = w.op("log_softmax", w.pick(), more="axis = 1")
    left = w.random.randint(1, w.columns - 1)
    sizes = left, w.columns - left
    parts = w.ops(
        "split", [shares], [((Rows(), size), "f32") for size in sizes], f"axis = 1, sizes = [{sizes[0]}, {sizes[1]}]"
    )
    w.give(w.unary(parts[0]), w.reduced("max", parts[1], 1), parts[1])


def _outputs_of_one_shape(w: StructureWriter) -> None:
    """Several results of one kernel that could lie in each other's memory."""
    x, y = w.pick(), w.pick()
    one = w.binary(x, y)
    other = w.unary(one)
    third = w.binary(other, x)
    w.give(*w.random.sample((one, other, third, w.unary(third)), w.random.randint(2, 4)))


def _value_that_is_returned_twice(w: StructureWriter) -> None:
    """One value as two results, and once more in another shape."""
    x = w.unary(w.pick())
    w.give(x, x, w.op("reshape", x, shape=(Rows(w.columns),)))


def _argument_that_is_returned(w: StructureWriter) -> None:
    """An argument as a result, and a view of it, beside what is computed from it."""
    x = w.argument(w.image)
    flat = w.op("reshape", x, shape=(Rows(w.columns),))
    w.give(w.unary(x), *w.random.sample((x, flat), w.random.randint(1, 2)))


def _constant_that_is_returned(w: StructureWriter) -> None:
    """A constant as a result, beside what is computed from it."""
    c = w.constant(0.75, (w.columns,))
    w.give(c, w.op("add", w.pick(), c))


def _argument_that_is_not_read(w: StructureWriter) -> None:
    """An argument that nobody reads."""
    w.argument(w.image)
    w.give(w.unary(w.pick((w.columns,))))


def _producer_read_at_other_ranks(w: StructureWriter) -> None:
    """One value read flat, turned, with one more axis, and as it is."""
    x = w.unary(w.pick())
    flat = w.op("reshape", x, shape=(Rows(w.columns),))
    turned = w.op("transpose", x, shape=(w.columns, Rows()), more="permutation = [1, 0]")
    raised = w.op("expand_dims", x, shape=(1, Rows(), w.columns), more="axis = 0")
    w.give(w.reduced("sum", flat, 0), w.unary(turned), w.binary(raised, raised), w.keep(w.unary(x)))


def _row_and_column_of_one_value(w: StructureWriter) -> None:
    """A vector that is repeated along columns here and reduced there."""
    v = w.unary(w.pick((w.columns,)))
    w.give(w.keep(w.op("add", w.pick(), v)), w.reduced("max", v, 0), w.op("multiply", v, w.constant(0.5)))


def _value_that_escapes_and_is_read(w: StructureWriter) -> None:
    """A result that later kernels read as well."""
    x = w.unary(w.pick())
    w.give(x)
    total = w.reduced("sum", x, 0)
    w.give(total, w.keep(w.op("subtract", x, total)))


def _diamond_over_a_barrier(w: StructureWriter) -> None:
    """Two ways from one value to another, of which one leads through an op that never fuses."""
    x = w.unary(w.pick())
    ordered = w.op("sort", x, more="axis = 1")
    w.give(w.keep(w.binary(ordered, w.unary(x))), w.reduced("max", ordered, 0))


def _parts_of_a_concatenation(w: StructureWriter) -> None:
    """A value beside itself, padded, and read in parts."""
    x = w.unary(w.pick())
    wide = w.op("concatenate", x, x, shape=(Rows(), 2 * w.columns), more="axis = 1")
    padded = w.op("pad", wide, w.constant(0.5), shape=(Rows(), 2 * w.columns + 2), more="low = [0, 0], high = [0, 2]")
    part = w.op(
        "strided_slice",
        padded,
        shape=(Rows(), 3),
        more=f"begin = [{2 * w.columns - 1}], end = [{2 * w.columns + 2}], axes = [1]",
    )
    w.give(padded, w.reduced("max", part, 1), w.reduced("sum", wide, 1))


def _padded_reduction(w: StructureWriter) -> None:
    """One number of each row, read with padding around it and without."""
    x = w.pick()
    most = w.reduced("max", x, 1, keepdims=True)
    low = w.random.randrange(w.columns)
    more = f"low = [0, {low}], high = [0, {w.columns - 1 - low}]"
    padded = w.op("pad", most, w.constant(0.5), shape=w.image, more=more)
    w.give(w.keep(w.op("add", x, padded)), w.op("subtract", x, most))


def _rounds_of_halves(w: StructureWriter) -> None:
    """Halves that are mixed with each other and joined, twice: as random numbers are made, and used in between."""
    half = (Rows(), w.columns)
    c = w.pick()
    for _ in range(2):
        keys = w.op("concatenate", w.pick(), c, shape=(Rows(), 2 * w.columns), more="axis = 1")
        left, right = w.ops("split", [keys], [(half, "f32")] * 2, f"axis = 1, sizes = [{w.columns}, {w.columns}]")
        for _ in range(w.random.randint(1, 3)):
            left = w.op("add", left, right)
            right = w.op("maximum", w.op("negative", right), left)
        joined = w.op("concatenate", left, right, shape=(Rows(), 2 * w.columns), more="axis = 1")
        part = w.op("strided_slice", joined, shape=half, more=f"begin = [1], end = [{w.columns + 1}], axes = [1]")
        c = w.op("minimum", w.op("maximum", c, part), w.constant(4.0))
    w.give(w.keep(c))


def _products_of_one_value(w: StructureWriter) -> None:
    """Two products of one value, joined by a gate, and a reduction of one of them."""
    x = w.unary(w.pick())
    a, b = (w.argument((w.columns, 5)) for _ in range(2))
    one, other = (w.op("matmul", x, each, shape=(Rows(), 5)) for each in (a, b))
    w.give(w.op("multiply", w.op("sigmoid", one), other), w.reduced("max", one, 1))


def _reductions_of_different_lengths(w: StructureWriter) -> None:
    """Reductions of one value and of a part of it, which run over different spaces and meet."""
    x = w.unary(w.pick())
    part = w.op(
        "strided_slice", x, shape=(Rows(), w.columns - 1), more=f"begin = [0], end = [{w.columns - 1}], axes = [1]"
    )
    whole, less = w.reduced("max", x, 1), w.reduced("max", part, 1)
    w.give(w.op("subtract", whole, less), w.op("add", w.reduced("sum", x, 1), less))


def _running_sums(w: StructureWriter) -> None:
    """A scan that is read beside what it sums."""
    x = w.unary(w.pick())
    sums = w.op("cumsum", x, more="axis = 1")
    w.give(w.op("subtract", sums, x), w.reduced("max", sums, 1))


KERNEL_EDGES: Mapping[str, Edge] = {
    "two-reductions": _two_reductions,
    "three-reductions": _three_reductions,
    "reductions-along-both-axes": _reductions_along_both_axes,
    "softmax-written-out": _softmax_written_out,
    "softmax-and-sum": _softmax_and_sum,
    "log-softmax-and-split": _log_softmax_and_split,
    "outputs-of-one-shape": _outputs_of_one_shape,
    "value-returned-twice": _value_that_is_returned_twice,
    "argument-returned": _argument_that_is_returned,
    "constant-returned": _constant_that_is_returned,
    "argument-not-read": _argument_that_is_not_read,
    "producer-at-other-ranks": _producer_read_at_other_ranks,
    "row-and-column": _row_and_column_of_one_value,
    "escapes-and-is-read": _value_that_escapes_and_is_read,
    "diamond-over-a-barrier": _diamond_over_a_barrier,
    "parts-of-a-concatenation": _parts_of_a_concatenation,
    "padded-reduction": _padded_reduction,
    "rounds-of-halves": _rounds_of_halves,
    "products-of-one-value": _products_of_one_value,
    "reductions-of-different-lengths": _reductions_of_different_lengths,
    "running-sums": _running_sums,
}
"""A row for each edge."""
