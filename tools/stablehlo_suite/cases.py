"""Test cases of a file: a program that returns what the file checks, its inputs, and what must come out.

1. A file is cut at `// -----`. What remains is one module whose entry is `main`, or, where no function of that name
   checks anything, each function that does is an entry, and the others are left out.
2. Checks (`check.eq` of any kind, as an op or as a `custom_call`) are taken out, and the entry returns what they
   look at.
3. Inputs, the constants of the entry or what its `@inputs` returns, become arguments: nothing of the program may be
   folded before it runs. Scalars and sizes that an op must know beforehand then are none, so `as_written` leaves them.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stablehlo_suite.constants import UnreadableError
from stablehlo_suite.text import Function, closing, depths, functions, type_end, without_comments

_CONSTANT = re.compile(r"(%[\w$.-]+)\s*=\s*stablehlo\.constant\s+(?=dense<)")
_CHECK = re.compile(
    r'(?:%[\w:]+\s*=\s*)?(?:stablehlo\.custom_call\s+@check\.(?P<call>\w+)\(|"?check\.(?P<op>\w+)"?\(?)\s*'
    r"(?P<actual>%[\w$.#-]+)(?:\s*,\s*(?P<expected>%[\w$.#-]+))?"
)
_CALL = re.compile(r"(%[\w$.-]+)(?::\d+)?\s*=\s*(?:func\.)?call\s+@(inputs|expected|samples)\(\)\s*:\s*\(\)\s*->\s*")
_RETURN = re.compile(r"(?<![\w.])(?:func\.)?return\b[^\n]*")
KINDS = (
    "eq",
    "expect_eq",
    "expect_eq_const",
    "expect_almost_eq",
    "expect_almost_eq_const",
    "expect_close",
)
"""Checks that are known."""
_SPLIT = re.compile(r"^// -----.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant as it stands in a text."""

    dense: str
    type: str


@dataclass(frozen=True, slots=True)
class Check:
    """What must be said of one result."""

    kind: str
    """`eq`, `almost_eq` or `close`."""
    expected: Constant | int
    """A constant, or the number of another result."""
    tolerance: float = 0.0
    """Greatest absolute difference of `almost_eq`."""
    ulps: tuple[int, int] = (0, 0)
    """Least and greatest distance of `close`, in units in the last place."""


@dataclass(frozen=True, slots=True)
class Case:
    """A program with checks."""

    name: str
    """File, number of the part, entry."""
    text: str
    entry: str
    inputs: tuple[Constant, ...]
    """The arguments of the entry."""
    checks: tuple[Check, ...]
    """One for each of the first results."""
    unreadable: str = ""
    """What the file says that is not known here; such a case has nothing else."""


def cases_of(path: Path, *, as_written: bool = False) -> Iterator[Case]:
    """The cases of a file.

    Args:
        path: The file.
        as_written: Leave inputs in the program.
    """
    for number, part in enumerate(_SPLIT.split(path.read_text())):
        text = without_comments(part)
        checking = [each for each in functions(text) if _CHECK.search(text, *each.body)]
        mains = [each for each in checking if each.name == "main"]
        for entry in mains or checking:
            name = f"{path.stem}/{number}/{entry.name}"
            try:
                case = _Reading(text, entry, [each for each in checking if each is not entry], as_written).case(name)
            except UnreadableError as error:
                case = Case(name, text, entry.name, (), (), str(error))
            yield case


@dataclass(frozen=True, slots=True)
class _Edit:
    """Text that takes the place of other text."""

    start: int
    end: int
    text: str


