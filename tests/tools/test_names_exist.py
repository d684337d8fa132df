"""What pages and docstrings name in backticks is there: files, members, ops, flags, passes and their options.

1. Pages are README, CONTRIBUTING, SECURITY, and all below `docs`, without their blocks of code, which `test_docs` runs.
   Docstrings are those of `fuse_dialect` and `tools`, of attributes too.
2. A rule is a row of `RULES`: what names look like, and what says whether there is such a thing. The first row that
   fits a name decides. Plain words are not looked at.
3. `FOREIGN` and `MADE_UP` are the only exceptions; what nobody names any more must leave them.
"""

import ast
import builtins
import importlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import cache
from io import StringIO
from pathlib import Path

import pytest

import fuse_dialect
from fuse_dialect.dialect.fuse import Fuse
from fuse_dialect.loading.pipeline import option_fields
from fuse_dialect.machines.description import UNITS
from fuse_dialect.machines.names import machine_names
from fuse_dialect.tools import fuse_opt, fuse_run
from fuse_dialect.tools.opt_help import OWN_TARGETS
from fuse_dialect.universe import FUSE_UNIVERSE, OWN_NAMES

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("fuse_dialect", "tools")
PAGES = [*(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")), *sorted(ROOT.glob("docs/**/*.md"))]

_BLOCK = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_FLAG = re.compile(r"(?<!\S)--[a-z][\w-]*")
_PASS = re.compile(r"([a-z][\w-]*)[={]([^}]*)")
_TARGET = re.compile(r"(?<!\S)-t ['\"]?([\w-]+)")
_OPTION = re.compile(r"(?:^|[ {])[\"']?([a-z][\w-]*)=")

FOREIGN = {
    "C": "posix_memalign",
    "Gemmini": "tiled_conv_auto tiled_conv_dw_auto tiled_matmul_auto tiled_resadd_auto tiled_global_average_auto "
    "tiled_norm_auto",
    "Dask": "dask",
    "IREE": "iree-compile util --iree-input-demote-f64-to-f32",
    "JAX": "jax jaxlib xdsl-jax",
    "MLIR": "bufferization builtin cast_signed chlo dialect_resources func irdl "
    "linalg llvm mhlo mlir mlir-opt ml_program stablehlo tosa zhigh",
    "ONNX": "onnx onnx_ir raw_data",
    "PyTorch": "torch torchvision nn load_state_dict",
    "onnxruntime": "options.add_free_dimension_override_by_name",
    "StableHLO": "reduce_precision_c2 tuple_c1",
    "TOSA": "apply_scale_16 apply_scale_32 reciprocal_scale",
    "TVM": "annotation dyn extern_ref floor_mod image nn_conv2d relax relay vision",
    "Vela": "npu_post_fuse_limited_ops memory_only_ops test_sequence",
    "SciPy": "scipy",
    "Spark": "pandas_udf",
    "ruff": "ruff",
    "xDSL": "xdsl-opt Operation OpDef SymbolTable --canonicalize",
}
"""Projects, and how names of theirs begin: a dialect, a package, a class, a program, or a flag."""

MADE_UP = {
    "findings": "a folder that a run makes",
    "program.mlir": "a member of a saved program",
    "fused.mlir": "the same",
    "code": "a folder of them",
    "utils.py": "a file that there shall not be",
    "npu": "a dialect in a how-to",
    "encoder": "a module of a network that somebody has written",
    "fuse.weight": "an op that was decided against",
    "fuse.softsign": "the op that a how-to adds",
}
"""Names that are of nothing here, and why a text may have them; also by how they begin."""

VALUES = {
    "graph": "ValueGraph",
    "kernel": "KernelReport",
    "nest": "Nest",
    "op": "FuseOp",
    "plan": "ModulePlan",
    "program": "Program",
}
"""Names of values in texts, with the class of each."""

INSTALLED = {name: name for name in ("copy", "functools", "inspect", "json", "numpy", "platform", "sys")} | {
    "np": "numpy",
    "slice": "builtins",
}
"""Packages that are looked into, by the name that texts give them."""

PROGRAMS = ("fuse-opt", "fuse-run", "lint-imports")


@dataclass(frozen=True)
class Rule:
    """What is asked of names that look alike."""

    look: str
    """A regular expression for the whole name."""
    exists: Callable[[str], bool]


@dataclass
class Source:
    """What a module of the project says."""

    tree: ast.Module
    names: set[str] = field(default_factory=set[str])
    """What it defines or imports at its top."""
    docstrings: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """(line, text)."""
    literals: set[str] = field(default_factory=set[str])
    """All other texts in it."""
    identifiers: set[str] = field(default_factory=set[str])
    """All names in it, with its own."""


@cache
def sources() -> dict[str, Source]:
    """All modules, by path in the project."""
    paths = [path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py"))]
    return {path.relative_to(ROOT).as_posix(): _source(path) for path in paths}


def _source(path: Path) -> Source:
    source = Source(ast.parse(path.read_text(encoding="utf-8")))
    texts: dict[ast.Constant, str] = {}
    source.identifiers.add(path.stem)
    for node in ast.walk(source.tree):
        said = (getattr(node, each, None) for each in ("id", "attr", "name", "arg"))
        source.identifiers.update(each for each in said if isinstance(each, str))
        match node:
            case ast.Constant(value=str(text)):
                texts.setdefault(node, text)  # what is above it may have said that it is a docstring
            case ast.Module(body=body) | ast.ClassDef(body=body) | ast.FunctionDef(body=body):
                for statement in body:
                    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                        source.docstrings.append((statement.lineno, str(statement.value.value)))
                        texts[statement.value] = ""
            case _:
                pass
    source.literals = set(texts.values())
    source.names = set().union(*map(_bound, source.tree.body))
    return source


def _bound(statement: ast.stmt) -> set[str]:
    """Names that a statement binds, in blocks below it too, but not inside functions and classes."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    nodes = list(ast.walk(statement))
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.asname or node.name for node in nodes if isinstance(node, ast.alias)}


@cache
def members() -> dict[str, set[str]]:
    """Of every class its fields, methods, and what methods set; those of base classes in the project included."""
    own: dict[str, set[str]] = defaultdict(set)
    bases: dict[str, set[str]] = defaultdict(set)
    for source in sources().values():
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.ClassDef):
                continue
            bases[node.name] |= {base.id for base in node.bases if isinstance(base, ast.Name)}
            own[node.name] |= set().union(*map(_bound, node.body))
            inner = [each for each in ast.walk(node) if isinstance(each, ast.Attribute)]
            own[node.name] |= {each.attr for each in inner if isinstance(each.ctx, ast.Store)}
    found: dict[str, set[str]] = {}
    for name in own:
        line = [name]
        for each in line:
            line += [base for base in bases.get(each, ()) if base in own and base not in line]
        found[name] = set().union(*(own[each] for each in line))
    return found


@cache
def places() -> frozenset[str]:
    """Every file and folder, by all that a path to it may end with."""
    files = [path for path in ROOT.glob("*.*") if path.is_file()]
    for folder in ("docs", "tests", *SOURCES):
        files += [path for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts and path.is_file()]
    parts = {path.relative_to(ROOT).parts[:stop] for path in files for stop in range(1, 12)}
    return frozenset("/".join(path[start:]) for path in parts for start in range(len(path)))


@cache
def help_of(tool: Callable[[list[str]], int]) -> str:
    """What a program prints for `--help`."""
    output = StringIO()
    with redirect_stdout(output), suppress(SystemExit):
        tool(["--help"])
    return output.getvalue()


@cache
def flags_of(tool: str) -> frozenset[str]:
    """The flags of a program of the package, or of the scripts of `tools` whose path begins so."""
    if tool == "fuse-run":
        return frozenset(_FLAG.findall(help_of(fuse_run.main)))
    if tool == "fuse-opt":
        return frozenset({*_FLAG.findall(help_of(fuse_opt.main)), *(f"--{name}" for name in OWN_NAMES.all_passes)})
    literals = (source.literals for path, source in sources().items() if path.startswith(tool))
    return frozenset(text for text in set().union(*literals) if _FLAG.fullmatch(text))


def options_of(name: str) -> set[str]:
    """The options of a pass."""
    return {option.name.replace("_", "-") for option in option_fields(OWN_NAMES.all_passes[name]())}


def is_place(name: str) -> bool:
    """Whether a file or folder has a path that ends so."""
    return name.rstrip("/") in places()


def is_of_dialect(name: str) -> bool:
    """Whether the dialect has such an op or attribute, or the code sets an attribute of an op under this name."""
    known = {each.name for each in (*Fuse.operations, *Fuse.attributes)}
    return name in known or any(name in source.literals for source in sources().values())


def is_member(name: str) -> bool:
    """Whether a dotted name, perhaps with arguments, leads somewhere: from a package, a module, a class or a value."""
    head, *rest = name.partition("(")[0].split(".")
    owner = VALUES.get(head, head)
    if owner in members() and len(rest) == 1 and rest[0] in members()[owner]:
        return True
    if head in ("fd", fuse_dialect.__name__) and rest[0] in fuse_dialect.__all__:
        return len(rest) == 1
    parts = [head, *rest]
    path = "/".join(parts)
    if path in places() or f"{path}.py" in places():
        return True
    modules = [path for path in sources() if f"/{path}".endswith(f"/{'/'.join(parts[:-1])}.py")]
    if any(parts[-1] in sources()[path].names for path in modules) or is_of_python(head, rest):
        return True
    return is_said_in_code(name)  # a group of entry points


def is_of_python(head: str, rest: list[str]) -> bool:
    """Whether a package that is installed, or a class of Python, has this."""
    if head not in INSTALLED:
        return False
    found = getattr(builtins, head, None) or importlib.import_module(INSTALLED[head])
    for part in rest:
        found = getattr(found, part, None)
    return found is not None


def is_command(name: str) -> bool:
    """Whether the program, or without one any program, has these flags, and passes have these options."""
    first = name.removeprefix("python ").split()[0]
    if first.startswith("-"):
        known = frozenset().union(*map(flags_of, ("fuse-opt", "fuse-run", "tools/")))
    else:
        known = flags_of(first)
    return known.issuperset(_FLAG.findall(name)) and has_options(name)


def has_options(name: str) -> bool:
    """Whether passes in a text have the options that it gives them."""
    return all(
        options_of(each).issuperset(_OPTION.findall(options))
        for each, options in _PASS.findall(name)
        if each in OWN_NAMES.all_passes
    )


def is_said_in_code(name: str) -> bool:
    """Whether a name with dashes is a pass, one of their options, a machine, its unit, or a text that the code has."""
    passes = OWN_NAMES.all_passes
    known = (*passes, *FUSE_UNIVERSE.all_passes, *PROGRAMS, *machine_names(), *UNITS)
    if name in known or any(name in options_of(each) for each in passes):
        return True
    return any(name in source.literals for source in sources().values())


def is_target(name: str) -> bool:
    """Whether what stands behind `-t` is a format that `fuse-opt` or `xdsl-opt` writes."""
    return _TARGET.findall(name)[0] in (*OWN_TARGETS, *FUSE_UNIVERSE.all_targets, "NAME")


def is_identifier(name: str) -> bool:
    """Whether the code has a name, perhaps in a text like `nn.conv2d`."""
    return name.partition("(")[0] in identifiers()


@cache
def identifiers() -> frozenset[str]:
    """All names in the code, of files and folders too, and all words of its texts."""
    parts = {part for source in sources().values() for text in source.literals for part in re.findall(r"\w+", text)}
    folders = {place for place in places() if "/" not in place}
    return frozenset(parts | folders).union(*(source.identifiers for source in sources().values()))


def is_placeholder(_: str) -> bool:
    """Files like `MODEL.npz` or `FOLDER/model.onnx` are named by the user."""
    return True


RULES = (
    Rule(r"[A-Z]+[./].*", is_placeholder),
    Rule(r"(?!\d)[\w.-]+(/[\w.-]+)+/?|\w+/|\w+\.(py|md|mlir|onnx|toml)", is_place),
    Rule(r"fuse\.\w+", is_of_dialect),
    Rule(r"(?!\d)\w+(\.\w+)+(\(.*\))?", is_member),
    Rule(r"-t .*", is_target),
    Rule(r"(.*\s)?--[a-z][\w-]*([ =].*)?", is_command),
    Rule(r"_?[a-z]+(_\w+)+(\(.*\))?", is_identifier),
    Rule(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", is_said_in_code),
    Rule(r"[a-z][a-z0-9]*(-[a-z0-9]+)+\{.*\}", has_options),
)


EXCEPTIONS = frozenset({*MADE_UP, *(each for names in FOREIGN.values() for each in names.split())})
_FIRST = re.compile("|".join(rf"{re.escape(each)}(?![\w-])" for each in EXCEPTIONS))


def exception(name: str) -> str | None:
    """What of `EXCEPTIONS` a name begins with."""
    found = _FIRST.match(name)
    return found and found[0]


def is_missing(name: str) -> bool:
    """Whether a rule fits a name, and there is no such thing in the project."""
    rule = next((rule for rule in RULES if re.fullmatch(rule.look, name)), None)
    return rule is not None and not rule.exists(name)


def is_stale(name: str) -> bool:
    """Whether a name is missing, and nothing says that it may be."""
    return exception(name) is None and is_missing(name)


def texts() -> Iterator[tuple[str, str]]:
    """(where it is, text) of all pages and docstrings."""
    for page in PAGES:
        yield page.relative_to(ROOT).as_posix(), _BLOCK.sub("", page.read_text(encoding="utf-8"))
    for path, source in sources().items():
        yield from ((f"{path}:{line}", text) for line, text in source.docstrings)


@cache
def named() -> dict[str, list[str]]:
    """Where each name is."""
    found: dict[str, list[str]] = defaultdict(list)
    for where, text in texts():
        for name in _NAME.findall(text):
            found[name].append(where)
    return found


def test_every_name_is_of_something():
    stale = {name: where for name, where in named().items() if is_stale(name)}
    assert not stale


def test_every_exception_is_needed():
    assert {exception(name) for name in named() if is_missing(name)} - {None} == EXCEPTIONS


@pytest.mark.parametrize(
    "name",
    [
        "fusion/no_such_file.py",
        "tools/no_such_script.py",
        "fuse.no_such_op",
        "fuse_dialect.no_such_name",
        "Program.no_such_method",
        "program.no_such_method()",
        "numpy.no_such_function",
        "special_functions.no_such_function",
        "--no-such-flag",
        "fuse-run --no-such-flag",
        "fuse-run --pass-pipeline",
        "tools/check.py --minutes 30",
        "--fuse-ops=no-such-option=8",
        "fuse-ops{no-such-option=8}",
        "-t no-such-target",
        "no-such-pass",
        "no_such_function",
        "no_such_function(x)",
    ],
)
def test_a_name_of_nothing_is_noticed(name: str):
    assert is_stale(name)


@pytest.mark.parametrize(
    "name",
    [
        "analysis/kernel_costs.py",
        "backends/runtime",
        "FOLDER/model.onnx",
        "fuse.relu",
        "fuse_dialect.compile(x)",
        "Program.specialize",
        "numpy.linalg.det",
        '--fuse-ops="max-depth=8 dedup=false"',
        "fuse-ops-hw{template=opu}",
        "-t 'onnx{text=true}'",
        "no plain words",
    ],
)
def test_a_name_of_something_is_let_through(name: str):
    assert not is_stale(name)
