"""The functions of a module as something to call: their names, arguments and inputs."""

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import InterpretationError

from fuse_dialect.dialect.op import Array
from fuse_dialect.interpreters.values import EvaluationError, mismatch


def functions_of(module: ModuleOp) -> dict[str, func.FuncOp]:
    """The functions of a module by name; the first of a name counts."""
    functions: dict[str, func.FuncOp] = {}
    for op in module.ops:
        if isinstance(op, func.FuncOp):
            functions.setdefault(op.sym_name.data, op)
    return functions


def argument_names(function: func.FuncOp) -> list[str]:
    """Name of each argument: the one it has in the IR, otherwise `arg<position>`."""
    return [argument.name_hint or f"arg{index}" for index, argument in enumerate(function.body.block.args)]


def bind_inputs(function: func.FuncOp, inputs: Sequence[Array] | Mapping[str, Array]) -> list[Array]:
    """The inputs in the order of the function's arguments, each checked against its type.

    Raises:
        InterpretationError: An input is missing, unknown, or of another type.
    """
    check_has_body(function)
    names = argument_names(function)
    arrays = _inputs_by_name(names, inputs) if isinstance(inputs, Mapping) else list(inputs)
    if len(arrays) != len(names):
        raise InterpretationError(f"'{function.sym_name.data}' expects {len(names)} inputs, got {len(arrays)}")
    for name, array, type in zip(names, arrays, function.function_type.inputs, strict=True):
        problem = mismatch(array, type)
        if problem is not None:
            raise InterpretationError(f"input '{name}' {problem}")
    return arrays


def _inputs_by_name(names: Sequence[str], inputs: Mapping[str, Array]) -> list[Array]:
    unused = dict.fromkeys(inputs)
    arrays: list[Array] = []
    for index, name in enumerate(names):
        key = name if name in inputs else f"arg{index}"
        if key not in inputs:
            raise InterpretationError(f"no input '{name}' among {listed(inputs)}")
        unused.pop(key, None)
        arrays.append(inputs[key])
    if unused:
        raise InterpretationError(f"no argument takes the input {listed(unused)}; there are {listed(names)}")
    return arrays


def listed(names: Iterable[str]) -> str:
    """Names for an error message."""
    return ", ".join(f"'{name}'" for name in names) or "none"


def check_has_body(function: func.FuncOp) -> None:
    """Reject a function that is declared only, or has branches.

    Raises:
        EvaluationError: It is or has.
    """
    blocks = len(function.body.blocks)
    if blocks != 1:
        reason = "has no body to run" if not blocks else f"has {blocks} blocks, and branches cannot be run"
        raise EvaluationError(function, f"'@{function.sym_name.data}' {reason}")
