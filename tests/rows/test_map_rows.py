"""Programs over rows: every row once, equal to the bit whoever runs it, and nothing half-written that looks whole."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fuse_dialect as fd
from fuse_dialect.rows import mapping, sinks
from fuse_dialect.rows.blocks import RowProgram
from fuse_dialect.rows.progress import Bar
from fuse_dialect.tools.fuse_run import main

pytest.importorskip("llvmlite")

TEXT = """
func.func @main(%x: tensor<Nx3xf32>) -> (tensor<Nx2xf32>, tensor<Nxf32>) {
  %w = arith.constant dense<[[0.5, 1.0, 2.0], [0.25, 0.75, 1.5]]> : tensor<2x3xf32>
  %p = fuse.dense %x, %w : (tensor<Nx3xf32>, tensor<2x3xf32>) -> tensor<Nx2xf32>
  %r = fuse.sum %p, axes = [1] : (tensor<Nx2xf32>) -> tensor<Nxf32>
  return %p, %r : tensor<Nx2xf32>, tensor<Nxf32>
}
"""
ONE = """
func.func @main(%x: tensor<Nx3xf32>) -> tensor<Nx3xf32> {
  %y = fuse.relu %x : tensor<Nx3xf32>
  return %y : tensor<Nx3xf32>
}
"""
TWO = """
func.func @main(%a: tensor<Nxf32>, %b: tensor<Nx2xf32>) -> tensor<Nxf32> {
  %s = fuse.sum %b, axes = [1] : (tensor<Nx2xf32>) -> tensor<Nxf32>
  %r = fuse.add %a, %s : tensor<Nxf32>
  return %r : tensor<Nxf32>
}
"""
COUNT = 2500
BATCH = 64


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache and a folder of its own for each test, and small blocks."""
    monkeypatch.setenv("FUSE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(mapping, "BLOCK_BYTES", 512 * 24)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def program(text: str = TEXT, batch: str = str(BATCH)) -> fd.Program:
    return fd.compile(fd.parse(text.replace("N", batch)))


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((COUNT, 3)).astype(np.float32)


def by_hand(x: np.ndarray, text: str = TEXT) -> list[np.ndarray]:
    """What a program of open batch gives for pieces."""
    opened = program(text, "?")
    parts = [opened(x[first : first + BATCH]) for first in range(0, len(x), BATCH)]
    return [np.concatenate(each) for each in zip(*parts, strict=True)]


def has_module(name: str) -> bool:
    """Whether an extra is installed."""
    from importlib.util import find_spec

    return find_spec(name) is not None


def written(path: str) -> np.ndarray:
    """What the program of one output has written."""
    if path.endswith(".npy"):
        return np.load(path)
    if path.endswith(".zarr"):
        return pytest.importorskip("zarr").open(path)[:]
    found = pytest.importorskip("pyarrow.parquet").read_table(path)["result0"].combine_chunks().flatten()
    return np.asarray(found).reshape(-1, 3)


def check(found: Any, expected: list[np.ndarray]) -> None:
    arrays = [found] if isinstance(found, np.ndarray) else list(found)
    for one, other in zip(arrays, expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("batch", [str(BATCH), "?", "1"])
def test_arrays_in_give_arrays_out(x: np.ndarray, batch: str) -> None:
    mapped = program(batch=batch)
    np.save("x.npy", x)
    for data in (x, [x], {"x": x}, x[:, ::-1][:, ::-1], "x.npy", Path("x.npy"), np.load("x.npy", mmap_mode="r")):
        check(fd.map_rows(mapped, data, batch=BATCH if batch == "?" else None), by_hand(x))
    given = [np.empty((COUNT, 2), np.float32), np.empty(COUNT, np.float32)]
    assert fd.map_rows(mapped, x, out=given)[0] is given[0]
    check(given, by_hand(x))
    check(fd.map_rows(mapped, x[:0]), [each[:0] for each in by_hand(x)])


def test_a_program_may_be_named_by_its_file(x: np.ndarray) -> None:
    program().save("m.fuse")
    check(fd.map_rows("m.fuse", x), by_hand(x))


def test_several_inputs_go_by_name_or_place() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal(300).astype(np.float32), rng.standard_normal((300, 2)).astype(np.float32)
    expected = a + b.sum(axis=1, dtype=np.float32)
    for data in ((a, b), {"b": b, "a": a}):
        assert np.allclose(fd.map_rows(program(TWO), data), expected)
    with pytest.raises(fd.FuseError, match="column 'b' has 299 rows, and 'a' has 300"):
        fd.map_rows(program(TWO), (a, b[:-1]))
    with pytest.raises(fd.FuseError, match="no argument takes the input 'c'"):
        fd.map_rows(program(TWO), {"a": a, "b": b, "c": a})


def test_iterators_give_iterators(x: np.ndarray) -> None:
    def blocks() -> Iterator[np.ndarray]:
        for first in range(0, COUNT, 700):
            yield x[first : first + 700]

    results = fd.map_rows(program(), blocks())
    check([np.concatenate(each) for each in zip(*results, strict=True)], by_hand(x))
    with pytest.raises(fd.FuseError, match=r"block 1 of the iterator: column 'x' expects rows of float32 of 3, got"):
        list(fd.map_rows(program(), iter([x[:9], x[:9].astype(np.float64)])))
    with pytest.raises(fd.FuseError, match="does not say how many rows"):
        fd.map_rows(program(ONE), blocks(), out="y.npy")


def test_a_file_of_numpy_is_written_as_numpy_writes_it(x: np.ndarray) -> None:
    np.save("x.npy", x)
    assert fd.map_rows(program(ONE), "x.npy", out="y.npy") == str(Path("y.npy").absolute())
    check(np.load("y.npy"), by_hand(x, ONE))
    assert sorted(os.listdir()) == ["cache", "x.npy", "y.npy"]


def test_rows_in_zarr(x: np.ndarray) -> None:
    zarr = pytest.importorskip("zarr")
    zarr.create_array("x.zarr", data=x, chunks=(300, 3))
    zarr.open_group("group.zarr", mode="w").create_array("x", data=x)
    for data in ("x.zarr", "group.zarr", zarr.open("x.zarr")):
        check(fd.map_rows(program(), data), by_hand(x))
    fd.map_rows(program(), "x.zarr", out="y.zarr")
    found = zarr.open("y.zarr")
    check([found["result0"][:], found["result1"][:]], by_hand(x))
    fd.map_rows(program(ONE), "x.zarr", out="one.zarr")
    check(zarr.open("one.zarr")[:], by_hand(x, ONE))


def test_rows_in_parquet(x: np.ndarray) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = arrow.table({name: x[:, place] for place, name in enumerate("abc")})
    parquet.write_table(table, "x.parquet", row_group_size=400)
    check(fd.map_rows(program(), "x.parquet"), by_hand(x))
    check(fd.map_rows(program(), table), by_hand(x))
    fd.map_rows(program(), "x.parquet", out="y.parquet")
    found = parquet.read_table("y.parquet")
    wide = np.asarray(found["result0"].combine_chunks().flatten()).reshape(-1, 2)
    check([wide, np.asarray(found["result1"])], by_hand(x))
    lists = arrow.FixedSizeListArray.from_arrays(arrow.array(x[:, :2].reshape(-1)), 2)
    named = arrow.table({"b": lists, "other": x[:, 0], "a": x[:, 2]})
    check(fd.map_rows(program(TWO), named), [np.asarray(fd.map_rows(program(TWO), (x[:, 2], x[:, :2])))])
    wrong = table.set_column(1, "b", arrow.array(x[:, 1].astype(np.float64)))
    parquet.write_table(wrong, "wrong.parquet")
    with pytest.raises(fd.FuseError, match="column 'b' expects float32, got float64"):
        fd.map_rows(program(), "wrong.parquet")
    with pytest.raises(fd.FuseError, match="column 'b' has 2 values that are missing"):
        fd.map_rows(
            program(), table.set_column(1, "b", arrow.array([0.0, None, None, *x[3:, 1].tolist()], arrow.float32()))
        )
    with pytest.raises(fd.FuseError, match="takes 3 columns, the table has 2"):
        fd.map_rows(program(), table.drop_columns(["b"]))
    with pytest.raises(fd.FuseError, match="the table has no column 'a'"):
        fd.map_rows(program(TWO), table.drop_columns(["a"]))


def test_results_may_be_written_over_the_rows(x: np.ndarray) -> None:
    expected, given = by_hand(x, ONE), x.copy()
    fd.map_rows(program(ONE), given, out=given)
    check(given, expected)
    # Each piece reads what the one before has written: as one call after the other.
    shifted = np.concatenate([x[:1], x])
    fd.map_rows(program(ONE), shifted[:-1], out=shifted[1:])
    assert shifted[1 : BATCH + 1].tobytes() == np.maximum(np.concatenate([x[:1], x]), 0)[:BATCH].tobytes()


def test_targets_that_do_not_fit_are_refused(x: np.ndarray) -> None:
    rows = RowProgram(program(ONE))
    for wrong in (np.empty((COUNT, 3)), np.empty((COUNT, 4), np.float32)):
        with pytest.raises(fd.FuseError, match="the block: output"):
            rows.run([x], targets=[wrong])
    frozen = np.zeros((COUNT, 3), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(fd.FuseError, match="the block: output"):
        rows.run([x], targets=[frozen])
    assert not frozen.any()


TAKING = """
func.func @main(%i: tensor<64x2xi64>) -> tensor<64x2xf32> {
  %t = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %y = fuse.gather %t, %i, axis = 0 : (tensor<2x2xf32>, tensor<64x2xi64>)
  return %y : tensor<64x2xf32>
}
"""


def test_values_that_a_kernel_rejects_name_their_block() -> None:
    made = fd.compile(fd.parse(TAKING))
    made.save("m.fuse")
    for mapped in (made, fd.load("m.fuse")):
        places = np.zeros((300, 2), np.int64)
        check(fd.map_rows(mapped, places), [np.tile(np.float32([1, 2]), (300, 1))])
        places[200] = 7
        with pytest.raises(fd.FuseError, match=r"block 0, rows 0 to 299: .*index 7 is out of bounds for axis 0"):
            fd.map_rows(mapped, places)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            lambda x: x.astype(np.float64),
            "block 0, rows 0 to 511: column 'x' expects rows of float32 of 3, got float64",
        ),
        (lambda x: x[:, :2], "block 0, rows 0 to 511: column 'x' expects rows of float32 of 3, got float32 of 2"),
        (lambda x: x[:, :, None], "got float32 of 3x1"),
        (lambda x: (x, x), "takes 1 columns"),
        (lambda x: np.float32(3), "got a scalar"),
        (lambda _: 3, "expected rows, got int"),
        (lambda _: "no.npy", "no such file"),
        (lambda _: "no.csv", "no such file"),
        (lambda _: "other.csv", "ends in '.csv'"),
        (lambda _: "other.npy", "cannot read the rows"),
    ],
)
def test_rows_that_do_not_fit_are_refused(x: np.ndarray, data: Callable[[np.ndarray], Any], message: str) -> None:
    for name in ("other.csv", "other.npy"):
        Path(name).write_text("a")
    with pytest.raises(fd.FuseError, match=message):
        fd.map_rows(program(), data(x))
    there = sorted(os.listdir())
    with pytest.raises(fd.FuseError, match=message):
        fd.map_rows(program(), data(x), out="y.zarr" if has_module("zarr") else "y.parquet")
    assert sorted(os.listdir()) == there


