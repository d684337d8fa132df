"""The smallest program found that shows what a merge breaks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from fuse_dialect.bisecting.sample import Sample, smallest, values_in
from fuse_dialect.bisecting.search import BadMerge
from fuse_dialect.bisecting.way import Way
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.interpreters.entry import function_named
from fuse_dialect.interpreters.numpy import run_module

RandomInputs = Callable[[func.FuncOp], list[Array]]
"""Makes up inputs of a function, always the same ones."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A program that gives something else than the interpreter says."""

    module: ModuleOp
    entry: str
    inputs: Sequence[Array] | None
    """`None` if made-up inputs show it."""
    difference: str
    fuse: FuseOpsPass
    """How its operators are grouped."""


def smallest_finding(
    bad: BadMerge,
    module: ModuleOp,
    inputs: Sequence[Array],
    way: Way,
    random_inputs: RandomInputs,
    *,
    seconds: float = 60.0,
) -> Finding:
    """The smallest program found on which the way differs from the interpreter.

    Args:
        bad: The merge that makes the difference.
        module: The whole program, which shows it.
        inputs: Of the whole program.
        way: The way in doubt, with all merges.
        random_inputs: Makes up inputs.
        seconds: How long smaller programs are tried, for each of a few beginnings.
    """
    fuse = way.fuse

    def holds(program: ModuleOp, arrays: Sequence[Array]) -> str:
        expected = run_module(program, arrays, limits=way.options.limits)
        return way.disagreement(program, arrays, expected, fuse, "main")

    for sample, values in _beginnings(bad, inputs, way, random_inputs):
        if holds(sample.module(), [values[value] for value in sample.reads]):
            least = smallest(sample, values, holds, seconds)
            program, arrays = least.module(), [values[value] for value in least.reads]
            made_up = random_inputs(function_named(program, "main"))
            if found := holds(program, made_up):
                return Finding(program, "main", None, found, fuse)
            return Finding(program, "main", arrays, holds(program, arrays), fuse)
    return Finding(module, way.options.entry, inputs, bad.difference, bad.fuse)


def _beginnings(
    bad: BadMerge, inputs: Sequence[Array], way: Way, random_inputs: RandomInputs
) -> "list[tuple[Sample, dict[SSAValue, Array]]]":
    """Samples that may show the difference, those that say most first, and the values in them."""
    kernels = [(bad.ops, bad.function)] if bad.ops else _kernels_that_differ(bad, inputs, way)
    found: list[tuple[Sample, dict[SSAValue, Array]]] = []
    for ops, function in kernels:
        sample = sample_of(ops)
        values = _values(bad.prepared, function, way.options.entry, sample, inputs, random_inputs)
        found += [
            (replace(sample, keeps_constants=keeps, is_kernel=is_kernel), values)
            for is_kernel in (False, True)
            for keeps in (False, True)
        ]
    return found


def sample_of(ops: Sequence[Operation]) -> Sample:
    """Ops of a block as a sample, whose results are what others read."""
    inside = set(ops)
    results = tuple(
        value for op in ops for value in op.results if any(use.operation not in inside for use in value.uses)
    )
    return Sample(tuple(ops), results or tuple(ops[-1].results))


def _kernels_that_differ(
    bad: BadMerge, inputs: Sequence[Array], way: Way
) -> list[tuple[Sequence[Operation], func.FuncOp | None]]:
    """Operators of the entry that are wrong by themselves: the first whose value differs."""
    entry = function_named(bad.prepared, way.options.entry)
    ops = [op for op in entry.body.block.ops if op.results and all(is_tensor(type) for type in op.result_types)]
    values = [value for op in ops for value in op.results]
    known: dict[SSAValue, Array] = dict(zip(entry.body.block.args, inputs, strict=True))
    known |= zip(values, values_in(bad.prepared, entry, inputs, values), strict=True)
    for op in ops:
        sample = sample_of([op])
        if all(value in known for value in sample.reads):
            arrays = [known[value] for value in sample.reads]
            wanted = [known[value] for value in sample.results]
            if way.disagreement(sample.module(), arrays, wanted, bad.fuse, "main"):
                return [([op], entry)]
    return []


def _values(
    prepared: ModuleOp,
    function: Operation | None,
    entry: str,
    sample: Sample,
    inputs: Sequence[Array],
    random_inputs: RandomInputs,
) -> dict[SSAValue, Array]:
    """What the ops of a sample read and give, as far as it is tensors."""
    given = [value for op in sample.ops for value in op.results if is_tensor(value.type)]
    block = sample.ops[0].parent
    is_entry = isinstance(function, func.FuncOp) and function.sym_name.data == entry
    if isinstance(function, func.FuncOp) and is_entry and block is function.body.block:
        wanted = list(dict.fromkeys([*(value for value in sample.reads if is_tensor(value.type)), *given]))
        return dict(zip(wanted, values_in(prepared, function, inputs, wanted), strict=True))
    whole = replace(sample, results=tuple(given))
    program = whole.module()
    arrays = random_inputs(function_named(program, "main"))
    results = run_module(program, arrays)
    return dict(zip(whole.reads, arrays, strict=True)) | dict(zip(given, results, strict=True))
