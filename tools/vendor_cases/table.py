"""All makers of cases."""

from vendor_cases import attentions, floats
from vendor_cases.case import Maker

MAKERS: dict[str, Maker] = {**floats.CASES, **attentions.CASES}
"""Makers by the operator's name."""
