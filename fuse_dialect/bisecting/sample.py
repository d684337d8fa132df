"""A part of a block as a program of its own, which shows a difference, and smaller ones.

1. What the ops of a sample read from elsewhere become arguments of `main`, constants too unless they must stay.
2. The values of the arguments are those that the interpreter gives while it runs the whole program; inside of loops,
   where there are many, made-up ones.
3. Smaller samples have fewer ops or results: an op goes, and its results become arguments; or the results are those of
   an earlier op. Each is run, and kept if the difference is still there, until none is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.types import is_tensor
from fuse_dialect.fusion.ir.constants import is_constant
from fuse_dialect.fusion.ir.fusible_blocks import PRIMITIVE_ATTRIBUTE
from fuse_dialect.fusion.ir.ssa import read_values
from fuse_dialect.interpreters.numpy import run_module

Holds = Callable[[ModuleOp, Sequence[Array]], str]
"""How a program differs from the interpreter; empty where it does not."""
_KERNEL = "fused"
"""Name of the function of a sample that is one kernel by itself."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Ops of one block, and which of their values are results."""

    ops: tuple[Operation, ...]
    """In block order."""
    results: tuple[SSAValue, ...]
    keeps_constants: bool = False
    """Whether constants that the ops read come along."""
    is_kernel: bool = False
    """Whether the ops are a primitive function already, which no pass groups anew."""

    @property
    def reads(self) -> list[SSAValue]:
        """What comes from elsewhere, in the order in which it is first read."""
        inside = {value for op in self.ops for value in op.results}
        read = dict.fromkeys(value for op in self.ops for value in read_values(op) if value not in inside)
        return [value for value in read if not (self.keeps_constants and _is_constant(value))]

    def pruned(self) -> "Sample":
        """Without ops that no result needs."""
        needed, ops = set(self.results), list[Operation]()
        for op in reversed(self.ops):
            if not needed.isdisjoint(op.results):
                ops.append(op)
                needed.update(read_values(op))
        return replace(self, ops=tuple(reversed(ops)))

    def module(self) -> ModuleOp:
        """The program."""
        reads = self.reads
        body = Block(arg_types=[value.type for value in reads])
        inner: dict[SSAValue, SSAValue] = {}
        for value, argument in zip(reads, body.args, strict=True):
            argument.name_hint = value.name_hint
            inner[value] = argument
        constants = dict.fromkeys(value for op in self.ops for value in read_values(op) if _is_constant(value))
        own = {value for op in self.ops for value in op.results}
        outer = [value.owner for value in constants if value not in own] if self.keeps_constants else []
        body.add_ops(op.clone(inner) for op in (*outer, *self.ops) if isinstance(op, Operation))
        results = [inner[value] for value in self.results]
        body.add_op(func.ReturnOp(*results))
        types = ([value.type for value in reads], [value.type for value in results])
        if not self.is_kernel:
            return ModuleOp([func.FuncOp("main", types, Region(body))])
        kernel = func.FuncOp(_KERNEL, types, Region(body), "private")
        kernel.attributes[PRIMITIVE_ATTRIBUTE] = UnitAttr()
        caller = Block(arg_types=types[0])
        call = func.CallOp(_KERNEL, caller.args, types[1])
        caller.add_ops((call, func.ReturnOp(*call.results)))
        return ModuleOp([func.FuncOp("main", types, Region(caller)), kernel])


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value, OpResult) and is_constant(value.op)


def values_in(module: ModuleOp, entry: func.FuncOp, inputs: Sequence[Array], wanted: Sequence[SSAValue]) -> list[Array]:
    """The values that the interpreter gives to tensors of the outermost block of a function.

    Args:
        module: The module of the function; it is not changed.
        entry: The function.
        inputs: Its arguments.
        wanted: Values of its block.
    """
    inner: dict[SSAValue, SSAValue] = {}
    copy = module.clone(inner)
    function = next(op for op in copy.walk() if isinstance(op, func.FuncOp) and op.sym_name.data == entry.sym_name.data)
    last = function.body.block.last_op
    assert last is not None, "a function ends with a terminator"
    block = function.body.block
    last.detach()
    last.drop_all_references()
    block.add_op(func.ReturnOp(*(inner[value] for value in wanted)))
    types = [value.type for value in wanted]
    function.properties["function_type"] = FunctionType.from_lists([arg.type for arg in block.args], types)
    function.properties.pop("res_attrs", None)
    return run_module(copy, inputs, entry.sym_name.data)


def smallest(sample: Sample, values: Mapping[SSAValue, Array], holds: Holds, seconds: float) -> Sample:
    """A sample from which nothing more can go.

    Args:
        sample: One that shows the difference.
        values: Of all that its ops read and give.
        holds: Whether a program shows it.
        seconds: After so many nothing more is tried.
    """
    end = monotonic() + seconds
    improved = True
    while improved:
        improved = False
        for candidate in _smaller(sample):
            if monotonic() > end:
                return sample
            if all(value in values for value in candidate.reads) and holds(
                candidate.module(), [values[value] for value in candidate.reads]
            ):
                sample, improved = candidate, True
                break
    return sample


def _smaller(sample: Sample) -> Iterator[Sample]:
    """Samples with fewer ops or results, those with the fewest first."""
    found: list[Sample] = []
    if len(sample.results) > 1:
        found += [replace(sample, results=(value,)).pruned() for value in sample.results]
    for index, op in enumerate(sample.ops):
        if is_constant(op):
            continue
        given = tuple(value for value in op.results if is_tensor(value.type))
        if given and op is not sample.ops[-1]:
            found.append(replace(sample, results=given).pruned())
        rest = replace(sample, ops=(*sample.ops[:index], *sample.ops[index + 1 :]))
        if not set(sample.results) & set(op.results):
            found.append(rest.pruned())
    yield from sorted(
        (each for each in found if each.ops and (each.ops, each.results) != (sample.ops, sample.results)),
        key=lambda each: len(each.ops),
    )
