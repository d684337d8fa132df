"""Templates as data: what is wrong with them, and which ones the package ships."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fuse_dialect.templates.shipped
from fuse_dialect.dialect.hardware_templates import hardware_op, read_template
from fuse_dialect.templates.shipped.shipped import SHIPPED_TEMPLATES
from fuse_dialect.templates.support_table import support_table
from fuse_dialect.templates.template import (
    HardwareLimits,
    HardwareLink,
    HardwareTemplate,
    HardwareUnit,
    OperatorMapping,
    TemplateError,
    VirtualOperator,
)

MAC, ACT, LOST = HardwareUnit("mac", "mac"), HardwareUnit("act", "activation"), HardwareUnit("lost", "mac")
GOOD = HardwareTemplate(
    "good",
    "mac",
    (MAC, ACT),
    (HardwareLink("mac", "act"),),
    (OperatorMapping("fuse.conv2d", ("mac",)), OperatorMapping("fuse.relu", ("activation",))),
    (VirtualOperator("fuse.reshape"),),
)
WAYS = replace(GOOD, units=(replace(MAC, required=True), replace(ACT, stores=True)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"units": ()}, "expects at least one unit, got none"),
        ({"source": "load"}, "expects the source to be one of its units, got 'load'"),
        ({"units": (MAC, ACT, LOST)}, "expects a way from source 'mac' to unit 'lost'"),
        ({"units": (MAC, ACT, replace(MAC, kind="x"))}, "expects unit names to differ, got 'mac' twice"),
        ({"units": (MAC, replace(ACT, capacity=0))}, "expects unit 'act' of capacity 1 or more, got 0"),
        ({"units": (MAC, replace(ACT, kind=""))}, "expects a kind of unit 'act', got ''"),
        ({"links": ()}, "expects a way from source 'mac' to unit 'act'"),
        ({"links": (HardwareLink("mac", "ax"),)}, "expects a link between units, got 'ax', which is none"),
        ({"links": (*GOOD.links, HardwareLink("ax", "mac"))}, "expects a link between units, got 'ax', which is none"),
        ({"links": GOOD.links * 2}, "expects links to differ, got 'mac' to 'act' twice"),
        ({"mappings": (OperatorMapping("fuse.relu", ()),)}, "expects 'fuse.relu' to be mapped to a kind of unit"),
        (
            {"mappings": (OperatorMapping("fuse.relu", ("se",)),)},
            "expects the kind of a unit for 'fuse.relu', got 'se'",
        ),
        ({"mappings": (OperatorMapping("fuse.relu", ("mac",), "ever"),)}, "expects a predicate among always, bias,"),
        ({"mappings": ()}, "expects at least one operator that is mapped to a unit, got none"),
        ({"mappings": GOOD.mappings * 2}, "expects one row for 'fuse.conv2d' if 'always', got two"),
        ({"virtual": (VirtualOperator("fuse.relu"),)}, "expects 'fuse.relu' to be virtual or mapped, got both"),
        ({"virtual": GOOD.virtual * 2}, "expects virtual operators to differ, got 'fuse.reshape' twice"),
        ({"limits": HardwareLimits(buffer_bytes=-1)}, "expects limit 'buffer_bytes' of 0 or more, got -1"),
        ({"units": (replace(MAC, stores=True), ACT)}, "expects a way from unit 'act' to one that stores"),
        (
            {"units": (MAC, replace(ACT, required=True)), "mappings": GOOD.mappings[:1]},
            "expects an operator for unit 'act', which every trip must use, got none",
        ),
        (
            {
                "units": (MAC, replace(ACT, required=True), replace(LOST, required=True)),
                "links": (*GOOD.links, HardwareLink("mac", "lost")),
            },
            "expects a way between units 'act' and 'lost', which every trip must use",
        ),
    ],
)
def test_mistakes_are_named(change: dict[str, Any], message: str) -> None:
    GOOD.validate()
    with pytest.raises(TemplateError) as error:
        replace(GOOD, **change).validate()
    assert str(error.value).startswith(f"hardware template 'good': {message}")


def test_problem_names_the_very_part() -> None:
    wrong = replace(ACT, capacity=0)
    problems = list(replace(GOOD, units=(MAC, wrong)).problems())
    assert [problem.part for problem in problems] == [wrong]
    assert problems[0].part is wrong


def test_every_file_of_the_folder_is_a_shipped_template() -> None:
    folder = Path(fuse_dialect.templates.shipped.__file__).parent
    files = {path.stem.replace("_", "-") for path in folder.glob("*.py")} - {"--init--", "shipped"}
    assert files == SHIPPED_TEMPLATES.keys()


@pytest.mark.parametrize("template", [*SHIPPED_TEMPLATES.values(), GOOD, WAYS])
def test_template_as_ir_says_the_same(template: HardwareTemplate) -> None:
    op = hardware_op(template)
    op.verify()
    assert read_template(op)[0] == template


def test_the_table_of_a_template_says_its_limits() -> None:
    limits = HardwareLimits(1, 2, 3, 4, 5, 6, 7, 8)
    lines = list(support_table(replace(WAYS, limits=limits)))
    assert lines[3] == (
        "A trip has limits: values that it reads: 1, bytes of a value between units: 2, channels of products in "
        "multiples of: 3, values that it writes: 4, products: 5, bytes of all that it reads, writes and passes on: 6, "
        "bytes of feature maps: 7, bytes of constants: 8."
    )
    assert lines[4:6] == ["Every trip must use: mac.", "Results are written to memory by: act."]
