"""What exported programs of PyTorch say besides their operators: state that is lost, and why there is no program.

1. A program computes results of its inputs and nothing else. A buffer that `forward` updates, and an input that it
   changes in place, are results that nobody asks for: the program leaves both as they are, each call anew.
2. A normalization in training takes the statistics of its batch, and updates running ones. Exported as in evaluation,
   it takes the running ones.
3. What stands in a place of the user's program is said with it: the innermost frame that is not PyTorch's.
"""

from collections.abc import Iterator, Mapping, Sequence
from traceback import FrameSummary, extract_tb
from typing import Any

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.frontends.torch_stacks import user_line

_MOST_NAMED = 4
"""Buffers of one line that a warning names before it counts the others."""
_NOTES = 6
"""Lines of a refusal of PyTorch's that are repeated; the others are stacks."""
_ON_ELEMENTS = "GuardOnDataDependentSymNode"
"""What PyTorch raises where Python asks for a number that the elements of a tensor say."""
_ON_ELEMENTS_HINT = (
    "write an 'if' as torch.cond(condition, then, otherwise, (x,)) or torch.where(condition, a, b); "
    "a number that does not change belongs into the Module"
)
_MORE_HINT = "torch.export.export(module, examples, ...) says more"
_ASSIGNED = "was assigned during export"
"""In PyTorch's own warning of attributes that are tensors, and no buffers."""


class LostStateWarning(UserWarning):
    """A network of PyTorch changes something that its program leaves as it is."""


def lost_state(program: Any, name: str) -> list[str]:
    """What a network changes and its program does not (1), as sentences.

    Args:
        program: A `torch.export.ExportedProgram`.
        name: Of the network.
    """
    signature = program.graph_signature
    stacks = {node.name: node.meta.get("stack_trace") or "" for node in program.graph.nodes}
    return [
        *(
            f"'{name}' updates {_listed('buffer', names)}{where}: the program begins each call with what is there "
            "now, and changes nothing"
            for where, names in _by_line(signature.buffers_to_mutate, stacks)
        ),
        *(
            f"'{name}' changes {_listed('input', names)} in place{where}: the program leaves inputs as they are"
            for where, names in _by_line(signature.user_inputs_to_mutate, stacks)
        ),
    ]


def _by_line(mutated: Mapping[str, str], stacks: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Names of what is changed by the lines that change it, each as `` (model.py:52)``; empty if it is unknown."""
    lines: dict[str, list[str]] = {}
    for node, name in mutated.items():
        found = user_line(stacks.get(node, ""))
        lines.setdefault("" if found is None else f" ({_file_name(found[0])}:{found[1]})", []).append(name)
    yield from lines.items()


def _listed(noun: str, names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    quoted = [f"'{name}'" for name in names[:_MOST_NAMED]] + ([f"{more} more"] if more > 0 else [])
    return f"{noun}{'s' if len(names) > 1 else ''} {', '.join(quoted)}"


def norms_in_training(module: Any, norms: type[Any]) -> list[str]:
    """Which normalizations of a network are in training (2), as sentences.

    Args:
        module: A `torch.nn.Module`.
        norms: The class of those that have running statistics.
    """
    names = [
        name or type(part).__name__
        for name, part in module.named_modules()
        if isinstance(part, norms) and part.training and getattr(part, "running_mean", None) is not None
    ]
    if not names:
        return []
    listed = _listed("normalization", names)
    verb = "is" if len(names) == 1 else "are"
    return [
        f"{listed} of '{type(module).__name__}' {verb} in training: the program takes the running statistics, as after "
        "module.eval(), and not those of the batch"
    ]


def lost_attributes(texts: Sequence[str], name: str) -> list[str]:
    """Of warnings of PyTorch's those of state that is lost, as sentences about a network."""
    return [f"'{name}': {text.splitlines()[0]}" for text in dict.fromkeys(texts) if _ASSIGNED in text]


def root_cause(error: BaseException) -> BaseException:
    """What was raised first, of an error that others have been raised from."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def decides_by_elements(cause: BaseException) -> bool:
    """Whether PyTorch refuses a number that Python asks for and only the elements of a tensor say."""
    return type(cause).__name__ == _ON_ELEMENTS


def export_error(cause: BaseException, name: str, folders: Sequence[str]) -> FuseError:
    """Why a network has no program, in a few lines, with the line of the user's program (3) where one is known.

    Args:
        cause: What PyTorch has raised first, or the network itself; see `root_cause`.
        name: Of the network.
        folders: Of PyTorch and this package, whose frames are not the user's.
    """
    text = str(cause)
    frame = _user_frame(cause, folders)
    found = (frame.filename, frame.lineno or 0) if frame is not None else user_line(text)
    location = None if found is None or found[0].startswith("<") else SourceLocation(*found)
    if decides_by_elements(cause):
        source = () if frame is None or not frame.line else (frame.line,)
        message = f"PyTorch cannot export '{name}': Python decides here by elements of a tensor"
        return FuseError(message, location, source, _ON_ELEMENTS_HINT)
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    message = f"PyTorch cannot export '{name}': {type(cause).__name__}: {lines[0]}"
    return FuseError(message, location, tuple(lines[1:_NOTES]), _MORE_HINT)


def _user_frame(error: BaseException, folders: Sequence[str]) -> FrameSummary | None:
    """The innermost frame of the user's program in which an error was raised."""
    for frame in reversed(extract_tb(error.__traceback__)):
        if not frame.filename.startswith(("<", *folders)):
            return frame
    return None


def _file_name(path: str) -> str:
    # The folder of a file says little, and much of it.
    return path.replace("\\", "/").rpartition("/")[2]
