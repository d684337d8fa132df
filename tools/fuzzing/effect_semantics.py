"""What the programs of `effect_programs` mean: an interpreter of control flow and effects, apart from the package's.

Ops that nobody knows have meanings here. Every effect is noted, and what a program reads from outside depends on the
effects before it, so that a pass that moves, drops or repeats one changes the outcome. Operators mean what their op
class says.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects import arith, cf, func, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from fuse_dialect.dialect.op import Array, FuseOp
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.interpreters.constants import evaluate_constant
from fuse_dialect.interpreters.numpy import evaluate

MOST_BRANCHES = 200
"""Taken in one run; where a program loops for longer, the effects so far are its meaning. Calls do not count: fusion
adds some."""


class _StoppedError(Exception):
    """The program loops."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did."""

    effects: Sequence[tuple[str, Any]]
    """Names of effects and the values that they saw."""
    results: Sequence[Array] | None
    """`None` for a program that was stopped."""

    def differs(self, other: "Outcome", *, tolerance: float) -> str | None:
        """How another outcome differs; `None` if it is the same."""
        if [name for name, _ in self.effects] != [name for name, _ in other.effects]:
            return f"effects {[name for name, _ in self.effects]}, then {[name for name, _ in other.effects]}"
        if (self.results is None) != (other.results is None):
            return "one of both is stopped"
        pairs = [
            *zip((value for _, value in self.effects), (value for _, value in other.effects), strict=True),
            *zip(self.results or (), other.results or (), strict=True),
        ]
        for index, (one, two) in enumerate(pairs):
            same = (
                np.allclose(one, two, rtol=tolerance, atol=tolerance, equal_nan=True)
                if tolerance
                else np.array_equal(one, two, equal_nan=True)
            )
            if not same:
                return f"value {index} of {len(pairs)}: {one} is not {two}"
        return None


@dataclass(eq=False, slots=True)
class _Run:
    """One run of a module."""

    functions: Mapping[str, func.FuncOp]
    values: dict[SSAValue, Any] = field(default_factory=dict[SSAValue, Any])
    effects: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    branches: int = 0

    def region(self, region: Region, arguments: Sequence[Any]) -> list[Any]:
        """What the terminator that leaves the region gives."""
        block: Block | None = region.first_block
        assert block is not None, "a region that runs has blocks"
        while True:
            self.values.update(zip(block.args, arguments, strict=True))
            *ops, last = block.ops
            for op in ops:
                self.values.update(zip(op.results, self.op(op), strict=True))
            operands = self.read(last.operands)
            match last:
                case cf.BranchOp():
                    block, arguments = last.successor, operands
                case cf.ConditionalBranchOp():
                    chosen = operands[0]
                    block = last.then_block if chosen else last.else_block
                    arguments = self.read(last.then_arguments if chosen else last.else_arguments)
                case _:
                    return operands
            self.branches += 1
            if self.branches > MOST_BRANCHES:
                raise _StoppedError

    def read(self, values: Sequence[SSAValue]) -> list[Any]:
        """What the values are by now."""
        return [self.values[value] for value in values]

    def op(self, op: Operation) -> Sequence[Any]:
        """The results of an op."""
        operands = self.read(op.operands)
        match op:
            case FuseOp():
                return evaluate(op, operands)
            case arith.ConstantOp():
                value = op.value
                return (value.value.data,) if isinstance(value, IntegerAttr) else (evaluate_constant(op),)
            case func.CallOp():
                return self.call(op.callee.string_value(), operands)
            case scf.IfOp():
                chosen = op.true_region if operands[0] else op.false_region
                return self.region(chosen, ()) if chosen.blocks else ()
            case scf.ForOp():
                return self.loop(op, operands)
            case _:
                return _MEANINGS[op_name(op)](self, op, operands)

    def loop(self, op: scf.ForOp, operands: Sequence[Any]) -> Sequence[Any]:
        """The values that the last turn of a loop gives."""
        low, high, step, *carried = operands
        for place in range(low, high, step):
            carried = self.region(op.body, [place, *carried])
        return carried

    def call(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        """The results of a function; values have names of their own in each, and no function calls itself."""
        return self.region(self.functions[name].body, arguments)

    def effect(self, name: str, value: Any) -> int:
        """Note an effect; its number."""
        self.effects.append((name, value))
        return len(self.effects)


def _read(run: _Run, op: Operation, operands: Sequence[Any]) -> Sequence[Any]:
    number = run.effect("read", 0.0)
    return (np.sin(np.arange(18.0) * number).reshape(1, 2, 3, 3),)


def _log(run: _Run, op: Operation, operands: Sequence[Any]) -> Sequence[Any]:
    run.effect("log", operands[0])
    return ()


def _choose(run: _Run, op: Operation, operands: Sequence[Any]) -> Sequence[Any]:
    number = run.effect("choose", 0.0)
    return (number * 7 % 5 < 2,)


_MEANINGS: Mapping[str, Callable[[_Run, Operation, Sequence[Any]], Sequence[Any]]] = {
    "test.read": _read,
    "test.log": _log,
    "test.choose": _choose,
    "test.pure": lambda run, op, operands: (np.cos(operands[0]),),
    "fuse.fused": lambda run, op, operands: run.region(op.regions[0], operands),
    "test.region": lambda run, op, operands: run.region(op.regions[0], operands),
    "stablehlo.reduce": lambda run, op, operands: run.region(op.regions[0], operands),
    "stablehlo.reduce_window": lambda run, op, operands: run.region(op.regions[0], [operands[1] + 1, operands[0]]),
    "stablehlo.sort": lambda run, op, operands: run.region(op.regions[0], [np.sort(operands[0]), operands[0]]),
}
"""The fuser relies on operators of other dialects being pure, and on nothing else: any pure meaning serves."""


def run_program(module: ModuleOp) -> Outcome:
    """Run `main` on fixed arguments."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    random = np.random.default_rng(0)
    arguments = [*(random.uniform(-1, 1, (1, 2, 3, 3)) for _ in range(2)), random.uniform(0.5, 1.5, 2)]
    run = _Run(functions)
    try:
        return Outcome(run.effects, run.call("main", arguments))
    except _StoppedError:
        return Outcome(run.effects, None)
