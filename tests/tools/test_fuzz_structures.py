"""Structural edges of the fuzzer: each is met, means something, and is found when a way is wrong about it."""

from collections.abc import Mapping
from pathlib import Path
from random import Random

import fuzz_programs
import numpy as np
import pytest
from fuzzing import file_edges, running, structure_way, ways
from fuzzing.coverage import Coverage
from fuzzing.file_edges import FILE_EDGES, run_files
from fuzzing.kernel_edges import KERNEL_EDGES
from fuzzing.loop_edges import LOOP_EDGES
from fuzzing.structure_shrinking import write_structure
from fuzzing.structure_way import difference, own_cache
from fuzzing.structure_writer import StructureWriter
from fuzzing.structures import CROSSINGS, EDGES, expected, file_edge_of, structure_of

import fuse_dialect as fd


def written(name: str, *, is_open: bool, seed: int = 0) -> StructureWriter:
    writer = StructureWriter(Random(seed), rows=3, columns=4, is_open=is_open)
    EDGES[name](writer)
    return writer


def module_head(writer: StructureWriter) -> str:
    """Types of arguments."""
    return writer.text().partition("-> (")[0]


@pytest.mark.parametrize("is_open", [False, True], ids=["fixed", "open"])
@pytest.mark.parametrize("name", EDGES)
def test_an_edge_is_a_program_that_runs(name: str, is_open: bool) -> None:
    for seed in range(4):
        writer = written(name, is_open=is_open, seed=seed)
        module = fd.parse(writer.text())
        for rows in (3, 1, 5) if is_open else (3,):
            results = fd.run(module, *writer.inputs(seed, rows))
            assert len(results) == len(writer.outputs)
        assert is_open or "tensor<?" not in module_head(writer)


@pytest.mark.parametrize("name", EDGES)
def test_an_edge_says_in_one_sentence_what_it_is(name: str) -> None:
    assert (EDGES[name].__doc__ or "").partition("\n")[0].endswith(".")


def test_a_loop_edge_has_a_region_and_a_kernel_edge_has_none() -> None:
    for name in EDGES:
        text = written(name, is_open=False).text()
        assert ("fuse.yield" in text) == (name in LOOP_EDGES), name
    assert not set(KERNEL_EDGES) & set(LOOP_EDGES)


def test_every_row_is_met_by_the_seeds_of_a_short_run() -> None:
    coverage = Coverage()
    assert coverage.never() == [name for _, name in expected()]
    for seed in range(fuzz_programs.ENOUGH_STRUCTURES):
        if "structures" in ways.chosen_ways(seed, list(ways.WAYS)) or seed < 400:
            coverage.add_structure(seed)
    assert coverage.never() == []


def test_the_table_has_a_line_for_every_row() -> None:
    coverage = Coverage()
    coverage.add_structure(0)
    lines = coverage.structural().splitlines()
    assert len(lines) == len(expected()) + 2
    counts = {line[2:52].strip(): int(line[52:]) for line in lines if line.startswith("  ")}
    assert list(counts) == [name for _, name in expected()]
    assert counts[str(structure_of(0).crossing)] == 1
    assert all(counts[name] >= 1 for name in structure_of(0).edges)


def test_counts_survive_the_way_from_a_worker() -> None:
    coverage = Coverage()
    coverage.add_structure(3)
    merged = Coverage()
    merged.merge(running._unpacked(running._packed(coverage)))
    assert merged.structures == coverage.structures


def test_a_run_that_never_meets_a_row_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def go(run: running.Run, until: float = float("inf")) -> None:
        for seed in range(run.first, run.end):
            run.coverage.add_structure(seed)

    monkeypatch.setattr(running.Run, "go", go)
    monkeypatch.setattr(fuzz_programs, "ENOUGH_STRUCTURES", 400)
    assert fuzz_programs.main(["--count", "400", "--no-table"]) == 0
    monkeypatch.setattr("fuzzing.structures.EVERY", 10**9)  # seed 0 alone changes files
    assert fuzz_programs.main(["--count", "400"]) == 1
    printed = capsys.readouterr().out
    missing = [name for name in FILE_EDGES if name != file_edge_of(0)]
    assert [line for line in printed.splitlines() if line.startswith("never met")] == [
        f"never met: {name}" for name in missing
    ]
    assert any(line.split() == [missing[0], "0"] for line in printed.splitlines())


