"""Where a process learns what machine it has, for what must know it before anything else is imported."""

import os

VARIABLE = "FUSE_TARGET_CPU"
"""Environment variable that names the machine where nobody else does."""
NATIVE = "native"
"""The name of the processor at hand."""
PROCESSOR_FILE = "/proc/cpuinfo"
"""Where Linux says what the processor can do."""


def machine_named(name: str | None = None) -> str:
    """The name of the machine that counts: the one that is given, else that of the environment, else `NATIVE`."""
    return name or os.environ.get(VARIABLE) or NATIVE
