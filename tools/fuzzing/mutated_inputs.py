"""Inputs made of others: text with other tokens, numbers or bytes, models with other fields, text of no original."""

import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

import onnx

_TOKEN = re.compile(rb"\s+|[%@#!^]?[\w.$]+|->|\S")
_VALUE = re.compile(rb"(tensor<|array<i\d+: |\[|= )((?:(?<=<)(?:-?[\d?]+x)*)|(?:-?\d+(?:, )?)+)")
"""What opens numbers, and the numbers: a shape, a list, or a number alone."""
_NUMBERS = (0, 1, -1, 2, 7, 255, 2**31, 2**63 - 1, -(2**63), 10**9)
_WORDS = (b"", b"x", b"?", b"-1", b"0", b"9223372036854775807", b'"', b"{", b"}", b"(", b")", b"<", b">", b"\x1b[31m")


_ALPHABETS: tuple[Sequence[bytes], ...] = (
    [bytes([code]) for code in range(256)],
    [bytes([code]) for code in range(32, 127)],
    [chr(code).encode("utf-8", "replace") for code in (*range(1, 0x250), *range(0x2020, 0x2070), 0x1F600, 0x10FFFF)],
    b'func.func module @main ( ) { } -> : tensor < 4 x f32 > %x %0 = " #a ! ^b , [ ] dense 0x 1.0 // -----'.split(),
    b'( { [ < " ((((((( [[[[[[[ {{{{{{ <<<<<<'.split(),
)


def random_text(data: bytes, rng: random.Random) -> bytes:
    """A quarter of a megabyte, of bytes, characters or words, behind a beginning that may be valid; or less."""
    alphabet = rng.choice(_ALPHABETS)
    separator = rng.choice((b"", b"", b" ", b"\n"))
    count = rng.choice((10, 1000, 100_000, 300_000)) // (len(alphabet[0]) + len(separator))
    head = rng.choice((b"", data, data.rsplit(b"}", 1)[0], b'module { "', b"%0 = arith.constant dense<"))
    return head + separator.join(rng.choices(alphabet, k=count))


def mutated_bytes(data: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, cut out or repeated."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        if not changed:
            break
        at = rng.randrange(len(changed))
        match rng.randrange(4):
            case 0:
                changed[at] = rng.randrange(256)
            case 1:
                del changed[at : at + rng.randint(1, 8)]
            case 2:
                changed[at:at] = changed[at : at + rng.randint(1, 30)]
            case _:
                changed[at] ^= 1 << rng.randrange(8)
    return bytes(changed)


def mutated_text(data: bytes, rng: random.Random) -> bytes:
    """Some tokens replaced by others of the text, repeated, swapped or dropped."""
    tokens = _TOKEN.findall(data)
    for _ in range(rng.randint(1, 5)):
        at, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        match rng.randrange(5):
            case 0:
                tokens[at] = tokens[other]
            case 1:
                tokens[at] = rng.choice(_WORDS)
            case 2:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens[at:at] = tokens[other : other + rng.randint(1, 20)]
            case _:
                tokens[at] = str(rng.choice(_NUMBERS)).encode()
    return b"".join(tokens)


def mutated_head(data: bytes, rng: random.Random) -> bytes:
    """The JSON at the head mutated by tokens, as long as it was or with its length put right."""
    size = int.from_bytes(data[:8], "little")
    head = mutated_text(data[8 : 8 + size], rng)
    if rng.random() < 0.5:
        head = head[:size].ljust(size)
    return len(head).to_bytes(8, "little") + head + data[8 + size :]


def mutated_values(data: bytes, rng: random.Random) -> bytes:
    """Some shapes, lists of numbers and numbers changed; the text keeps its form, so that most is still parsed."""
    for _ in range(rng.randint(1, 3)):
        found = list(_VALUE.finditer(data))
        if not found:
            break
        match = rng.choice(found)
        numbers = re.findall(rb"-?\d+|\?", match[2])
        at = rng.randrange(len(numbers) + 1)
        value = b"?" if match[1].startswith(b"tensor") and rng.random() < 0.3 else b"%d" % rng.choice(_NUMBERS)
        match rng.randrange(4):
            case 0:
                numbers[at:at] = [value]
            case 1:
                del numbers[at : at + 1]
            case 2:
                rng.shuffle(numbers)
            case _:
                numbers[at : at + 1] = [value]
        separator = b"x" if match[1].startswith(b"tensor") else b", "
        ending = b"x" if separator == b"x" and numbers else b""
        data = data[: match.start(2)] + separator.join(numbers) + ending + data[match.end(2) :]
    return data


def mutated_model(data: bytes, rng: random.Random) -> bytes:
    """Some fields of the model's messages changed, in whatever message they are."""
    model = onnx.ModelProto.FromString(data)
    for _ in range(rng.randint(1, 4)):
        # A mutation may have taken messages away, and protobuf does not survive the use of those.
        messages = list(_messages(model))
        message = rng.choice(messages)
        field = rng.choice(list(message.DESCRIPTOR.fields))
        try:
            _mutate_field(message, field, rng, messages)
        except (TypeError, ValueError, AttributeError):
            # The value does not fit the field: the next mutation may.
            continue
    return model.SerializeToString()


def _messages(message: Any) -> Iterator[Any]:
    pending = [message]
    while pending:
        inner = pending.pop()
        yield inner
        for field, value in inner.ListFields():
            if field.message_type is not None:
                pending.extend([value] if hasattr(value, "ListFields") else value)


def _mutate_field(message: Any, field: Any, rng: random.Random, messages: Sequence[Any]) -> None:
    value: Any = getattr(message, field.name)
    is_repeated = field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED
    if rng.random() < 0.15:
        message.ClearField(field.name)
    elif field.message_type is not None:
        donors = [other for other in messages if other.DESCRIPTOR is field.message_type]
        donated = rng.choice(donors).SerializeToString() if donors else b""
        (value.add() if is_repeated else value).MergeFromString(donated)
    elif is_repeated:
        items = list(value)
        if items and rng.random() < 0.5:
            items[rng.randrange(len(items))] = _scalar(items[0], rng)
        else:
            items.insert(rng.randint(0, len(items)), _scalar(items[0] if items else 0, rng))
        value[:] = items
    else:
        setattr(message, field.name, _scalar(value, rng))


def _scalar(like: Any, rng: random.Random) -> Any:
    match like:
        case bool() | int():
            return rng.choice(_NUMBERS)
        case float():
            return rng.choice((0.0, -1.0, float("nan"), float("inf"), 1e30))
        case str():
            return rng.choice(("", "x", "y", "../x", "Relu", "own", "\x1b[31m\n", "a" * 300))
        case _:
            return bytes(rng.randrange(256) for _ in range(rng.randint(0, 16)))
