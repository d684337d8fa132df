"""The pages of `docs/reference/` say what the code says."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from fuse_dialect.dialect.ops.reduction import VarianceOp
from fuse_dialect.loading.pipeline import option_fields
from fuse_dialect.tools.field_docs import field_docs
from fuse_dialect.tools.pass_help import pass_help
from fuse_dialect.universe import OWN_NAMES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = spec_from_file_location("generate_reference", ROOT / "tools" / "generate_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(generator: ModuleType) -> dict[str, str]:
    return generator.pages()


@pytest.mark.parametrize(
    "name", ["ops.md", "foreign-ops.md", "passes.md", "remarks.md", "cli.md", "onnx.md", "linalg.md"]
)
def test_page_is_up_to_date(name: str, pages: dict[str, str]):
    if name == "cli.md" and sys.version_info >= (3, 13):
        pytest.skip("argparse wraps and abbreviates help texts in another way from Python 3.13 on")
    written = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert written == pages[name], "run: python tools/generate_reference.py"


def test_every_generated_page_is_tested_and_no_other_page_exists(pages: dict[str, str]):
    # The glossary is written by hand, and so are machines, whose keys `tests/machines` looks for, and the parts of a
    # saved file; what Python offers is asked of docstrings by Sphinx.
    others = {"glossary.md", "machines.md", "saved-file.md", "api.rst"}
    assert {path.name for path in (ROOT / "docs" / "reference").iterdir()} == {*pages, *others}


def test_docstring_without_a_facet_is_refused(generator: ModuleType):
    with pytest.raises(ValueError, match="docstring without Types:, Kind:, Cost:, Source:"):
        generator._split_docstring("An op.\n\nShapes: any.")


def test_facets_may_run_over_several_lines(generator: ModuleType):
    text = "An op.\n\nShapes: any,\n    unchanged.\nTypes: any.\nKind: opaque.\nCost: none.\nSource: nobody."
    prose, facets = generator._split_docstring(text)
    assert prose == ["An op."]
    assert facets[0] == "Shapes: any, unchanged."


def test_field_docs_include_those_of_base_classes():
    assert {"axes", "keepdims", "unbiased"} <= field_docs(VarianceOp).keys()


def test_help_of_every_pass_explains_every_option():
    for name in OWN_NAMES.all_passes:
        lines = pass_help(name, OWN_NAMES.all_passes).splitlines()
        spelled = [index for index, line in enumerate(lines) if re.match(r"  [\w-]+=\S*  \(", line)]
        assert len(spelled) == len(option_fields(OWN_NAMES.all_passes[name]()))
        assert all(lines[index + 1].startswith("      ") for index in spelled)
