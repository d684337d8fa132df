"""Checked mode: whether what the package has decided is checked by code that does not share its thoughts.

The variable `FUSE_CHECKED` says so: empty or `0` checks nothing, `plans` checks every plan of a program before it runs,
and any other value checks the accesses of kernels, too. Checks of plans cost about as much as planning; checked
kernels take several times their time.
"""

import os

VARIABLE = "FUSE_CHECKED"
PLANS = "plans"


class CheckError(AssertionError):
    """A plan does not keep what it promises: a bug of this package, which a run would show as a wrong result."""


def checks_plans() -> bool:
    """Whether plans are checked before they run."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


def checks_accesses() -> bool:
    """Whether kernels check every access to memory."""
    return os.environ.get(VARIABLE, "") not in ("", "0", PLANS)
