"""Write the pages of `docs/reference/` from the code: ops, foreign ops, passes, remarks, command line.

    python tools/generate_reference.py

What a page says stands in docstrings: of op classes and the fields below them, of passes and their options, of reason
codes. An example of each op is the first one in `tests/filecheck/dialect/`.
"""

import argparse
import dataclasses
import inspect
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias, cast, get_type_hints

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, StringAttr, i1
from xdsl.ir import Attribute
from xdsl.irdl import OptionalDef, OptOperandDef, VariadicDef
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from fuse_dialect.diagnostics import Reason
from fuse_dialect.dialect import fields
from fuse_dialect.dialect.fuse import ALL_OPS, FAMILIES, ops_of
from fuse_dialect.dialect.op import FuseOp, MapOp
from fuse_dialect.dialect.ops import regions
from fuse_dialect.frontends.mlir.reader import parse_mlir
from fuse_dialect.frontends.onnx.classic import CLASSIC_OPERATORS
from fuse_dialect.frontends.onnx.control_flow import CONTROL_FLOW
from fuse_dialect.frontends.onnx.operators import ONNX_OPERATORS
from fuse_dialect.frontends.onnx.refusals import EXPANDED_INTO_REFUSED, REFUSED_FORMS, REFUSED_OPERATORS
from fuse_dialect.frontends.onnx.sequences import SEQUENCE_OPERATORS
from fuse_dialect.frontends.onnx.vendor import BLOCKED_OPERATORS, MICROSOFT_OPERATORS
from fuse_dialect.fusion.core.rules import FusionRule
from fuse_dialect.fusion.core.tvm_rules import TVM_RULES
from fuse_dialect.fusion.kinds.edges import plain_edges
from fuse_dialect.fusion.kinds.foreign import FOREIGN_DIALECTS, FOREIGN_OPS, ForeignOp, KindRule
from fuse_dialect.loading.pipeline import option_fields, option_name, type_words
from fuse_dialect.loops.functions import SCALAR_FUNCTIONS
from fuse_dialect.pattern_kind import PatternKind
from fuse_dialect.targets.linalg.forms.table import FALLBACKS, PARTLY, WITHOUT_FORM, WRITERS
from fuse_dialect.templates.shipped.shipped import SHIPPED_TEMPLATES
from fuse_dialect.templates.support_table import support_table
from fuse_dialect.tools import fuse_opt, fuse_run
from fuse_dialect.tools.field_docs import field_docs
from fuse_dialect.universe import OWN_NAMES

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
EXAMPLES = ROOT / "tests" / "filecheck" / "dialect"
NOTE = "<!-- Written by tools/generate_reference.py; change the docstrings in the code instead. -->"

Lines: TypeAlias = Iterable[str]

_FACETS = ("Shapes:", "Types:", "Kind:", "Cost:", "Source:")
"""First words of the docstring lines that describe an op; the base class asks for them."""

_FORMS: Mapping[int, str] = {
    id(fields.INTEGER): "integer",
    id(fields.REAL): "real number",
    id(fields.FLAG): "flag",
    id(fields.STRING): "string",
    id(fields.INTEGERS): "list of integers",
    id(fields.REALS): "list of real numbers",
}
"""Words for the forms of properties, by identity of their constraints."""


def pages() -> dict[str, str]:
    """Text of every page by file name."""
    return {
        "ops.md": _page("Operators", _ops()),
        "foreign-ops.md": _page("Operators of other dialects", _foreign_ops()),
        "passes.md": _page("Passes", _passes()),
        "remarks.md": _page("Kinds, rules and reasons", _remarks()),
        "cli.md": _page("Command line", _cli()),
        "onnx.md": _page("ONNX operators", _onnx()),
        "linalg.md": _page("Operators in linalg", _linalg()),
        "accelerators.md": _page("Accelerators", _accelerators()),
        "accuracy.md": _page("Accuracy of functions", _accuracy()),
    }


def _page(title: str, lines: Lines) -> str:
    return "\n".join([NOTE, f"# {title}", "", *lines]).rstrip() + "\n"


