"""How the site is made of these pages: `python -m sphinx -W -b html docs build/site`, with the extra `docs`.

Pages stay what GitHub shows. What only a site needs is added while they are read: the tree of pages below the index,
and addresses in the repository for links that lead out of this folder.
"""

import json
import re
from pathlib import Path
from typing import Any

from myst_parser.parsers.sphinx_ import MystParser

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

project = "fuse_dialect"
author = "the fuse_dialect authors"
copyright = "the fuse_dialect authors, Apache-2.0"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext", ".ipynb": "notebook"}
html_theme = "furo"
html_title = "fuse_dialect"
html_static_path: list[str] = []
exclude_patterns = ["examples/own_package", "_live"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
# `mlir` and `console` with elisions are no languages that Pygments knows or parses to the end.
suppress_warnings = ["misc.highlighting_failure"]
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
add_module_names = False
napoleon_google_docstring = True
napoleon_use_ivar = True

REPOSITORY = "https://github.com/fuse-dialect/fuse_dialect"
html_theme_options = {
    "source_repository": f"{REPOSITORY}/",
    "source_branch": "main",
    "source_directory": "docs/",
}

CHAPTERS = {
    "Learn": ("tutorial", "notebooks/*"),
    "Do": ("how-to/*",),
    "Look": ("models",),
    "Understand": ("explanation/*",),
    "Look up": ("reference/*",),
    "Decisions": ("adr/*",),
}
"""What the index lists, by caption; the index itself has links with words beside them."""
LIVE_MODELS = {
    "resnet50": "ResNet-50",
    "densenet121": "DenseNet-121",
    "shufflenet": "ShuffleNet",
}
"""Models that come with the package `onnx`, whose pages are made for the site."""
_OUTWARDS = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def with_addresses(text: str, folder: Path) -> str:
    """A page whose links to what is no page of the site lead into the repository."""

    def address(match: re.Match[str]) -> str:
        target = (folder / match[1]).resolve()
        is_page = target.suffix in (".md", ".rst", ".png", ".svg") and target.is_relative_to(HERE)
        if is_page or not target.exists():
            return match[0]
        kind = "tree" if target.is_dir() else "blob"
        return f"]({REPOSITORY}/{kind}/main/{target.relative_to(ROOT).as_posix()}{match[2] or ''})"

    return _OUTWARDS.sub(address, text)


def read_page(app: Any, name: str, source: list[str]) -> None:
    """Add to a page what only a site needs."""
    path = Path(app.env.doc2path(name))
    if path.suffix != ".md":
        return
    text = with_addresses(source[0], path.parent)
    if name == "index":
        for caption, pages in CHAPTERS.items():
            listed = "\n".join(pages)
            text += f"\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {caption}\n\n{listed}\n```\n"
    source[0] = text


def write_live_pages(app: Any, error: Exception | None) -> None:
    """Make the pages of real models beside the site."""
    if error is not None or app.builder.name != "html":
        return
    import onnx.backend.test

    from fuse_dialect.tools.fuse_opt import main

    models = Path(onnx.backend.test.__file__).parent / "data" / "light"
    folder = Path(app.outdir) / "live"
    folder.mkdir(exist_ok=True)
    for name in LIVE_MODELS:
        command = ["--simplify-inference", "--fuse-ops", "-t", "html", str(models / f"light_{name}.onnx")]
        if main([*command, "-o", str(folder / f"{name}.html")]):
            raise RuntimeError(f"the page of {name} could not be made")


class NotebookParser(MystParser):
    """Reads a notebook as a page: its text, its code, and the outputs that are in the file."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: Any) -> None:
        """Fill a document."""
        super().parse(page_of_notebook(inputstring), document)


def page_of_notebook(text: str) -> str:
    """A notebook in Markdown; pictures in it are ours, and go into the page as they are."""
    parts: list[str] = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            data = output.get("data", {"text/plain": output.get("text", "")})
            if "image/svg+xml" in data:
                parts.append("```{raw} html\n" + "".join(data["image/svg+xml"]) + "\n```")
            else:
                parts.append("```text\n" + "".join(data["text/plain"]).rstrip("\n") + "\n```")
    return "\n\n".join(parts) + "\n"


def setup(app: Any) -> dict[str, Any]:
    """What Sphinx calls."""
    app.add_source_parser(NotebookParser)
    app.connect("source-read", read_page)
    app.connect("build-finished", write_live_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
