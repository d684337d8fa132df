"""What a mapping asks of an operator, as data: one line of text for each constraint.

    stride in 1..3
    product of dilated_kernel in 1..4096
    weights.type is i8, ui8
    input.channels multiple of kernel_depth
    stride_h in 1..3 or result.height == 1
    result.channels multiple of 16 or pad
    never

A line is alternatives between `or`. Each is a quantity and what is asked of it; all numbers of it must satisfy it.

1. Quantities of the operator: `stride`, `dilation`, `kernel`, `dilated_kernel`, `padding` (also with `_h` and `_w`),
   `groups`, `kernel_depth` (input channels of one filter), and any attribute, with `attr` and a dot before its name.
2. Quantities of tensors: `WHO.WHAT`. WHO is `input` (operand 0), `weights` (operand 1), `bias` (operand 2),
   `operand<n>`, `operands`, `result`, `results`, `tensors` (all of them), `constants`. WHAT is `rank`, `dims`,
   `dim<n>`, `batch`, `height`, `width`, `channels`, `elements`, `bytes`, `bits`, `values` (the least and the greatest),
   `value_bits` (bits of the largest integer), `abs_sum` (the largest sum of magnitudes over a filter); or, of words,
   `type`, `shape` (`ranked`, `static`), `source` (`constant`, `computed`), `form` (`scalar`, `whole`, `broadcast`),
   `values` (`known`, `finite`).
3. `product of`, `sum of`, `max of` before a quantity make one number of its numbers.
4. Asked is `in A..B` (an end may be left out), `<=`, `<`, `>=`, `>`, `==` or `!=` a number or a quantity, `multiple of`
   one, `is` one of some words, `is not` any of them. `or pad` behind a multiple never refuses: it says how far to pad.
5. A tensor that the operator does not have satisfies everything; a number that is not known satisfies nothing.
6. `TEXT: SENTENCE` gives a constraint its own sentence, which the reason begins with.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

Numbers: TypeAlias = Sequence[float]


class OperatorFacts(Protocol):
    """What is known of one operator."""

    def numbers(self, quantity: str) -> Numbers | None:
        """The numbers of a quantity, none if the operator has no such tensor; `None` if they are not known."""
        ...

    def words(self, quantity: str) -> Sequence[frozenset[str]] | None:
        """For each thing that a quantity of words is about the words that are true of it; `None` if not known."""
        ...


class ConstraintError(ValueError):
    """A line that is no constraint."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One alternative of a constraint."""

    text: str
    quantity: str = ""
    fold: str = ""
    """`product`, `sum` or `max`; empty for each number by itself."""
    relation: str = ""
    low: float = -math.inf
    high: float = math.inf
    number: float | None = None
    other: str = ""
    """The quantity on the right, if it is no number."""
    words: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Constraint:
    """A line of a template."""

    text: str
    sentence: str = ""
    """What people are told; empty for what the text says."""
    asks: tuple[Ask, ...] = ()
    pads: bool = False
    """Whether a number that is no multiple is padded to one."""

    def __str__(self) -> str:
        return f"{self.text}: {self.sentence}" if self.sentence else self.text


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an operator satisfies a constraint."""

    refusal: str = ""
    """Why it does not; empty if it does."""
    padding: str = ""
    """What must be padded for it, as `result.channels 20 -> 32`."""


_WHO = r"(?:input|weights|bias|operand\d+|operands|results?|tensors|constants)"
_NUMBERS = frozenset(
    (
        "rank",
        "dims",
        "batch",
        "height",
        "width",
        "channels",
        "elements",
        "bytes",
        "bits",
        "values",
        "value_bits",
        "abs_sum",
    )
)
_WORDS = {
    "type": None,
    "shape": {"ranked", "static"},
    "source": {"constant", "computed"},
    "form": {"scalar", "whole", "broadcast"},
    "values": {"known", "finite"},
}
"""Quantities of words, and the words that they can be; `None` for any."""
_OF_OPERATOR = [
    *(
        f"{name}{end}"
        for name in ("stride", "dilation", "kernel", "dilated_kernel", "padding")
        for end in ("", "_h", "_w")
    ),
    "groups",
    "kernel_depth",
]
_TENSOR = re.compile(rf"{_WHO}\.(\w+)")
_DIM = re.compile(r"dim\d+")
_ATTRIBUTE = re.compile(r"attr\.\w+")
_FOLD = re.compile(r"(product|sum|max) of (\S+)(.*)", re.DOTALL)
_HEAD = re.compile(r"(\S+) (in|<=|>=|<|>|==|!=|multiple of|is not|is) (.+)", re.DOTALL)
_PADDED = re.compile(r"(\d+) -> (\d+)")
_FOLDS: Mapping[str, Callable[[Numbers], float]] = {"product": math.prod, "sum": sum, "max": max}
_COMPARE: Mapping[str, tuple[Callable[[float, float], bool], str]] = {
    "<=": (lambda a, b: a <= b, ">"),
    ">=": (lambda a, b: a >= b, "<"),
    "<": (lambda a, b: a < b, ">="),
    ">": (lambda a, b: a > b, "<="),
    "==": (lambda a, b: a == b, "!="),
    "!=": (lambda a, b: a != b, "=="),
}
"""Relations, and how their contrary is spelled."""


def parse_constraint(line: str) -> Constraint:
    """The constraint of a line.

    Raises:
        ConstraintError: It is none; the message says what is expected.
    """
    text, _, sentence = (part.strip() for part in line.partition(": "))
    parts = [part.strip() for part in text.split(" or ")]
    pads = len(parts) > 1 and parts[-1] == "pad"
    asks = tuple(_ask(part) for part in (parts[:-1] if pads else parts))
    if pads and (len(asks) != 1 or asks[0].relation != "multiple of"):
        raise ConstraintError(f"expects 'or pad' behind one 'multiple of', got '{text}'")
    return Constraint(text, sentence, asks, pads)


def _ask(text: str) -> Ask:
    if text == "never":
        return Ask(text, relation="never")
    fold, rest = "", text
    folded = _FOLD.fullmatch(text)
    if folded is not None:
        fold, rest = folded[1], folded[2] + folded[3]
    match = _HEAD.fullmatch(rest)
    if match is None:
        raise ConstraintError(f"expects a quantity, a relation (in, <=, ==, multiple of, is) and a value, got '{text}'")
    quantity, relation, value = match[1], match[2], match[3].strip()
    if relation.startswith("is"):
        return _words(text, quantity, relation, value)
    _check_quantity(quantity)
    if relation == "in":
        first, dots, last = value.partition("..")
        if not dots:
            raise ConstraintError(f"expects a range as 1..3, got '{value}'")
        low = _number(first) if first else -math.inf
        high = _number(last) if last else math.inf
        if low > high:
            raise ConstraintError(f"expects a range from the lower number to the higher, got '{value}'")
        return Ask(text, quantity, fold, relation, low, high)
    if re.fullmatch(r"-?[\d.]+(?:e[+-]?\d+)?", value):
        number = _number(value)
        if relation == "multiple of" and number < 1:
            raise ConstraintError(f"expects a multiple of a number of 1 or more, got '{value}'")
        return Ask(text, quantity, fold, relation, number=number)
    _check_quantity(value)
    return Ask(text, quantity, fold, relation, other=value)


def _words(text: str, quantity: str, relation: str, value: str) -> Ask:
    words = [word.strip() for word in value.split(",")]
    tensor = _TENSOR.fullmatch(quantity)
    if _ATTRIBUTE.fullmatch(quantity) is None:
        known = _WORDS.get(tensor[1]) if tensor is not None else None
        if tensor is None or tensor[1] not in _WORDS:
            raise ConstraintError(f"expects a quantity of words ({', '.join(_WORDS)}) of a tensor, got '{quantity}'")
        wrong = next((word for word in words if known is not None and word not in known), None)
        if wrong is not None and known is not None:
            raise ConstraintError(f"expects '{quantity}' to be {' or '.join(sorted(known))}, got '{wrong}'")
    return Ask(text, quantity, "", relation, words=frozenset(words))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ConstraintError(f"expects a number, got '{text}'") from error


def _check_quantity(quantity: str) -> None:
    tensor = _TENSOR.fullmatch(quantity)
    is_known = (
        quantity in _OF_OPERATOR
        or _ATTRIBUTE.fullmatch(quantity) is not None
        or (tensor is not None and (tensor[1] in _NUMBERS or _DIM.fullmatch(tensor[1]) is not None))
    )
    if not is_known:
        raise ConstraintError(f"expects a quantity as stride, attr.axis or input.channels, got '{quantity}'")


def judge(constraint: Constraint, facts: OperatorFacts) -> Verdict:
    """Whether an operator satisfies a constraint, and otherwise why not."""
    refusals: list[str] = []
    for ask in constraint.asks:
        verdict = _judge(ask, facts, pads=constraint.pads)
        if not verdict.refusal:
            return verdict
        refusals.append(verdict.refusal)
    why = " and ".join(each for each in refusals if each != "never")
    if constraint.sentence:
        return Verdict(f"{constraint.sentence} ({why})" if why else constraint.sentence)
    return Verdict(why or "no unit runs this operator")


def padded_operations(operations: int, padding: str) -> int:
    """Operations of an operator once what `Verdict.padding` says is padded: each size that grows, grows them."""
    for size, padded in _PADDED.findall(padding):
        operations = -(-operations * int(padded) // max(1, int(size)))
    return operations


def _judge(ask: Ask, facts: OperatorFacts, *, pads: bool) -> Verdict:
    if ask.relation == "never":
        return Verdict("never")
    if ask.relation.startswith("is"):
        return _judge_words(ask, facts)
    name = f"{ask.fold} of {ask.quantity}" if ask.fold else ask.quantity
    numbers = facts.numbers(ask.quantity)
    if numbers is None:
        return Verdict(f"{name} is not known")
    if not numbers:
        return Verdict()
    if ask.fold:
        numbers = [_FOLDS[ask.fold](numbers)]
    if ask.relation == "in":
        wrong = next((number for number in numbers if not ask.low <= number <= ask.high), None)
        if wrong is None:
            return Verdict()
        bound = f"> {_spelled(ask.high)}" if wrong > ask.high else f"< {_spelled(ask.low)}"
        return Verdict(f"{name} {_spelled(wrong)} {bound}" if wrong == wrong else f"{name} is not a number")
    return _judge_pairs(ask, name, numbers, facts, pads=pads)


def _judge_pairs(ask: Ask, name: str, numbers: Numbers, facts: OperatorFacts, *, pads: bool) -> Verdict:
    others: Numbers | None = [ask.number] if ask.number is not None else facts.numbers(ask.other)
    if others is None:
        return Verdict(f"{ask.other} is not known")
    if not others:
        return Verdict()
    against = others if len(others) == len(numbers) else [others[0]] * len(numbers)
    for number, other in zip(numbers, against, strict=True):
        said = f"{ask.other} {_spelled(other)}" if ask.other else _spelled(other)
        if ask.relation == "multiple of":
            if other and number % other:
                if pads:
                    return Verdict(padding=f"{name} {_spelled(number)} -> {_spelled(-(-number // other) * other)}")
                return Verdict(f"{name} {_spelled(number)} is no multiple of {said}")
        elif not _COMPARE[ask.relation][0](number, other):
            return Verdict(f"{name} {_spelled(number)} {_COMPARE[ask.relation][1]} {said}")
    return Verdict()


def _judge_words(ask: Ask, facts: OperatorFacts) -> Verdict:
    found = facts.words(ask.quantity)
    if found is None:
        return Verdict(f"{ask.quantity} is not known")
    wanted = ", ".join(sorted(ask.words))
    for words in found:
        if ask.relation == "is" and not words & ask.words:
            return Verdict(f"{ask.quantity} is {', '.join(sorted(words)) or 'nothing'}, not {wanted}")
        if ask.relation == "is not" and words & ask.words:
            return Verdict(f"{ask.quantity} is {', '.join(sorted(words & ask.words))}")
    return Verdict()


def _spelled(number: float) -> str:
    return str(int(number)) if number == number and not math.isinf(number) and number == int(number) else f"{number:g}"


def contradictions(constraints: Sequence[Constraint]) -> Iterator[tuple[Constraint, Constraint]]:
    """Pairs of constraints that exclude each other: ranges that do not meet, words that have none in common."""
    plain = [(each, each.asks[0]) for each in constraints if len(each.asks) == 1 and not each.pads]
    for index, (one, first) in enumerate(plain):
        for other, second in plain[index + 1 :]:
            if (
                (first.quantity, first.fold) == (second.quantity, second.fold)
                and first.quantity
                and _excludes(first, second)
            ):
                yield one, other


def _excludes(one: Ask, other: Ask) -> bool:
    if one.relation.startswith("is") or other.relation.startswith("is"):
        if one.relation == other.relation == "is":
            return not one.words & other.words
        if {one.relation, other.relation} == {"is", "is not"}:
            positive, negative = (one, other) if one.relation == "is" else (other, one)
            return positive.words <= negative.words
        return False
    bounds = [_bounds(one), _bounds(other)]
    if None in bounds:
        return False
    (low, high), (least, most) = (each for each in bounds if each is not None)
    return low > most or least > high


def _bounds(ask: Ask) -> tuple[float, float] | None:
    """The numbers that an alternative allows, if they are a range; whole numbers between open ends."""
    number = ask.number
    match ask.relation:
        case "in":
            return ask.low, ask.high
        case "==" if number is not None:
            return number, number
        case "<=" | "<" if number is not None:
            return -math.inf, number if ask.relation == "<=" else math.nextafter(number, -math.inf)
        case ">=" | ">" if number is not None:
            return number if ask.relation == ">=" else math.nextafter(number, math.inf), math.inf
        case _:
            return None