def _ops() -> Lines:
    """A section per family, a subsection per op."""
    examples = _examples()
    yield "Every op is pure, prints in one assembly and infers its result types unless noted. How the assembly reads is"
    yield "explained in [design.md](../explanation/design.md); a property that has its default is not printed."
    yield ""
    yield "| family | ops |"
    yield "|---|---|"
    for family in FAMILIES:
        links = " ".join(f"[{_word(op)}](#{_anchor(op)})" for op in ops_of(family))
        yield f"| `{family.__name__.rpartition('.')[2]}` | {links} |"
    for family in FAMILIES:
        yield from ("", f"## {family.__name__.rpartition('.')[2]}", "", inspect.cleandoc(family.__doc__ or ""))
        for op in ops_of(family):
            yield from _op(op, examples)
    yield from ("", "## regions", "", inspect.cleandoc(regions.__doc__ or ""))
    for op in regions.REGION_OPS:
        yield from ("", f"### {op.name}", "", inspect.cleandoc(op.__doc__ or ""), "")
        docs = field_docs(op)
        definition = op.get_irdl_definition()
        for name, _ in (*definition.operands, *definition.results):
            if name in docs:
                yield f"- `{name}`: {docs[name]}"


def _onnx() -> Lines:
    """What is read, and what is not, with the reason."""
    yield "`fuse-opt` and `fuse_dialect.read` take the operators below, from opset 7 on. An operator that is in neither"
    yield "list and that ONNX defines by others, such as `Attention` or `HannWindow`, is expanded into them."
    yield "`python tools/onnx_coverage.py` runs ONNX's own test cases and counts."
    yield from ("", "## Read", "")
    yield textwrap.fill(
        " ".join(f"`{name}`" for name in sorted((*ONNX_OPERATORS, *CONTROL_FLOW, *SEQUENCE_OPERATORS))), 118
    )
    blocked = ", ".join(f"`{name}`" for name in sorted(BLOCKED_OPERATORS))
    yield from ("", "## Read of onnxruntime's own", "")
    yield "Of the domain com.microsoft, and in ONNX's where ONNX has no operator of the name: what its optimizer and"
    yield "quantizer and Hugging Face's exporters write, as its kernels for processors compute it"
    yield "([ADR 66](../adr/0066-vendor-operators-are-expansions.md))."
    yield ""
    yield textwrap.fill(" ".join(f"`{name}`" for name in sorted(MICROSOFT_OPERATORS)), 118)
    yield ""
    yield textwrap.fill(f"Of com.microsoft.nchwc, images in blocks of channels: {blocked}.", 118)
    yield from ("", "## Read of ONNX-ML", "")
    yield "Of the domain ai.onnx.ml: trees, linear models, scalers and encoders of numbers, as scikit-learn, XGBoost"
    yield "and LightGBM are converted. `ZipMap`, a list of dictionaries, is the tensor of its numbers, a column a key."
    yield ""
    yield textwrap.fill(" ".join(f"`{name}`" for name in sorted(CLASSIC_OPERATORS)), 118)
    yield from ("", "## Not read", "", "| operators | why |", "|---|---|")
    by_reason: dict[str, list[str]] = {}
    for (_, name), reason in [*REFUSED_OPERATORS.items(), *((("", n), r) for n, r in EXPANDED_INTO_REFUSED.items())]:
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        yield f"| {', '.join(f'`{name}`' for name in sorted(names))} | {reason} |"
    yield from ("", "## Not read of operators that are", "", "| operator | what |", "|---|---|")
    for name, what in REFUSED_FORMS.items():
        yield f"| {name} | {what} |"


