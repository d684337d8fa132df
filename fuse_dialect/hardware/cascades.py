"""Cascades: trips that run together, stripe by stripe of rows, with a rolling buffer between each and the next.

The value between two trips of a cascade is never whole: as soon as the next trip has the rows that it reads for a row
of its result, it runs. So a cascade is one unit of scheduling, and what is between its trips needs buffers alone.

1. A trip of a cascade runs on a unit that the template says `cascades` of, gives one value, and is no tile; all of its
   operators can be cut by rows (`hardware.row_windows`). So layers and means of whole images are in none.
2. The next trip reads the value by rows, on the same engine, and nobody else reads it.
3. What else the next trip reads is there before the cascade begins.
4. A buffer holds the rows that the next trip reads at once, and those that come in the meantime, or the whole value if
   that is less. Buffers of a cascade fit together into the region that holds what is between units, if it is bounded.

Cascades are as long as they can be. Stripes are one row of the last value high.

Source: Vela, ethosu/vela/cascade_builder.py.
Differs from Vela: it cascades where memory is short alone, and seeks the height of stripes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from fuse_dialect.dialect.ops.hardware import HARDWARE_ATTRIBUTE, TILE_ATTRIBUTE, UNIT_ATTRIBUTE
from fuse_dialect.dialect.types import byte_count
from fuse_dialect.fusion.ir.constants import is_constant
from fuse_dialect.hardware.row_windows import row_axis, row_window, rows_of
from fuse_dialect.templates.template import HardwareTemplate, Role
from fuse_dialect.templates.tiles import RowWindow


@dataclass(frozen=True, slots=True)
class Cascade:
    """Several trips that run as one."""

    calls: tuple[func.CallOp, ...]
    """In the order of the data."""
    buffers: int
    """Bytes of the buffers between them."""
    spared: int
    """Bytes of the values between them, which would be written and read otherwise."""


@dataclass(frozen=True, slots=True)
class _Link:
    """A trip that may be in a cascade."""

    call: func.CallOp
    engine: str
    windows: Sequence[RowWindow]
    """Of its operators."""
    streamed: int
    """Number of the argument that its first operator reads by rows."""


def cascades_of(
    function: func.FuncOp, module: ModuleOp, template_of: Callable[[str], HardwareTemplate | None]
) -> list[Cascade]:
    """The cascades of a function that `fuse-ops-hw` has fused, in its order.

    Args:
        function: The function.
        module: Its module.
        template_of: The template of a name, `None` if nobody knows it.

    Complexity: O(ops + operands).
    """
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    axis = row_axis(module.walk())
    places = {op: place for place, op in enumerate(function.body.block.ops)}
    links: dict[Operation, _Link] = {}
    for op in function.body.block.ops:
        callee = functions.get(op.callee.string_value()) if isinstance(op, func.CallOp) else None
        if isinstance(op, func.CallOp) and callee is not None:
            link = _link(op, callee, template_of, axis)
            if link is not None:
                links[op] = link
    found: list[Cascade] = []
    taken: set[Operation] = set()
    for first in links.values():
        if first.call in taken:
            continue
        chain = [first]
        while (following := _following(chain, links, places)) is not None and following.call not in taken:
            if not _has_room([*chain, following], template_of(first.engine), axis):
                break
            chain.append(following)
        taken.update(link.call for link in chain)
        if len(chain) > 1:
            spared = sum(byte_count(link.call.results[0].type) or 0 for link in chain[:-1])
            found.append(Cascade(tuple(link.call for link in chain), _buffer_bytes(chain, axis), spared))
    return found


def _link(
    call: func.CallOp, callee: func.FuncOp, template_of: Callable[[str], HardwareTemplate | None], axis: int
) -> _Link | None:
    """(1) The call of a trip that may be in a cascade."""
    name = callee.attributes.get(HARDWARE_ATTRIBUTE)
    template = template_of(name.data) if isinstance(name, StringAttr) else None
    if template is None or not callee.body.blocks or len(call.results) != 1 or TILE_ATTRIBUTE in call.attributes:
        return None
    block, cascading = callee.body.block, {unit.name for unit in template.units if unit.cascades}
    ops = [op for op in block.ops if not is_constant(op) and not isinstance(op, func.ReturnOp)]
    units = {unit.data for op in ops if isinstance(unit := op.attributes.get(UNIT_ATTRIBUTE), StringAttr)}
    if cascading.isdisjoint(units) or not rows_of(call.results[0].type, axis):
        return None
    windows = [row_window(op, axis) for op in ops]
    cut = [window for window in windows if not isinstance(window, str)]
    streamed = [] if len(cut) < len(ops) else [ops[0].operands[place] for place in sorted(cut[0].sliced)]
    if len(streamed) != 1 or streamed[0] not in block.args:
        return None
    return _Link(call, template.name, cut, block.args.index(streamed[0]))


def _following(
    chain: Sequence[_Link], links: Mapping[Operation, _Link], places: Mapping[Operation, int]
) -> _Link | None:
    """The trip that may follow those of a cascade."""
    last = chain[-1]
    value = last.call.results[0]
    readers = [use.operation for use in value.uses]
    link = links.get(readers[0]) if len(readers) == 1 else None
    # (2)
    if link is None or link.engine != last.engine or link.call.operands[link.streamed] is not value:
        return None
    # (3)
    begin = places[chain[0].call]
    others = [each for each in link.call.operands if each is not value]
    return link if all(_place(each, places) < begin for each in others) else None


def _place(value: SSAValue, places: Mapping[Operation, int]) -> int:
    owner = value.owner
    return -1 if not isinstance(owner, Operation) or is_constant(owner) else places.get(owner, -1)


def _has_room(chain: Sequence[_Link], template: HardwareTemplate | None, axis: int) -> bool:
    """(4) Whether the buffers fit."""
    regions = [region for region in template.regions if Role.BETWEEN in region.holds] if template is not None else []
    bounds = [region.bytes for region in regions if region.bytes and not region.streams]
    return not bounds or len(bounds) < len(regions) or _buffer_bytes(chain, axis) <= max(bounds)


def _buffer_bytes(chain: Sequence[_Link], axis: int) -> int:
    """(4) Bytes of the buffers, from the last to the first; `step` rows come at a time."""
    total, step = 0, 1
    for link in reversed(chain[1:]):
        reads, moves = step, step
        for window in reversed(link.windows):
            up = max(1, window.up)
            reads = -(-((reads - 1) * window.stride + window.reach) // up)
            moves = max(1, moves * window.stride // up)
        value = link.call.operands[link.streamed]
        rows, size = rows_of(value.type, axis), byte_count(value.type) or 0
        total += min(size, size // rows * (reads + moves))
        step = min(moves, rows)
    return total
