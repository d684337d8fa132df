"""A program as data: arguments and constants with their elements, ops on them, and what is returned.

A program is one function without regions. It can be built again with a step less or a size less, which is what
shrinking needs; the IR is made from it when somebody wants to run it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Region, SSAValue

from fuse_dialect.dialect.constants import constant
from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.dialect.size_names import SIZES_ATTRIBUTE
from fuse_dialect.dialect.types import DYNAMIC, Tensor


@dataclass(frozen=True, slots=True)
class Source:
    """A value that comes from outside: an argument, or a constant with these elements."""

    type: Tensor
    array: Array
    is_constant: bool = False
    """A constant has a static type; an array that is a broadcast scalar becomes a splat."""
    names: tuple[str, ...] = ()
    """Of the open sizes, empty for those that are known; no names at all where nothing is said."""


@dataclass(frozen=True, slots=True)
class Step:
    """An op: numbers of values in, numbers of values out."""

    op_class: type[FuseOp]
    operands: tuple[int, ...]
    results: tuple[int, ...]
    result_types: tuple[Attribute, ...]
    properties: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])
    shapes: tuple[tuple[int, ...], ...] = ()
    """Sizes of the results at run time, those of a tuple left out."""

    def op(self, operands: Sequence[SSAValue], result_types: Sequence[Attribute] | None) -> FuseOp:
        """The op on these operands; with no result types it infers them.

        Raises:
            VerifyException: It does not take the operands.
        """
        properties: dict[str, Any] = dict(self.properties)
        return self.op_class(*operands, result_types=result_types, **properties)


@dataclass(frozen=True, slots=True)
class RandomProgram:
    """A program. Values are numbered in the order in which they were made."""

    seed: int
    sources: Mapping[int, Source]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]

    @property
    def arguments(self) -> list[int]:
        """The numbers of the function's arguments, in order."""
        return [number for number, source in self.sources.items() if not source.is_constant]

    @property
    def inputs(self) -> list[Array]:
        """The elements of the arguments."""
        return [np.array(self.sources[number].array, order="C") for number in self.arguments]

    def pruned(self) -> "RandomProgram":
        """The program without what no output needs."""
        needed = set(self.outputs)
        steps: list[Step] = []
        for step in reversed(self.steps):
            if not needed.isdisjoint(step.results):
                steps.append(step)
                needed.update(step.operands)
        sources = {number: source for number, source in self.sources.items() if number in needed}
        return replace(self, sources=sources, steps=tuple(reversed(steps)))

    def module(self) -> ModuleOp:
        """The program as IR; it is not verified.

        Raises:
            VerifyException: An op does not take its operands.
        """
        block = Block(arg_types=[self.sources[number].type for number in self.arguments])
        values: dict[int, SSAValue] = dict(zip(self.arguments, block.args, strict=True))
        for number, source in self.sources.items():
            if source.is_constant:
                op = constant(source.array)
                block.add_op(op)
                values[number] = op.result
        for step in self.steps:
            op = step.op([values[operand] for operand in step.operands], step.result_types)
            block.add_op(op)
            values.update(zip(step.results, op.results, strict=True))
        results = [values[number] for number in self.outputs]
        block.add_op(func.ReturnOp(*results))
        types = FunctionType.from_lists([value.type for value in block.args], [value.type for value in results])
        function = func.FuncOp("main", types, Region(block))
        names = [self.sources[number].names for number in self.arguments]
        if any(any(each) for each in names):
            function.arg_attrs = ArrayAttr([DictionaryAttr(_size_names(each)) for each in names])
        return ModuleOp([function])


def _size_names(names: Sequence[str]) -> dict[str, Attribute]:
    return {SIZES_ATTRIBUTE: ArrayAttr([StringAttr(name) for name in names])} if any(names) else {}


def is_open(type: Tensor) -> bool:
    """Whether a size is `?`."""
    return DYNAMIC in type.get_shape()
