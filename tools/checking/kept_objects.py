"""What LLVM has made of a text is kept for the run of checks: its steps and workers compile thousands of kernels again.

LLVM gives the same object for the same text, processor and options, whatever NumPy computes as. Nothing else is kept:
what writes the text runs each time. Texts that LLVM refuses are asked about again.
"""

import os
from collections.abc import Callable
from hashlib import sha256
from itertools import count
from pathlib import Path

from fuse_dialect.backends.assembler.host import Host

VARIABLE = "FUSE_TEST_OBJECTS"
"""Environment variable that names the folder; `tools/check.py` makes one for a run, and removes it."""
ObjectFor = Callable[..., bytes]


def kept_in(folder: Path, object_for: ObjectFor) -> ObjectFor:
    """`object_for` of `assembler/engine.py`, which takes from the folder what is there and puts there what is not.

    Args:
        folder: Of one run and one version of LLVM; several processes may share it.
        object_for: What makes an object of a text.
    """
    numbers = count()

    def find(text: str, target: Host, triple: str = "") -> bytes:
        path = folder / sha256(repr((text, target, triple)).encode()).hexdigest()
        try:
            return path.read_bytes()
        except FileNotFoundError:
            code = object_for(text, target, triple)
        # Moved to its name when it is whole: another process may look.
        own = path.with_suffix(f".{os.getpid()}-{next(numbers)}")
        own.write_bytes(code)
        own.replace(path)
        return code

    return find
