"""When each kernel ran, and on which thread: in the form that Chrome's tracing and Perfetto open.

Source: "Trace Event Format", https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fuse_dialect.backends.runtime.kernel_timing import KernelReport

_PROCESS = 1
_MICROSECONDS = 1e6


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One stretch of time on one thread."""

    kernel: int
    """Number of the primitive, or -1 for a whole run."""
    start: float
    """Seconds since the trace began."""
    seconds: float
    thread: int
    """0 is the thread of the caller."""
    part: int = 0
    parts: int = 1
    """What share of the kernel's work it was."""
    run: int = 0


@dataclass(frozen=True, slots=True)
class Trace:
    """What happened in a few runs of a program."""

    function: str
    events: Sequence[TraceEvent]
    """By start; whole runs come before what is in them."""
    kernels: Mapping[int, KernelReport]
    """What each number is."""
    left_out: int = 0
    """Stretches that were too many to note."""

    def as_json(self) -> dict[str, Any]:
        """An object that both viewers open."""
        names = {0: "caller"} | {event.thread: f"worker {event.thread}" for event in self.events if event.thread}
        head: list[dict[str, Any]] = [_about("process_name", 0, f"fuse-run: @{self.function}")]
        head += [_about("thread_name", thread, name) for thread, name in sorted(names.items())]
        events = [self._event(event) for event in self.events]
        known = {"left_out_events": self.left_out} if self.left_out else {}
        return {"displayTimeUnit": "ns", "traceEvents": [*head, *events], "otherData": known}

    def _event(self, event: TraceEvent) -> dict[str, Any]:
        times = {"ts": round(event.start * _MICROSECONDS, 3), "dur": round(event.seconds * _MICROSECONDS, 3)}
        place = {"ph": "X", "pid": _PROCESS, "tid": event.thread}
        if event.kernel < 0:
            return {"name": f"run {event.run + 1}", "cat": "run", **place, **times, "args": {}}
        kernel = self.kernels[event.kernel]
        share = {} if event.parts == 1 else {"part": f"{event.part + 1} of {event.parts}"}
        details = {"ops": " + ".join(kernel.ops), "bytes": kernel.bytes, "flops": kernel.flops, **share}
        return {"name": kernel.name, "cat": kernel.family, **place, **times, "args": details}


def _about(what: str, thread: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": _PROCESS, "tid": thread, "args": {"name": name}}
