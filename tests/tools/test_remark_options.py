"""Remarks, stories, reports and comparisons on the command line."""

import json
from pathlib import Path

import pytest

import fuse_dialect as fd
from fuse_dialect.tools.fuse_opt import main

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
TINY, DIAMOND = str(EXAMPLES / "tiny_cnn.onnx"), str(EXAMPLES / "blocked_diamond.mlir")
SOFTMAX = str(EXAMPLES / "softmax.mlir")


def _err(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main([*arguments, "-o", "/dev/null"]) == 0
    return capsys.readouterr().err.splitlines()


def test_model_is_named_once_and_equal_remarks_are_counted(capsys):
    lines = _err(capsys, "--fuse-ops", "--fusion-remarks", TINY)
    assert lines[0] == f"{TINY}: 10 remarks"
    assert lines[1] == "  stem, inner, outer: 'fuse.conv2d' op not fused into 'fuse.batch_norm': edge-kind (3 times)"
    assert lines[-1] == "fuse-ops: 10 missed: edge-kind=8 sink-kind=1 value-escapes=1"
    assert sum(TINY in line for line in lines) == 1


def test_counts_of_the_summary_are_those_of_the_statistics(capsys):
    lines = _err(capsys, "--fuse-ops", "--fusion-remarks", "--mlir-pass-statistics", TINY)
    assert lines[-2].removeprefix("fuse-ops: 10 missed: ") == lines[-1].partition("refusals: ")[2]


def test_ops_of_a_text_have_a_line_each_with_their_place(capsys):
    lines = _err(capsys, "--fuse-ops", "--fusion-remarks", DIAMOND)
    assert lines == [
        f"{DIAMOND}:3:11: remark: 'fuse.conv2d' op not fused into 'fuse.add': edge-kind",
        f"{DIAMOND}:6:10: remark: 'fuse.add' op not fused: value-escapes",
        "fuse-ops: 2 missed: edge-kind=1 value-escapes=1",
    ]


def test_verbose_remarks_have_notes(capsys):
    lines = _err(capsys, "--fuse-ops", "--remarks-verbose", DIAMOND)
    assert lines[1].startswith("note: rule complex-epilogue follows edges of kind elemwise")


@pytest.mark.parametrize(
    ("options", "types"),
    [
        (("--remarks-filter=",), {"passed": 2, "missed": 2, "analysis": 2}),
        (("--remarks-filter=relu",), {"passed": 1, "analysis": 1}),
        (("--remarks-filter=edge-kind",), {"missed": 1}),
        (("--remarks-filter=%conv",), {"missed": 1, "analysis": 1}),
        (("--remarks-filter=^fuse-ops:complex",), {"passed": 1}),
        (("--remarks-filter-passed=", "--remarks-filter-analysis=conv"), {"passed": 2, "analysis": 1}),
        (("--fusion-remarks", "--remarks-filter-passed=nothing-like-this"), {"missed": 2}),
        (("--remarks-filter=nothing-like-this",), {}),
    ],
)
def test_filters_choose(capsys, options, types):
    lines = _err(capsys, "--fuse-ops", *options, "--remark-format=json", DIAMOND)
    rows = json.loads("\n".join(lines))
    assert {type: sum(row["type"] == type for row in rows) for type in {row["type"] for row in rows}} == types


def test_merges_and_kernels_that_are_told_are_those_of_the_plan(capsys):
    rows = json.loads("\n".join(_err(capsys, "--fuse-ops", "--remarks-filter=", "--remark-format=json", TINY)))
    plan = fd.plan_fusion(fd.read(TINY))
    analysis = [row for row in rows if row["type"] == "analysis"]
    summary = plan.summary()
    assert len(analysis) == len(plan.groups)
    assert sum(row["bytes-before"] for row in analysis) == summary.bytes_before
    assert sum(row["bytes-after"] for row in analysis) == summary.bytes_after
    assert sum(row["ops"] for row in analysis) == summary.ops
    fused = [decision for decision in plan.decisions if decision]
    passed = [row for row in rows if row["type"] == "passed"]
    assert sum(1 + row["taken-along"] for row in passed) == len(fused)
    assert len(passed) + sum(row["type"] == "missed" for row in rows) == len(plan.decisions)


def test_json_and_yaml_say_the_same_and_come_back(tmp_path):
    for form in ("json", "yaml"):
        options = ["--fuse-ops", "--remarks-filter=", f"--remark-format={form}"]
        assert main([*options, f"--remarks-output-file={tmp_path / form}", TINY, "-o", "/dev/null"]) == 0
    rows = json.loads((tmp_path / "json").read_text())
    documents = (tmp_path / "yaml").read_text().split("...\n")
    assert documents.pop() == ""
    read: list[dict] = []
    for document in documents:
        head, *lines = document.splitlines()
        fields = dict(line.split(": ", 1) for line in lines)
        read.append({"type": head.removeprefix("--- !").lower(), **{key: json.loads(fields[key]) for key in fields}})
    assert read == rows
    assert {row["function"] for row in rows} == {"main"}
    assert {row["file"] for row in rows} == {TINY}


def test_yaml_is_read_by_a_reader_of_yaml(tmp_path):
    yaml = pytest.importorskip("yaml")
    source = tmp_path / "x.mlir"
    source.write_text(Path(DIAMOND).read_text().replace("%conv", "%conv.a-b").replace("@main", '@"a: \\22{[b"'))
    out = tmp_path / "out.yaml"
    options = ["--fuse-ops", "--remarks-filter=", "--remark-format=yaml", f"--remarks-output-file={out}"]
    assert main([*options, str(source), "-o", "/dev/null"]) == 0
    loader = type("Loader", (yaml.SafeLoader,), {})
    loader.add_multi_constructor("!", lambda load, tag, node: load.construct_mapping(node) | {"tag": tag})
    documents = list(yaml.load_all(out.read_text(), loader))
    assert len(documents) == 6
    assert {document["function"] for document in documents} == {'a: "{[b'}


def test_remarks_in_a_file_leave_stderr_alone(tmp_path, capsys):
    out = tmp_path / "remarks.txt"
    assert main(["--fuse-ops", "--fusion-remarks", f"--remarks-output-file={out}", DIAMOND, "-o", "/dev/null"]) == 0
    assert capsys.readouterr().err == ""
    assert out.read_text().endswith("fuse-ops: 2 missed: edge-kind=1 value-escapes=1\n")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--remarks-filter=("], 2, "argument --remarks-filter: '(' is no regular expression"),
        (["--remarks-output-file=-"], 2, "expected a file, got stdout"),
        (["--remarks-output-file=/nowhere/at/all"], 1, "/nowhere/at/all: error: cannot write the output"),
        (["--fusion-report=x.txt"], 2, "expected a file that ends in .md, .json, .html"),
        (["--fusion-report=/nowhere/at/all.md"], 1, "/nowhere/at/all.md: error: cannot write the output"),
        (["--explain=%nothing"], 1, "error: no op gives '%nothing'"),
        (
            ["--compare-pipelines", "cse", "fuse-ops"],
            1,
            "expected a pipeline that ends in fuse-ops or fuse-ops-hw, got 'cse'",
        ),
        (["--compare-pipelines", "fuse-ops", "fuse-opps"], 1, "fuse-opps"),
        (["--compare-pipelines", "", "fuse-ops"], 1, "expected a pipeline that ends in fuse-ops"),
    ],
)
def test_wrong_questions_are_errors(capsys, arguments, status, message):
    assert main([*arguments, "--fuse-ops", DIAMOND]) == status
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_output_of_remarks_may_not_be_the_input(tmp_path, capsys):
    source = tmp_path / "x.mlir"
    source.write_text(Path(DIAMOND).read_text())
    assert main(["--fuse-ops", f"--remarks-output-file={source}", str(source)]) == 1
    assert "would overwrite the file of the input" in capsys.readouterr().err