def _linalg() -> Lines:
    """Which ops `convert-fuse-to-linalg` writes, how, and which it does not."""
    yield "`convert-fuse-to-linalg` writes these operators as upstream ops; tests run each of them in IREE, against its"
    yield "NumPy meaning, where IREE is installed."
    looped = [op for op in ALL_OPS if op not in WRITERS and op not in WITHOUT_FORM]
    yield from ("", "## From loop programs", "")
    yield "With named ops for products, convolutions and pools; running sums, orders and scatters are reductions."
    yield "Operators in *italics* have another form, too, for sizes or properties that loop programs do not know."
    text = " ".join(f"*{_word(op)}*" if op in FALLBACKS else _word(op) for op in looped)
    yield from ("", textwrap.fill(text, 118))
    yield from ("", "## With a form of their own", "")
    yield textwrap.fill(" ".join(_word(op) for op in ALL_OPS if op in WRITERS), 118)
    yield from ("", "`fuse.if` is `scf.if`, `fuse.loop` is `scf.for` or, with conditions, `scf.while`.")
    yield from ("", "## Without a form", "", "| operator | why |", "|---|---|")
    for op, reason in WITHOUT_FORM.items():
        yield f"| `{op.name}` | {reason} |"
    yield from ("", "## Without a form, of operators that have one", "", "| operator | what |", "|---|---|")
    for name, what in PARTLY.items():
        yield f"| {name} | {what} |"


def _accuracy() -> Lines:
    """The bounds of functions."""
    approximated = [row for row in SCALAR_FUNCTIONS.values() if row.units is not None]
    direct = [f"`{row.name}`" for row in approximated if row.in_f64 and row.is_long]
    yield from (
        "How far functions of real numbers are from the exact value at most, in units in the last place of f32:",
        "natively on every processor, and where NumPy runs a program. Tests hold it on numbers of every magnitude, in",
        "f16 and bf16 on all. Half a unit is what rounding alone costs. What is computed by a formula, such as `gelu`,",
        "is off by what its steps are.",
        "",
        "| function | f32 |",
        "|---|---|",
        *(f"| `{row.name}` | {row.units:g} |" for row in approximated),
        "",
        "f16 and bf16 are computed in f32 and rounded: they are within 0.51 units. f64 is computed by the C library,",
        f"natively but for {' and '.join(direct)}, which are within 1.1 units. Roots and divisions are exact.",
    )


def _accelerators() -> Lines:
    """What each shipped template runs."""
    yield "What the templates of the package run; `fuse-opt --list-template NAME` prints the same of any template, of a"
    yield "file, too. [Describe an accelerator](../how-to/describe-an-accelerator.md) says how to write one."
    for template in SHIPPED_TEMPLATES.values():
        yield ""
        yield from support_table(template, 2)


def _word(op: type[FuseOp]) -> str:
    return op.name.removeprefix("fuse.")


def _anchor(op: type[FuseOp]) -> str:
    """The anchor that GitHub makes of a heading: lower case, without the dot."""
    return op.name.replace(".", "")


def _op(op: type[FuseOp], examples: Mapping[str, str]) -> Lines:
    """Description, example, signature, properties and facets of an op."""
    text, facets = _split_docstring(inspect.cleandoc(op.__doc__ or ""))
    yield from ("", f"### `{op.name}`", "", *text, "", "```mlir", examples[op.name], "```", "")
    yield from _signature(op)
    yield from _properties(op)
    yield from (f"- {facet}" for facet in facets)
    yield f"- Scalar body: {'yes' if issubclass(op, MapOp) else 'no'}."


def _split_docstring(text: str) -> tuple[list[str], list[str]]:
    """The prose of an op's docstring, and its facets with their continuation lines joined.

    Raises:
        ValueError: A facet is missing.
    """
    prose: list[str] = []
    facets: list[str] = []
    for line in text.splitlines():
        if line.startswith(_FACETS):
            facets.append(line)
        elif facets and line.strip():
            facets[-1] += f" {line.strip()}"
        elif not facets:
            prose.append(line)
    missing = [facet for facet in _FACETS if not any(each.startswith(facet) for each in facets)]
    if missing:
        raise ValueError(f"docstring without {', '.join(missing)}: {text.splitlines()[0]}")
    return "\n".join(prose).strip().splitlines(), facets


def _signature(op: type[FuseOp]) -> Lines:
    definition = op.get_irdl_definition()
    operands = ", ".join(_field(name, each) for name, each in definition.operands) or "none"
    results = ", ".join(_field(name, each) for name, each in definition.results)
    yield f"- Operands: {operands}. Results: {results}."


