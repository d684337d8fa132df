"""Vectors of elements that lie a few places apart: loads of neighbours, of which the lanes are taken.

A gather asks for each lane by itself: some forty cycles for sixteen, and more where there is no such instruction.
Neighbours are one load, and lanes of two registers are picked by one instruction, so up to four loads are quicker.

1. Lanes lie `stride` elements apart, so all are among `abs(stride) * (lanes - 1) + 1` elements side by side. As many
   loads as the stride is large cover those and no more: each begins with the last element of the one before.
2. Where the stride is negative, the first lane lies last.
3. Lanes that a mask leaves out are not read (`memory` (3)): the mask is put in the order of memory. Below 32 bits
   processors without AVX-512 have no masked loads, and LLVM writes a branch for each element.
"""

from fuse_dialect.backends.assembler.builder import Function
from fuse_dialect.backends.assembler.values import Type, Value, constant

MOST_APART = 4
"""Loads that are quicker than a gather."""
MASKED_BITS = 32
"""Of elements that any processor with vectors loads under a mask (3)."""


def strided_load(f: Function, type: Type, start: Value, stride: int, mask: Value | None, fill: Value) -> Value | None:
    """A vector of elements that lie a few places apart.

    Args:
        f: The function that is written.
        type: The vector.
        start: Where the element of the first lane is.
        stride: How many elements further on that of the next lane is.
        mask: The lanes that are read; `None` for all.
        fill: What the others are, the same in every lane.

    Returns:
        `None` where a gather is as quick.
    """
    lanes, apart, last = type.lanes, abs(stride), type.lanes - 1
    if not 0 < apart <= MOST_APART or not last or (mask is not None and apart > 1 and type.bits < MASKED_BITS):
        return None
    low = start if stride > 0 else f.offset(start, f.i64(stride * last), type.scalar)  # (2)
    places = [lane * apart for lane in range(lanes)]
    lane_at = dict(zip(places, range(lanes) if stride > 0 else range(lanes)[::-1], strict=True))
    if stride < 0:
        places.reverse()

    def load(part: int) -> Value:
        pointer = f.offset(low, f.i64(part * last), type.scalar)
        if mask is None:
            return f.load(type, pointer)
        needed = [lane_at.get(part * last + element, lanes) for element in range(lanes)]  # (3)
        return f.masked_load(type, pointer, f.shuffle(mask, constant(mask.type, 0), needed), fill)

    found = load(0)
    if apart == 1:
        return f.shuffle(found, found, places)
    # (1) Two loads have an element in common; it is taken from the first.
    owners = [max(place - 1, 0) // last for place in places]
    for part in range(1, apart):
        # What the first load has moves to its lane in the first step, and stays there.
        picked = [
            lanes + place - part * last if owner == part else place if part == 1 and owner == 0 else lane
            for lane, (place, owner) in enumerate(zip(places, owners, strict=True))
        ]
        found = f.shuffle(found, load(part), picked)
    return found
