"""One set of names: processors, machines of the package, of others, in files, and the one at hand."""

import platform
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from fuse_dialect.backends.stored import key
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.machines import host, tiles
from fuse_dialect.machines.environment import VARIABLE
from fuse_dialect.machines.machine import TILES, Unit
from fuse_dialect.machines.names import find_machine, machine_names, shipped
from fuse_dialect.machines.processors import PROCESSORS, class_of

EPYC = "processor\t: 0\nflags\t\t: fpu sse2 ssse3 sse4_1 avx f16c fma avx2 avx512f avx512vl avx512bw avx512_vnni\n"
PHONE = "processor\t: 0\nFeatures\t: fp asimd evtstrm\n"


@pytest.fixture(autouse=True)
def no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def test_every_name_is_found() -> None:
    assert set(machine_names()) >= {"native", "haswell", "cpu-avx2", "gpu-h100"}
    for name in machine_names():
        assert find_machine(name).name == name


def test_the_processor_at_hand_is_the_default_unless_the_environment_names_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert find_machine() == find_machine("native")
    monkeypatch.setenv(VARIABLE, "x86-64-v2")
    assert find_machine() == find_machine("x86-64-v2")
    assert find_machine("haswell").name == "haswell"


@pytest.mark.parametrize("name", sorted(PROCESSORS))
def test_processors_are_of_a_class_that_is_measured_for_their_vectors(name: str) -> None:
    machine = find_machine(name)
    measured = find_machine(class_of(machine))
    assert measured.vector_bytes == machine.vector_bytes
    assert (PROCESSORS[measured.processor] == {"neon"}) == (PROCESSORS[name] == {"neon"})
    assert machine.first_cache == measured.first_cache
    assert machine.second_cache == measured.second_cache


@pytest.mark.parametrize(
    ("text", "machine", "units"),
    [
        (EPYC, "cpu-avx512", Unit.FMA | Unit.MASKS | Unit.HALVES | Unit.BYTE_DOTS),
        (EPYC.replace(" avx512f", ""), "cpu-avx2", Unit.FMA | Unit.HALVES | Unit.BYTE_SHUFFLES),
        ("flags : sse2\n", "cpu-sse2", Unit.STREAMS),
        (PHONE, "cpu-neon", Unit.FMA | Unit.HALVES | Unit.ROUNDING),
    ],
)
def test_what_linux_lists_is_the_machine(
    text: str, machine: str, units: Unit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setattr(host, "PROCESSOR_FILE", str(tmp_path / "cpuinfo"))
    host.host_machine.cache_clear()
    found = host.host_machine()
    host.host_machine.cache_clear()
    assert class_of(found) == machine
    assert found.units & units == units


@pytest.mark.parametrize("granted", [False, True])
def test_tiles_count_where_the_system_grants_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, granted: bool
) -> None:
    (tmp_path / "cpuinfo").write_text(f"{EPYC.rstrip()} amx_tile amx_int8 amx_bf16\n")
    monkeypatch.setattr(host, "PROCESSOR_FILE", str(tmp_path / "cpuinfo"))
    monkeypatch.setattr(tiles, "are_granted", lambda: granted)
    assert ("+amx-int8" in host.host_features()) == granted
    host.host_machine.cache_clear()
    assert host.host_machine().units & TILES == (TILES if granted else Unit.NONE)
    host.host_machine.cache_clear()


@pytest.mark.parametrize("granted", [False, True])
def test_whoever_loads_kept_code_has_asked_for_tiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, granted: bool
) -> None:
    (tmp_path / "cpuinfo").write_text("vendor_id\t: x\nflags\t\t: avx512f amx_tile\n\n")
    monkeypatch.setattr(key, "PROCESSOR_FILE", str(tmp_path / "cpuinfo"))
    monkeypatch.setattr(tiles, "are_granted", lambda: granted)
    assert key.processor() == ["vendor_id\t: x", f"flags: avx512f{' amx_tile' if granted else ''}"]


@pytest.mark.parametrize(("architecture", "machine"), [("x86_64", "cpu-avx2"), ("arm64", "cpu-neon")])
def test_where_the_system_says_nothing_a_common_processor_counts(
    architecture: str, machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "PROCESSOR_FILE", str(tmp_path / "none"))
    monkeypatch.setattr(platform, "machine", lambda: architecture)
    host.host_machine.cache_clear()
    found = host.host_machine()
    host.host_machine.cache_clear()
    assert class_of(found) == machine


@pytest.mark.skipif(find_spec("llvmlite") is None or not Path(host.PROCESSOR_FILE).exists(), reason="needs both")
def test_plans_and_code_are_for_the_same_processor() -> None:
    from fuse_dialect.backends.assembler.engine import host as llvm_host

    machine = llvm_host().machine
    assert machine == replace(find_machine("native"), name=machine.name, processor=machine.processor)


def test_unknown_names_are_errors_with_a_hint() -> None:
    with pytest.raises(FuseError, match="unknown machine 'cpu-avx51'") as error:
        find_machine("cpu-avx51")
    assert error.value.hint == "did you mean 'cpu-avx512'?"
    with pytest.raises(FuseError, match="unknown machine 'haswel'") as error:
        find_machine("haswel")
    assert error.value.hint == "did you mean 'haswell'?"
    with pytest.raises(FuseError, match="unknown machine '???'".replace("?", r"\?")) as error:
        find_machine("???")
    assert error.value.hint is not None
    assert all(name in error.value.hint for name in (*shipped(), "native", "haswell", ".toml"))
