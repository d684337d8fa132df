"""What a call of a function is for its program: static arguments by value and type, the others as leaves of trees."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from fuse_dialect.diagnostics import FuseError

_NO_NAME = re.compile(r"[^A-Za-z0-9_$.-]+")


@dataclass(frozen=True, slots=True)
class StaticArguments:
    """Which arguments of a function are part of the program."""

    places: frozenset[int]
    """Positions, from 0."""
    names: frozenset[str]

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.places or self.names)


def static_arguments(
    function: Callable[..., Any], argnums: int | Iterable[int], argnames: str | Iterable[str]
) -> StaticArguments:
    """The static arguments by position and by name, where one of both is given, as `jax.jit` finds them.

    Raises:
        FuseError: The function has no such argument.
    """
    places = [argnums] if isinstance(argnums, int) else list(argnums)
    names = [argnames] if isinstance(argnames, str) else list(argnames)
    known = parameters_of(function)
    is_open = any(each.kind is each.VAR_KEYWORD for each in known)
    variadic = any(each.kind is each.VAR_POSITIONAL for each in known)
    by_place = [each.name for each in known if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    by_name = [each.name for each in known if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)]
    for name in names:
        if known and not is_open and name not in by_name:
            hint = f"its arguments are {', '.join(by_name)}" if by_name else None
            raise FuseError(f"'{name_of(function)}' has no argument '{name}'", hint=hint)
    for place in places:
        if known and not variadic and not -len(by_place) <= place < len(by_place):
            raise FuseError(f"'{name_of(function)}' has {len(by_place)} arguments, and none at position {place}")
    found = {place + len(by_place) if place < 0 else place for place in places}
    if names and not places:
        found |= {by_place.index(name) for name in names if name in by_place}
    elif places and not names:
        names = [by_place[place] for place in sorted(found) if place < len(by_place) and by_place[place] in by_name]
    return StaticArguments(frozenset(found), frozenset(names))


def parameters_of(function: Callable[..., Any]) -> Sequence[inspect.Parameter]:
    """The parameters of a function; none where Python cannot tell."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function, for people."""
    return getattr(function, "__name__", type(function).__name__)


def typed(value: object) -> object:
    """What is equal for values that are equal and of the same types: `1`, `1.0` and `True` are three."""
    if type(value) in (tuple, frozenset):
        parts = cast("tuple[object, ...] | frozenset[object]", value)
        return type(parts), type(parts)(typed(part) for part in parts)
    return type(value), value


def split(
    statics: StaticArguments, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[object, tuple[Any, ...], dict[str, Any]]:
    """The static arguments as part of a key, and the arguments that are arrays, by position and by name."""
    by_place = tuple([(place, typed(value)) for place, value in enumerate(args) if place in statics.places])
    by_name = tuple([(name, typed(kwargs[name])) for name in sorted(kwargs) if name in statics.names])
    return (
        (by_place, by_name),
        tuple([value for place, value in enumerate(args) if place not in statics.places]),
        {name: value for name, value in kwargs.items() if name not in statics.names},
    )


def leaf_names(
    function: Callable[..., Any],
    statics: StaticArguments,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    paths: Callable[[Any], Sequence[str]],
) -> list[str]:
    """The names of the leaves of a call, as `params['w1']`.

    Args:
        function: What is called.
        statics: Its arguments that are no arrays.
        args: Arguments by position.
        kwargs: Arguments by name.
        paths: Where each leaf of a tree stands in it, as `['w1']`.
    """
    named: list[str] = []
    rest = "args"
    for each in parameters_of(function):
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD):
            named.append(each.name)
        elif each.kind is each.VAR_POSITIONAL:
            rest = each.name
    leaves: list[str] = []
    for place, value in enumerate(args):
        if place not in statics.places:
            name = named[place] if place < len(named) else f"{rest}[{place - len(named)}]"
            leaves += [name + path for path in paths(value)]
    for name in sorted(kwargs):
        if name not in statics.names:
            leaves += [name + path for path in paths(kwargs[name])]
    return leaves


def value_name(name: str) -> str:
    """The name as the IR may spell one: `params['w1']` becomes "params.w1"."""
    return _NO_NAME.sub(".", name).strip(".")