def test_programs_without_rows_are_refused(x: np.ndarray) -> None:
    scalar = "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n  return %x : tensor<f32>\n}"
    reduced = ONE.replace("fuse.relu %x", "fuse.sum %x, axes = [0]").replace(
        ": tensor<Nx3xf32>\n  r", ": (tensor<Nx3xf32>)\n  r"
    )
    reduced = reduced.replace("-> tensor<Nx3xf32>", "-> tensor<3xf32>").replace(
        "%y : tensor<Nx3xf32>", "%y : tensor<3xf32>"
    )
    for text in (scalar, reduced):
        with pytest.raises(fd.FuseError, match="does not map rows"):
            fd.map_rows(program(text), x)
    for batch in (0, -1, True):
        with pytest.raises(fd.FuseError, match="expected a batch of 1 or more rows"):
            fd.map_rows(program(batch="?"), x, batch=batch)


def test_what_is_there_is_not_written_over_unless_asked(x: np.ndarray) -> None:
    mapped = program(ONE)
    Path("y.npy").write_text("mine")
    with pytest.raises(fd.FuseError, match="the output exists"):
        fd.map_rows(mapped, x, out="y.npy")
    assert Path("y.npy").read_text() == "mine"
    fd.map_rows(mapped, x, out="y.npy", overwrite=True)
    check(np.load("y.npy"), by_hand(x, ONE))
    with pytest.raises(fd.FuseError, match="do not fit the arrays"):
        fd.map_rows(mapped, x, out=np.empty((3, 3), np.float32))
    with pytest.raises(fd.FuseError, match="has one array, the program gives 2"):
        fd.map_rows(program(), x, out="z.npy")
    with pytest.raises(fd.FuseError, match=r"ends in '.txt'"):
        fd.map_rows(mapped, x, out="z.txt")


