"""The functions of a module as something to call: their names, arguments and inputs."""

from collections import Counter
from collections.abc import Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, TupleType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError

from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.size_names import contradiction, size_names
from fuse_dialect.fusion.ir.function_like import is_private
from fuse_dialect.interpreters.input_names import InputNamesError, inputs_by_name, listed
from fuse_dialect.interpreters.values import EvaluationError, mismatch

DEFAULT_ENTRY = "main"
"""The function that runs where a user names none."""
MODEL_NAME = "onnx.name"
"""Attribute of an argument or a result that gives its name in the model it comes from."""


def functions_of(module: ModuleOp) -> dict[str, func.FuncOp]:
    """The functions of a module by name; the first of a name counts."""
    functions: dict[str, func.FuncOp] = {}
    for op in module.ops:
        if isinstance(op, func.FuncOp):
            functions.setdefault(op.sym_name.data, op)
    return functions


def function_named(module: ModuleOp, name: str) -> func.FuncOp:
    """The function of a name; for `main`, which is asked for by default, the only public function if none is called so.

    Raises:
        InterpretationError: There is no such function, or it has no body to run.
    """
    functions = functions_of(module)
    if name not in functions:
        public = [own for own, op in functions.items() if not is_private(op)]
        if name != DEFAULT_ENTRY or len(public) != 1:
            raise InterpretationError(f"no function '{name}' in the module; there are {listed(public)}")
        (name,) = public
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


def model_names(attributes: ArrayAttr[DictionaryAttr] | None, count: int) -> list[str | None]:
    """The names that a model gave to arguments or results; `None` where there is none, or another has it too.

    Args:
        attributes: `arg_attrs` or `res_attrs` of a function.
        count: Number of arguments or results.
    """
    names: list[str | None] = [None] * count
    for index, entry in enumerate([] if attributes is None else attributes.data[:count]):
        name = entry.data.get(MODEL_NAME)
        if isinstance(name, StringAttr) and name.data:
            names[index] = name.data
    counts = Counter(names)
    return [name if counts[name] == 1 else None for name in names]


def result_names(function: func.FuncOp) -> list[str]:
    """A name for each result: the model's, else `result<position>`; the fields of tuples are counted one by one."""
    types = function.function_type.outputs.data
    if any(isinstance(type, TupleType) for type in types):
        return [f"result{index}" for index in range(sum(map(_field_count, types)))]
    names = model_names(function.res_attrs, len(types))
    own = [f"result{index}" for index in range(len(types))]
    # A model may call its second result 'result0': then positions stand for all.
    if set(own) & set(names) and names != own:
        return own
    return [name or position for name, position in zip(names, own, strict=True)]


def _field_count(type: Attribute) -> int:
    """Number of tensors in a value."""
    count, pending = 0, [type]
    while pending:
        inner = pending.pop()
        if isinstance(inner, TupleType):
            pending.extend(inner.types)
        else:
            count += 1
    return count


def bind_inputs(function: func.FuncOp, inputs: Sequence[Array] | Mapping[str, Array]) -> list[Array]:
    """The inputs in the order of the function's arguments, each checked against its type.

    Raises:
        InterpretationError: An input is missing, unknown, or of another type, or a named size is two numbers.
    """
    names = argument_names(function)
    models = model_names(function.arg_attrs, len(names))
    try:
        arrays = inputs_by_name(names, models, inputs) if isinstance(inputs, Mapping) else list(inputs)
    except InputNamesError as error:
        raise InterpretationError(str(error)) from error
    if len(arrays) != len(names):
        raise InterpretationError(f"'{function.sym_name.data}' expects {len(names)} inputs, got {len(arrays)}")
    for name, array, type in zip(names, arrays, function.function_type.inputs, strict=True):
        problem = mismatch(array, type)
        if problem is not None:
            raise InterpretationError(f"input '{name}' {problem}")
    problem = contradiction(size_names(function), [f"input '{name}'" for name in names], [a.shape for a in arrays])
    if problem is not None:
        raise InterpretationError(problem)
    return arrays


def check_has_body(function: func.FuncOp) -> None:
    """Reject a function that is declared only, or has branches.

    Raises:
        EvaluationError: It is or has.
    """
    blocks = len(function.body.blocks)
    if blocks != 1:
        reason = "has no body to run" if not blocks else f"has {blocks} blocks, and branches cannot be run"
        raise EvaluationError(function, f"'@{function.sym_name.data}' {reason}")
