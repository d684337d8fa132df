"""Kinds that a module brings along, or the packages that are installed: `fuse-ops` asks for them by itself.

1. The attribute `fuse.kinds` of the module, which the text of a module can have in any tool:

       module attributes {fuse.kinds = [{name = "npu.*", kind = #fuse.pattern_kind<broadcast>},
                                        {name = "npu.view", kind = #fuse.pattern_kind<injective>, reshape_only}]}

2. Entry points of installed packages, each a path or TOML text as in a file of kinds:

       [project.entry-points."fuse_dialect.kinds"]
       npu = "my_package:KINDS"

   Python takes its time to find entry points. So they are looked for where a module has an op without a kind that
   neither xDSL nor this package defines, and that the table of other dialects does not name.

What stands on the op wins over (1), and that over (2).
"""

from functools import cache
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, UnitAttr, UnregisteredOp
from xdsl.ir import Attribute, Operation

from fuse_dialect.diagnostics import SourceLocation
from fuse_dialect.dialect.attributes import PATTERN_KIND_ATTRIBUTE, PatternKindAttr
from fuse_dialect.dialect.errors import OpError
from fuse_dialect.dialect.nesting import ops_inside
from fuse_dialect.extensions import added, loaded
from fuse_dialect.fusion.kinds.foreign import FOREIGN_DIALECTS, FOREIGN_OPS
from fuse_dialect.fusion.kinds.kind_of import op_name
from fuse_dialect.fusion.kinds.kind_rows import KEYS, NAME_HINT, KindRow, KindTable, is_name_of_rows
from fuse_dialect.fusion.kinds.stamping import stamp_kinds

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

KINDS_ATTRIBUTE = "fuse.kinds"
"""Name of the attribute of a module."""
_GROUP = "fuse_dialect.kinds"
_SHIPPED = ("xdsl.dialects.", "fuse_dialect.")
"""Where classes of ops come from whose kinds are known. IRDL makes classes in other modules of xDSL."""
_TRUTH: dict[Attribute | None, bool] = {
    None: False,
    UnitAttr(): True,
    **{IntegerAttr.from_bool(value): value for value in (False, True)},
}
_ROW_HINT = 'write fuse.kinds = [{name = "npu.*", kind = #fuse.pattern_kind<elemwise>}]'


def stamp_own_kinds(module: ModuleOp) -> None:
    """Write the kinds of (1) and (2) on the ops of a module that have none.

    Raises:
        OpError: The attribute of the module is wrong, or an op has fewer operands than its row has edges.
        FuseError: An entry point is wrong.

    Complexity: O(ops).
    """
    stamp_kinds_of_module(module)
    if any(map(is_strange, ops_inside(module))):
        stamp_added_kinds(module)


def stamp_kinds_of_module(module: ModuleOp) -> None:
    """Write the kinds of (1) on the ops of a module that have none.

    Raises:
        OpError: The attribute of the module is wrong, or an op has fewer operands than its row has edges.
    """
    if KINDS_ATTRIBUTE in module.attributes:
        stamp_kinds(module, KindTable.of(_rows(module)))


def stamp_added_kinds(module: ModuleOp) -> bool:
    """Write the kinds of (2) on the ops of a module that have none; whether there are any.

    Raises:
        OpError: An op has fewer operands than its row has edges.
        FuseError: An entry point is wrong.
    """
    table = _added_kinds()
    if table.rows:
        stamp_kinds(module, table)
    return bool(table.rows)


def _rows(module: ModuleOp) -> list[KindRow]:
    """The rows of the attribute of a module."""
    attribute = module.attributes[KINDS_ATTRIBUTE]
    if not isinstance(attribute, ArrayAttr):
        raise OpError(module, f"'builtin.module' op attribute 'fuse.kinds' is no list: {attribute}", _ROW_HINT)
    rows: dict[str, KindRow] = {}
    for number, each in enumerate(cast(ArrayAttr[Attribute], attribute).data):
        row = _row(module, each, f"row {number} of fuse.kinds")
        if row.name in rows:
            raise OpError(module, f"'builtin.module' op attribute 'fuse.kinds' has two rows for '{row.name}'")
        rows[row.name] = row
    return list(rows.values())


def _row(module: ModuleOp, attribute: Attribute, place: str) -> KindRow:
    def wrong(what: str, hint: str = _ROW_HINT) -> OpError:
        return OpError(module, f"'builtin.module' op {place} {what}", hint)

    if not isinstance(attribute, DictionaryAttr):
        raise wrong(f"is no dictionary: {attribute}")
    for key in attribute.data:
        if key not in KEYS:
            raise wrong(f"has an unknown key '{key}'", f"a row has {', '.join(KEYS)}")
    name, kind = attribute.data.get("name"), attribute.data.get("kind")
    edges, reshapes = attribute.data.get("edges", ArrayAttr(())), attribute.data.get("reshape_only")
    if not isinstance(name, StringAttr) or not is_name_of_rows(name.data):
        raise wrong(f"expects 'name' to name ops of a dialect, got {_shown(name)}", NAME_HINT)
    if not isinstance(kind, PatternKindAttr):
        raise wrong(f"expects 'kind' to be a pattern kind, got {_shown(kind)}")
    said = cast(ArrayAttr[Attribute], edges).data if isinstance(edges, ArrayAttr) else (edges,)
    kinds = tuple(edge.kind for edge in said if isinstance(edge, PatternKindAttr))
    if len(kinds) != len(said):
        raise wrong(f"expects 'edges' to be a list of pattern kinds, got {edges}")
    if reshapes not in _TRUTH:
        raise wrong(f"expects 'reshape_only' to be true or false, got {reshapes}")
    return KindRow(name.data, kind.kind, kinds, _TRUTH[reshapes], SourceLocation(place))


def _shown(attribute: Attribute | None) -> str:
    return "nothing" if attribute is None else str(attribute)


def is_strange(op: Operation) -> bool:
    """Whether an op may have a kind that only its own package knows."""
    if _is_shipped(type(op)) or PATTERN_KIND_ATTRIBUTE in op.attributes:
        return False
    name = op_name(op)
    return name not in FOREIGN_OPS and name.partition(".")[0] not in FOREIGN_DIALECTS


@cache
def _is_shipped(op_class: type[Operation]) -> bool:
    """Whether xDSL or this package defines ops of the class."""
    return op_class.__module__.startswith(_SHIPPED) and not issubclass(op_class, UnregisteredOp)


def _added_kinds() -> KindTable:
    """The rows of all installed packages.

    Raises:
        FuseError: An entry point names something else, or two packages give one name different kinds.
    """
    points = added(_GROUP)
    return KindTable.of(row for name in sorted(points) for row in _rows_of_point(points[name]))


def _rows_of_point(point: "EntryPoint") -> list[KindRow]:
    # Most runs read no TOML.
    from fuse_dialect.fusion.kinds.kinds_file import rows_of, rows_of_file
    from fuse_dialect.toml_file import parse_toml

    found: Any = loaded(point, "kinds", "a path or TOML text", _is_path_or_text)
    if not isinstance(found, str) or found.endswith(".toml"):
        return rows_of_file(found)
    return rows_of(parse_toml(found, point.value))


def _is_path_or_text(found: object) -> bool:
    return isinstance(found, str) or hasattr(found, "__fspath__")
