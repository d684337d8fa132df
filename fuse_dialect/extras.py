"""Extras of this package: which package belongs to which, and the command that installs one.

The command depends on how this copy came here, which `direct_url.json` beside its metadata says (PEP 610): a clone is
installed anew from its folder, and a package from an index by its name, which no index may have otherwise.
"""

import json
import os
from typing import Any, cast

_NAME = "fuse_dialect"
EXTRA_OF = {
    "dask": "cluster",
    "distributed": "cluster",
    "jax": "jax",
    "llvmlite": "native",
    "ml_dtypes": "onnx",
    "onnx": "onnx",
    "onnx_ir": "onnx",
    "onnxscript": "torch",
    "pyarrow": "arrow",
    "safetensors": "weights",
    "shtab": "completion",
    "torch": "torch",
    "zarr": "cluster",
}
"""The extra that has a package, by the name under which that is imported."""


def install_hint(extra: str) -> str:
    """The command that installs an extra beside this copy of the package."""
    return f"pip install {_requirement(f'[{extra}]')}"


def _requirement(extra: str) -> str:
    """What pip calls this copy, with an extra."""
    # These load modules of the network, and only an error needs them.
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        text = distribution(_NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        # Nobody has installed it: it runs from its folder.
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        is_clone = os.path.isfile(os.path.join(folder, "pyproject.toml"))
        return f'-e "{folder}{extra}"' if is_clone else f'"{_NAME}{extra}"'
    origin = _origin(text or "")
    url = origin.get("url", "")
    if not isinstance(url, str) or not url:
        return f'"{_NAME}{extra}"'
    if isinstance(about := origin.get("dir_info"), dict):
        folder = url2pathname(urlsplit(url).path)
        is_editable = cast("dict[str, Any]", about).get("editable") is True
        return f'{"-e " if is_editable else ""}"{folder}{extra}"'
    vcs = origin.get("vcs_info")
    prefix = f"{cast('dict[str, Any]', vcs).get('vcs', 'git')}+" if isinstance(vcs, dict) else ""
    return f'"{_NAME}{extra} @ {prefix}{url}"'


def _origin(text: str) -> "dict[str, Any]":
    try:
        found: object = json.loads(text)
    except ValueError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
