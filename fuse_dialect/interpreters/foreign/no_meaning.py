"""The error for an op that is read and fused, and that nobody here can run."""

from xdsl.ir import Operation

from fuse_dialect.fusion.kinds.kind_of import kind_of
from fuse_dialect.interpreters.values import EvaluationError
from fuse_dialect.pattern_kind import PatternKind

_PAGE = "docs/how-to/run-foreign-dialects.md"


def no_meaning(op: Operation) -> EvaluationError:
    """What to say of an op without a meaning on NumPy: whether it fuses nevertheless."""
    kind = kind_of(op)
    fuses = kind is not None and kind is not PatternKind.OPAQUE
    hint = f"it {'fuses' if fuses else 'is kept as it is'}, and does not run: {_PAGE} says what does"
    return EvaluationError(op, "has no meaning in the NumPy interpreter", hint)
