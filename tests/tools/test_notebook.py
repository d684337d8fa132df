"""The notebook of the documentation runs, and its outputs are those in the file."""

from pathlib import Path

import pytest
from run_notebook import differences, run_cell, run_notebook

pytest.importorskip("llvmlite")
NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_those_in_the_file(path: Path):
    notebook, found = run_notebook(path)
    assert differences(notebook, found) == []
    pictures = [output for outputs in found for output in outputs if "image/svg+xml" in output.get("data", ())]
    assert len(pictures) == 3


def test_there_is_a_notebook():
    assert NOTEBOOKS


def test_a_cell_gives_what_it_prints_and_the_value_of_its_last_line():
    namespace = dict[str, object]()
    assert run_cell("x = 3", namespace, "a") == []
    (printed, value) = run_cell("print('hello')\nx + 1", namespace, "b")
    assert printed == {"output_type": "stream", "name": "stdout", "text": ["hello\n"]}
    assert value["data"] == {"text/plain": ["4"]}
    assert run_cell("x + 1\nNone", namespace, "c") == []


def test_other_text_is_a_difference_and_another_time_is_none():
    cell = {"cell_type": "code", "source": ["print(1)"], "outputs": run_cell("print('2.5 ms')", {}, "a")}
    notebook = {"cells": [cell]}
    assert differences(notebook, [run_cell("print('31 ms')", {}, "b")]) == []
    assert differences(notebook, [run_cell("print('3 s')", {}, "c")]) == ["cell 1 has other outputs: print(1)"]
