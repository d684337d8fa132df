"""What is measured of a machine that is made up: its programs take what its rates say."""

import re
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from pathlib import Path

import pytest

import fuse_dialect as fd
from fuse_dialect.machines.description import description_of, read_machine
from fuse_dialect.machines.machine import Cache, Machine, Rates
from fuse_dialect.machines.measuring import best_of, measured

CACHES = (Cache(48 << 10, 12), Cache(1 << 20, 16), Cache(24 << 20, 12))
TRUE = Machine("true", caches=CACHES, rates=Rates(2.5e-7, 8e10, 1.25e10, (2e11, 1e11, 5e10, 1.5e10)))
WEIGHTS = {"add": 1, "exp": 10}


def seconds_of(text: str, shapes: Sequence[tuple[int, ...]], *, is_fused: bool = True) -> float:
    """What a program takes on the machine `TRUE`, and starting it."""
    fd.parse(text)  # an error if it is none
    assert TRUE.rates is not None
    elements = prod(shapes[0])
    operators = re.findall(r"fuse\.(\w+)", text)
    if "matmul" in operators:
        return 2 * shapes[0][0] ** 3 / TRUE.rates.products
    work = sum(WEIGHTS.get(name, 0) for name in operators) * elements / TRUE.rates.vectors
    if is_fused and work:
        return 1e-5 + work
    kernels = 1 if is_fused else len(operators)
    moving = TRUE.moving(8 * elements, 8 * elements)
    return (0 if is_fused else 1e-5) + kernels * (moving + (0 if is_fused else TRUE.rates.call))


def test_the_rates_are_found_again(tmp_path: Path) -> None:
    told: list[str] = []
    found = measured(replace(TRUE, rates=None), seconds_of, WEIGHTS, told.append)
    assert found.rates is not None
    assert TRUE.rates is not None
    assert (found.rates.products, found.rates.vectors) == (TRUE.rates.products, TRUE.rates.vectors)
    assert found.rates.speeds == pytest.approx(TRUE.rates.speeds, rel=0.01)
    # A kernel of four elements moves 32 bytes, too.
    assert found.rates.call == pytest.approx(TRUE.rates.call, rel=0.01)
    assert replace(found, rates=None) == replace(TRUE, rates=None)
    assert told == ["calls", "products", "vectors", "cache 1", "cache 2", "cache 3", "memory"]
    # What measuring writes reads as what was measured.
    (tmp_path / "m.toml").write_text(description_of(found, "made up"))
    assert read_machine(tmp_path / "m.toml") == found


def test_the_best_run_counts_and_at_least_one_is_made() -> None:
    times = iter([3.0, 1.0, 2.0, 0.1])
    assert best_of(lambda: next(times), lambda runs, _: runs >= 3) == 1.0
    assert best_of(lambda: 5.0, lambda *_: True) == 5.0
    assert best_of(lambda: 0.25, lambda _, total: total >= 1) == 0.25
