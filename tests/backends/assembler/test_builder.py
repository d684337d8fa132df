"""Texts of LLVM IR: what is written once, and what is shared."""

from fuse_dialect.backends.assembler.builder import Function, Module, Parameter
from fuse_dialect.backends.assembler.values import F32, I64, PTR


def _function() -> Function:
    return Module().function("f", [Parameter("a", PTR), Parameter("i", I64), Parameter("j", I64)])


def test_parts_of_a_sum_are_its_value_and_all_numbers() -> None:
    f = _function()
    _, i, _ = f.parameters
    assert f.parts(f.add(f.i64(2), f.add(i, f.i64(3)))) == (i, 5)
    assert f.parts(f.i64(7)) == (f.i64(0), 7)
    assert f.parts(i) == (i, 0)


def test_parts_of_a_sum_of_values_are_not_known() -> None:
    f = _function()
    _, i, j = f.parameters
    both = f.add(f.add(i, f.i64(1)), j)
    assert f.parts(both) == (both, 0)


def test_neighbours_share_an_address_and_differ_in_a_number() -> None:
    f = _function()
    a, i, _ = f.parameters
    near = [f.stepped(a, f.add(i, f.i64(step)), 10, F32) for step in range(3)]
    steps = [line for line in f.text().splitlines() if "getelementptr" in line]
    start = near[0].text
    assert steps[0].split(" = ")[0].strip() == start
    assert [line.split("= ")[1] for line in steps[1:]] == [
        f"getelementptr float, ptr {start}, i64 10",
        f"getelementptr float, ptr {start}, i64 20",
    ]
    assert f.text().count("mul nsw") == 1


def test_an_address_at_a_known_place_is_in_its_array() -> None:
    f = _function()
    a, _, _ = f.parameters
    f.moved(a, f.i64(4), 3, F32)
    assert "getelementptr inbounds float, ptr %a, i64 7" in f.text()
