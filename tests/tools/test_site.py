"""The site: every public name is on a page, and links out of the folder lead into the repository."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import fuse_dialect as fd

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def conf() -> ModuleType:
    pytest.importorskip("myst_parser")
    spec = spec_from_file_location("conf", DOCS / "conf.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_of_python_names_everything_that_the_package_offers():
    text = (DOCS / "reference" / "api.rst").read_text()
    documented = set(re.findall(r"^\.\. auto\w+:: (\w+)$", text, re.MULTILINE))
    assert documented == {*fd.__all__} - {"__version__"}


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("](../tutorial.md#1-fuse-a-program)", "](../tutorial.md#1-fuse-a-program)"),
        ("](../pictures/view.png)", "](../pictures/view.png)"),
        ("](https://example.org/a.py)", "](https://example.org/a.py)"),
        ("](../adr/)", "](REPOSITORY/tree/main/docs/adr)"),
        ("](../../tools/check.py)", "](REPOSITORY/blob/main/tools/check.py)"),
        ("](../../CONTRIBUTING.md#style)", "](REPOSITORY/blob/main/CONTRIBUTING.md#style)"),
        ("](no-such-file.py)", "](no-such-file.py)"),
    ],
)
def test_links_out_of_the_folder_lead_into_the_repository(link: str, expected: str, conf: ModuleType):
    given = f"see [this{link} and that"
    wanted = f"see [this{expected} and that".replace("REPOSITORY", conf.REPOSITORY)
    assert conf.with_addresses(given, DOCS / "how-to") == wanted


def test_chapters_hold_every_page(conf: ModuleType):
    listed = {path for pages in conf.CHAPTERS.values() for page in pages for path in DOCS.glob(f"{page}.*")}
    pages = {path for suffix in ("md", "rst", "ipynb") for path in DOCS.glob(f"**/*.{suffix}")} - {DOCS / "index.md"}
    assert pages <= listed


def test_live_pages_are_those_that_are_made(conf: ModuleType):
    named = set(re.findall(r"live/(\w+)\.html", (DOCS / "models.rst").read_text()))
    assert named == set(conf.LIVE_MODELS)
