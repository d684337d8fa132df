"""What a trip holds in memory, and whether it is within the limits of its template.

Bytes are told apart by their roles, which go to the regions of the template one after the other: each to the first
region that may hold it and has room. Several engines side by side have regions of their own; all must have room, since
a trip does not know yet where it will run.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from fuse_dialect.templates.template import HardwareRegion, HardwareTemplate, Role


class Held(NamedTuple):
    """Bytes that a trip, or a tile of one, holds."""

    inputs: int = 0
    weights: int = 0
    outputs: int = 0
    between: int = 0
    widest: int = 0
    """Of the largest value between two units."""

    @property
    def features(self) -> int:
        """All but constants."""
        return self.inputs + self.outputs + self.between

    def of(self, role: Role) -> int:
        """Bytes of a role."""
        match role:
            case Role.INPUTS:
                return self.inputs
            case Role.WEIGHTS:
                return self.weights
            case Role.OUTPUTS:
                return self.outputs
            case Role.BETWEEN:
                return self.between


class Excess(NamedTuple):
    """A limit, and what is beyond it."""

    what: str
    size: int
    most: int
    sentence: str = ""
    """Of the template."""

    def said(self, holder: str) -> str:
        """The limit in words: who would hold so much."""
        number = f"{holder} would hold {self.size} {self.what}, the limit is {self.most}"
        return f"{self.sentence} ({number})" if self.sentence else number


def limits_bytes(template: HardwareTemplate) -> bool:
    """Whether a limit of the template is one on bytes that tiles may keep."""
    limits = template.limits
    bounds = any(region.bytes and not region.streams for region in template.regions)
    return bool(limits.trip_bytes or limits.feature_bytes or limits.buffer_bytes or bounds)


def exceeded(template: HardwareTemplate, held: Held) -> Excess | None:
    """The first limit on bytes that a trip is beyond; `None` if all fits."""
    limits = template.limits
    for what, size, most in (
        ("bytes of feature maps", held.features, limits.feature_bytes),
        ("bytes", held.features + held.weights, limits.trip_bytes),
        ("bytes between two units", held.widest, limits.buffer_bytes),
    ):
        if most and size > most:
            return Excess(what, size, most)
    return next((excess for _, excess in _placed(template, held) if excess is not None), None)


def bytes_of_regions(template: HardwareTemplate, held: Held) -> dict[str, int]:
    """For each region of a template the bytes that a trip holds in it, beyond its size where nothing refuses them."""
    return {name: size for used, _ in _placed(template, held) for name, size in used.items()}


def _placed(template: HardwareTemplate, held: Held) -> Iterator[tuple[dict[str, int], Excess | None]]:
    """For each engine the bytes in each of its regions, and what has no room."""
    for _, regions in groupby(template.regions, key=lambda region: region.name.rpartition("/")[0]):
        own = list(regions)
        used = {region.name: 0 for region in own}
        excess: Excess | None = None
        for role in Role:
            size, may_hold = held.of(role), [region for region in own if role in region.holds]
            chosen = next((region for region in may_hold if _has_room(region, used[region.name] + size)), None)
            if chosen is None and may_hold:
                chosen = may_hold[-1]
                beyond = Excess(f"bytes in '{chosen.name}'", used[chosen.name] + size, chosen.bytes, chosen.sentence)
                excess = excess or beyond
            if chosen is not None:
                used[chosen.name] += size
        yield used, excess


def _has_room(region: HardwareRegion, size: int) -> bool:
    return not region.bytes or region.streams or size <= region.bytes
