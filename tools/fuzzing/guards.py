"""Memory between forbidden pages, as the tests of the backends have it."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "backends"))

from guarded_memory import GuardedMemory  # the path above leads there

__all__ = ["GuardedMemory"]
