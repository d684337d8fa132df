"""Several accelerators as one template, so that one search chooses between them.

Units and kinds are told apart by the name of their engine, `npu/mac`. A source of its own leads to the sources of all;
no link leads from one engine to another, so a trip stays on one. What an engine requires of all its operators becomes
part of its rows. An operator is virtual where it is virtual for all that know it.

Limits and the bandwidth are those of the tightest engine: a trip does not know yet where it will run when it is asked.
"""

from collections.abc import Sequence
from dataclasses import fields, replace

from fuse_dialect.templates.constraint import Constraint
from fuse_dialect.templates.template import (
    HardwareLimits,
    HardwareLink,
    HardwareTemplate,
    HardwareUnit,
    OperatorMapping,
    VirtualOperator,
)

_BETWEEN = "/"
SOURCE = "source"
"""The unit where data enters all engines."""


def engine_of(unit: str, template: HardwareTemplate) -> str:
    """The name of the engine that a unit belongs to."""
    return unit.partition(_BETWEEN)[0] if _is_joined(template) else template.name


def unit_of(unit: str, template: HardwareTemplate) -> str:
    """What the engine itself calls the unit."""
    return unit.partition(_BETWEEN)[2] if _is_joined(template) else unit


def kinds_on(kinds: Sequence[str], engine: str, template: HardwareTemplate) -> tuple[str, ...]:
    """Those of the kinds that are of an engine."""
    if not _is_joined(template):
        return tuple(kinds) if engine == template.name else ()
    return tuple(kind for kind in kinds if kind.partition(_BETWEEN)[0] == engine)


def engines(template: HardwareTemplate) -> list[str]:
    """The names of the engines of a template: its own, unless several have been joined."""
    return template.name.split(",") if _is_joined(template) else [template.name]


def _is_joined(template: HardwareTemplate) -> bool:
    return "," in template.name and template.source == SOURCE


def joined(templates: Sequence[HardwareTemplate]) -> HardwareTemplate:
    """One template of several; a single one stays what it is."""
    if len(templates) == 1:
        return templates[0]
    units = [HardwareUnit(SOURCE, SOURCE)]
    stores = any(template.storing for template in templates)
    links: list[HardwareLink] = []
    rows: dict[tuple[str, str, tuple[Constraint, ...], int | None, str], list[str]] = {}
    for template in templates:

        def own(name: str, engine: str = template.name) -> str:
            return f"{engine}{_BETWEEN}{name}"

        units += [
            replace(
                unit,
                name=own(unit.name),
                kind=own(unit.kind),
                # Where no unit says that it writes to memory, all do.
                stores=unit.stores or (stores and not template.storing),
            )
            for unit in template.units
        ]
        links.append(HardwareLink(SOURCE, own(template.source)))
        links += [HardwareLink(own(link.source), own(link.sink)) for link in template.links]
        for row in template.mappings:
            key = (row.operator, row.predicate, template.constraints_of(row), row.stream, row.check)
            rows.setdefault(key, []).extend(own(kind) for kind in row.kinds)
    mapped = {operator for operator, *_ in rows}
    virtual = dict.fromkeys(each.operator for template in templates for each in template.virtual)
    return HardwareTemplate(
        ",".join(template.name for template in templates),
        SOURCE,
        tuple(units),
        tuple(links),
        tuple(
            OperatorMapping(operator, tuple(dict.fromkeys(kinds)), predicate, constraints, stream, check)
            for (operator, predicate, constraints, stream, check), kinds in rows.items()
        ),
        tuple(VirtualOperator(operator) for operator in virtual if operator not in mapped),
        HardwareLimits(
            **{
                each.name: _tightest([getattr(own.limits, each.name) for own in templates])
                for each in fields(HardwareLimits)
            }
        ),
        bandwidth=_tightest([template.bandwidth for template in templates]),
        regions=tuple(
            replace(region, name=f"{template.name}{_BETWEEN}{region.name}")
            for template in templates
            for region in template.regions
        ),
    )


def _tightest(limits: Sequence[int]) -> int:
    """The least that is a limit; 0 if none is."""
    return min((limit for limit in limits if limit), default=0)
