"""The templates that come with the package, by name: one line for each file of this folder."""

from collections.abc import Mapping

from fuse_dialect.hardware.template import HardwareTemplate
from fuse_dialect.hardware.templates.ethos_u import ETHOS_U
from fuse_dialect.hardware.templates.gemmini import GEMMINI
from fuse_dialect.hardware.templates.opu import OPU

SHIPPED_TEMPLATES: Mapping[str, HardwareTemplate] = {template.name: template for template in (OPU, ETHOS_U, GEMMINI)}
"""Templates that passes find by name."""
