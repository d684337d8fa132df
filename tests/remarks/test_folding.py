"""Plans are brief: what repeats is said once, and groups are found by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuse_dialect as fd
from fuse_dialect.remarks.folding import folded, runs

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


def _times(keys: str, at: int, length: int) -> int:
    times = 1
    while keys[at + times * length : at + (times + 1) * length] == keys[at : at + length]:
        times += 1
    return times


def tried(keys: str, longest: int) -> list[tuple[int, int, int]]:
    """Runs as `runs` gives them, by trying every length at every place."""
    found: list[tuple[int, int, int]] = []
    at = 0
    while at < len(keys):
        tries = [(length, _times(keys, at, length)) for length in range(1, min(longest, len(keys) - at) + 1)]
        length, times = max(tries, key=lambda run: (run[0] * run[1] if run[1] >= 3 else 1, -run[0]))
        start = at
        if times < 3:
            length = times = 1
        while times > 1 and _times(keys, start + 1, length) == times:
            start += 1
        found += ((place, 1, 1) for place in range(at, start))
        found.append((start, length, times))
        at = start + length * times
    return found


@given(st.text("abc", max_size=50), st.sampled_from([2, 5, 50]))
def test_runs_are_those_of_trying_every_length(keys: str, longest: int) -> None:
    assert [(run.start, run.length, run.times) for run in runs(keys, longest)] == tried(keys, longest)


def test_a_layer_ends_where_its_run_ends() -> None:
    # The head ends with the norm that every layer ends with.
    keys = ["embed", "norm", *["product", "add", "norm"] * 12, "pool"]
    assert [(run.start, run.length, run.times) for run in runs(keys) if run.times > 1] == [(2, 3, 12)]


def test_long_sequences_of_few_keys_are_searched_in_linear_time() -> None:
    seen = 0

    class Key(str):
        def __hash__(self) -> int:
            nonlocal seen
            seen += 1
            return str.__hash__(self)

    assert len(runs([Key("abcdefghij"[place % 10]) for place in range(20_000)])) == 1
    assert seen <= 2 * 20_000


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