def test_a_seed_makes_the_same_program_again() -> None:
    assert [structure_of(seed).text for seed in range(60)] == [structure_of(seed).text for seed in range(60)]
    assert {structure_of(seed).crossing for seed in range(len(CROSSINGS))} == set(CROSSINGS)


SOME = ("outputs-of-one-shape", "value-returned-twice", "states-swapped", "first-state-read-again", "stack-as-rows")


@pytest.mark.slow
@pytest.mark.parametrize("name", SOME)
def test_edges_agree_natively(name: str) -> None:
    for seed in range(2):
        structure_way.run_structure(structure_of(seed, (name,)))


def test_what_differs_is_said() -> None:
    one = np.array([[1, 2], [3, 4]], np.float32)
    assert difference(one, one.copy()) == ""
    assert difference(one * (1 + 2**-20), one) == ""
    assert difference(one[:, ::-1], one) == "4 of 4 differ, first 2.0 in place of 1.0"
    assert "in place of" in difference(one[:1], one)
    assert "in place of" in difference(one.astype(np.float64), one)
    assert difference(np.array(2), np.array(3)) == "1 of 1 differ, first 2 in place of 3"
    infinite = np.array([np.inf, np.nan], np.float32)
    assert difference(infinite, infinite.copy()) == ""
    assert difference(infinite, -infinite) != ""


@pytest.fixture
def wrong_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs whose whole numbers are one too many, as those of a counter that goes on while it is a state."""

    class Wrong:
        def __init__(self, program: fd.Program):
            self.program = program

        def finish_specializing(self) -> bool:
            return self.program.finish_specializing()

        def __call__(self, *inputs: object) -> tuple[np.ndarray, ...]:
            return tuple(each + 1 if each.dtype == np.int64 else each for each in self.program(*inputs))

    compiled = structure_way._compiled
    monkeypatch.setattr(structure_way, "_compiled", lambda *given: Wrong(compiled(*given)))


def test_a_finding_becomes_the_program_of_its_edge_alone(wrong_counts: None, tmp_path: Path) -> None:
    seed = next(
        seed
        for seed in range(2000)
        if len(edges := structure_of(seed).edges) == 2 and "no-trips" in edges and edges[0] in KERNEL_EDGES
    )
    with pytest.raises(ways.MismatchError, match="in place of"):
        structure_way.run_structure(structure_of(seed))
    path = write_structure(tmp_path, seed)
    assert path is not None
    lines = path.read_text().splitlines()
    assert lines[0] == f"// {structure_of(seed).crossing}"
    assert [line for line in lines[1:] if line.startswith("// ")] == [
        "// no-trips: A loop without an iteration gives what it begins with, and a stack of nothing"
    ]
    fd.parse(path.read_text())


@pytest.mark.parametrize("name", FILE_EDGES)
def test_an_edge_of_files_is_right_without_a_cache(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def compiled(files: file_edges.Files) -> fd.Program:
        return fd.compile(files.model, weights=None if files.is_onnx else files.data, cache=False, backend="numpy")

    monkeypatch.setattr(file_edges.Files, "compiled", compiled)
    for seed in (0, 4):  # one of each format
        place = tmp_path / str(seed)
        place.mkdir()
        assert run_files(name, place, Random(seed)) == ""


@pytest.mark.parametrize("name", FILE_EDGES)
def test_an_edge_of_files_finds_the_program_of_other_files(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first: Mapping[str, fd.Program] = {}

    def compiled(files: file_edges.Files) -> fd.Program:
        return first.setdefault("", fd.compile(files.model, weights=None if files.is_onnx else files.data, cache=False))

    monkeypatch.setattr(file_edges.Files, "compiled", compiled)
    assert "another result" in run_files(name, tmp_path, Random(0))


def test_the_cache_of_a_way_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSE_CACHE_DIR", "/nowhere")
    with own_cache() as folder:
        assert structure_way.os.environ["FUSE_CACHE_DIR"] == str(folder / "cache")
    assert structure_way.os.environ["FUSE_CACHE_DIR"] == "/nowhere"
    assert not folder.exists()
