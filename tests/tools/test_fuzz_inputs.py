"""A short run of the fuzzer: mutated inputs give a result or a diagnosis."""

import random

import fuzz_inputs
import pytest
from fuzz_inputs import KINDS, fuzz
from fuzzing.mutated_inputs import mutated_model, mutated_text

from fuse_dialect.diagnostics import FuseError


@pytest.mark.parametrize("kind", KINDS)
def test_mutated_inputs_are_processed_or_diagnosed(kind):
    if kind == "weights":
        pytest.importorskip("safetensors")
    assert fuzz(kind, range(60)) == []


def _raise(error):
    def run(data):
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (KeyError("x"), "KeyError"),
        (FuseError("internal error: KeyError"), "internal error"),
        (MemoryError(), "MemoryError"),
    ],
)
def test_what_is_no_diagnosis_is_a_failure(monkeypatch, error, reason):
    corpus, mutations, _ = KINDS["mlir"]
    monkeypatch.setitem(KINDS, "mlir", (corpus, mutations, _raise(error)))
    (failure,) = fuzz("mlir", [7])
    assert failure.seed == 7
    assert reason in failure.reason


def test_what_takes_too_long_is_a_failure(monkeypatch):
    def run(data):
        while True:
            pass

    corpus, mutations, _ = KINDS["mlir"]
    monkeypatch.setitem(KINDS, "mlir", (corpus, mutations, run))
    (failure,) = fuzz("mlir", [0], seconds=1)
    assert failure.reason == "more than 1 s"


def test_a_seed_says_what_the_input_is():
    for corpus, mutate in ((fuzz_inputs.text_corpus(), mutated_text), (fuzz_inputs.model_corpus(), mutated_model)):
        data = corpus[0]
        inputs = [mutate(data, random.Random(seed)) for seed in (1, 1, 2, 3, 4)]
        assert inputs[0] == inputs[1]
        assert len(set(inputs)) > 2
