"""Names of places in programs of users, many of them as one text: layers have names that differ in numbers."""

import re
from collections.abc import Sequence

TORCH_SCOPES = "pkg.torch.onnx.name_scopes"
"""In the metadata of an ONNX node: the path of its module, as PyTorch's exporter writes it."""
TORCH_STACK = "pkg.torch.onnx.stack_trace"
"""There, too: where it was called, as `traceback` prints it."""
_MOST_SAID = 3
"""Names that a text says before it counts the others."""
_NUMBER = re.compile(r"\d+")
_NUMBERING = re.compile(r"(_\d+)+$")
_END_OF_NAME = re.compile(r"(?= \()|$")


def unnumbered(name: str) -> str:
    """The name of a value without numbers at its end, as a hint for printing, which numbers values of one name itself.

    xDSL drops one such number of a hint. Of a name with two it would leave one, and print it as it prints the second
    value of the name without numbers.
    """
    return _NUMBERING.sub("", name) or name


def common_source(sources: Sequence[str]) -> str:
    """One text for the sources of the calls of one kernel; empty if there is none."""
    kinds: dict[str, list[str]] = {}
    for source in sources:
        kinds.setdefault(_NUMBER.sub("*", source), []).append(source)
    for kind in list(kinds):
        # Of names that are alike the first often has no number: `relu`, `relu_1`.
        if (numbered := _numbered(kind, "*")) in kinds:
            first = [_numbered(source, "0") for source in kinds[kind]]
            kinds[kind] = first + kinds.pop(numbered)
    texts = [_merged(alike) for alike in kinds.values()]
    more = len(texts) - _MOST_SAID
    return ", ".join([*texts[:_MOST_SAID], *([f"{more} more"] if more > 0 else [])])


def _numbered(source: str, number: str) -> str:
    """A source whose name ends in a number."""
    return _END_OF_NAME.sub(f"_{number}", source, count=1)


def _merged(sources: Sequence[str]) -> str:
    """Sources that differ in numbers alone as one: a number that differs is a star."""
    columns = zip(*map(_NUMBER.findall, sources), strict=True)
    is_same = iter([len(set(column)) == 1 for column in columns])
    return _NUMBER.sub(lambda found: found[0] if next(is_same) else "*", sources[0])
