"""A function whose sizes the data decide, in stretches: between such ops, each stretch is a program of open sizes.

1. The results of some ops have sizes that only their operands' elements say: the places of what is not zero. They run
   one by one, by their meaning, as does what else has no kernel. What stands between two of them is a *stretch*, whose
   sizes follow from those of its inputs.
2. What sizes settle is computed anew in each stretch that reads it: there it is settled, too.
3. The programs of stretches share the function's kernels and constants.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeAlias, TypeVar

import numpy as np

from fuse_dialect.backends.runtime.arrays import own_arrays
from fuse_dialect.backends.runtime.constants import Constants
from fuse_dialect.backends.runtime.entry_graph import Call, EntryGraph, How
from fuse_dialect.backends.runtime.primitives import Compiled
from fuse_dialect.backends.runtime.stepwise import run_calls
from fuse_dialect.dialect.op import Array

Run: TypeAlias = Callable[[Sequence[Array]], Sequence[Array]]
"""What a program does: its outputs for dense arrays."""
ProgramT = TypeVar("ProgramT")

_WORTH_A_PROGRAM = 2
"""Native calls of the longest stretch from which it pays."""


@dataclass(frozen=True, slots=True)
class Stretch(Generic[ProgramT]):
    """Calls that are one program."""

    program: ProgramT
    run: Run
    inputs: Sequence[int]
    """Numbers of tensors, as `outputs`."""
    outputs: Sequence[int]

    @property
    def reads(self) -> Sequence[int]:
        """Tensors that it needs."""
        return self.inputs


@dataclass(frozen=True, slots=True)
class Alone:
    """A call that runs by itself."""

    call: Call

    @property
    def reads(self) -> Sequence[int]:
        """Tensors that it needs."""
        return self.call.arguments


class Stretches(Generic[ProgramT]):
    """A function as its stretches and what stands between them, in order."""

    def __init__(
        self,
        graph: EntryGraph,
        primitives: Sequence[Compiled],
        constants: Constants,
        make: Callable[[EntryGraph], tuple[ProgramT, Run]],
    ):
        """Cut the function.

        Args:
            graph: The function.
            primitives: What runs its primitives.
            constants: Their elements.
            make: The program of a part of the function, and what it does.
        """
        self._graph, self._primitives, self._constants = graph, primitives, constants
        cut = _cut(graph, primitives)
        makers = {tensor: call for call in graph.calls for tensor in call.results}
        self._parts: list[Stretch[ProgramT] | Alone] = []
        # What a later stretch computes anew it reads, too.
        whole = [part if isinstance(part, Call) else _with_settled(part, makers, primitives) for part in cut]
        for number, (part, calls) in enumerate(zip(cut, whole, strict=True)):
            if isinstance(part, Call):
                self._parts.append(Alone(part))
                continue
            assert not isinstance(calls, Call), "a stretch has calls"
            made = {tensor for call in calls for tensor in call.results}
            read = _read_by(calls)
            inputs = [tensor for tensor in read if tensor not in made and tensor not in graph.constants]
            later = {*_read_by(_calls_of(whole[number + 1 :])), *graph.outputs}
            outputs = [tensor for call in part for tensor in call.results if tensor in later]
            if outputs:
                self._parts.append(Stretch(*make(_part_of(graph, calls, inputs, outputs)), inputs, outputs))
        # Later parts overwrite earlier ones, so that the last reader stays.
        last = {tensor: number for number, part in enumerate(self._parts) for tensor in part.reads}
        self._ends: list[list[int]] = [[] for _ in self._parts]
        """Tensors that nobody reads after each part."""
        for tensor, number in last.items():
            if tensor not in graph.outputs:
                self._ends[number].append(tensor)

    @property
    def programs(self) -> list[ProgramT]:
        """Those of the stretches, in order."""
        return [part.program for part in self._parts if isinstance(part, Stretch)]

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs: arrays of their own.

        Args:
            inputs: As the types say.

        Raises:
            FuseError: As for `run_stepwise`.
        """
        graph, values = self._graph, dict(zip(self._graph.inputs, inputs, strict=True))
        for number, part in enumerate(self._parts):
            if isinstance(part, Stretch):
                outputs = part.run([_dense(values[tensor]) for tensor in part.inputs])
                values.update(zip(part.outputs, outputs, strict=True))
            else:
                run_calls(graph, self._primitives, self._constants, [part.call], values)
            for tensor in self._ends[number]:
                values.pop(tensor, None)
        outputs = [values[tensor] if tensor in values else self._constants.dense(tensor) for tensor in graph.outputs]
        given = [*inputs, *(self._constants.dense(tensor) for tensor in graph.outputs if tensor in graph.constants)]
        return own_arrays(outputs, given)


