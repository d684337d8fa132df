"""The native code of sections: it evaluates polynomials of sizes. The conditions are those of `size_sections`."""

from fuse_dialect.backends.assembler.builder import Function, Module, Parameter
from fuse_dialect.backends.assembler.values import F64, I1, I64, PTR, Value, constant
from fuse_dialect.backends.runtime.size_sections import LARGEST, RELATIONS
from fuse_dialect.backends.runtime.traced_sizes import Relation
from fuse_dialect.backends.types import STOP

FOLLOW_SECTION = "fuse_follow_section"
_POLYNOMIAL = "fuse_polynomial"


def write_sections(module: Module) -> None:
    """Add the function that follows a section: its address, that of the cells, that of the atoms; gives 1 or `STOP`."""
    _write_polynomial(module)
    f = module.function(FOLLOW_SECTION, [Parameter(name, PTR) for name in ("section", "cells", "atoms")], result=I64)
    section, cells, atoms = f.parameters
    # The cursor, and the largest sum of magnitudes so far.
    state = f.scratch(I64, 2)
    largest = at(f, state, 1)

    def following() -> Value:
        place = f.load(PTR, state)
        f.store(at(f, place, 1), state)
        return f.load(I64, place)

    def polynomial() -> Value:
        return f.call(_POLYNOMIAL, I64, [state, atoms])

    f.store(section, state)
    f.store(constant(F64, 0.0), largest)
    with f.loop(f.i64(0), following(), carried=[constant(I1, 1)]) as quotients:
        atom, number, divisor = following(), polynomial(), polynomial()
        is_positive = f.compare("sgt", divisor, f.i64(0))
        by = f.select(is_positive, divisor, f.i64(1))  # 0 would end the process
        quotient, rest = f.binary("sdiv", number, by), f.binary("srem", number, by)
        below = f.cast("zext", f.compare("slt", rest, f.i64(0)), I64)  # rounded down, as Python does
        f.store(f.subtract(quotient, below), at(f, atoms, atom))
        quotients.following = [f.binary("and", quotients.carried[0], is_positive)]
    with f.loop(f.i64(0), following(), carried=[quotients.carried[0]]) as conditions:
        relation, value = following(), polynomial()
        predicates = {Relation.ZERO: "eq", Relation.NOT_ZERO: "ne", Relation.NOT_NEGATIVE: "sge"}
        holds = constant(I1, 0)
        for number, each in enumerate(RELATIONS):
            is_so = f.compare(predicates[each], value, f.i64(0))
            holds = f.select(f.compare("eq", relation, f.i64(number)), is_so, holds)
        conditions.following = [f.binary("and", conditions.carried[0], holds)]
    with f.loop(f.i64(0), following()):
        value = polynomial()
        with f.loop(f.i64(0), following()):
            f.store(value, at(f, cells, following()))
    is_exact = f.compare("ole", f.load(F64, largest), constant(F64, float(LARGEST)))  # (3)
    f.ret(f.select(f.binary("and", conditions.carried[0], is_exact), f.i64(1), f.i64(STOP)))


def at(f: Function, pointer: Value, index: Value | int) -> Value:
    """The address of a word."""
    return f.offset(pointer, f.i64(index) if isinstance(index, int) else index, I64)


def _write_polynomial(module: Module) -> None:
    """The value of a polynomial (2); the cursor goes on behind it."""
    f = module.function(_POLYNOMIAL, [Parameter("state", PTR), Parameter("atoms", PTR)], linkage="internal", result=I64)
    state, atoms = f.parameters
    start, zero = f.load(PTR, state), constant(F64, 0.0)
    with f.loop(f.i64(0), f.load(I64, start), carried=[f.i64(0), zero, at(f, start, 1)]) as terms:
        total, magnitude, term = terms.carried
        coefficient, count = f.load(I64, term), f.load(I64, at(f, term, 1))
        listed = at(f, term, 2)
        with f.loop(f.i64(0), count, carried=[coefficient, f.cast("sitofp", coefficient, F64)]) as factors:
            product, size = factors.carried
            atom = f.load(I64, at(f, atoms, f.load(I64, at(f, listed, factors.index))))
            factors.following = [f.binary("mul", product, atom), f.fmul(size, f.cast("sitofp", atom, F64))]
        product, size = factors.carried
        own = f.intrinsic("fabs", F64, [size])
        terms.following = [f.binary("add", total, product), f.fadd(magnitude, own), at(f, listed, count)]
    total, magnitude, behind = terms.carried
    f.store(behind, state)
    largest = at(f, state, 1)
    before = f.load(F64, largest)
    f.store(f.select(f.compare("ogt", magnitude, before), magnitude, before), largest)
    f.ret(total)
