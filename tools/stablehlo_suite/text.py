"""Where things end in MLIR text: brackets, types, functions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|->|[()\[\]{}<>]')
_FUNCTION = re.compile(r"func\.func\s+(?:public\s+|private\s+)?@([\w.$-]+|\"[^\"]*\")\s*\(")


def without_comments(text: str) -> str:
    """The text without `// ...`, of which strings keep theirs."""
    lines: list[str] = []
    for line in text.split("\n"):
        if "//" in line:
            blank = _STRING.sub(lambda found: "_" * len(found[0]), line)
            line = line[: blank.find("//")] if "//" in blank else line
        lines.append(line)
    return "\n".join(lines)


def closing(text: str, start: int) -> int:
    """The place behind the bracket that closes the one at `start`; strings and arrows hold none.

    Raises:
        ValueError: It is not closed.
    """
    pending: list[str] = []
    for found in _BRACKET.finditer(text, start):
        sign = found[0]
        if sign in _CLOSING:
            pending.append(_CLOSING[sign])
        elif pending and sign == pending[-1]:
            pending.pop()
            if not pending:
                return found.end()
    raise ValueError(f"'{text[start : start + 20]}' is not closed")


@dataclass(frozen=True, slots=True)
class Function:
    """Places of a function in a text."""

    name: str
    start: int
    arguments: tuple[int, int]
    """Of what stands between the brackets."""
    results: tuple[int, int]
    """From behind the arguments to the brace that opens the body, attributes not included."""
    body: tuple[int, int]
    """Of what stands between the braces."""

    @property
    def end(self) -> int:
        """Behind the brace that closes it."""
        return self.body[1] + 1


def functions(text: str) -> Iterator[Function]:
    """The functions of a text that have a body."""
    for found in _FUNCTION.finditer(text):
        end = closing(text, found.end() - 1)
        results_end = place = end
        arrow = re.compile(r"\s*->\s*").match(text, end)
        if arrow is not None:
            place = arrow.end()
            results_end = place = closing(text, place) if text[place] == "(" else type_end(text, place)
        attributes = re.compile(r"\s*attributes\s*").match(text, place)
        if attributes is not None:
            place = closing(text, attributes.end())
        brace = re.compile(r"\s*\{").match(text, place)
        if brace is not None:
            body = (brace.end(), closing(text, brace.end() - 1) - 1)
            yield Function(found[1].strip('"'), found.start(), (found.end(), end - 1), (end, results_end), body)


def type_end(text: str, start: int) -> int:
    """The place behind the type that begins at `start`: a name, and what it holds in angle brackets."""
    name = re.compile(r"[!\w.]+").match(text, start)
    if name is None:
        raise ValueError(f"'{text[start : start + 20]}' is no type")
    return closing(text, name.end()) if text[name.end() : name.end() + 1] == "<" else name.end()


def depths(text: str) -> list[tuple[int, int]]:
    """Where the number of open braces changes, and to what."""
    found: list[tuple[int, int]] = []
    depth = 0
    for sign in _BRACKET.finditer(text):
        if sign[0] in "{}":
            depth += 1 if sign[0] == "{" else -1
            found.append((sign.start(), depth))
    return found
