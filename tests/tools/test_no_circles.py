"""No file of the package imports itself by way of others, not for types and not inside a function either."""

from graphlib import TopologicalSorter

import pytest

grimp = pytest.importorskip("grimp")


def test_files_can_be_read_in_an_order() -> None:
    graph = grimp.build_graph("fuse_dialect", cache_dir=None)
    read_before = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(read_before) > 400
    order = list(TopologicalSorter(read_before).static_order())  # raises `CycleError` with the circle
    assert set(order) == set(read_before)