def _dense(array: Array) -> Array:
    return array if array.flags.c_contiguous else np.ascontiguousarray(array).reshape(array.shape)


def is_cut(graph: EntryGraph, primitives: Sequence[Compiled]) -> bool:
    """Whether a function has sizes that the data decide, and a stretch that is worth a program."""
    parts = _cut(graph, primitives)
    native = [
        sum(primitives[call.kernel].how is How.NATIVE for call in part) for part in parts if not isinstance(part, Call)
    ]
    return any(isinstance(part, Call) for part in parts) and max(native, default=0) >= _WORTH_A_PROGRAM


def _cut(graph: EntryGraph, primitives: Sequence[Compiled]) -> list[Call | list[Call]]:
    """The calls in order: those of (1) by themselves, and lists of what stands between."""
    parts: list[Call | list[Call]] = [[]]
    for call in graph.calls:
        if _is_by_itself(graph, primitives[call.kernel], call):
            parts += [call, []]
        else:
            stretch = parts[-1]
            assert isinstance(stretch, list), "behind each call by itself a stretch begins"
            stretch.append(call)
    return [part for part in parts if part]


def _is_by_itself(graph: EntryGraph, compiled: Compiled, call: Call) -> bool:
    """Whether only running a call says what sizes its results have (1), as far as its kind says it."""
    is_static = all(graph.tensors[tensor].is_static for tensor in call.results)
    return compiled.how in (How.NUMPY, How.MIXED, How.COUNT) and not is_static


def _with_settled(calls: Sequence[Call], makers: dict[int, Call], primitives: Sequence[Compiled]) -> list[Call]:
    """The calls of a stretch, with those in front that compute what is settled and read in it (2)."""
    own = {tensor for call in calls for tensor in call.results}
    needed: dict[int, Call] = {}
    pending = _read_by(calls)
    while pending:
        tensor = pending.pop()
        call = makers.get(tensor)
        if tensor in own or call is None or primitives[call.kernel].how is not How.SETTLED or id(call) in needed:
            continue
        needed[id(call)] = call
        pending += call.arguments
    in_front = [call for call in dict.fromkeys(map(id, makers.values())) if call in needed]
    return [*(needed[number] for number in in_front), *calls]


def _calls_of(parts: Iterable[Call | list[Call]]) -> list[Call]:
    return [call for part in parts for call in ([part] if isinstance(part, Call) else part)]


def _read_by(calls: Iterable[Call]) -> list[int]:
    """The tensors that calls read, each once."""
    return list(dict.fromkeys(tensor for call in calls for tensor in call.arguments))


def _part_of(graph: EntryGraph, calls: Sequence[Call], inputs: Sequence[int], outputs: Sequence[int]) -> EntryGraph:
    """The graph of a stretch; tensors keep their numbers."""
    return replace(
        graph,
        inputs=inputs,
        input_names=[f"value{tensor}" for tensor in inputs],
        model_input_names=[None] * len(inputs),
        output_names=[f"value{tensor}" for tensor in outputs],
        size_names=[("",) * len(graph.tensors[tensor].shape) for tensor in inputs],
        calls=calls,
        outputs=outputs,
    )
