"""What people read: errors with a place and a hint, and the reasons why a fusion was refused.

An error is data until the last moment; `Diagnostic.format` is the only place that turns it into text.
"""

from dataclasses import dataclass, field
from enum import StrEnum

REPORT_HINT = "this is a bug, please report it; --debug shows where it happened"


class Severity(StrEnum):
    """Severity words, as clang and MLIR print them."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"


class Reason(StrEnum):
    """Stable kebab-case codes of fusion verdicts; tests and scripts match these, never the prose."""

    FUSED = "fused"
    """The node was merged into the group of its immediate post-dominator."""
    NOT_IN_ORDER = "not-in-order"
    """The block is a graph: an op reads a value that is defined below it. Nothing in it is fused."""
    OPAQUE = "opaque"
    """The node's kind is opaque, or nothing is known about it: it never fuses."""
    VALUE_ESCAPES = "value-escapes"
    """The value leaves the graph, or its users meet nowhere: there is no immediate post-dominator."""
    NO_RULE = "no-rule"
    """No rule lets an operator of this kind fuse into its consumers (a reduction's output, for example)."""
    EDGE_KIND = "edge-kind"
    """The greatest edge kind on the way to the post-dominator is more than the rule allows."""
    PATH_KIND = "path-kind"
    """A node strictly between source and post-dominator has a kind that the rule does not allow."""
    SINK_KIND = "sink-kind"
    """The post-dominator's group has a kind that the rule does not allow."""
    TUPLE_CONSUMER = "tuple-consumer"
    """The post-dominator is a tuple that no injective group has absorbed."""
    MAX_DEPTH = "max-depth"
    """The merged group would count more nodes than `max-depth`."""
    MAX_ARGS = "max-args"
    """The merged primitive would take more arguments than `max-function-args`."""
    FUSION_LIMIT = "fusion-limit"
    """The merge is allowed, and `fusion-limit` ends fusion before it."""
    FUSION_OFF = "fusion-off"
    """Fusion is switched off: `opt-level=0`, or the strategy `separate`."""
    NOT_CHOSEN = "not-chosen"
    """The strategy keeps the node apart from its consumers, and gives no reason."""
    UNKNOWN_LOOPS = "unknown-loops"
    """The loops of the operator, or of its consumer, are not known, so no kernel holds more than it."""
    LOOPS_DIFFER = "loops-differ"
    """The loops of both share no rows, and neither can stand where the other is read."""
    TWO_PRODUCTS = "two-products"
    """Both hold a product or a convolution, one of which reads the other: they run one after the other."""
    PRODUCT_IS_STORED = "product-is-stored"
    """A kernel with a product stores one result, and others read what is in between."""
    NOT_FASTER = "not-faster"
    """By the cost model one kernel takes no less time than two."""
    TOO_MANY_STREAMS = "too-many-streams"
    """The merged kernel would read and store more values than the machine's `streams`."""
    SWITCHED_OFF = "switched-off"
    """An option forbids what it would take: `recompute`, `horizontal` or `multi-output`."""
    UNIT_BUSY = "unit-busy"
    """Every unit of the hardware that could run the operator, from where the group's data is, already runs another."""
    NOT_REACHABLE = "not-reachable"
    """No link leads from the unit where the group's data is to one that could run the operator."""
    STREAM_PASSED = "stream-passed"
    """The operator reads a value of the group that a later operator of the group has already worked on."""
    WOULD_CLOSE_CYCLE = "would-close-cycle"
    """The operator also reads a value that depends on the group: each would have to run before the other."""
    NO_UNIT = "no-unit"
    """No unit of the hardware runs this operator, or no group takes this view along; it stays on the host."""
    HARDWARE_CONSTRAINT = "hardware-constraint"
    """The template maps the operator, and a constraint that the message names does not hold; it stays on the host."""
    NOT_CHEAPER = "not-cheaper"
    """The operator could join the trip, and by the objective of the plan that is not worth it."""
    HARDWARE_LIMIT = "hardware-limit"
    """The group would exceed a limit of the hardware, or the operator would broadcast what streams by."""
    LAYOUT_KEPT = "layout-kept"
    """By the cost model the op gains less from another layout than transposes around it would take."""
    CALL_ATTRIBUTES = "call-attributes"
    """The call of a primitive has attributes of its own, which would be lost: `defuse-ops` keeps it."""


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A place in an input file; `line` and `column` count from 1, and 0 means unknown."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message to a person: where, what, and what to do about it."""

    severity: Severity
    message: str
    """Lower case, no final period, the op in quotes first."""
    location: SourceLocation | None = None
    notes: tuple[str, ...] = ()
    hint: str | None = None

    def format(self) -> str:
        """The text as printed: `file:line:col: error: ...`, then `note:` lines, then one `hint:` line."""
        place = f"{self.location}: " if self.location is not None else ""
        lines = [f"{place}{self.severity.value}: {self.message}"]
        lines.extend(f"note: {note}" for note in self.notes)
        if self.hint is not None:
            lines.append(f"hint: {self.hint}")
        return "\n".join(map(printable, lines))


def printable(line: str) -> str:
    """A line whose control characters are spelled as escapes.

    Messages quote names from files of strangers. A line break in one could forge a second message, an escape sequence
    could command the terminal, and a mark of direction could reorder what a person reads.
    """
    if line.isprintable():
        return line
    return "".join(
        char if char.isprintable() or char == "\t" else char.encode("unicode_escape").decode("ascii") for char in line
    )


@dataclass(eq=False)
class FuseError(Exception):
    """A mistake in the input, diagnosed; its text is what command-line tools print before they exit with code 1."""

    message: str
    location: SourceLocation | None = None
    notes: tuple[str, ...] = field(default=())
    hint: str | None = None

    def __str__(self) -> str:
        return self.diagnostic.format()

    def __reduce__(self) -> "tuple[type[FuseError], tuple[object, ...]]":
        """Pickle by the fields, as an error of this class: those that are made of it have other arguments."""
        return FuseError, (self.message, self.location, self.notes, self.hint)

    @property
    def diagnostic(self) -> Diagnostic:
        """The error as a diagnostic."""
        return Diagnostic(Severity.ERROR, self.message, self.location, self.notes, self.hint)


def internal_error(error: Exception, where: str = "") -> FuseError:
    """The message for an exception that nobody expected.

    Args:
        error: The exception.
        where: Where it came from, as in ` in pass 'cse'`.
    """
    summary = " ".join(str(error).split())[:300]
    detail = f"{type(error).__name__}: {summary}" if summary else type(error).__name__
    return FuseError(f"internal error{where}: {detail}", hint=REPORT_HINT)
