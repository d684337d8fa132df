"""A smaller program with the same finding: fewer ops, smaller sizes, simpler elements.

Each candidate runs in a fork of this process, which has loaded everything and started no thread: a fault or a hang ends
the fork alone.
"""

import faulthandler
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic
from typing import TypeVar

import numpy as np
from xdsl.ir import Attribute, Block
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.types import DYNAMIC, is_tensor, with_shape
from fuse_dialect.interpreters.numpy import evaluate
from fuse_dialect.interpreters.values import EvaluationError, Value
from fuzzing.program import RandomProgram, Source, Step
from fuzzing.undefined import is_defined

SECONDS = 10
"""For one candidate."""

Found = TypeVar("Found")


def in_fork(work: Callable[[], int], seconds: int = SECONDS) -> int:
    """What `work` returns, in a process of its own: 0 to 127, or 128 and the signal that ended it."""
    child = os.fork()
    if child == 0:
        status = 127
        faulthandler.disable()
        try:
            signal.alarm(seconds)
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, 1)
            os.dup2(devnull, 2)
            status = work()
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def shrink(
    whole: Found, smaller: Callable[[Found], Iterator[Found]], holds: Callable[[Found], bool], seconds: float
) -> Found:
    """The smallest value found on which a finding holds.

    Args:
        whole: One on which it holds.
        smaller: Valid values that are smaller than another, the boldest first.
        holds: Whether it holds on a value.
        seconds: After so many no more values are tried.
    """
    end = monotonic() + seconds
    improved = True
    while improved and monotonic() < end:
        improved = False
        for candidate in smaller(whole):
            if monotonic() > end:
                break
            if holds(candidate):
                whole, improved = candidate, True
                break
    return whole


def smaller_programs(program: RandomProgram) -> Iterator[RandomProgram]:
    """Smaller programs, the boldest first."""
    if len(program.outputs) > 1:
        for output in dict.fromkeys(program.outputs):
            yield replace(program, outputs=(output,)).pruned()
    for step in program.steps:
        for result in step.results:
            if program.outputs != (result,):
                yield replace(program, outputs=(result,)).pruned()
    yield from _cut(program)
    yield from _bypassed(program)
    yield from _resized(program)
    yield from _closed(program)
    yield from _with_defaults(program)
    yield from _simpler(program)


def _cut(program: RandomProgram) -> Iterator[RandomProgram]:
    """Results of an op become arguments."""
    values = values_of(program)
    if values is None:
        return
    for index, step in enumerate(program.steps):
        if any(not isinstance(values.get(result), np.ndarray) for result in step.results):
            continue
        if set(step.results) & set(program.outputs) and len(program.steps) == 1:
            continue
        sources = dict(program.sources)
        for result, type in zip(step.results, step.result_types, strict=True):
            array = values[result]
            assert isinstance(array, np.ndarray), "seen above"
            assert is_tensor(type), "an array has no other"
            sources[result] = Source(type, array)
        steps = (*program.steps[:index], *program.steps[index + 1 :])
        yield replace(program, sources=sources, steps=steps).pruned()


def _bypassed(program: RandomProgram) -> Iterator[RandomProgram]:
    """An operand in place of the result."""
    types: dict[int, Attribute] = {number: source.type for number, source in program.sources.items()}
    types |= {n: type for step in program.steps for n, type in zip(step.results, step.result_types, strict=True)}
    for step in program.steps:
        for operand in step.operands:
            if len(step.results) == 1 and types[operand] == step.result_types[0]:
                yield _replaced(program, step, step.results[0], operand)


