"""One operator of com.microsoft or ai.onnx.ml, with random attributes: beside onnxruntime, then as machine code.

1. The interpreter's results are onnxruntime's, where that takes the case.
2. Half of the models of ai.onnx.ml have any number of rows: one program answers for several, beside onnxruntime.
3. The results of machine code for the others are the interpreter's; some inputs hold nan and infinities, of which
   onnxruntime's kernels make different things, so that (1) is not asked of them.
"""

import zlib
from collections.abc import Sequence
from random import Random

import numpy as np
from vendor_cases import attentions, classic, floats
from vendor_cases.answering import answers, answers_to
from vendor_cases.case import Array, Case
from vendor_cases.comparing import compared
from vendor_cases.table import MAKERS

from fuse_dialect.frontends.onnx.reader import import_model
from fuzzing.compiling import compile_module
from fuzzing.own_programs import compare_natively, interpreted, random_options

NAMES: Sequence[str] = tuple(MAKERS)
"""Seeds go through these in turn."""
_ON_FLOATS = {*floats.CASES, *attentions.CASES, *classic.CASES}
_SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, 3e38)


def operator_of(seed: int) -> str:
    """The operator of a seed."""
    return NAMES[seed % len(NAMES)]


def case_of(seed: int) -> Case:
    """The case of a seed."""
    name = operator_of(seed)
    return MAKERS[name](np.random.default_rng([zlib.crc32(name.encode()), seed]))


def through_vendor(seed: int) -> None:
    """What the way `vendor` does with a seed.

    Raises:
        MismatchError: A result is wrong.
        FuseError: A case is refused that onnxruntime takes.
    """
    from fuzzing.ways import MismatchError

    case = case_of(seed)
    if case.operator in classic.CASES and seed // len(NAMES) % 2:
        _compare_any_rows(case, seed)
        return
    expected = answers(case)
    if expected is None:
        return
    module = import_model(case.model())
    inputs = list(case.feeds().values())
    difference = compared(interpreted(module, inputs), expected, case.tolerance, case.seldom)
    if difference is not None:
        raise MismatchError(f"{case.operator} {dict(case.attributes)!r:.300}: beside onnxruntime {difference}")
    random = np.random.default_rng([seed, 1])
    if case.operator in _ON_FLOATS and random.random() < 0.3:
        inputs = [_with_special_numbers(random, each) for each in inputs]
    try:
        compare_natively(module, inputs, seed)
    except MismatchError as error:
        raise MismatchError(f"{case.operator} {dict(case.attributes)!r:.300}: {error}") from error


def _compare_any_rows(case: Case, seed: int) -> None:
    """Run one program of open rows for several numbers of them (2)."""
    from fuzzing.ways import MismatchError

    feeds = [
        {
            name: np.resize(x, (rows, *x.shape[1:])) if x.size else np.ones((rows, *x.shape[1:]), x.dtype)
            for name, x in case.feeds().items()
        }
        for rows in (3, 1, 17, *([0] if case.operator != "FeatureVectorizer" else []), 3, 100)
    ]
    model = case.model(has_open_rows=True)
    expected = answers_to(model, feeds)
    if not expected:
        return
    program = compile_module(import_model(model), random_options(Random(seed)))
    for each, wanted in zip(feeds, expected, strict=True):
        difference = compared(list(program(*each.values())), wanted, case.tolerance, case.seldom)
        if difference is not None:
            rows = len(next(iter(each.values())))
            raise MismatchError(f"{case.operator} {dict(case.attributes)!r:.300}: {rows} open rows: {difference}")


def _with_special_numbers(random: np.random.Generator, array: Array) -> Array:
    if array.dtype.kind != "f":
        return array
    with np.errstate(all="ignore"):
        special = random.choice(_SPECIAL, array.shape).astype(array.dtype)
    return np.where(random.random(array.shape) < 0.1, special, array)
