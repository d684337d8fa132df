"""Where a process learns what machine it has, for what must know it before anything else is imported."""

VARIABLE = "FUSE_TARGET_CPU"
"""Environment variable that names the machine where nobody else does."""
PROCESSOR_FILE = "/proc/cpuinfo"
"""Where Linux says what the processor can do."""
