"""Plans are brief: what repeats is said once, and groups are found by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuse_dialect as fd
from fuse_dialect.remarks.folding import folded

LAYER = ["a", "b", "c"]


def layers(count: int) -> str:
    """A network of equal layers; an exponential, and a softmax."""
    lines = ["func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {"]
    last = "%x"
    for number in range(count):
        lines += [f"  %e{number} = fuse.exp {last} : tensor<4x4xf32>"]
        lines += [f"  %s{number} = fuse.softmax %e{number} : tensor<4x4xf32>"]
        last = f"%s{number}"
    return "\n".join([*lines, f"  return {last} : tensor<4x4xf32>", "}"])


def test_a_run_is_said_once() -> None:
    lines = ["head", *LAYER * 4, "tail", "tail"]
    assert list(folded(lines, lines)) == ["head", "4x [ a", "     b", "     c ]", "tail", "tail"]
    assert list(folded(["a"] * 5, ["a"] * 5)) == ["5x a"]


def test_twice_is_not_often() -> None:
    assert list(folded(LAYER * 2, LAYER * 2)) == LAYER * 2


@given(st.lists(st.sampled_from(LAYER), max_size=60))
def test_what_is_folded_says_all_lines(lines: list[str]) -> None:
    said: list[str] = []
    run: list[str] = []
    times, is_open = 1, False
    for line in folded(lines, lines):
        number, _, rest = line.partition("x ")
        if rest:
            times, is_open = int(number), rest.startswith("[")
        run.append((rest or line).strip("[] "))
        if not is_open or line.endswith("]"):
            said += run * times
            run, times, is_open = [], 1, False
    assert said == lines


def test_layers_of_a_plan_are_folded() -> None:
    lines = str(fd.plan_fusion(fd.parse(layers(12)))).splitlines()
    assert lines[:4] == ["@main: 13 groups", "  exp -> %e0", "  11x softmax + exp -> %e1", "  softmax -> %s11"]
    assert len(lines) < 10


def test_groups_are_found_by_name_and_number() -> None:
    text = """
        func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
          %linear = fuse.exp %x : tensor<4x4xf32>
          %linear_1 = fuse.relu %linear : tensor<4x4xf32>
          %last = fuse.softmax %linear_1 : tensor<4x4xf32>
          return %last : tensor<4x4xf32>
        }"""
    plan = fd.plan_fusion(fd.parse(text))
    assert str(plan).splitlines()[1] == "  exp + relu -> %linear_1"
    assert len(plan) == 2
    assert list(plan) == list(plan.groups)
    assert plan["%linear"] is plan["linear_1"] is plan[0]
    assert plan["%last"] is plan[-1]
    assert "relu" in plan[0]
    assert "fuse.exp" in plan[0]
    assert plan[0].root in plan[0]
    assert "softmax" not in plan[0]
    with pytest.raises(KeyError, match="no group gives '%linear_2'"):
        plan["%linear_2"]


def test_a_printed_name_is_of_one_value() -> None:
    text = layers(1).replace("%e0", "%linear").replace("%s0", "%linear_1")
    plan = fd.plan_fusion(fd.parse(text))
    assert plan.explain("%linear").count("\nkind:") == 1
    assert plan.explain("%linear").startswith("%linear = 'fuse.exp'")
    assert plan.explain("%linear_1").startswith("%linear_1 = 'fuse.softmax'")
