"""Inputs by the names of a function's arguments, without the IR that has them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


class InputNamesError(ValueError):
    """An input is missing or unknown."""


def inputs_by_name(names: Sequence[str], given: Sequence[str | None], inputs: Mapping[str, T]) -> list[T]:
    """The inputs in the order of a function's arguments.

    A name is the model's, that in the IR, `arg<position>` or `arr_<position>`. Where an argument has the name in the IR
    that another has in the model, the model's names count if all of them are given.

    Args:
        names: Names of the arguments in the IR.
        given: Those in the model, where there is one.
        inputs: Values by any of these names.

    Raises:
        InputNamesError: An input is missing or unknown.
    """
    by_model = all(name is not None and name in inputs for name in given)
    unused = dict.fromkeys(inputs)
    values: list[T] = []
    for index, (name, model) in enumerate(zip(names, given, strict=True)):
        aliases = [name, *([model] if model is not None and model not in names else []), f"arg{index}", f"arr_{index}"]
        key = model if by_model else next((alias for alias in aliases if alias in inputs), None)
        if key is None:
            known = f"'{name}'" if model in (None, name) else f"'{model}' ('{name}')"
            raise InputNamesError(f"no input {known} among {listed(inputs)}")
        unused.pop(key, None)
        values.append(inputs[key])
    if unused:
        wanted = [model or name for name, model in zip(names, given, strict=True)]
        raise InputNamesError(f"no argument takes the input {listed(unused)}; there are {listed(wanted)}")
    return values


def listed(names: Iterable[str]) -> str:
    """Names for an error message."""
    return ", ".join(f"'{name}'" for name in names) or "none"
