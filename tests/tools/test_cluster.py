"""Long work of the tools on a cluster: the same results as here, each once, in the order of the items where asked."""

from functools import partial
from pathlib import Path

import pytest
from checking import cluster

SCRIPT = """
import argparse, sys
parser = argparse.ArgumentParser()
for name in ("--seed", "--count", "--bad"):
    parser.add_argument(name, type=int)
options = parser.parse_args()
seeds = range(options.seed, options.seed + options.count)
print("tried", *seeds)
sys.exit(options.bad in seeds)
"""


def power(number: int, exponent: int) -> int:
    return number**exponent


def test_items_keep_their_order() -> None:
    assert cluster.in_order(None, partial(power, exponent=2), [3, 1, 3, 2]) == [9, 1, 9, 4]


@pytest.mark.slow
def test_a_cluster_gives_the_same() -> None:
    pytest.importorskip("distributed")
    call, items = partial(pow, 3), list(range(20))
    assert cluster.in_order("local:2", call, items) == [3**item for item in items]
    assert sorted(cluster.results_of("local:2", call, items)) == [(item, 3**item) for item in items]


@pytest.mark.slow
@pytest.mark.parametrize("bad", [-1, 7])
def test_each_seed_is_tried_once(tmp_path: Path, capsys: pytest.CaptureFixture[str], bad: int) -> None:
    pytest.importorskip("distributed")
    (tmp_path / "tool.py").write_text(SCRIPT)
    given = ["--jobs", "2", "--bad", str(bad), "--seed", "3", "--count", "10"]
    failed = cluster.spread("local:2", str(tmp_path / "tool.py"), given, range(3, 13), 4)
    *lines, summary = capsys.readouterr().out.splitlines()
    assert sorted(lines) == ["tried 11 12", "tried 3 4 5 6", "tried 7 8 9 10"]
    assert (failed, summary) == (int(bad == 7), f"3 of 3 portions of 4 seeds, {int(bad == 7)} with findings")


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("fuse_dialect.rows.clusters._SECONDS", 1)
    assert cluster.spread("tcp://127.0.0.1:1", str(tmp_path / "tool.py"), [], range(3), 4) == 1
    assert "there is no cluster at 'tcp://127.0.0.1:1'" in capsys.readouterr().err