def _field(name: str, definition: object) -> str:
    if isinstance(definition, OptOperandDef):
        return f"`{name}` (optional)"
    return f"`{name}` (any number)" if isinstance(definition, VariadicDef) else f"`{name}`"


def _properties(op: type[FuseOp]) -> Lines:
    declared = op.get_irdl_definition().properties
    if not declared:
        return
    docs = field_docs(op)
    yield "- Properties:"
    for name, definition in declared.items():
        form = _FORMS.get(id(definition.constr), "attribute")
        default = _default(definition.default_value, optional=isinstance(definition, OptionalDef))
        yield f"  - `{name}`: {form}, {default}. {_one_line(docs.get(name, ''))}".rstrip()


def _default(value: Attribute | None, *, optional: bool) -> str:
    if value is None:
        return "optional" if optional else "required"
    return f"default `{_spelled(value)}`"


def _spelled(value: Attribute) -> str:
    """A property's value as the assembly spells it."""
    match value:
        case IntegerAttr() if value.type == i1:
            return "true" if value.value.data else "false"
        case IntegerAttr() | FloatAttr():
            return str(value.value.data)
        case StringAttr():
            return f'"{value.data}"'
        case DenseArrayBase():
            return str(list(cast("fields.Integers | fields.Reals", value).get_values()))
        case _:
            return str(value)


@cache
def _examples() -> Mapping[str, str]:
    """The first instance of each op in the round-trip tests, by name.

    Raises:
        ValueError: An op is not there.
    """
    found: dict[str, str] = {}
    for path in sorted(EXAMPLES.glob("*.mlir")):
        if path.stem.endswith("-invalid"):
            continue
        for op in parse_mlir(path.read_bytes(), path.name).walk():
            if isinstance(op, FuseOp) and op.name not in found:
                stream = StringIO()
                Printer(stream).print_op(op)
                found[op.name] = stream.getvalue().strip()
    missing = [op.name for family in FAMILIES for op in ops_of(family) if op.name not in found]
    if missing:
        raise ValueError(f"no round-trip test in {EXAMPLES.relative_to(ROOT)} has {', '.join(missing)}: add one")
    return found


def _foreign_ops() -> Lines:
    """A table of the kinds of foreign ops, by dialect and kind."""
    names: dict[tuple[str, str], list[str]] = {}
    for op_name, row in FOREIGN_OPS.items():
        if row.kind is not None:
            dialect, _, name = op_name.partition(".")
            names.setdefault((dialect, _rule_text(row.kind)), []).append(name)
    yield "Ops that `fuse-ops` knows by name, whether or not their dialect is registered. Others are unknown: they stay"
    yield "where they are, unless `fuse.pattern_kind` on the op, or a file with kinds of names, says how they fuse:"
    yield "[fuse a foreign dialect](../how-to/fuse-a-foreign-dialect.md)."
    yield from ("", "| dialect | kind | ops |", "|---|---|---|")
    for (dialect, kind), members in names.items():
        yield f"| `{dialect}` | {kind} | {', '.join(sorted(members))} |"
    for dialect, row in FOREIGN_DIALECTS.items():
        if row.kind is not None:
            yield f"| `{dialect}` | {_rule_text(row.kind)} | all others |"
    yield from ("", "What else is known about some of them:", "", "| facet | meaning | ops |", "|---|---|---|")
    docs = field_docs(ForeignOp)
    for facet in dataclasses.fields(ForeignOp)[2:]:
        members = [name for name, row in FOREIGN_OPS.items() if getattr(row, facet.name)]
        members += [f"{name}.*" for name, row in FOREIGN_DIALECTS.items() if getattr(row, facet.name)]
        meaning = _one_line(docs[facet.name])
        yield f"| {facet.name} | {meaning} | {', '.join(f'`{name}`' for name in sorted(members))} |"
    yield from (
        "",
        "How they read their operands, where that is not the kind of the op:",
        "",
        "| edges | ops |",
        "|---|---|",
    )
    rules: dict[str, list[str]] = {}
    for name, row in FOREIGN_OPS.items():
        if row.edges is not plain_edges:
            rules.setdefault(_one_line(inspect.getdoc(row.edges) or ""), []).append(name)
    for meaning, members in rules.items():
        yield f"| {meaning} | {', '.join(f'`{name}`' for name in sorted(members))} |"


