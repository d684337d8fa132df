"""onnx's own node test cases: what is imported computes what onnx says, and what is not is refused with a reason."""

import importlib.util
import sys
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).parents[2] / "tools" / "onnx_coverage.py"
_FLOOR = {"1.23": 1787}
"""Cases that pass, by version of onnx; its releases add and drop cases."""
_GOAL = 400


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("onnx_coverage", _SCRIPT)
    script = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = script
    spec.loader.exec_module(script)
    return script


@pytest.fixture(scope="module")
def coverage(script):
    return script.run_cases()


def test_node_cases_that_pass_are_not_fewer_than_before(coverage, record_property):
    import onnx

    passed = sum(result.outcome == "passed" for result in coverage.results)
    record_property("figure", coverage.summary())
    assert passed >= _FLOOR.get(".".join(onnx.__version__.split(".")[:2]), _GOAL)


def test_node_cases_never_give_a_wrong_answer_or_a_crash(coverage):
    assert [(result.name, result.detail) for result in coverage.failures()] == []


def test_node_cases_are_written_as_onnx_accepts_it_and_read_back_as_they_were(script, coverage, record_property):
    written = script.run_cases(reads_back=True)
    record_property("figure", f"written and read back: {written.summary().splitlines()[0]}")
    assert [(result.name, result.detail) for result in written.failures()] == []
    refused = {result.name for result in coverage.results if result.outcome == "unsupported"}
    more = [r for r in written.results if r.outcome == "unsupported" and r.name not in refused]
    assert {r.name for r in more if "cannot be written as ONNX" not in r.detail} == set()
    # Operators of opset 26, products of integers, and a scale that is not the quotient of its sizes.
    assert {r.operator for r in more} <= {"BitCast", "CumProd", "ConvInteger", "QLinearConv", "Resize"}


def test_refused_node_cases_say_why(coverage):
    reasons = (
        "not supported",
        "opset",
        "as a constant",
        "static shape",
        "dense tensor",
        "has no shape",
        "expands axis",
    )
    vague = [
        (result.name, result.detail)
        for result in coverage.results
        if result.outcome == "unsupported" and not any(reason in result.detail for reason in reasons)
    ]
    assert vague == []


def test_every_operator_is_read_or_refused_for_a_reason():
    import onnx

    from fuse_dialect.frontends.onnx.expansion import has_definition
    from fuse_dialect.frontends.onnx.refusals import EXPANDED_INTO_REFUSED, REFUSED_OPERATORS
    from fuse_dialect.frontends.onnx.support import is_known_operator

    if ".".join(onnx.__version__.split(".")[:2]) not in _FLOOR:
        pytest.skip("another version of onnx has other operators")
    names = {(schema.domain, schema.name) for schema in onnx.defs.get_all_schemas()}
    known = {name for name in names if is_known_operator(*name)}
    defined = {name for name in names - known if has_definition(*name, onnx.defs.onnx_opset_version())}
    assert names - known - defined == set(REFUSED_OPERATORS)
    assert {("", name) for name in EXPANDED_INTO_REFUSED} <= defined
