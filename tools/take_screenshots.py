"""Take the pictures of the documentation: `python tools/take_screenshots.py`, with Chromium and ChromeDriver installed.

They are screenshots of the page that `fuse-opt --simplify-inference --fuse-ops --view` writes for `tiny_cnn.onnx`.
"""

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from headless_browser import Browser, NoBrowserError, open_browser

from fuse_dialect.tools.fuse_opt import main as fuse_opt

ROOT = Path(__file__).resolve().parent.parent
MODEL = ROOT / "docs" / "examples" / "tiny_cnn.onnx"
FOLDER = ROOT / "docs" / "pictures"


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture."""

    name: str
    width: int
    height: int
    theme: str
    script: str
    """What is done on the page before."""


SHOTS = (
    Shot("view.png", 1240, 620, "light", "fusionPage.picture.zoom(0.8); fusionPage.choose(box('%residual'))"),
    Shot("view-dark.png", 800, 860, "dark", "fusionPage.choose(box('%inner_relu'))"),
)
_PREPARE = """
if (document.documentElement.dataset.theme !== arguments[0]) document.getElementById("theme").click();
const box = (name) => fusionPage.tree.boxOfNode.get(fusionPage.block.nodes.findIndex((node) => node[3] === name));
"""


def main() -> int:
    """Write the pictures; returns the exit code."""
    argparse.ArgumentParser(description="Take the pictures of the documentation.").parse_args()
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "tiny_cnn.html"
        arguments = ["--simplify-inference", "--fuse-ops", "-t", "html", str(MODEL), "-o", str(page)]
        if fuse_opt(arguments):
            return 1
        try:
            with open_browser() as browser:
                for shot in SHOTS:
                    (FOLDER / shot.name).write_bytes(take(browser, page, shot))
        except NoBrowserError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    return 0


def take(browser: Browser, page: Path, shot: Shot) -> bytes:
    """The page as a PNG."""
    browser.resize(shot.width, shot.height)
    browser.open(page)
    browser.settle()
    browser.run(_PREPARE + shot.script, shot.theme)
    browser.settle()
    browser.settle()
    return browser.screenshot()


if __name__ == "__main__":
    sys.exit(main())
