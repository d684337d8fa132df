"""From the spelling of passes to passes, with errors that name what was expected."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, ParameterListType, parse_spec
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.utils.hints import isa

from fuse_dialect.diagnostics import FuseError

PassTable = Mapping[str, Callable[[], type[ModulePass]]]
"""Passes by name, each behind a function that imports it."""


def build_passes(spellings: Iterable[str], table: PassTable) -> list[ModulePass]:
    """The passes that the spellings name.

    Raises:
        FuseError: A pass or an option is unknown, or an option has a value of the wrong type.
    """
    return [_build_pass(spelling, table) for spelling in spellings]


def closest(name: str, known: Iterable[str]) -> str | None:
    """A question that names the closest of the known names, if one is close."""
    matches = get_close_matches(name, list(known), n=1)
    return f"did you mean '{matches[0]}'?" if matches else None


def option_name(field_name: str) -> str:
    """How an option is spelled: `max-depth` for the field `max_depth`."""
    return field_name.replace("_", "-")


def option_fields(cls: type[ModulePass]) -> list[dataclasses.Field[Any]]:
    """The fields of a pass that are options."""
    return [field for field in dataclasses.fields(cls) if field.init and field.name != "name"]


def type_words(hint: Any) -> str:
    """A type of an option in words: `integer`, `list of strings`, `one of tvm, greedy`."""
    origin, arguments = get_origin(hint), get_args(hint)
    simple = {int: "integer", float: "number with a point", bool: "true or false", str: "string"}
    if hint in simple:
        return simple[hint]
    if origin in (Union, UnionType):
        return " or ".join(type_words(part) for part in arguments if part is not NoneType)
    if origin is tuple and arguments:
        return f"comma-separated list, each {type_words(arguments[0])}"
    if origin is not None and str(origin).endswith("Literal"):
        return f"one of {', '.join(map(str, arguments))}"
    return getattr(hint, "__name__", str(hint))


def _build_pass(spelling: str, table: PassTable) -> ModulePass:
    spec = _parse(spelling)
    if spec.name not in table:
        hint = closest(spec.name, table) or "--list-passes shows all passes"
        raise FuseError(f"unknown pass '{spec.name}'", hint=hint)
    try:
        cls = table[spec.name]()
    except ImportError as error:
        raise FuseError(f"pass '{spec.name}' is not available: {error}") from error
    _check_options(cls, spec)
    try:
        return cls.from_pass_spec(spec)
    except (ValueError, TypeError) as error:
        raise FuseError(f"pass '{spec.name}': {error}") from error


_OPTION_WITHOUT_VALUE = re.compile(r"[{ ]([\w-]+)=(?=[ }]|$)")


def _parse(spelling: str) -> ArgSpec:
    if lacking := _OPTION_WITHOUT_VALUE.search(spelling):
        raise FuseError(f"cannot read pass '{spelling}': option '{lacking[1]}' has no value", hint=_SYNTAX_HINT)
    if twice := _given_twice(spelling):
        raise FuseError(f"cannot read pass '{spelling}': option '{twice}' is given twice")
    try:
        return parse_spec(spelling)
    except ArgSpecParseError as error:
        # The message is a headline, the place, the source line, a caret and what was expected there.
        lines = [line.strip() for line in str(error).splitlines()]
        expected = next((line for line in reversed(lines) if line and set(line) != {"^"}), "syntax error")
        message = expected[:1].lower() + expected[1:]
        raise FuseError(f"cannot read pass '{spelling}': {message}", hint=_SYNTAX_HINT) from error


def _given_twice(spelling: str) -> str | None:
    """The first option that a pass has twice; xDSL would take the last one without a word."""
    # What stands in quotes is a value, and its words are no options.
    options = re.sub(r'"[^"]*"', "", spelling).partition("{")[2].rstrip("} ")
    seen: set[str] = set()
    for word in options.split():
        name = word.partition("=")[0]
        if option_name(name) in seen:
            return name
        seen.add(option_name(name))
    return None


_SYNTAX_HINT = "options are written name{option=value other-option=a,b}, other values in double quotes"


def _check_options(cls: type[ModulePass], spec: ArgSpec) -> None:
    """Check names and types of the options.

    Raises:
        FuseError: An option is unknown, or its value has the wrong type.
    """
    hints = get_type_hints(cls)
    fields = {field.name: field for field in option_fields(cls)}
    for name, values in spec.parameters.items():
        field = fields.get(name.replace("-", "_"))
        if field is None:
            known = [option_name(each) for each in fields]
            listing = f"its options are {', '.join(known)}" if known else "it has no options"
            raise FuseError(f"pass '{spec.name}' has no option '{name}'", hint=closest(name, known) or listing)
        hint = hints[field.name]
        if not _accepts(hint, values):
            given = ",".join(_spelled(value) for value in values) or "nothing"
            raise FuseError(f"option '{name}' of pass '{spec.name}' expects {type_words(hint)}, got {given}")


def _spelled(value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, str) else str(value)


def _accepts(hint: Any, values: ParameterListType) -> bool:
    """Whether xDSL would take the values for an option of this type; true is no integer here."""
    if not values:
        return NoneType in get_args(hint)
    if any(isinstance(value, bool) for value in values) and not _mentions_bool(hint):
        return False
    return (len(values) == 1 and isa(values[0], hint)) or isa(values, hint)


def _mentions_bool(hint: Any) -> bool:
    parts: Sequence[Any] = get_args(hint)
    return hint is bool or any(isinstance(part, bool) or _mentions_bool(part) for part in parts)
