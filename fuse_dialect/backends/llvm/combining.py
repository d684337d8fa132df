"""Reductions as code: accumulators, and how they become one value."""

from fuse_dialect.backends.assembler.builder import SUM
from fuse_dialect.backends.assembler.values import Type, Value, constant
from fuse_dialect.backends.llvm.elements import narrowed, register_type, widened
from fuse_dialect.backends.llvm.scalars import Scalars, extreme
from fuse_dialect.loops.program import Combiner, Reduction

_FLOAT = {Combiner.ADD: "fadd", Combiner.MULTIPLY: "fmul"}
_INTEGER = {Combiner.ADD: "add", Combiner.MULTIPLY: "mul", Combiner.AND: "and", Combiner.OR: "or"}


def accumulator_type(reduction: Reduction, lanes: int = 0) -> Type:
    """What an accumulator holds."""
    return register_type(reduction.start.element, lanes)


def neutral(reduction: Reduction, lanes: int) -> Value:
    """What changes nothing when it is combined with anything."""
    type = accumulator_type(reduction, lanes)
    # Registers have no sign; only the element type of the start still tells.
    unsigned = reduction.start.element.startswith("ui") or type.bits == 1
    greatest = float("inf") if type.is_float else (1 << (type.bits - (not unsigned))) - 1
    least = -greatest if type.is_float else 0 if unsigned else -(1 << (type.bits - 1))
    match reduction.combiner:
        case Combiner.ADD | Combiner.OR:
            return constant(type, 0)
        case Combiner.MULTIPLY:
            return constant(type, 1)
        case Combiner.MAXIMUM:
            return constant(type, least)
        case Combiner.MINIMUM:
            return constant(type, greatest)
        case Combiner.ORDER:
            raise AssertionError("places in order are not combined: `sorting` finds them")
        case Combiner.AND:
            # All bits set: true of i1, and what keeps every bit of wider integers.
            return constant(type, -1)


def combine(scalars: Scalars, reduction: Reduction, lhs: Value, rhs: Value) -> Value:
    """Two values as one; nan wins in a maximum or minimum."""
    f = scalars.f
    rhs = _as_accumulator(scalars, reduction, rhs)
    combiner = reduction.combiner
    if combiner in (Combiner.MAXIMUM, Combiner.MINIMUM):
        greater = combiner is Combiner.MAXIMUM
        # Zeros of either sign are one maximum: a reduction leaves open which, and saves two instructions.
        if lhs.type.is_float:
            return extreme(scalars, greater, lhs, rhs)
        unsigned = reduction.start.element.startswith("ui") or lhs.type.bits == 1
        return f.intrinsic(("u" if unsigned else "s") + ("max" if greater else "min"), lhs.type, [lhs, rhs])
    if lhs.type.is_float:
        # A reduction may be in any order (`Combiner`), so its additions may be reassociated; other code may not.
        total = f.float_binary(_FLOAT[combiner], widened(f, lhs), widened(f, rhs), SUM)
        return narrowed(f, total, lhs.type)
    return f.binary(_INTEGER[combiner], lhs, rhs)


def across(scalars: Scalars, reduction: Reduction, vector: Value) -> Value:
    """All lanes of a vector as one value: halves are combined until one lane is left."""
    f = scalars.f
    # Halves, not neighbours: each step is one shuffle of registers, and as many lanes work as are left.
    width = vector.type.lanes
    while width > 1:
        width //= 2
        low = f.shuffle(vector, vector, list(range(width)))
        high = f.shuffle(vector, vector, list(range(width, 2 * width)))
        vector = combine(Scalars(f, scalars.machine, width, scalars.fast_math), reduction, low, high)
    return f.element(vector, 0)


def _as_accumulator(scalars: Scalars, reduction: Reduction, value: Value) -> Value:
    """The value in the accumulator's type."""
    type = accumulator_type(reduction, value.type.lanes)
    return narrowed(scalars.f, value, type) if type.is_float else value