def _rule_text(rule: KindRule) -> str:
    """A kind, or what its function says about it."""
    return f"`{rule.keyword}`" if isinstance(rule, PatternKind) else _one_line(inspect.getdoc(rule) or "")


def _passes() -> Lines:
    """A section per pass."""
    yield "`fuse-opt --list-passes` also lists the passes of xDSL. Options are spelled"
    yield '`fuse-opt --fuse-ops="max-depth=8 dedup=false"` or `-p "fuse-ops{max-depth=8 dedup=false}"`.'
    for name, load in OWN_NAMES.all_passes.items():
        yield from _pass(name, load())


def _pass(name: str, cls: type[ModulePass]) -> Lines:
    module = inspect.getmodule(cls)
    yield from ("", f"## `{name}`", "")
    yield from inspect.cleandoc((module.__doc__ if module is not None else None) or "").splitlines()
    options = option_fields(cls)
    if not options:
        return
    docs, hints = field_docs(cls), get_type_hints(cls)
    yield from ("", "| option | type | default | meaning |", "|---|---|---|---|")
    for option in options:
        meaning = _one_line(docs.get(option.name, ""))
        yield f"| `{option_name(option.name)}` | {type_words(hints[option.name])} | {_shown(option)} | {meaning} |"


def _shown(option: dataclasses.Field[Any]) -> str:
    if option.default is dataclasses.MISSING:
        return "none"
    return f"`{str(option.default).lower() if isinstance(option.default, bool) else option.default}`"


def _remarks() -> Lines:
    """Kinds, rules, and the codes of verdicts."""
    yield from ("## Pattern kinds", "", "| kind | value | meaning |", "|---|---|---|")
    docs = field_docs(PatternKind)
    for kind in PatternKind:
        yield f"| `{kind.keyword}` | {kind.value} | {_one_line(docs[kind.name])} |"
    yield from ("", "## Rules", "")
    yield "| rule | phases | source | greatest edge | between, at most | sink |"
    yield "|---|---|---|---|---|---|"
    for rule in TVM_RULES.rows:
        yield _rule(rule)
    yield from ("", "## Reasons", "", "Codes are stable; match them rather than any text.", "")
    yield from ("| code | meaning |", "|---|---|")
    docs = field_docs(Reason)
    for reason in Reason:
        yield f"| `{reason.value}` | {_one_line(docs[reason.name])} |"


def _rule(rule: FusionRule) -> str:
    phases = ", ".join(map(str, rule.phases))
    sinks = f"a tuple in a group of {_kinds(rule.sinks)}" if rule.into_tuple else _kinds(rule.sinks)
    return (
        f"| `{rule.name}` | {phases} | {_kinds(rule.sources)} | {_kinds(rule.edges)} "
        f"| `{rule.path_limit.keyword}` | {sinks} |"
    )


def _kinds(kinds: frozenset[PatternKind]) -> str:
    if kinds == frozenset(PatternKind):
        return "any"
    return ", ".join(f"`{kind.keyword}`" for kind in sorted(kinds))


def _cli() -> Lines:
    """The help texts."""
    for name, main in (("fuse-opt", fuse_opt.main), ("fuse-run", fuse_run.main)):
        yield from ("", f"## `{name}`", "", "```text", *_help(main).splitlines(), "```")


def _help(main: Callable[[Sequence[str]], int]) -> str:
    """What `--help` prints in a terminal of 100 columns."""
    output, columns = StringIO(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100"
    try:
        with redirect_stdout(output), suppress(SystemExit):
            main(["--help"])
    finally:
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns
    return output.getvalue()


def _one_line(text: str) -> str:
    return " ".join(text.split())


def main() -> int:
    """Write all pages; returns the exit code."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
