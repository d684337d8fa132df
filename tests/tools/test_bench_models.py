"""The benchmark of many models: what counts as right, and what comes first. No time is asserted."""

import json
import math
from dataclasses import replace
from pathlib import Path

import bench_models
import numpy as np
import pytest
from population.measuring import difference
from population.rows import Row, chart, losses_first, summary, table

WIN = Row("win", 1.0, 2.0, difference=0.0)
LOSS = Row("loss", 3.0, 2.0, difference=0.0)
WRONG = Row("wrong", 1.0, 2.0, difference=0.5)
FAILED = Row("failed", failure="an op has | no meaning")
SKIPPED = Row("skipped", skipped="onnxruntime: no kernel")


def test_failures_and_losses_come_first() -> None:
    assert [row.name for row in losses_first([WIN, LOSS, SKIPPED, WRONG, FAILED])] == ["failed", "wrong", "loss", "win"]


def test_the_mean_is_that_of_right_models() -> None:
    said = summary([WIN, LOSS, WRONG, FAILED, SKIPPED])
    assert said.startswith(f"4 models, geometric mean {math.sqrt(0.5 * 1.5):.2f}x; 1 at most 1.0x")
    assert "1 wrong, 1 failed; onnxruntime cannot run 1 others" in said


def test_coarse_forms_may_differ_by_more() -> None:
    assert not Row("a", 1.0, 1.0, difference=0.01).is_right
    assert Row("a.f16", 1.0, 1.0, difference=0.01).is_right


def test_reports_have_a_line_for_each_model() -> None:
    rows = [WIN, LOSS, WRONG, FAILED]
    lines = table(rows).splitlines()[2:6]
    assert [line.split(" ")[1] for line in lines] == ["failed", "wrong", "loss", "win"]
    assert chart(rows, "ours < theirs").count("<rect") == len(rows) + 1


def test_the_best_engine_is_what_counts_where_others_were_measured() -> None:
    behind, ahead = replace(WIN, name="behind", openvino=0.5), replace(WIN, name="ahead", openvino=4.0)
    rows = [behind, ahead, WIN]
    assert [row.ratio_to_best for row in rows] == [2.0, 0.5, 0.5]
    head, _, *lines = table(rows).splitlines()
    assert head.endswith("| OpenVINO | ratio to the best |")
    assert len({line.count("|") for line in (head, *lines[:3])}) == 1
    assert "of 2 that OpenVINO takes, 1.00x of the best engine, 1 at most 1.2x" in summary(rows)
    assert "OpenVINO" not in table([WIN, LOSS])


def test_a_table_of_three_engines_has_a_column_for_each() -> None:
    rows = [replace(WIN, openvino=4.0, inductor=0.25), replace(WIN, name="other", inductor=4.0)]
    assert [row.ratio_to_best for row in rows] == [4.0, 0.5]
    head, _, first, second, *_ = table(rows).splitlines()
    assert head.endswith("| OpenVINO | Inductor | ratio to the best |")
    assert {first.count("|"), second.count("|")} == {head.count("|")}
    assert "of 2 that OpenVINO or Inductor takes" in summary(rows)


@pytest.mark.parametrize(
    ("expected", "got", "apart"),
    [
        ([1.0, -4.0], [1.0, -3.0], 0.25),
        ([math.nan, math.inf], [math.nan, math.inf], 0.0),
        ([1.0, math.inf], [1.0, 2.0], math.inf),
        ([1.0], [math.nan], math.inf),
        ([1.0], [1.0, 1.0], math.inf),
    ],
)
def test_outputs_are_apart_by_a_share_of_the_greatest(expected: list[float], got: list[float], apart: float) -> None:
    assert difference(np.array(expected), np.array(got)) == apart


def test_a_run_goes_on_where_it_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, kept = tmp_path / "some.onnx", tmp_path / "kept.json"
    model.write_bytes(b"nobody reads this")
    kept.write_text(json.dumps([{"name": "some", "ours": 1.0, "theirs": 4.0, "difference": 0.0}]))
    assert bench_models.main([str(tmp_path), "--json", str(kept)]) == 0
    assert "geometric mean 0.25x" in capsys.readouterr().out
    assert json.loads(kept.read_text())[0]["theirs"] == 4.0
