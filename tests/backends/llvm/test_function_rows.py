"""What the table of scalar functions says of native code is counted in that code; schedules follow from it."""

import re

import pytest

pytest.importorskip("llvmlite")

from test_vector_math import program

from fuse_dialect.backends.assembler.builder import Module, Parameter
from fuse_dialect.backends.assembler.values import F32, F64, Type
from fuse_dialect.backends.llvm.processors import named
from fuse_dialect.backends.llvm.scalars import Scalars, apply
from fuse_dialect.loops.bounds import CHAINS
from fuse_dialect.loops.functions import SCALAR_FUNCTIONS, scalar_function
from fuse_dialect.loops.program import Apply
from fuse_dialect.loops.scheduling import schedule

OPERANDS = {"math.powf": 2, "math.copysign": 2, "math.fma": 3, "arith.remf": 2}
"""How many functions of floats have, if not one."""
FLOAT = [name for name in SCALAR_FUNCTIONS if name.startswith("math.") and not name.endswith("i")] + ["arith.remf"]
ALONE = ["cos", "sin", "tan", "rsqrt"]
"""Functions that are no faster, or slower, with several vectors at once, as was measured."""


def written(name: str, element: Type) -> tuple[str, int, int]:
    """The text of a function on vectors, how many instructions it has, and how many of them wait for each other."""
    target = named("haswell")
    module = Module(target.attributes)
    wide = element.wide(8)
    parameters = [Parameter(f"x{number}", wide) for number in range(OPERANDS.get(name, 1))]
    f = module.function("f", parameters)
    types = {F32: "f32", F64: "f64"}
    apply(Scalars(f, target.machine, 8), Apply(name, tuple(range(len(parameters))), types[element]), f.parameters)
    depths: dict[str, int] = {}
    for line in f.text().splitlines():
        found = re.match(r"\s+(%[\w.]+) = (\w+)(.*)", line)
        if found is not None:
            value, instruction, rest = found.groups()
            # These are no instructions of a processor, or bring together what a branch has made.
            costs_nothing = instruction in ("bitcast", "freeze", "phi")
            operands = [depths.get(operand, 0) for operand in re.findall(r"%[\w.]+", rest)]
            depths[value] = max(operands, default=0) + (not costs_nothing)
    count = sum(not re.search(r"= (bitcast|freeze|phi)", line) for line in f.text().splitlines() if " = " in line)
    return f.text(), count, max(depths.values())


@pytest.mark.parametrize("name", FLOAT)
def test_instructions_are_counted_and_branches_found(name: str) -> None:
    row = scalar_function(name)
    text, count, chain = written(name, F32)
    assert (row.instructions, row.chain) == (count, chain)
    assert row.has_branch == (" br " in text)


@pytest.mark.parametrize("name", FLOAT)
def test_the_c_library_computes_what_it_is_said_to(name: str) -> None:
    text, _, _ = written(name, F64)
    assert scalar_function(name).in_f64 == (re.search(r"call double @(?!llvm)", text) is None)


@pytest.mark.parametrize("name", [name for name, row in SCALAR_FUNCTIONS.items() if row.units is not None])
@pytest.mark.parametrize("processor", ["haswell", "sapphirerapids"])
def test_maps_of_functions_that_are_written_out_take_several_vectors_at_once(processor: str, name: str) -> None:
    short = name.removeprefix("math.")
    for element, is_alone in (("f32", short in ALONE), ("f64", short not in ("exp", "log"))):
        loops = program(short, element, 4096, OPERANDS.get(name, 1))
        (phase,) = schedule(loops, named(processor).machine).phases
        assert phase.nests[0].unroll == (1 if is_alone else CHAINS)
