"""Make the models that `bench_models.py` measures: public architectures with random weights, as ONNX files.

    python tools/make_bench_models.py FOLDER [NAME ...] [--form FORM ...] [--list]

writes FOLDER/<name>.onnx and FOLDER/<name>.<form>.onnx, each with the inputs that it is measured with beside it, as
`.0.npz`. Nothing is downloaded: timm, torchvision, transformers and JAX are used for their classes alone
(`pip install -e ".[bench-models]"`). Every model is made in a process of its own with a limit on its time; what is
there already stays, so that a run that was stopped goes on. FOLDER/refused.txt says what could not be exported.

Forms are `static`, `open` (batch and length), `f16`, `int8-dynamic` and `int8-qdq`, where a member of the population
names them. Networks of text have two layers in the width of the published model; images have the published layers.
"""

# torch is no dependency of the checks: it is not installed there, and says little about its types.
# pyright: basic, reportMissingImports=false

import argparse
import contextlib
import io
import multiprocessing
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from population import images, jax_networks, others, text
from population.member import FORMS, MEMBERS

# Modules that enter their networks among `MEMBERS`.
_ = (images, text, others)
SECONDS = 300
"""Longest time that the making of one model takes."""


def _wanted(names: list[str], forms: list[str]) -> Iterator[tuple[str, str, str]]:
    """Member, form and name of the file, for all that shall be made."""
    everything = [(name, form) for name, member in MEMBERS.items() for form in member.forms]
    everything += [(name, "static") for name in jax_networks.NETWORKS]
    files = {(name, form): name if form == "static" else f"{name}.{form}" for name, form in everything}
    for asked in names or files.values():
        for (name, form), file in files.items():
            if form in forms and asked in (name, file):
                yield name, form, file


def _make(name: str, form: str, path: Path, problem: Path) -> None:
    """In a process of its own: make a model, or write down why it cannot be made."""
    partial = path.with_suffix(".partial")
    silent = io.StringIO()
    try:
        with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
            if name in jax_networks.NETWORKS:
                jax_networks.make(name, partial)
            else:
                from population.exporting import export

                export(name, form, partial)
        partial.with_suffix(".0.npz").rename(path.with_suffix(".0.npz"))
        partial.rename(path)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        while error.__cause__ is not None:
            error = error.__cause__
        lines = str(error).strip().splitlines() or [""]
        problem.write_text(f"{type(error).__name__}: {lines[0][:200]}")


def _made(name: str, form: str, path: Path, seconds: float) -> str:
    """What keeps a model from being made, nothing if it is there now."""
    problem = path.with_suffix(".problem")
    problem.unlink(missing_ok=True)
    process = multiprocessing.get_context("fork").Process(target=_make, args=(name, form, path, problem))
    process.start()
    process.join(seconds)
    if process.is_alive():
        process.kill()
        process.join()
        path.with_suffix(".partial").unlink(missing_ok=True)
        return f"takes more than {seconds:.0f} s"
    if problem.exists():
        said = problem.read_text()
        problem.unlink()
        return said
    return "" if path.exists() else f"ends with exit code {process.exitcode}"


def main() -> int:
    """Command line; exit code 1 if something cannot be made."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="members or files (default: all)")
    parser.add_argument("--form", choices=FORMS, action="append", help="only this form")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"for each model (default: {SECONDS})")
    parser.add_argument("--list", action="store_true", help="say what would be made")
    options = parser.parse_intermixed_args()
    wanted = list(_wanted(options.names, options.form or list(FORMS)))
    if options.list:
        print("\n".join(file for _, _, file in wanted))
        return 0
    options.folder.mkdir(parents=True, exist_ok=True)
    # torch is read once; each model is made in a copy of this process.
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch

    torch.set_num_threads(1)
    refused: list[str] = []
    for name, form, file in wanted:
        path = options.folder / f"{file}.onnx"
        if path.exists():
            continue
        start = perf_counter()
        problem = _made(name, form, path, options.seconds)
        if problem:
            refused.append(f"{file}: {problem}")
        print(f"{perf_counter() - start:6.1f} s  {file}  {problem}", flush=True)
    if refused:
        (options.folder / "refused.txt").write_text("\n".join([*refused, ""]))
    return int(bool(refused))


if __name__ == "__main__":
    sys.exit(main())
