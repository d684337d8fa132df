"""What was meant by `--max-depth=3`, which is an option of a pass, not of the tool."""

import os
import re
from collections.abc import Sequence
from difflib import get_close_matches

from fuse_dialect.loading.pipeline import PassTable, option_fields, option_name
from fuse_dialect.universe import OWN_NAMES

_CLOSE = 0.8
"""How similar a misspelled option must be, from 0 to 1."""
_VALUE = re.compile(r"[\w.,/~+-]+")


def option_hint(word: str, arguments: Sequence[str], spellings: Sequence[str], table: PassTable) -> str | None:
    """How to spell an option of a pass that stands on the command line by itself.

    Args:
        word: An argument that the tool does not know.
        arguments: The whole command line.
        spellings: The passes on it; their options come first, then those of the package's other passes.
        table: All passes.

    Returns:
        A hint, or `None` when no pass has such an option.
    """
    name, equals, value = word.lstrip("-").partition("=")
    given = [spelling.partition("{")[0] for spelling in spellings]
    for pass_name in dict.fromkeys((*given, *OWN_NAMES.all_passes)):
        options = _options(pass_name, table) if pass_name in table else []
        if close := get_close_matches(option_name(name), options, n=1, cutoff=_CLOSE):
            value = value if equals else _value_after(word, arguments)
            return f'write --{pass_name}="{close[0]}={value}"'
    return None


def attached_to_one_dash(arguments: Sequence[str], table: PassTable) -> str | None:
    """The first argument such as `-opt-level=0`, which argparse would take as `-o pt-level=0`."""
    for word in arguments:
        if re.match(r"-[a-z][\w-]*-[\w-]+(=|$)", word) and option_hint(word, (), (), table) is not None:
            return word
    return None


def _options(pass_name: str, table: PassTable) -> list[str]:
    try:
        return [option_name(field.name) for field in option_fields(table[pass_name]())]
    except ImportError:
        return []


def _value_after(word: str, arguments: Sequence[str]) -> str:
    """The argument after the option, if it can be its value; else a place for one."""
    following = arguments[arguments.index(word) + 1 :] if word in arguments else ()
    # `--opt-level x.mlir`: a file that is there is the input, unless a value is missing anyway.
    if following and _VALUE.fullmatch(following[0]) and not following[0].startswith("-"):
        return following[0] if not os.path.exists(following[0]) else "..."
    return "..."
