"""Vendor operators with random attributes, beside onnxruntime: com.microsoft and ai.onnx.ml.

    python tools/compare_vendor_operators.py --count 200
    python tools/compare_vendor_operators.py --only Attention --count 2000 --seed 7
    python tools/compare_vendor_operators.py --record tests/data/vendor --count 3

makes `--count` models of one node for each operator, runs each by onnxruntime and by this project, and says which
results differ: by more than 1e-5 of the largest element, or at all where both compute with integers. What
onnxruntime itself refuses is drawn again. `--record` writes models, inputs and onnxruntime's results to one file for
each operator, which the tests compare with where onnxruntime is not installed. Exits with 1 if a result differs.
"""

import argparse
import functools
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from vendor_cases.answering import answers, refusals
from vendor_cases.case import Array, Case, Maker
from vendor_cases.comparing import as_list, compared
from vendor_cases.table import MAKERS

import fuse_dialect as fd
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.onnx.reader import import_model

_MOST_DRAWS = 20


def drawn(name: str, make: Maker, seed: int, count: int) -> Iterator[tuple[Case, list[Array]]]:
    """Random cases with their answers."""
    for number in range(count):
        for attempt in range(_MOST_DRAWS):
            random = np.random.default_rng([zlib.crc32(name.encode()), seed, number, attempt])
            case = make(random)
            expected = answers(case)
            if expected is not None:
                yield case, expected
                break
        else:
            raise SystemExit(f"onnxruntime refuses all cases of {name}: {refusals[-1]}")


def difference(case: Case, expected: Sequence[Array], backend: Any) -> str | None:
    """What is wrong with our results, if anything."""
    try:
        module = import_model(case.model())
        program = functools.partial(fd.run, module) if backend == "interpreter" else fd.compile(module, backend=backend)
        results = program(*case.feeds().values())
    except FuseError as error:
        return f"refused: {error}"
    return compared(as_list(results), expected, case.tolerance, case.seldom)


def record(folder: Path, name: str, found: Sequence[tuple[Case, list[Array]]]) -> None:
    """Write cases of one operator with their answers."""
    arrays: dict[str, Array] = {}
    for number, (case, expected) in enumerate(found):
        arrays[f"{number}.model"] = np.frombuffer(case.model().SerializeToString(), np.uint8)
        arrays[f"{number}.bounds"] = np.array([case.tolerance, case.seldom])
        for key, value in case.feeds().items():
            arrays[f"{number}.input.{key}"] = value
        for index, value in enumerate(expected):
            arrays[f"{number}.result.{index}"] = value
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / f"{name}.npz", **arrays)  # pyright: ignore[reportArgumentType]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Vendor operators with random attributes, beside onnxruntime.")
    parser.add_argument("--only", action="append", help="these operators alone")
    parser.add_argument("--count", type=int, default=20, help="cases of each operator (default: 20)")
    parser.add_argument("--seed", type=int, default=0, help="what the cases are drawn from (default: 0)")
    parser.add_argument("--backend", default="interpreter", help="interpreter, llvm or numpy (default: interpreter)")
    parser.add_argument("--record", type=Path, help="folder for models, inputs and onnxruntime's results")
    options = parser.parse_args(arguments)
    wrong = 0
    for name, make in MAKERS.items():
        if options.only and name not in options.only:
            continue
        refusals.clear()
        found = list(drawn(name, make, options.seed, options.count))
        differences = [(case, difference(case, expected, options.backend)) for case, expected in found]
        bad = [(case, text) for case, text in differences if text]
        wrong += len(bad)
        print(f"{name}: {len(found) - len(bad)} of {len(found)} agree", flush=True)
        for case, text in bad[:3]:
            shapes = [None if operand is None else operand.shape for operand in case.operands]
            print(f"  {text}\n    {dict(case.attributes)} {shapes} {list(case.outputs)}")
        if options.record is not None:
            record(options.record, name, found)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
