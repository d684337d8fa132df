"""Lines of the user's program in the stacks that PyTorch notes beside its operators."""

import re

_MOST_CHARACTERS = 1 << 14
"""The end of a stack that is read: models are untrusted."""
_FRAME = re.compile(r'^\s*File "([^"\n]+)", line (\d{1,9})\b', re.MULTILINE)
_OF_TORCH = re.compile(r"[/\\]torch[/\\](nn|_\w+|utils|functional\.py)")
"""Files of PyTorch, such as `torch/nn/modules/linear.py`."""


def user_line(stack: str) -> tuple[str, int] | None:
    """File and line of the innermost frame that is not PyTorch's own; the innermost one if all are.

    Args:
        stack: As `traceback` prints it, outermost frame first. `None` comes of one without frames.
    """
    frames = [(file, int(line)) for file, line in _FRAME.findall(stack[-_MOST_CHARACTERS:])]
    if not frames:
        return None
    return next((frame for frame in reversed(frames) if not _OF_TORCH.search(frame[0])), frames[-1])
