"""Descriptions of machines: those that come with the package, and wrong ones."""

import math
from pathlib import Path

import pytest

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.machines.rates import DEFAULT, Rates, find_rates, shipped

GOOD = """name = "toy"
call_us = 1
product_gflops = 10
vector_gops = 2.5

[[memory]]
name = "near"
kib = 32
gbytes_per_s = 100

[[memory]]
name = "far"
gbytes_per_s = 10
"""


def _rates(folder: Path, text: str) -> Rates:
    path = folder / "toy.toml"
    path.write_text(text)
    return find_rates(str(path))


def test_those_of_the_package_are_read() -> None:
    assert DEFAULT in shipped()
    assert len(shipped()) >= 3
    for name in shipped():
        rates = find_rates(name)
        assert rates.name == name
        assert rates.memory[-1].bytes == math.inf
        speeds = [level.bytes_per_second for level in rates.memory]
        assert speeds == sorted(speeds, reverse=True)


def test_a_value_moves_at_the_speed_of_the_level_that_it_fits_in(tmp_path: Path) -> None:
    rates = _rates(tmp_path, GOOD)
    assert (rates.call, rates.products, rates.vectors, rates.streams) == (1e-6, 1e10, 2.5e9, 32)
    assert rates.moving(16 << 10) == pytest.approx((16 << 10) / 1e11)
    assert rates.moving((16 << 10) + 1) == pytest.approx(((16 << 10) + 1) / 1e10)
    assert rates.moving(1000, 1 << 20) == pytest.approx(1000 / 1e10)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("call_us = 1", "call_us = 0", 2, "expected 'call_us' to be a number above 0, got 0"),
        ("call_us = 1", "call_us = -1.5", 2, "expected 'call_us' to be a number above 0, got -1.5"),
        ("call_us = 1", "call_us = true", 2, "expected 'call_us' to be a number above 0, got True"),
        ("call_us = 1", "call_us = inf", 2, "expected 'call_us' to be a number above 0, got inf"),
        ("call_us = 1\n", "", 0, "expected 'call_us'"),
        ("call_us", "call_ms", 2, "unknown key 'call_ms' of a machine"),
        ("kib = 32", "mib = 32", 8, "unknown key 'mib' of a memory level"),
        ("kib = 32\n", "", 0, "expected 'kib'"),
        ("kib = 32", "kib = 0", 8, "expected 'kib' to be a number above 0, got 0"),
        ('name = "far"', 'name = "far"\nkib = 64', 8, "expected the last level, 'far', to have no 'kib'"),
        ('name = "toy"', "name = 3", 1, "expected 'name' to be a text"),
        ("vector_gops = 2.5", "vector_gops = 2.5\nstreams = 2", 5, "expected 'streams' to be a whole number from 4"),
        ("vector_gops = 2.5", "vector_gops = ", 4, "no TOML"),
    ],
)
def test_wrong_ones_are_refused_with_a_place(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    with pytest.raises(FuseError) as error:
        _rates(tmp_path, GOOD.replace(old, new, 1))
    assert message in error.value.message
    assert error.value.location is not None
    assert error.value.location.file.endswith("toy.toml")
    if line:
        assert error.value.location.line == line


def test_no_memory_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(FuseError, match="expected one"):
        _rates(tmp_path, GOOD[: GOOD.index("[[memory]]")])
    with pytest.raises(FuseError, match="cannot read machine"):
        find_rates(str(tmp_path / "none.toml"))
    with pytest.raises(FuseError, match="no machine 'cpu-avx51'") as error:
        find_rates("cpu-avx51")
    assert error.value.hint == "did you mean 'cpu-avx512'?"
