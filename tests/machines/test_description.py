"""Machines in files: those that come with the package, those that are written, and wrong ones."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.machines.description import (
    KEYS,
    LEVEL_KEYS,
    RATE_KEYS,
    UNITS,
    description_of,
    read_machine,
    with_rates,
)
from fuse_dialect.machines.machine import Cache, Machine, Rates, Unit
from fuse_dialect.machines.names import find_machine, machine_names, shipped

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


def read(folder: Path, text: str) -> Machine:
    path = folder / "toy.toml"
    path.write_text(text)
    return find_machine(str(path))


def test_those_of_the_package_are_read() -> None:
    assert len(shipped()) >= 5
    for name in shipped():
        machine = find_machine(name)
        assert (machine.name, machine.rates is None) == (name, False)
        assert machine.rates is not None
        speeds = list(machine.rates.speeds)
        assert speeds == sorted(speeds, reverse=True)
        sizes = [cache.bytes for cache in machine.caches]
        assert sizes == sorted(sizes)


def test_a_value_moves_at_the_speed_of_the_level_that_it_fits_in(tmp_path: Path) -> None:
    machine = read(tmp_path, GOOD)
    assert machine.rates == Rates(1e-6, 1e10, 2.5e9, (1e11, 1e10), 32)
    assert machine.moving(16 << 10) == pytest.approx((16 << 10) / 1e11)
    assert machine.moving((16 << 10) + 1) == pytest.approx(((16 << 10) + 1) / 1e10)
    assert machine.moving(1000, 1 << 20) == pytest.approx(1000 / 1e10)


def test_what_a_file_leaves_out_is_as_its_processor_has_it(tmp_path: Path) -> None:
    haswell = find_machine("haswell")
    small = read(tmp_path, 'name = "small"\nprocessor = "haswell"\nregisters = 8\nunits = ["fma"]\n')
    assert small == replace(haswell, name="small", registers=8, units=Unit.FMA)
    caches = '[[memory]]\nname = "L1"\nkib = 4\nways = 2\n[[memory]]\nname = "memory"\n'
    near = read(tmp_path, f'name = "near"\nprocessor = "haswell"\n{caches}')
    assert near == replace(haswell, name="near", caches=(Cache(4096, 2),))


def test_the_reference_has_every_key_every_unit_and_every_machine() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "machines.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|", page[page.index("| key |") :], re.MULTILINE)
    assert rows == [*KEYS, *RATE_KEYS, "memory"]
    for name in (*LEVEL_KEYS, *UNITS, *shipped()):
        assert f"`{name}`" in page, name


@pytest.mark.parametrize("name", [name for name in machine_names() if name != "gpu-h100"])
def test_what_is_written_reads_as_the_same(name: str, tmp_path: Path) -> None:
    for machine in (find_machine(name), with_rates(find_machine(name))):
        path = tmp_path / "written.toml"
        path.write_text(description_of(machine, 'by "hand"\n'))
        assert read_machine(path) == machine


def test_units_that_are_emulated_are_there(tmp_path: Path) -> None:
    machine = read(tmp_path, 'name = "x"\nprocessor = "skylake-avx512"\nemulated = ["pair-tiles"]\n')
    assert machine.emulated == Unit.PAIR_TILES
    assert machine.units == find_machine("skylake-avx512").units | Unit.PAIR_TILES
    (tmp_path / "again.toml").write_text(description_of(machine))
    assert read_machine(tmp_path / "again.toml") == machine
    with pytest.raises(ValueError, match="units of tiles"):
        replace(machine, emulated=Unit.FMA)


def test_numbers_are_written_so_that_nothing_is_lost(tmp_path: Path) -> None:
    rates = Rates(1.2345678901234e-8, 1e11 / 3, 123456789.125, (1e11 / 7, 2e10 / 3), 77)
    machine = Machine('a "b" \\', 64, 32, Unit.FMA | Unit.BYTE_DOTS, (Cache(1000, 10),), 128, 999, 3, "haswell", rates)
    (tmp_path / "x.toml").write_text(description_of(machine))
    assert read_machine(tmp_path / "x.toml") == machine


def test_rates_are_those_of_the_class_cache_by_cache() -> None:
    rates = find_machine("cpu-avx2").rates
    assert rates is not None
    assert with_rates(find_machine("haswell")).rates == rates
    one = with_rates(replace(find_machine("haswell"), caches=(Cache(4096),))).rates
    assert one == replace(rates, speeds=(rates.speeds[0], rates.speeds[-1]))
    many = with_rates(replace(find_machine("haswell"), caches=tuple(Cache(4096 << at) for at in range(5)))).rates
    assert many == replace(rates, speeds=(*rates.speeds[:-1], *[rates.speeds[-1]] * 3))
    own = Rates(1e-6, 1, 1, (1, 1, 1, 1))
    assert with_rates(replace(find_machine("haswell"), rates=own)).rates == own


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("call_us = 1", "call_us = 0", 2, "expected 'call_us' to be a number above 0, got 0"),
        ("call_us = 1", "call_us = -1.5", 2, "expected 'call_us' to be a number above 0, got -1.5"),
        ("call_us = 1", "call_us = true", 2, "expected 'call_us' to be a number above 0, got True"),
        ("call_us = 1", "call_us = inf", 2, "expected 'call_us' to be a number above 0, got inf"),
        ("call_us = 1", "call_us = nan", 2, "expected 'call_us' to be a number above 0, got nan"),
        ("call_us = 1", "call_us = 1e-400", 2, "expected 'call_us' to be a number above 0, got 0.0"),
        ("vector_gops = 2.5", "vector_gops = 1e305", 4, "expected 'vector_gops' to be a number above 0, got 1e+305"),
        ("vector_gops = 2.5", "vector_gops = 1e999999", 4, "expected 'vector_gops' to be a number above 0, got inf"),
        ("call_us = 1", f"call_us = 1{'0' * 400}", 2, "expected 'call_us' to be a number above 0, got 1000"),
        ("call_us", "cores = nan\ncall_us", 2, "expected 'cores' to be a whole number above 0, got nan"),
        ("call_us", "cores = 1e999999\ncall_us", 2, "expected 'cores' to be a whole number above 0, got inf"),
        ("call_us", f"cores = 1{'0' * 400}\ncall_us", 2, "expected 'cores' to be a whole number above 0, got 1000"),
        ("call_us = 1\n", "", 0, "expected 'call_us'"),
        ("call_us", "call_ms", 2, "unknown key 'call_ms' of a machine"),
        ("kib = 32", "mib = 32", 8, "unknown key 'mib' of a memory level"),
        ("kib = 32\n", "", 0, "expected 'kib'"),
        ("kib = 32", "kib = 0", 8, "expected 'kib' to be a number above 0, got 0"),
        ("kib = 32", "kib = 1e12\nways = 1", 8, "expected a cache of at most 68719476736 bytes, got 1024000000000000"),
        ("kib = 32", "kib = 32\nways = 7", 9, "expected a cache of whole ways, got 32768 bytes in 7 ways"),
        ("kib = 32", "kib = 32\nways = 1.5", 9, "expected 'ways' to be a whole number above 0, got 1.5"),
        ("gbytes_per_s = 100\n", "", 0, "expected 'gbytes_per_s' of memory level 'near'"),
        ('name = "far"', 'name = "far"\nkib = 64', 8, "expected the last level, 'far', to have no 'kib'"),
        (
            'name = "far"',
            'name = "far"\nkib = 8\ngbytes_per_s = 1\n[[memory]]\nname = "memory"',
            8,
            "to be larger than",
        ),
        ('name = "toy"', "name = 3", 1, "expected 'name' to be a text"),
        ("vector_gops = 2.5", "vector_gops = 2.5\nstreams = 2", 5, "expected 'streams' to be a whole number from 4"),
        ("vector_gops = 2.5", "vector_gops = ", 4, "no TOML"),
        ("call_us", "vector_bytes = 24\ncall_us", 2, "expected vector_bytes to be a power of two from 16, got 24"),
        ("call_us", "registers = 4\ncall_us", 2, "expected registers to be 8 or more, got 4"),
        ("call_us", 'processor = "haswel"\ncall_us', 2, "unknown processor 'haswel'"),
        ("call_us", 'units = ["fmas"]\ncall_us', 2, "unknown unit 'fmas'"),
        ("call_us", 'units = "fma"\ncall_us', 2, "expected 'units' to be a list of names, got 'fma'"),
        ("call_us", 'emulated = "byte-tiles"\ncall_us', 2, "expected 'emulated' to be a list of names, got 'byte-til"),
        ("call_us", 'emulated = ["byte-tile"]\ncall_us', 2, "unknown unit 'byte-tile'"),
        ("call_us", 'emulated = ["fma"]\ncall_us', 2, "expected 'emulated' to be units of tiles"),
    ],
)
def test_wrong_ones_are_refused_with_a_place(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    with pytest.raises(FuseError) as error:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert message in error.value.message
    assert error.value.location is not None
    assert error.value.location.file.endswith("toy.toml")
    if line:
        assert error.value.location.line == line


def test_no_memory_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(FuseError, match="expected one"):
        read(tmp_path, GOOD[: GOOD.index("[[memory]]")])
    with pytest.raises(FuseError, match="expected a cache before the memory, 'far'"):
        read(tmp_path, GOOD[: GOOD.index("[[memory]]")] + GOOD[GOOD.rindex("[[memory]]") :])
    with pytest.raises(FuseError, match="cannot read machine"):
        find_machine(str(tmp_path / "none.toml"))
