"""What a mutant of `mutation.py` is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change."""

    name: str
    file: str
    """Below `fuse_dialect`."""
    old: str
    """Stands in the file once."""
    new: str
    same_because: str = ""
    """Why no test can notice it; such a mutant must survive, and counts for nothing."""
