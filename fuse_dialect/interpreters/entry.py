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


def function_named(module: ModuleOp, name: str) -> func.FuncOp:
    """The function of a name.

    Raises:
        InterpretationError: No function has this name, or it has no body to run.
    """
    functions = functions_of(module)
    if name not in functions:
        public = [name for name, op in functions.items() if op.sym_visibility is None]
        raise InterpretationError(f"no function '{name}' in the module; there are {listed(public)}")
    check_has_body(functions[name])
    return functions[name]


def argument_names(function: func.FuncOp) -> list[str]:
    """Name of each argument as the IR prints it, but `arg<position>` for one that the IR only numbers."""
    counts: dict[str, int] = {}
    names: list[str] = []
    for index, argument in enumerate(function.body.block.args):
        hint = argument.name_hint
        if hint is None:
            names.append(f"arg{index}")
            continue
        count = counts.get(hint, 0)
        counts[hint] = count + 1
        names.append(f"{hint}_{count}" if count else hint)
    return names


def bind_inputs(function: func.FuncOp, inputs: Sequence[Array] | Mapping[str, Array]) -> list[Array]:
    """The inputs in the order of the function's arguments, each checked against its type.

    Raises:
        InterpretationError: An input is missing, unknown, or of another type.
    """
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
        aliases = (name, f"arg{index}", f"arr_{index}")
        key = next((alias for alias in aliases if alias in inputs), None)
        if key is None:
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
