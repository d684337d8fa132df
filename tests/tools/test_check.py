"""`tools/check.py`: what it chooses, and that a silent step is heard of."""

import os
import platform
import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from checking import kept_objects, machine, rounding, sums
from checking.kept_objects import kept_in

from fuse_dialect.backends.assembler.host import Host

ROOT = Path(__file__).resolve().parents[2]
OLDER = ["haswell"] if platform.machine() in ("x86_64", "AMD64") else []
OTHERS = [f"sums-{other.name}" for other in machine.other_processors()] if OLDER else []
SITE = ["docs"] if find_spec("sphinx") is not None else []
EVERYTHING = ["lint", "format", "imports", "types", "pytest", "checked", *OLDER, *OTHERS, *SITE, "filecheck"]


@pytest.fixture(scope="module")
def check() -> ModuleType:
    spec = spec_from_file_location("check", ROOT / "tools" / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["check"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("files", "names", "last"),
    [
        (["docs/index.md"], ["lint", "format", "imports"], "lint-imports"),
        (
            ["fuse_dialect/fusion/kinds/foreign.py"],
            ["lint", "format", "imports", "types", "pytest"],
            "tests/fusion",
        ),
        (["tests/fusion/kinds/test_foreign.py"], ["lint", "format", "imports", "pytest"], "tests/fusion"),
        (["tools/check.py"], ["lint", "format", "imports", "types", "pytest", "filecheck"], "tests/filecheck/tools"),
        (
            ["tests/filecheck/dialect/matmul.mlir"],
            ["lint", "format", "imports", "pytest", "filecheck"],
            "tests/filecheck/dialect",
        ),
        (["pyproject.toml"], EVERYTHING, "tests/filecheck"),
        (["tests/conftest.py"], EVERYTHING, "tests/filecheck"),
    ],
)
def test_changed_files_choose_their_checks(files: list[str], names: list[str], last: str, check: ModuleType):
    chosen = check.changed_steps(2, files)
    assert [step.name for step in chosen] == names
    assert chosen[-1].command[-1] == last


def test_quick_leaves_out_what_is_slow(check: ModuleType):
    chosen = check.quick_steps(2)
    assert "types" not in [step.name for step in chosen]
    assert all("not slow" in step.command for step in chosen if step.name == "pytest")


@pytest.mark.skipif(not OLDER, reason="the older processor is of x86")
def test_backends_are_tested_with_the_code_of_an_older_processor(check: ModuleType, capsys: pytest.CaptureFixture[str]):
    (step,) = [step for step in check.steps(1) if step.name == "haswell"]
    assert (step.environment, step.command[-1]) == ({"FUSE_TARGET_CPU": "haswell"}, "tests/backends")
    code = "import os; print(os.environ['FUSE_TARGET_CPU'])"
    check.run_aloud([sys.executable, "-c", code], "echo", environment=step.environment)
    assert capsys.readouterr().out == "haswell\n"


@pytest.mark.skipif(not OTHERS, reason="NumPy computes as on x86 without vectors, or this is no x86")
@pytest.mark.parametrize("name", OTHERS)
def test_sums_are_tested_with_numpy_as_on_other_processors(name: str, check: ModuleType) -> None:
    (step,) = [step for step in check.steps(1) if step.name == name]
    code = "from checking import machine; print(machine.blas_kernels(), *machine.vector_features())"
    said = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, **step.environment, "PYTHONPATH": "tools"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    kernels, *features = said.stdout.split()
    # OpenBLAS has the same kernels for its oldest processors, and calls them by the first of these.
    assert kernels in (machine.UNKNOWN, step.environment["OPENBLAS_CORETYPE"], "Katmai")
    assert set(features).isdisjoint(step.environment["NPY_DISABLE_CPU_FEATURES"].split())


def test_tests_that_compare_sums_are_found() -> None:
    assert set(sums.ASSERTIONS) - {"assert_agrees"} == {name for name in vars(rounding) if name.startswith("assert_")}
    source = "def test_a():\n    helper()\ndef test_b():\n    other()\ndef helper():\n    [assert_near() for _ in ()]\n"
    module = ModuleType("own")
    exec(source + "def other(): pass\n", module.__dict__ | {"__name__": "own"}, module.__dict__)
    for value in vars(module).values():
        if callable(value):
            value.__module__ = "own"
    assert sums.compares_sums(module.test_a, module)
    assert not sums.compares_sums(module.test_b, module)
    assert ROOT / "tests" / "transforms" / "test_expand_depthwise.py" in sums.files_with_sums(ROOT / "tests")


def test_a_run_of_tests_says_where_it_runs(check: ModuleType) -> None:
    processor, numpy, *_ = check.machine_lines()
    assert processor.startswith("processor: ")
    assert "BLAS kernels of" in numpy
    assert "vectors of" in numpy


def test_silent_step_is_heard_of(check: ModuleType, capsys: pytest.CaptureFixture[str]):
    code = "import time; print('start', flush=True); time.sleep(1.0); print('end'); raise SystemExit(3)"
    assert check.run_aloud([sys.executable, "-c", code], "nap", silence=0.2) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "start"
    assert lines[1].startswith("[nap is running, ")
    assert lines[-1] == "end"


def test_steps_find_the_folder_of_objects() -> None:
    assert kept_objects.VARIABLE in (ROOT / "tools" / "check.py").read_text()


def test_every_quick_filecheck_file_exists(check: ModuleType):
    command = check.quick_steps(1)[-1].command
    assert all((ROOT / name).exists() for name in (*command, *check.QUICK_TESTS) if name.startswith("tests/"))


def test_steps_of_pytest_and_others_run_side_by_side(
    tmp_path: Path, check: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each waits for the file of the other: one after the other, both would give up.
    script = """import sys, pathlib, time
mine, other = map(pathlib.Path, sys.argv[1:])
mine.touch()
for _ in range(3000):
    if other.exists():
        print("met")
        print("the other")
        raise SystemExit(0)
    time.sleep(0.01)
raise SystemExit(1)
"""
    for name in ("pytest", "lint"):
        (tmp_path / name).write_text(f"#!{sys.executable}\n{script}")
        (tmp_path / name).chmod(0o700)
    monkeypatch.setattr(check, "SCRIPTS", tmp_path)
    one, other = (str(tmp_path / name) for name in ("one", "other"))
    chosen = (check.Step("lint", ("lint", one, other)), check.Step("pytest", ("pytest", other, one)))
    results = check.run_side_by_side(chosen)
    assert [(step.name, code) for step, code, _ in results] == [("lint", 0), ("pytest", 0)]
    assert capsys.readouterr().out.count("met\nthe other\n") == 2


def test_objects_are_made_once_for_each_text_and_processor(tmp_path: Path) -> None:
    asked: list[object] = []

    def object_for(text: str, target: Host, triple: str = "") -> bytes:
        asked.append((text, target, triple))
        return repr(asked[-1]).encode()

    host = Host("haswell", "+avx2")
    for find in (kept_in(tmp_path, object_for), kept_in(tmp_path, object_for)):
        for request in (("a", host), ("b", host), ("a", Host("haswell", "")), ("a", host, "x86_64")):
            assert find(*request) == object_for(*request)
            asked.pop()
    assert len(asked) == len({repr(each) for each in asked}) == 4
    assert len(list(tmp_path.iterdir())) == 4
