"""Several engines and a host: the search chooses, a placement fixes, and constants may come as arguments."""

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from trip_networks import NETWORKS
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

import fuse_dialect as fd
from fuse_dialect.frontends.mlir.reader import context
from fuse_dialect.hardware.placement import PlacementTarget
from fuse_dialect.templates.engines import engine_of, engines, joined, unit_of
from fuse_dialect.templates.shipped.shipped import SHIPPED_TEMPLATES

EXAMPLES = Path(__file__).parents[2] / "docs/examples"


def block() -> ModuleOp:
    return fd.read(EXAMPLES / "residual_block.mlir")


def image() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((1, 4, 8, 8)).astype(np.float32)


def placement_of(module: ModuleOp) -> dict[str, str]:
    output = StringIO()
    PlacementTarget().emit(context(), module, output)
    found = json.loads(output.getvalue())
    assert found["format"] == "fuse-placement/1"
    return found["nodes"]


def written(path: Path, nodes: object) -> str:
    path.write_text(json.dumps({"format": "fuse-placement/1", "nodes": nodes}))
    return str(path)


@pytest.mark.parametrize("names", [("ethos-u", "systolic"), ("gemmini", "opu"), ("opu", "nvdla", "ethos-u")])
def test_joined_templates_are_valid_and_units_know_their_engine(names: tuple[str, ...]) -> None:
    template = joined([SHIPPED_TEMPLATES[name] for name in names])
    template.validate()
    assert engines(template) == list(names)
    for unit in template.units[1:]:
        engine = engine_of(unit.name, template)
        assert unit_of(unit.name, template) in {each.name for each in SHIPPED_TEMPLATES[engine].units}


@pytest.mark.parametrize("name", ["resnet18", "efficientnet", "encoder"])
def test_two_engines_take_no_more_trips_than_one_and_mean_the_same(name: str) -> None:
    counts = {}
    for template in ("gemmini", "systolic", "gemmini,systolic"):
        module = NETWORKS[name]()
        fd.fuse_ops_hw(module, template=template)
        module.verify()
        main = module.body.block.first_op
        calls = [op for op in main.body.block.ops if isinstance(op, func.CallOp)]
        counts[template] = len([op for op in main.body.block.ops if op.name.startswith("fuse.")]), len(calls)
        for trip in fd.trips_of(module):
            units = {unit.name for unit in SHIPPED_TEMPLATES[trip.template].units}
            assert {step.unit for step in trip.steps if step.unit} <= units
    assert counts["gemmini,systolic"][0] <= min(counts["gemmini"][0], counts["systolic"][0])


def test_a_placement_is_written_and_loaded(tmp_path: Path) -> None:
    free = fd.fuse_ops_hw(block(), template="gemmini,opu", dedup=False)
    nodes = placement_of(free)
    assert nodes["prob"] == "host"
    assert set(nodes.values()) == {"gemmini", "opu", "host"}
    assert {"conv1", "conv2", "sum", "pool"} <= nodes.keys()
    path = written(tmp_path / "p.json", nodes)
    again = fd.fuse_ops_hw(block(), template="gemmini,opu", placement=path, dedup=False)
    assert placement_of(again) == nodes
    assert [trip.name for trip in fd.trips_of(again)] == [trip.name for trip in fd.trips_of(free)]


def test_a_person_pins_operators(tmp_path: Path) -> None:
    path = written(tmp_path / "p.json", {"relu1": "host", "conv2": "gemmini"})
    module = fd.fuse_ops_hw(block(), template="gemmini,opu", placement=path, dedup=False)
    nodes = placement_of(module)
    assert (nodes["relu1"], nodes["conv2"]) == ("host", "gemmini")
    assert 'fuse.hardware_reason = "hardware-constraint: the placement keeps it on the host"' in str(module)
    np.testing.assert_array_equal(fd.run(module, image())[0], fd.run(block(), image())[0])


@pytest.mark.parametrize(
    ("nodes", "message", "hint"),
    [
        ({"conv3": "opu"}, "the placement names 'conv3', which no operator gives", "did you mean 'conv"),
        ({"conv1": "npu"}, "the placement puts 'conv1' on 'npu'; there are gemmini, opu, host", None),
        ({"prob": "opu"}, "'fuse.softmax' op is placed on 'opu', which cannot run it", "leave it out"),
        ([], "expects {", None),
    ],
)
def test_a_wrong_placement_is_an_error(tmp_path: Path, nodes: object, message: str, hint: str | None) -> None:
    path = written(tmp_path / "p.json", nodes)
    with pytest.raises(fd.FuseError) as caught:
        fd.fuse_ops_hw(block(), template="gemmini,opu", placement=path)
    assert message in caught.value.message
    assert hint is None or hint in (caught.value.hint or "")


def test_a_placement_that_is_no_json_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text("{")
    for path in ("p.json", "missing.json"):
        with pytest.raises(fd.FuseError, match="cannot read the placement"):
            fd.fuse_ops_hw(block(), placement=str(tmp_path / path))


def test_constants_are_arguments_on_request() -> None:
    module = fd.fuse_ops_hw(block(), template="opu", constants_inside=False)
    trips = fd.trips_of(module)
    assert all(not trip.constants for trip in trips)
    assert [value.name for value in trips[0].inputs] == ["x", "w", "b"]
    np.testing.assert_array_equal(fd.run(module, image())[0], fd.run(block(), image())[0])
