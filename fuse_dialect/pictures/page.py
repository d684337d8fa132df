"""One HTML file with everything in it: data, style and scripts. It needs no network, and its policy allows none.

The data are JSON in an element that no browser executes. Every `<` in it is spelled as an escape, so that no name in a
model can end the element. The page makes text of it, never markup. The policy names the hash of each script and of the
style, and nothing else runs, even if a name were taken for markup.
"""

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

_SCRIPTS = (
    "vendor/dagre.min.js",
    "assets/model.js",
    "assets/layout.js",
    "assets/draw.js",
    "assets/panels.js",
    "assets/main.js",
)
"""In the order in which they run."""


def page_of(scene: Mapping[str, Any]) -> str:
    """The page that shows a scene."""
    scripts, style = page_parts()
    page = resource("assets/page.html")
    parts = {
        "@POLICY@": policy_of([style], scripts),
        "@TITLE@": html.escape(str(scene["title"])),
        "@STYLE@": style,
        "@SCRIPTS@": "\n".join(f"<script>{script}</script>" for script in scripts),
        "@DATA@": embedded_json(scene),
        "@LICENCE@": resource("vendor/dagre.LICENSE"),
    }
    # Each mark is looked for in the template alone: what is put in may hold the others.
    pieces: list[str] = []
    for mark, part in sorted(parts.items(), key=lambda item: page.index(item[0])):
        before, _, page = page.partition(mark)
        pieces += (before, part)
    return "".join([*pieces, page])


def page_parts() -> tuple[list[str], str]:
    """The scripts of the page in the order in which they run, and its style."""
    return [resource(name) for name in _SCRIPTS], resource("assets/page.css")


def embedded_json(value: object) -> str:
    """JSON that can stand in a script element: it holds no `<`, and nothing that is no character."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def policy_of(styles: Iterable[str], scripts: Iterable[str]) -> str:
    """The policy of a page in which these styles and scripts are all there is."""
    shown, run = " ".join(map(_hash, styles)), " ".join(map(_hash, scripts))
    return f"default-src 'none'; script-src {run}; style-src {shown}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def resource(name: str) -> str:
    """The text of a file of this folder."""
    text = (files("fuse_dialect") / "pictures" / name).read_text("utf-8")
    # A script element ends at its closing tag, wherever that stands.
    assert "</script" not in text or name.endswith(".html"), f"{name} would end its own element"
    return text
