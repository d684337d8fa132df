"""The templates that come with the package, by name: one line for each file of this folder."""

from collections.abc import Mapping
from importlib import import_module

from fuse_dialect.templates.template import HardwareTemplate

_FILES = (
    "opu",
    "ethos_u",
    "ethos_u_int8",
    "gemmini",
    "nvdla",
    "systolic",
)
"""Files of this folder; each defines `TEMPLATE`."""


def _template(file: str) -> HardwareTemplate:
    template = import_module(f"fuse_dialect.templates.shipped.{file}").TEMPLATE
    assert isinstance(template, HardwareTemplate)
    return template


SHIPPED_TEMPLATES: Mapping[str, HardwareTemplate] = {
    template.name: template for template in (_template(file) for file in _FILES)
}
"""Templates that passes find by name."""
