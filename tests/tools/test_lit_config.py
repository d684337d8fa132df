"""`tests/filecheck/lit.cfg` is read by old and new releases of lit, with psutil and without."""

from pathlib import Path
from types import SimpleNamespace

import pytest

CONFIG = Path(__file__).resolve().parents[1] / "filecheck" / "lit.cfg"


class ReadOnly:
    """What lit 23 hands to a suite: the time limit of the run cannot be set any more."""

    def __init__(self, is_supported: bool):
        self.maxIndividualTestTimeIsSupported = (is_supported, "")
        self.noExecute = True

    @property
    def maxIndividualTestTime(self) -> int:  # noqa: N802
        return 0


def suite(**fields: object) -> SimpleNamespace:
    return SimpleNamespace(environment={}, available_features=set(), substitutions=[], **fields)


def read(config: SimpleNamespace, lit_config: object) -> None:
    names = {"config": config, "lit_config": lit_config, "__file__": str(CONFIG)}
    exec(compile(CONFIG.read_text(), str(CONFIG), "exec"), names)


@pytest.mark.parametrize("has_psutil", [False, True])
def test_limit_of_a_test_in_new_releases(has_psutil: bool):
    config = suite(maxIndividualTestTime=None)
    read(config, ReadOnly(has_psutil))
    assert config.maxIndividualTestTime == (120 if has_psutil else None)


@pytest.mark.parametrize(("has_psutil", "given", "limit"), [(False, 0, 0), (True, 0, 120), (True, 7, 7)])
def test_limit_of_a_test_in_old_releases(has_psutil: bool, given: int, limit: int):
    lit_config = SimpleNamespace(
        maxIndividualTestTimeIsSupported=(has_psutil, ""), maxIndividualTestTime=given, noExecute=True
    )
    read(suite(), lit_config)
    assert lit_config.maxIndividualTestTime == limit