class StopError(Exception):
    """What ends a run in its middle."""


def interrupted(mapped: fd.Program, data: Any, out: str, after: int, **options: Any) -> None:
    def stop(done: int, _: int) -> None:
        if done >= after:
            raise StopError

    with pytest.raises(StopError):
        fd.map_rows(mapped, data, out=out, progress=stop, **options)


@pytest.mark.parametrize("out", ["y.npy", "y.zarr", "y.parquet"])
def test_a_run_goes_on_where_another_has_ended(x: np.ndarray, out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in {"y.zarr": ["zarr"], "y.parquet": ["pyarrow"]}.get(out, []):
        pytest.importorskip(module)
    np.save("x.npy", x)
    mapped = program(ONE)
    interrupted(mapped, "x.npy", out, 1000)
    assert not Path(out).exists()
    with pytest.raises(fd.FuseError, match="has begun to write the output"):
        fd.map_rows(mapped, "x.npy", out=out)
    with open(f"{out}.partial.log", "a") as stream:
        stream.write("9")  # a line that was cut off
    with pytest.raises(fd.FuseError, match="is another run: it differs in program"):
        fd.map_rows(program(ONE.replace("relu", "tanh")), "x.npy", out=out, resume=True)
    ran: list[str] = []
    run = RowProgram.run

    def counted(self: RowProgram, arrays: Any, where: str, targets: Any) -> Any:
        ran.append(where)
        return run(self, arrays, where, targets)

    monkeypatch.setattr(RowProgram, "run", counted)
    fd.map_rows(mapped, "x.npy", out=out, resume=True)
    assert [where.partition(",")[0] for where in ran] == ["block 2", "block 3", "block 4"]
    again = fd.map_rows(mapped, "x.npy", out=out, resume=True)
    assert len(ran) == 3
    check(written(again), by_hand(x, ONE))


def test_data_that_change_while_they_are_read_are_noticed(x: np.ndarray) -> None:
    np.save("x.npy", x)

    def grow(done: int, total: int) -> None:
        if done == total:
            np.save("other.npy", np.concatenate([x, x]))
            os.replace("other.npy", "x.npy")

    with pytest.raises(fd.FuseError, match="have changed while they were read"):
        fd.map_rows(program(ONE), "x.npy", out="y.npy", progress=grow)
    assert not Path("y.npy").exists()
    with pytest.raises(fd.FuseError, match="differs in data"):
        fd.map_rows(program(ONE), "x.npy", out="y.npy", resume=True)


def test_a_full_disk_leaves_nothing_that_looks_whole(x: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    written = sinks.NpySink.write_block

    def full(self: sinks.NpySink, first: int, arrays: Any) -> None:
        if first >= 1024:
            raise OSError(28, "No space left on device")
        written(self, first, arrays)

    with monkeypatch.context() as patch:
        patch.setattr(sinks.NpySink, "write_block", full)
        with pytest.raises(fd.FuseError, match="no space left on device") as caught:
            fd.map_rows(program(ONE), x, out="y.npy")
    assert "--resume" in (caught.value.hint or "")
    assert not Path("y.npy").exists()
    fd.map_rows(program(ONE), x, out="y.npy", resume=True)
    check(np.load("y.npy"), by_hand(x, ONE))


def test_the_bar_says_rows_rate_and_time_left() -> None:
    from io import StringIO

    stream = StringIO()
    bar = Bar(stream)
    bar(0, 100)
    time.sleep(0.15)
    bar(50, 100)
    bar(100, 100)
    assert "50 of 100 rows" in stream.getvalue()
    assert "s left" in stream.getvalue()
    assert stream.getvalue().endswith("\n")


def test_the_command_runs_rows(x: np.ndarray, capsys: pytest.CaptureFixture[str]) -> None:
    program(ONE).save("m.fuse")
    np.save("x.npy", x)
    assert main(["m.fuse", "--rows", "x.npy", "--out", "y.npy"]) == 0
    assert capsys.readouterr().out == "y.npy\n"
    check(np.load("y.npy"), by_hand(x, ONE))
    assert main(["m.fuse", "--rows", "x.npy", "--out", "y.npy"]) == 1
    assert "the output exists" in capsys.readouterr().err
    assert main(["m.fuse", "--rows", "x.npy", "--out", "y.npy", "--overwrite"]) == 0
    interrupted(fd.load("m.fuse"), "x.npy", "z.npy", 1000)
    assert main(["m.fuse", "--rows", "x.npy", "--out", "z.npy"]) == 1
    assert "has begun to write the output" in capsys.readouterr().err
    assert main(["m.fuse", "--rows", "x.npy", "--out", "z.npy", "--resume"]) == 0
    check(np.load("z.npy"), by_hand(x, ONE))
    for arguments in (
        ["m.fuse", "--rows", "x.npy"],
        ["m.fuse", "--out", "y.npy"],
        ["m.fuse", "--rows", "x.npy", "--batch", "0"],
    ):
        assert main(arguments) == 2


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two processes of Dask."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:  # noqa: SIM117
        with distributed.Client(cluster) as found:
            yield found


@pytest.mark.slow
def test_collections_of_dask_stay_lazy(x: np.ndarray) -> None:
    array, frames, bags = (pytest.importorskip(f"dask.{name}") for name in ("array", "dataframe", "bag"))
    pandas = pytest.importorskip("pandas")
    program().save("m.fuse")
    for mapped in (program(), fd.load("m.fuse")):
        lazy = fd.map_rows(mapped, array.from_array(x, chunks=(700, 2)))
        assert " at 0x" not in f"{lazy} {fd.map_rows(program(ONE), array.from_array(x))}"
        check([each.compute(scheduler="sync") for each in lazy], by_hand(x))
        frame = fd.map_rows(mapped, frames.from_pandas(pandas.DataFrame(x), npartitions=3))
        assert list(frame.columns) == ["result0_0", "result0_1", "result1"]
        found = frame.compute(scheduler="sync")
        check([found[["result0_0", "result0_1"]].to_numpy(), found["result1"].to_numpy()], by_hand(x))
        bag = fd.map_rows(mapped, bags.from_sequence(list(x), npartitions=3)).compute(scheduler="sync")
        check([np.stack(each) for each in zip(*bag, strict=True)], by_hand(x))
    one = fd.map_rows(program(ONE), array.from_array(x, chunks=(700, 3)))
    check(one.compute(scheduler="sync"), by_hand(x, ONE))
    with pytest.raises(fd.FuseError, match="out and cluster are not for collections"):
        fd.map_rows(program(), array.from_array(x), out="y.npy")
    with pytest.raises(fd.FuseError, match="expects rows of float32 of 3, got float64"):
        fd.map_rows(program(), array.from_array(x.astype(np.float64)))


@pytest.mark.slow
def test_a_cluster_gives_the_same_bits(x: np.ndarray, client: Any) -> None:
    dask = pytest.importorskip("dask.array")
    program(ONE).save("m.fuse")
    np.save("x.npy", x)
    mapped = fd.load("m.fuse")
    check(fd.map_rows(mapped, x, cluster=client), by_hand(x, ONE))
    fd.map_rows(mapped, str(Path("x.npy").absolute()), out="y.npy", cluster=client)
    check(np.load("y.npy"), by_hand(x, ONE))
    check(fd.map_rows(mapped, dask.from_array(x, chunks=(700, 3))).compute(scheduler=client), by_hand(x, ONE))
    with pytest.raises(fd.FuseError, match="block 0, rows 0 to 511: column 'x' expects"):
        fd.map_rows(mapped, x.astype(np.float64), cluster=client)


@pytest.mark.slow
def test_the_command_runs_rows_on_a_cluster(x: np.ndarray, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    program(ONE).save("m.fuse")
    np.save("x.npy", x)
    Path("script.py").write_text(
        "import sys\nfrom fuse_dialect.tools.fuse_run import main\n"
        "if __name__ == '__main__':\n    sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "script.py", "m.fuse", "--rows", "x.npy", "--out", "y.npy", "--cluster"]
    assert subprocess.run([*command, "local:2"], check=False).returncode == 0
    assert capfd.readouterr().out == "y.npy\n"
    check(np.load("y.npy"), by_hand(x, ONE))
    assert subprocess.run([*command, "local:none", "--overwrite"], check=False).returncode == 1
    said = capfd.readouterr().err
    assert "error: expected local:N with 1 to 256 processes, got 'local:none'" in said
    assert "Traceback" not in said


def fill() -> None:
    """Leave no room for files of more than 64 KiB to this process, as a full disk would."""
    import resource
    from contextlib import suppress
    from importlib import import_module

    for module in ("zarr", "pyarrow.parquet"):  # files of compiled modules would be cut, too
        with suppress(ImportError):
            import_module(module)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, resource.RLIM_INFINITY))


def empty() -> None:
    """Take that back."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@pytest.mark.slow
@pytest.mark.parametrize("out", ["y.npy", "y.zarr", "y.parquet"])
def test_workers_whose_disk_is_full_say_so(
    x: np.ndarray, client: Any, out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in {"y.zarr": ["zarr"], "y.parquet": ["pyarrow"]}.get(out, []):
        pytest.importorskip(module)
    monkeypatch.setattr(mapping, "BLOCK_BYTES", 1 << 19)
    many = np.random.default_rng(1).standard_normal((60_000, 3)).astype(np.float32)
    program(ONE).save("m.fuse")
    np.save("x.npy", many)
    client.run(fill)
    try:
        with pytest.raises(fd.FuseError, match=r"cannot write the output: .*file too large"):
            fd.map_rows("m.fuse", str(Path("x.npy").absolute()), out=out, cluster=client)
    finally:
        client.run(empty)
    assert not Path(out).exists()
    fd.map_rows("m.fuse", str(Path("x.npy").absolute()), out=out, cluster=client, resume=True)
    check(written(out), by_hand(many, ONE))


KILLING = """
import os, signal, sys, time
import numpy as np
import distributed
import fuse_dialect as fd
from fuse_dialect.rows import mapping

if __name__ == "__main__":
    mapping.BLOCK_BYTES = 512 * 24
    with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            killed = []
            def kill(done, total):
                if done and not killed and sys.argv[1] == "worker":
                    killed.append(next(iter(client.run(os.getpid).values())))
                    os.kill(killed[0], signal.SIGKILL)
                if done and sys.argv[1] == "client":
                    for pid in client.run(os.getpid).values():
                        os.kill(pid, signal.SIGKILL)
                    os.kill(os.getpid(), signal.SIGKILL)
            fd.map_rows("m.fuse", "x.npy", out="y.npy", cluster=client, progress=kill, resume=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("who", ["worker", "client"])
def test_who_is_killed_loses_no_row(folder: Path, who: str) -> None:
    pytest.importorskip("distributed")
    x = np.random.default_rng(0).standard_normal((20_000, 3)).astype(np.float32)
    program(ONE).save("m.fuse")
    np.save("x.npy", x)
    (folder / "script.py").write_text(KILLING)
    command = [sys.executable, "script.py"]
    first = subprocess.run([*command, who], capture_output=True, text=True, check=False)
    if who == "client":
        assert first.returncode == -signal.SIGKILL, first.stderr
        assert json.loads((folder / "y.npy.partial.log").read_text().partition("\n")[0])["rows"] == len(x)
        first = subprocess.run([*command, "nobody"], capture_output=True, text=True, check=False)
    assert first.returncode == 0, first.stderr
    check(np.load("y.npy"), by_hand(x, ONE))


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_named(x: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    from fuse_dialect.rows import clusters

    monkeypatch.setattr(clusters, "_SECONDS", 1)
    with pytest.raises(fd.FuseError, match=r"there is no cluster at 'tcp://127.0.0.1:1'"):
        fd.map_rows(program(), x, cluster="tcp://127.0.0.1:1")
    for wrong in ("local:0", "local:x", 3):
        with pytest.raises(fd.FuseError, match="expected "):
            fd.map_rows(program(), x, cluster=wrong)


@pytest.mark.slow
def test_another_version_on_the_workers_is_refused(x: np.ndarray, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from fuse_dialect.loading import saving_version

    monkeypatch.setattr(saving_version, "package_version", lambda: "9.9")
    with pytest.raises(fd.FuseError, match=r"has fuse_dialect .*, the client 9.9"):
        fd.map_rows(program(ONE), x, cluster=client)
