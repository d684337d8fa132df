"""The table of what an accelerator runs, as Markdown: made of the template, so that it says what the pass does."""

from collections.abc import Iterator

from fuse_dialect.templates.constraint import Constraint
from fuse_dialect.templates.template import HardwareTemplate, OperatorMapping, Predicate

_PREDICATES = {
    Predicate.ALWAYS: "",
    Predicate.BIAS: "an operand is a constant, or is broadcast",
    Predicate.RESIDUAL: "all operands are computed values of the result's shape",
    Predicate.SCALAR: "an operand is a constant of one element",
    Predicate.NEAREST: "the interpolation takes the nearest element",
    Predicate.UNGROUPED: "one group",
    Predicate.DEPTHWISE: "one group for each channel",
    Predicate.MIN_ZERO: "the lower bound is zero",
    Predicate.OVER_SPACE: "the axes are those of an image: [2, 3] or [1, 2] of four",
}
"""Predicates in words."""


def support_table(template: HardwareTemplate, level: int = 1) -> Iterator[str]:
    """The lines of the table.

    Args:
        template: A valid template.
        level: How deep its heading is.
    """
    yield f"{'#' * level} `{template.name}`"
    yield ""
    units = ", ".join(
        f"{unit.name} ({unit.kind}{f' x{unit.capacity}' if unit.capacity > 1 else ''})" for unit in template.units
    )
    yield f"Data enters at `{template.source}`. Units: {units}."
    limits = [f"{words}: {size}" for words, size in _limits(template) if size]
    if limits:
        yield f"A trip has limits: {', '.join(limits)}."
    required = [unit.name for unit in template.units if unit.required]
    if required:
        yield f"Every trip must use: {', '.join(required)}."
    storing = [unit.name for unit in template.units if unit.stores]
    if storing:
        yield f"Results are written to memory by: {', '.join(storing)}."
    cascading = [unit.name for unit in template.units if unit.cascades]
    if cascading:
        yield f"Trips may run in cascades, stripe by stripe, that use: {', '.join(cascading)}."
    if template.regions:
        yield ""
        yield "| memory | holds | bytes |"
        yield "|---|---|---|"
        for region in template.regions:
            size = str(region.bytes or "as many as there are") + (", larger in parts" if region.streams else "")
            said = f"{region.sentence} ({size})" if region.sentence else size
            yield f"| {region.name} | {', '.join(region.holds)} | {said} |"
    if template.requirements:
        yield ""
        yield "Every operator must satisfy:"
        yield ""
        for each in template.requirements:
            excepted = f" (not: {', '.join(f'`{name}`' for name in each.excepted)})" if each.excepted else ""
            yield f"- {_said(each.constraint)}{excepted}"
    yield ""
    yield "| operator | units | if |"
    yield "|---|---|---|"
    for row in template.mappings:
        yield f"| `{row.operator}` | {' or '.join(row.kinds)} | {_conditions(row)} |"
    if template.virtual:
        yield ""
        names = ", ".join(f"`{each.operator}`" for each in template.virtual)
        yield f"These go along with the data for nothing: {names}."


def _limits(template: HardwareTemplate) -> tuple[tuple[str, int], ...]:
    limits = template.limits
    return (
        ("values that it reads", limits.operands),
        ("bytes of a value between units", limits.buffer_bytes),
        ("channels of products in multiples of", limits.channel_alignment),
        ("values that it writes", limits.results),
        ("products", limits.products),
        ("bytes of all that it reads, writes and passes on", limits.trip_bytes),
        ("bytes of feature maps", limits.feature_bytes),
        ("bytes of constants", limits.constant_bytes),
    )


def _conditions(row: OperatorMapping) -> str:
    conditions = [_PREDICATES[Predicate(row.predicate)], *(_said(each) for each in row.constraints)]
    if row.stream is not None:
        conditions.append(f"operand {row.stream} streams by")
    if row.check:
        conditions.append(f"the check `{row.check}` agrees")
    return "; ".join(each for each in conditions if each)


def _said(constraint: Constraint) -> str:
    text = constraint.text.replace("|", "\\|")
    return f"{constraint.sentence} (`{text}`)" if constraint.sentence else f"`{text}`"
