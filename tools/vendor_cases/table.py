"""All makers of cases."""

from vendor_cases import attentions, classic, floats, integers
from vendor_cases.case import Maker

MAKERS: dict[str, Maker] = {**floats.CASES, **attentions.CASES, **integers.CASES, **classic.CASES}
"""Makers by the operator's name."""
