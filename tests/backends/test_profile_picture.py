"""Profiles in notebooks: a table, and bars whose shares are all of the time."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuse_dialect as fd
from fuse_dialect.backends.runtime.kernel_timing import KernelReport, KernelTiming
from fuse_dialect.backends.runtime.profile_picture import MOST_ROWS, profile_html, tenths
from fuse_dialect.backends.runtime.report import Profile


def timing(name: str, seconds: float, family: str = "rows", calls: int = 1) -> KernelTiming:
    return KernelTiming(KernelReport(name, ("exp",), family, "", calls, 64, 16), (seconds,), None)


def shares(html: str) -> list[float]:
    return [float(share) for share in re.findall(r"<td>([0-9.]+) %</td>", html)]


@given(st.lists(st.floats(0, 1e6, allow_subnormal=False), max_size=60))
def test_shares_add_up_and_are_near(amounts: list[float]) -> None:
    found = tenths(amounts)
    total = sum(amounts)
    assert sum(found) == (1000 if total else 0)
    assert all(abs(share - 1000 * amount / total) <= 1 for share, amount in zip(found, amounts, strict=True) if total)


def test_bars_of_each_row_are_all_of_the_time() -> None:
    rows = [timing("a", 3.0), timing("b", 1.0, "map"), timing("c", 2.0), timing("d", 2.0, "contraction")]
    html = profile_html(rows, "head")
    svg = ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
    widths: dict[str, float] = {}
    for rect in svg.iter("{http://www.w3.org/2000/svg}rect"):
        widths[rect.attrib["y"]] = widths.get(rect.attrib["y"], 0.0) + float(rect.attrib["width"])
    assert list(widths.values()) == pytest.approx([1000.0] * 3, abs=0.1)
    assert re.findall("<tr><td>(.)</td>", html) == ["a", "c", "d", "b"]
    assert sum(shares(html)) == pytest.approx(100)


def test_many_kernels_are_a_short_table() -> None:
    html = profile_html([timing(f"k{number}", 1.0 + number) for number in range(MOST_ROWS + 20)], "")
    assert html.count("<tr>") == MOST_ROWS + 2
    assert "20 more" in html
    assert sum(shares(html)) == pytest.approx(100)


def test_names_are_text_and_no_time_is_no_picture() -> None:
    html = profile_html([timing("</td><script>x</script>", 0.0)], "<b>")
    assert "<script" not in html
    assert "<b>" not in html
    assert "<svg" not in html


def test_a_program_tells_where_its_time_goes() -> None:
    text = """
        func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
          %a = fuse.softmax %x : tensor<64x64xf32>
          %b = fuse.softmax %a : tensor<64x64xf32>
          return %b : tensor<64x64xf32>
        }"""
    profile = fd.compile(fd.parse(text), "numpy", strategy="tvm").profile(np.ones((64, 64), np.float32), repeat=2)
    assert isinstance(profile, Profile)
    html = profile._repr_html_()
    # Both are calls of one primitive: one row.
    assert "<tr><td>fused_softmax</td><td>2</td>" in html
    assert shares(html) == [100.0]
