"""Run a notebook with plain Python, and compare its outputs.

    python tools/run_notebook.py docs/notebooks/watch_it_fuse.ipynb
    python tools/run_notebook.py docs/notebooks/watch_it_fuse.ipynb --write     put its outputs into the file

Cells run one after the other in one namespace, as Jupyter runs them; what they print, and the value of their last line,
are their outputs. Numbers in them do not count when they are compared, because times differ, nor what is in pictures.
"""

import argparse
import ast
import contextlib
import io
import json
import re
import sys
from pathlib import Path
from typing import Any, cast

_NUMBER = re.compile(r"\d+(\.\d+)?")
_PICTURE = "image/svg+xml"
_FORMS = ((_PICTURE, "_repr_svg_"), ("text/plain", "__repr__"))
"""What is kept of a value: a picture where it has one, else its text."""

Cell = dict[str, Any]


def run_cell(source: str, namespace: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The outputs of a cell of code.

    Args:
        source: Its text.
        namespace: Of the notebook; it changes.
        name: For tracebacks.
    """
    body = ast.parse(source, name)
    last = body.body.pop() if body.body and isinstance(body.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value: object = None
    with contextlib.redirect_stdout(printed):
        exec(compile(body, name, "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None:
        form, method = next(each for each in _FORMS if hasattr(value, each[1]))
        data = {form: _lines(getattr(value, method)())}
        outputs.append({"output_type": "execute_result", "data": data, "execution_count": None, "metadata": {}})
    return outputs


def run_notebook(path: Path) -> tuple[dict[str, Any], list[list[dict[str, Any]]]]:
    """A notebook, and the outputs that its cells of code have now."""
    notebook = cast("dict[str, Any]", json.loads(path.read_text("utf-8")))
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells: list[Cell] = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    sources = ["".join(cell["source"]) for cell in cells]
    found = [run_cell(source, namespace, f"{path.name}, cell {n}") for n, source in enumerate(sources, 1)]
    return notebook, found


def differences(notebook: dict[str, Any], found: list[list[dict[str, Any]]]) -> list[str]:
    """How the outputs of a file differ from those that its cells have, a line for each cell."""
    cells: list[Cell] = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [
        f"cell {number} has other outputs: {''.join(cell['source']).splitlines()[0]}"
        for number, (cell, outputs) in enumerate(zip(cells, found, strict=True), 1)
        if _essence(cell["outputs"]) != _essence(outputs)
    ]


def _essence(outputs: list[dict[str, Any]]) -> str:
    """Outputs as text, without numbers, and without what is in pictures."""
    plain = [
        {**each, "data": dict.fromkeys(each["data"])} if _PICTURE in each.get("data", ()) else each for each in outputs
    ]
    return _NUMBER.sub("0", json.dumps(plain, sort_keys=True))


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> int:
    """Run what the command line names; returns the exit code."""
    parser = argparse.ArgumentParser(description="Run a notebook, and compare its outputs.")
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--write", action="store_true", help="put the outputs into the file")
    options = parser.parse_args()
    notebook, found = run_notebook(options.notebook)
    if not options.write:
        wrong = differences(notebook, found)
        print("\n".join(f"error: {line}" for line in wrong) or "all outputs are as in the file", file=sys.stderr)
        return int(bool(wrong))
    cells: list[Cell] = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell, outputs in zip(cells, found, strict=True):
        cell["outputs"], cell["execution_count"] = outputs, None
    options.notebook.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
