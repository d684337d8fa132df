"""Structural edges of loops and branches: where states come from, who reads them, and what is left when they end."""

from collections.abc import Mapping, Sequence

from fuzzing.kernel_edges import Edge
from fuzzing.structure_writer import StructureWriter, Value


def _counter_as_state(w: StructureWriter) -> None:
    """A state that becomes the number of the iteration, and a value computed from it."""
    begin = w.constant(-1, element="i64")
    x = w.unary(w.pick())

    def body(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        return [i, w.unary(states[1])], []

    count, last = w.loop(body, [begin, x])
    w.give(count, w.keep(last))
    w.give(w.op("add", count, count, element="i64"))


def _counter_that_is_stacked(w: StructureWriter) -> None:
    """The numbers of the iterations as a stack, and a state that follows one behind."""
    begin = w.constant(7, element="i64")

    def body(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        return [i], [i, states[0]]

    w.give(*w.loop(body, [begin]))


def _input_as_state(w: StructureWriter) -> None:
    """A state that becomes a value from outside the loop."""
    outside, begin = w.pick(), w.unary(w.pick())

    def body(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        return [outside, w.binary(states[0], states[1])], [states[0]]

    last, other, stack = w.loop(body, [begin, w.unary(outside)])
    w.give(last, w.keep(other), w.reduced("sum", stack, 0), outside)


def _constant_as_state(w: StructureWriter) -> None:
    """A state that becomes a constant, from outside or from inside the loop."""
    shape = (w.columns,)
    outside, x = w.constant(0.5, shape), w.pick(shape)

    def body(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        inside = w.constant(-2.0, shape)
        return [outside, inside, w.binary(states[0], states[1])], []

    w.give(*w.loop(body, [x, w.unary(x), x]))


def _states_swapped(w: StructureWriter) -> None:
    """States that change places, two or three of them."""
    begin = [w.unary(w.pick()) for _ in range(w.random.randint(2, 3))]

    def body(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        turned = [*states[1:], states[0]]
        if w.random.random() < 0.5:
            turned[0] = w.unary(turned[0])
        return turned, []

    w.give(*map(w.keep, w.loop(body, begin)))


def _state_yielded_twice(w: StructureWriter) -> None:
    """One value as the next of two states."""
    begin = [w.unary(w.pick()), w.pick()]

    def body(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        made = w.binary(states[0], w.unary(states[1]))
        return [made, made], []

    w.give(*w.loop(body, begin))


def _state_never_read(w: StructureWriter) -> None:
    """A state that the body does not read."""
    begin = [w.pick(), w.unary(w.pick())]

    def body(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        return [w.unary(states[1]), w.unary(states[1])], []

    w.give(*w.loop(body, begin))


def _state_unchanged(w: StructureWriter) -> None:
    """A state that stays, whose first value is an argument, beside one that reads it."""
    begin = [w.argument(w.image), w.unary(w.pick())]

    def body(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        return [states[0], w.binary(states[1], states[0])], []

    w.give(*map(w.keep, w.loop(body, begin)))


def _state_that_is_stacked(w: StructureWriter) -> None:
    """The next state as a row of a stack, and the one before it as well."""
    begin = [w.unary(w.pick())]

    def body(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        made = w.unary(states[0])
        return [made], [made, states[0], made]

    last, *stacks = w.loop(body, begin)
    w.give(last, *(w.reduced("sum", stack, 0) for stack in stacks), stacks[0])


def _row_as_state(w: StructureWriter) -> None:
    """Rows that become the next state as they are."""
    x = w.unary(w.pick())
    begin = w.pick((w.columns,))

    def body(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        return [rows[0], w.binary(states[1], states[0])], [states[0]]

    last, other, stack = w.loop(body, [begin, w.unary(begin)], [x])
    w.give(last, w.keep(other), stack)


def _first_state_read_again(w: StructureWriter) -> None:
    """What a loop begins with is read behind it, and is a result."""
    begin = w.unary(w.pick())

    def body(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        return [w.unary(states[0])], []

    (last,) = w.loop(body, [begin])
    w.give(begin, w.op("subtract", last, begin))


def _two_loops_from_one_value(w: StructureWriter) -> None:
    """Two loops, and two states, that begin with one value."""
    begin = w.unary(w.pick())

    def body(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        return [w.unary(states[0]), w.binary(states[1], states[0])], []

    w.give(*w.loop(body, [begin, begin]), *w.loop(body, [begin, begin]))


def _loops_between_kernels(w: StructureWriter) -> None:
    """Loops that keep their order, between kernels that read one value, with results in another order."""
    x = w.unary(w.pick())

    def body(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        return [w.unary(states[0])], []

    before = w.unary(x)
    (one,) = w.loop(body, [before])
    (other,) = w.loop(body, [x])
    results = [one, w.binary(x, other), w.reduced("sum", w.unary(x), 0)]
    w.random.shuffle(results)
    w.give(*results, *([before] if w.random.random() < 0.3 else []))


def _rounds_with_loops(w: StructureWriter) -> None:
    """Rounds in which a loop makes what the next value is chosen by, all from one key."""
    key, c = w.unary(w.pick()), w.pick()

    def body(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        mixed = w.binary(states[0], states[1])
        return [mixed, states[0]], []

    for number in range(2):
        made = w.op("add", key, w.constant(float(number)))
        left, right = w.loop(body, [made, w.op("multiply", made, w.constant(0.5))])
        c = w.op("maximum", w.op("minimum", c, w.binary(left, right)), w.constant(-4.0))
    w.give(w.keep(c))


def _no_trips(w: StructureWriter) -> None:
    """A loop without an iteration gives what it begins with, and a stack of nothing.

    Its rows have no open sizes: an empty stack has 0 for what its type leaves open.
    """
    begin = [w.argument(w.image), w.unary(w.pick()), w.constant(3, element="i64"), w.pick((w.columns,))]

    def body(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        return [w.unary(states[1]), states[0], i, states[3]], [w.unary(states[3])]

    *last, stack = w.loop(body, begin, trips=0, end=w.random.choice(("limit", "argument", "while")))
    w.give(*last, w.reduced("sum", stack, 0))


def _results_not_read(w: StructureWriter) -> None:
    """A loop of which one result alone is read."""
    begin = [w.unary(w.pick()), w.pick()]

    def body(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        return [w.binary(states[0], states[1]), w.unary(states[0])], [states[0], i]

    w.give(w.loop(body, begin)[w.random.randrange(2)])


def _stack_as_rows(w: StructureWriter) -> None:
    """What one loop stacks, another takes row by row."""
    x = w.unary(w.pick())

    def first(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        return [w.unary(rows[0])], [w.binary(rows[0], states[0])]

    def second(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        return [w.binary(states[0], rows[0])], [rows[0]]

    begin = w.pick((w.columns,))
    last, stack = w.loop(first, [begin], [x], end="rows")
    w.give(last, *w.loop(second, [begin], [stack], end="rows"))


def _loop_in_branch_in_loop(w: StructureWriter) -> None:
    """A loop inside a branch inside a loop, which reads values of every level."""
    outside, begin = w.unary(w.pick()), w.pick()
    middle = w.constant(1, element="i64")

    def innermost(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        return [w.binary(states[0], outside), i], []

    def body(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        condition = w.op("less", i, middle, shape=(), element="i1")
        made, count = w.branch(
            condition,
            lambda: w.loop(innermost, [states[0], i]),
            lambda: [w.unary(states[0]), i],
        )
        return [made, count], [made]

    last, count, stack = w.loop(body, [begin, w.constant(0, element="i64")], trips=w.random.randint(2, 3))
    w.give(w.keep(last), count, w.reduced("sum", stack, 0))


def _branch_that_gives_values_from_outside(w: StructureWriter) -> None:
    """A branch of which one side gives an argument, or one value twice."""
    x, y = w.argument(w.image), w.unary(w.pick())
    threshold = w.op("less", w.count(w.random.randrange(2)), w.constant(1, element="i64"), shape=(), element="i1")
    one, other = w.branch(threshold, lambda: [x, y], lambda: [made := w.binary(x, y), made])
    w.give(one, w.keep(w.unary(other)), y)


def _branch_behind_a_loop(w: StructureWriter) -> None:
    """A branch that chooses by what a loop has counted, between its last states."""
    begin, most = w.constant(0, element="i64"), w.constant(w.random.randint(0, 2), element="i64")
    x = w.unary(w.pick())
    outer = w.constant(True, element="i1")

    def inner(i: Value, states: Sequence[Value], rows: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        return [w.op("add", states[0], i, element="i64"), states[2], w.unary(states[1])], [states[1]]

    count, one, other, stack = w.loop(inner, [begin, x, w.unary(x)], trips=3)
    chosen = w.op("logical_and", outer, w.op("less", count, most, shape=(), element="i1"), shape=(), element="i1")
    (last,) = w.branch(chosen, lambda: [one], lambda: [other])
    w.give(count, last, w.reduced("sum", stack, 0))


LOOP_EDGES: Mapping[str, Edge] = {
    "counter-as-state": _counter_as_state,
    "counter-stacked": _counter_that_is_stacked,
    "input-as-state": _input_as_state,
    "constant-as-state": _constant_as_state,
    "states-swapped": _states_swapped,
    "state-yielded-twice": _state_yielded_twice,
    "state-never-read": _state_never_read,
    "state-unchanged": _state_unchanged,
    "state-stacked": _state_that_is_stacked,
    "row-as-state": _row_as_state,
    "first-state-read-again": _first_state_read_again,
    "two-loops-from-one-value": _two_loops_from_one_value,
    "loops-between-kernels": _loops_between_kernels,
    "rounds-with-loops": _rounds_with_loops,
    "no-trips": _no_trips,
    "results-not-read": _results_not_read,
    "stack-as-rows": _stack_as_rows,
    "loop-in-branch-in-loop": _loop_in_branch_in_loop,
    "branch-of-outside-values": _branch_that_gives_values_from_outside,
    "branch-behind-a-loop": _branch_behind_a_loop,
}
"""A row for each edge."""