class _Reading:
    """One entry of a text, and the changes that make a case of it."""

    def __init__(self, text: str, entry: Function, others: Sequence[Function], as_written: bool):
        self.text = text
        self.entry = entry
        self.edits = [_Edit(each.start, each.end, "") for each in others]
        self.inputs: list[tuple[str, Constant]] = []
        self.known: dict[str, Constant] = {}
        """Constants by the names that the entry has for them."""
        self._places, self._depths = zip(*depths(text[: entry.end]), strict=True)
        self._find_constants(as_written)
        self._find_calls(as_written)

    def case(self, name: str) -> Case:
        """The program without its checks."""
        checks: list[Check] = []
        actual: list[tuple[str, str]] = []
        others: list[tuple[str, str]] = []
        for found in self._at_the_top(_CHECK):
            check, type_, computed = self._check(found)
            actual.append((found["actual"], type_))
            checks.append(check)
            if computed is not None:
                others.append(computed)
        numbers = iter(range(len(actual), len(actual) + len(others)))
        checks = [
            Check(each.kind, next(numbers), each.tolerance, each.ulps) if each.expected == -1 else each
            for each in checks
        ]
        self._return([*actual, *others])
        return Case(name, self._edited(), self.entry.name, tuple(each for _, each in self.inputs), tuple(checks))

    def _at_the_top(self, pattern: re.Pattern[str]) -> list[re.Match[str]]:
        """What matches in the entry's body outside all regions of ops."""
        own = self._depth(self.entry.body[0])
        found = pattern.finditer(self.text, *self.entry.body)
        return [each for each in found if self._depth(each.start()) == own]

    def _depth(self, place: int) -> int:
        return self._depths[bisect_right(self._places, place) - 1]

    def _find_constants(self, as_written: bool) -> None:
        for found in self._at_the_top(_CONSTANT):
            constant, end = _constant_at(self.text, found.end())
            self.known[found[1]] = constant
            if not as_written:
                self.inputs.append((found[1], constant))
                self.edits.append(_Edit(found.start(), end, ""))

    def _find_calls(self, as_written: bool) -> None:
        """Inputs and expected values that are the results of private functions."""
        bodies = {each.name: each for each in functions(self.text)}
        for found in self._at_the_top(_CALL):
            function = bodies[found[2]]
            constants = _returned(self.text, function)
            if constants is None:
                continue
            several = len(constants) > 1
            for number, each in enumerate(constants):
                self.known[f"{found[1]}#{number}" if several else found[1]] = each
            if found[2] == "expected":
                end = self.text.index("\n", found.end())
                self.edits += [_Edit(found.start(), end, ""), _Edit(function.start, function.end, "")]
            elif not as_written:
                self._pass_on(found, function, constants)

    def _pass_on(self, call: re.Match[str], function: Function, constants: Sequence[Constant]) -> None:
        """Make arguments of the constants that a function returns."""
        names = [f"%suite_{len(self.inputs) + number}" for number in range(len(constants))]
        types = [each.type for each in constants]
        self.inputs += zip(names, constants, strict=True)
        at_call = self.text.index("()", call.start())
        self.edits.append(_Edit(at_call, at_call + 2, f"({', '.join(names)})"))
        arrow = self.text.index("()", at_call + 2)
        self.edits.append(_Edit(arrow, arrow + 2, f"({', '.join(types)})"))
        arguments = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, types, strict=True))
        self.edits.append(_Edit(*function.arguments, arguments))
        self.edits.append(_Edit(*function.body, f"\nreturn {', '.join(names)} : {', '.join(types)}\n"))

    def _check(self, found: re.Match[str]) -> tuple[Check, str, tuple[str, str] | None]:
        """What a check says, the type of what it looks at, and what else must be returned for it."""
        kind, end = found["call"] or found["op"], found.end()
        computed: tuple[str, str] | None = None
        if found["expected"] is None:
            begin = self.text.find("dense<", end, self.entry.body[1])
            if begin < 0 or kind not in KINDS:
                raise UnreadableError(f"a check {kind} of one value")
            constant, end = _constant_at(self.text, begin)
            expected: Constant | int = constant
            type_ = constant.type
        else:
            end, type_ = _type_behind(self.text, end)
            expected = self.known.get(found["expected"], -1)
            computed = (found["expected"], type_) if expected == -1 else None
        line_end = self.text.find("\n", end)
        rest = self.text[found.start() : line_end]
        self.edits.append(_Edit(found.start(), line_end, ""))
        return _judged(kind, found["call"] is not None, rest, expected), type_, computed

    def _return(self, values: Sequence[tuple[str, str]]) -> None:
        names, types = ", ".join(name for name, _ in values), ", ".join(type_ for _, type_ in values)
        last = self._at_the_top(_RETURN)[-1]
        self.edits.append(_Edit(last.start(), last.end(), f"return {names} : {types}"))
        self.edits.append(_Edit(*self.entry.results, f" -> ({types})"))
        arguments = ", ".join(f"{name}: {constant.type}" for name, constant in self.inputs)
        if arguments:
            self.edits.append(_Edit(self.entry.arguments[0], self.entry.arguments[0], arguments))

    def _edited(self) -> str:
        text = self.text
        for edit in sorted(self.edits, key=lambda each: each.start, reverse=True):
            text = text[: edit.start] + edit.text + text[edit.end :]
        return text


def _constant_at(text: str, start: int) -> tuple[Constant, int]:
    """The constant that begins at `start`, with its type, and the place behind it."""
    end = closing(text, start + len("dense"))
    begin = re.compile(r"\s*:\s*").match(text, end)
    assert begin is not None
    behind = type_end(text, begin.end())
    return Constant(text[start:end], text[begin.end() : behind]), behind


def _type_behind(text: str, start: int) -> tuple[int, str]:
    """The first tensor type from `start` on: a check of two values has it behind its attributes."""
    begin = text.index("tensor<", start)
    return (end := type_end(text, begin)), text[begin:end]


def _returned(text: str, function: Function) -> list[Constant] | None:
    """The constants that a function returns, if it returns nothing else."""
    found = {each[1]: _constant_at(text, each.end())[0] for each in _CONSTANT.finditer(text, *function.body)}
    last = list(_RETURN.finditer(text, *function.body))[-1]
    names = re.findall(r"%[\w$.#-]+", last[0].partition(" : ")[0])
    return [found[name] for name in names] if all(name in found for name in names) else None


def _judged(kind: str, is_call: bool, text: str, expected: Constant | int) -> Check:
    """A check with the limits that the suite has for it.

    Source: stablehlo/tests/CheckOps.td for ops, stablehlo/tools/StablehloTranslateMain.cpp for calls.
    """
    found: Mapping[str, str] = dict(re.findall(r"(tolerance|m(?:ax|in)_ulp_difference)\s*=\s*([\d.eE+-]+)", text))
    of = expected.type if isinstance(expected, Constant) else ""
    kind = kind.removeprefix("expect_").removesuffix("_const")
    if is_call and kind == "eq" and "check.eq" in text:
        kind = "eq" if re.search(r"x?u?i\d+>$", of) else "almost_eq"
        return Check(kind, expected, 1e-4)
    if kind == "close":
        limits = int(found.get("min_ulp_difference", 0)), int(found.get("max_ulp_difference", 3 if is_call else 1))
        return Check(kind, expected, ulps=limits)
    return Check(kind, expected, float(found.get("tolerance", 1e-3 if is_call else 1e-4)))