def _replaced(program: RandomProgram, step: Step, old: int, new: int) -> RandomProgram:
    def renamed(numbers: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(new if number == old else number for number in numbers)

    steps = tuple(replace(each, operands=renamed(each.operands)) for each in program.steps if each is not step)
    return replace(program, steps=steps, outputs=renamed(program.outputs)).pruned()


def _resized(program: RandomProgram) -> Iterator[RandomProgram]:
    """All axes of one size get a smaller one, where the ops still take it."""
    sizes = {size for source in program.sources.values() for size in source.array.shape if size > 1}
    for size in sorted(sizes, reverse=True):
        for smaller in dict.fromkeys((1, 2, size // 2, size - 1)):
            if 0 < smaller < size:
                candidate = _with_size(program, size, smaller)
                if candidate is not None:
                    yield candidate


def _with_size(program: RandomProgram, size: int, smaller: int) -> RandomProgram | None:
    def resized(type: Attribute) -> Attribute:
        if not is_tensor(type):
            return type
        return with_shape(type, [smaller if each == size else each for each in type.get_shape()])

    sources: dict[int, Source] = {}
    for number, source in program.sources.items():
        cut = tuple(slice(smaller if each == size else None) for each in source.array.shape)
        type = resized(source.type)
        assert is_tensor(type), "a source is a tensor"
        sources[number] = replace(source, type=type, array=source.array[cut], names=())
    return retyped(replace(program, sources=sources), resized)


def retyped(program: RandomProgram, resized: Callable[[Attribute], Attribute]) -> RandomProgram | None:
    """The program with result types that follow from the sources; `None` where an op does not take them."""
    types: dict[int, Attribute] = {number: source.type for number, source in program.sources.items()}
    steps: list[Step] = []
    for step in program.steps:
        block = Block(arg_types=[types[operand] for operand in step.operands])
        try:
            op = step.op(block.args, None)
        except VerifyException:
            try:
                wanted = [resized(type) for type in step.result_types]
                op = step.op(block.args, wanted)
                op.verify()
            except VerifyException:
                return None
        types.update(zip(step.results, op.result_types, strict=True))
        steps.append(replace(step, result_types=tuple(op.result_types)))
    return replace(program, steps=tuple(steps))


def _closed(program: RandomProgram) -> Iterator[RandomProgram]:
    """Known sizes in place of open ones; arguments in place of constants."""
    sources = {
        number: replace(source, type=with_shape(source.type, source.array.shape), names=())
        for number, source in program.sources.items()
    }
    if sources != program.sources and any(DYNAMIC in s.type.get_shape() for s in program.sources.values()):
        candidate = retyped(replace(program, sources=sources), lambda type: type)
        if candidate is not None:
            yield candidate
    for number, source in program.sources.items():
        if source.is_constant:
            yield replace(program, sources={**program.sources, number: replace(source, is_constant=False)})


def _with_defaults(program: RandomProgram) -> Iterator[RandomProgram]:
    """A property less."""
    for index, step in enumerate(program.steps):
        for name, value in step.properties.items():
            if value == step.op_class.get_irdl_definition().properties[name].default_value:
                continue
            properties = {key: each for key, each in step.properties.items() if key != name}
            steps = list(program.steps)
            steps[index] = replace(step, properties=properties)
            try:
                candidate = retyped(replace(program, steps=tuple(steps)), lambda type: type)
            except (VerifyException, KeyError, AttributeError):
                continue
            if candidate is not None:
                yield candidate


def _simpler(program: RandomProgram) -> Iterator[RandomProgram]:
    """Simple elements: all the same, or whole numbers, or those of one half simplified."""
    for number, source in program.sources.items():
        array = np.array(source.array)
        simple: list[Array] = [np.zeros_like(array), np.ones_like(array)]
        if array.dtype.kind not in "biu":
            with np.errstate(all="ignore"):
                simple.append(np.where(np.isfinite(array.astype(np.float64)), 1, array).astype(array.dtype))
                simple.append(np.round(array.astype(np.float64)).astype(array.dtype))
        flat = array.reshape(-1)
        if 1 < array.size <= 64 and array.any():
            for place in np.flatnonzero(flat)[:16]:
                one = flat.copy()
                one[place] = 0
                simple.append(one.reshape(array.shape))
        for candidate in simple:
            if _complexity(candidate) < _complexity(array):
                yield replace(program, sources={**program.sources, number: replace(source, array=candidate)})


def _complexity(array: Array) -> tuple[int, int]:
    """How much there is to read: numbers that are neither 0 nor 1, then those that are not 0."""
    with np.errstate(all="ignore"):
        wide = array.astype(np.float64)
    return int(((wide != 0) & (wide != 1)).sum()), int((wide != 0).sum())


def values_of(program: RandomProgram) -> dict[int, Value] | None:
    """Every value of the program; `None` where an op rejects its operands, or leaves open what it gives."""
    values: dict[int, Value] = {number: source.array for number, source in program.sources.items()}
    types: dict[int, Attribute] = {number: source.type for number, source in program.sources.items()}
    for step in program.steps:
        block = Block(arg_types=[types[operand] for operand in step.operands])
        operands = [values[operand] for operand in step.operands]
        try:
            op = step.op(block.args, step.result_types)
            if not is_defined(op, operands):
                return None
            results = evaluate(op, operands)
        except (EvaluationError, VerifyException):
            return None
        values.update(zip(step.results, results, strict=True))
        types.update(zip(step.results, step.result_types, strict=True))
    return values