def test_story_is_on_stdout_and_the_module_is_not(capsys):
    assert main(["--explain=%conv", DIAMOND]) == 0
    story = capsys.readouterr().out
    assert story == fd.plan_fusion(fd.read(DIAMOND)).explain("%conv") + "\n"
    assert main(["--fuse-ops=max-depth=1", "--explain=@main:%left", DIAMOND]) == 0
    assert "max-depth=" in capsys.readouterr().out


def test_story_is_on_stderr_where_the_module_is_on_stdout(tmp_path, capsys):
    assert main(["--fuse-ops", "--explain=%conv", DIAMOND, "-o", "-"]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith("%conv = 'fuse.conv2d' of @main\n")
    assert captured.out.startswith("builtin.module {")
    out = tmp_path / "out.mlir"
    assert main(["--fuse-ops", "--explain=%conv", DIAMOND, "-o", str(out)]) == 0
    assert capsys.readouterr().out.startswith("%conv = 'fuse.conv2d' of @main\n")
    assert out.read_text().startswith("builtin.module {")


def test_report_has_the_bytes_of_the_printed_module(tmp_path):
    report, fused = tmp_path / "report.json", tmp_path / "fused.mlir"
    assert main(["--fuse-ops", f"--fusion-report={report}", SOFTMAX, "-o", str(fused)]) == 0
    (block,) = json.loads(report.read_text())["blocks"]
    module = fd.read(fused)
    sizes: dict[str, int] = {}
    for function in module.ops:
        if "primitive" in function.attributes:
            types = [*function.function_type.inputs.data, *function.function_type.outputs.data]
            counts = [4 * (shape[0] * shape[1]) for shape in (type.get_shape() for type in types)]
            sizes[function.sym_name.data] = sum(counts)
    assert {kernel["kernel"]: kernel["bytes-after"] for kernel in block["kernels"]} == sizes
    assert block["total"]["bytes-after"] == sum(sizes.values())
    assert block["total"]["saved"] == block["total"]["bytes-before"] - block["total"]["bytes-after"]


def test_reports_of_all_forms_have_a_row_for_each_kernel(tmp_path):
    for extension in ("md", "json", "html"):
        path = tmp_path / f"report.{extension}"
        assert main(["--simplify-inference", "--fuse-ops", f"--fusion-report={path}", TINY, "-o", "/dev/null"]) == 0
        assert path.read_text().count("fused_") == 7


def test_report_holds_no_markup_of_the_model(tmp_path):
    source = tmp_path / "<b>|x.mlir"
    source.write_text(Path(DIAMOND).read_text().replace("@main", '@"<script>|`"'))
    for extension in ("md", "html"):
        path = tmp_path / f"report.{extension}"
        assert main([f"--fusion-report={path}", str(source), "-o", "/dev/null"]) == 0
        assert "<script>" not in path.read_text().replace("\\<script\\>", "")
        assert "<b>" not in path.read_text().replace("\\<b\\>", "")


def test_pipelines_are_compared(capsys):
    assert main(["--compare-pipelines", "fuse-ops", "simplify-inference,fuse-ops", TINY]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:4]] == [
        ["ops", "15", "18"],
        ["groups", "10", "7"],
        ["primitives", "8", "7"],
    ]
    assert "  @main: conv2d -> %stem" in lines
    assert "  @main: conv2d + multiply + add + relu -> %stem_relu" in lines


def test_equal_pipelines_have_no_kernels_alone(capsys):
    assert main(["--compare-pipelines", "fuse-ops", "cse,fuse-ops{max-depth=300}", TINY]) == 0
    assert "alone" not in capsys.readouterr().out
