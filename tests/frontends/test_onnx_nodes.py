"""onnx's own node test cases: what is imported computes what onnx says, and what is not is refused with a reason."""

import importlib.util
import sys
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).parents[2] / "tools" / "onnx_coverage.py"
_FLOOR = {"1.23": 1784}
"""Cases that pass, by version of onnx; its releases add and drop cases."""
_GOAL = 400


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def coverage():
    spec = importlib.util.spec_from_file_location("onnx_coverage", _SCRIPT)
    script = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = script
    spec.loader.exec_module(script)
    return script.run_cases()


def test_node_cases_that_pass_are_not_fewer_than_before(coverage, record_property):
    import onnx

    passed = sum(result.outcome == "passed" for result in coverage.results)
    record_property("figure", coverage.summary())
    assert passed >= _FLOOR.get(".".join(onnx.__version__.split(".")[:2]), _GOAL)


def test_node_cases_never_give_a_wrong_answer_or_a_crash(coverage):
    assert [(result.name, result.detail) for result in coverage.failures()] == []


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
