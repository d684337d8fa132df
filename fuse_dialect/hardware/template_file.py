"""Finding the hardware template that an option names: in the module, among those of the package, or in a file."""

from difflib import get_close_matches

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.dialect.errors import OpError, TemplateError
from fuse_dialect.dialect.fuse import ALL_OPS, Fuse
from fuse_dialect.dialect.hardware_templates import read_template, template_problem
from fuse_dialect.dialect.ops.hardware import HardwareOp
from fuse_dialect.frontends.mlir.parse_error import sentence
from fuse_dialect.frontends.mlir.reader import read_mlir_of_any_depth
from fuse_dialect.fusion.kinds.foreign import known_names
from fuse_dialect.read_files import read_regular_file
from fuse_dialect.templates.objective import missing_rate
from fuse_dialect.templates.shipped.shipped import SHIPPED_TEMPLATES
from fuse_dialect.templates.template import HardwareTemplate

MOST_TEMPLATE_BYTES = 1 << 19
"""Bytes that a template file may have: some 5,000 rows, which take about two seconds to read."""


def find_template(name: str, module: ModuleOp, ctx: Context) -> HardwareTemplate:
    """The template called `name`; it is valid.

    Args:
        name: The symbol of a `fuse.hardware` op of the module, or the name of a shipped template, or the path of an
            MLIR file with one `fuse.hardware` op; the first that exists.
        module: The module that is compiled.
        ctx: Dialects, for reading the file.

    Raises:
        TemplateError: There is no such template, or the file is wrong, with its place.
        OpError: The op of the module names an operator that the dialect does not have.
    """
    for op in module.ops:
        if isinstance(op, HardwareOp) and op.sym_name.data == name:
            return checked_template(op)
    if name in SHIPPED_TEMPLATES:
        return SHIPPED_TEMPLATES[name]
    if not name.endswith(".mlir"):
        known = ", ".join(SHIPPED_TEMPLATES)
        close = get_close_matches(name.lower(), SHIPPED_TEMPLATES, n=1)
        there_are = f"there are {known}, the fuse.hardware ops at the top of the module, and files that end in .mlir"
        hint = f"did you mean '{close[0]}'?" if close else there_are
        raise TemplateError(f"no hardware template '{name}'", hint=hint)
    return read_template_file(name, ctx)


def check_rates(name: str, template: HardwareTemplate, module: ModuleOp) -> None:
    """Check that a template which `find_template` has found says the rates that cycles are counted by.

    Raises:
        TemplateError: It does not; the place is the file, if it is of one.
        OpError: It does not, and stands in the module.
    """
    missing = missing_rate(template)
    if missing is None:
        return
    hint = "objective=bytes needs no rates"
    for op in module.ops:
        if isinstance(op, HardwareOp) and op.sym_name.data == name:
            raise OpError(op, f"'{op.name}' op has no cycles: {missing}", hint)
    place = SourceLocation(name) if name.endswith(".mlir") else None
    raise TemplateError(f"hardware template '{template.name}' has no cycles: {missing}", place, hint=hint)


def known_templates(module: ModuleOp) -> dict[str, HardwareTemplate]:
    """The templates that functions of a module may name: those of the package, and those that stand in it."""
    own = (read_template(op)[0] for op in module.walk() if isinstance(op, HardwareOp))
    return {**SHIPPED_TEMPLATES, **{template.name: template for template in own}}


def checked_template(op: HardwareOp) -> HardwareTemplate:
    """The template of an op.

    Raises:
        OpError: It is wrong, names an operator of our dialect that does not exist, or one of another dialect that is
            not known and nearly like one that is.
    """
    problem = template_problem(op)
    if problem is not None:
        raise OpError(*problem)
    template, parts = read_template(op)
    known = {op.name for op in ALL_OPS}
    for part in (*template.mappings, *template.virtual):
        dialect, dot, _ = part.operator.partition(".")
        is_ours = dialect == "fuse" and bool(dot)
        names = known if is_ours else known_names(dialect)
        if part.operator in names:
            continue
        close = get_close_matches(part.operator, names, n=1, cutoff=0.6 if is_ours else _NEARLY_LIKE)
        if is_ours or close:
            hint = f"did you mean '{close[0]}'?" if close else None
            raise OpError(parts[id(part)], f"expects the name of an op, got '{part.operator}'", hint)
    return template


_NEARLY_LIKE = 0.85
"""How like a known op a name of another dialect must be to count as misspelt; others may be ops of a team's own."""


def read_template_file(path: str, ctx: Context) -> HardwareTemplate:
    """The template of an MLIR file.

    Raises:
        TemplateError: The file cannot be read, is not MLIR, or its template is wrong.
    """
    try:
        data = read_regular_file(path, MOST_TEMPLATE_BYTES)
    except (OSError, ValueError) as error:
        reason = ((error.strerror if isinstance(error, OSError) else None) or str(error)).lower()
        raise TemplateError(f"cannot read the hardware template: {reason}", SourceLocation(path)) from error
    try:
        module, source_map = read_mlir_of_any_depth(data, path, _knowing_templates(ctx))
    except FuseError as error:
        raise TemplateError(error.message, error.location, error.notes, error.hint) from error
    found = [op for op in module.walk() if isinstance(op, HardwareOp)]
    if len(found) != 1:
        raise TemplateError(f"expects one fuse.hardware op, got {len(found)}", SourceLocation(path))
    failing: Operation = found[0]
    try:
        HardwareOp.get_irdl_definition().verify(failing)
        for failing in found[0].body.walk():
            failing.verify_()
        return checked_template(found[0])
    except OpError as error:
        raise TemplateError(f"'{error.op.name}' op {error}", source_map.locate(error.op), hint=error.hint) from error
    except (DiagnosticException, PassFailedException) as error:
        raise TemplateError(f"'{failing.name}' op {sentence(str(error))}", source_map.locate(failing)) from error


def _knowing_templates(ctx: Context) -> Context:
    """A context that knows the ops of templates besides: that of a caller may be empty, and stays as it is."""
    own = ctx.clone()
    if own.get_optional_dialect(Fuse.name) is None:
        own.load_dialect(Fuse)
    return own
