"""Passes on the command line, in every spelling."""

import pytest

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.loading.pipeline import type_words
from fuse_dialect.tools.arguments import opt_argument_parser
from fuse_dialect.tools.pass_flags import split_pass_flags, split_pipeline
from fuse_dialect.universe import FUSE_UNIVERSE, OWN_NAMES

PASSES = ("cse", "dce", "fuse-ops", "mlir-opt")
OPTIONS = ("--print-op-generic", "--allow-unregistered-dialect")


@pytest.mark.parametrize(
    ("arguments", "passes", "rest"),
    [
        ("--cse x.mlir --dce", ["cse", "dce"], ["x.mlir"]),
        ("--dce -p cse,dce --cse", ["dce", "cse", "dce", "cse"], []),
        ("--fuse-ops=max-depth=8", ["fuse-ops{max-depth=8}"], []),
        ("--fuse-ops= x.mlir", ["fuse-ops"], ["x.mlir"]),
        ("--passes=cse --pass-pipeline=builtin.module(dce)", ["cse", "dce"], []),
        ("-cse -pdce -pass-pipeline cse", ["cse", "dce", "cse"], []),
        ("-allow-unregistered-dialect -o out", [], ["--allow-unregistered-dialect", "-o", "out"]),
        ("--cse -- --dce", ["cse"], ["--", "--dce"]),
        ("-p cse -", ["cse"], ["-"]),
    ],
)
def test_arguments_are_divided_in_order(arguments: str, passes: list[str], rest: list[str]):
    split = split_pass_flags(arguments.split(), PASSES, OPTIONS)
    assert (list(split.passes), list(split.rest)) == (passes, rest)


@pytest.mark.parametrize(
    ("pipeline", "passes"),
    [
        ("", []),
        ("cse, dce", ["cse", "dce"]),
        ("fuse-ops{ max-depth=8 skip=a,b },cse", ["fuse-ops{max-depth=8 skip=a,b}", "cse"]),
        ("fuse-ops{}", ["fuse-ops"]),
        ("builtin.module( cse , fuse-ops{x=1} )", ["cse", "fuse-ops{x=1}"]),
        ("any(cse)", ["cse"]),
        ('p{s="a,b}"},cse', ['p{s="a,b}"}', "cse"]),
        ("mlir-opt[canonicalize,cse],dce", ["mlir-opt[canonicalize,cse]", "dce"]),
    ],
)
def test_pipeline_is_split_at_outer_commas(pipeline: str, passes: list[str]):
    assert split_pipeline(pipeline) == passes


@pytest.mark.parametrize(
    "pipeline",
    ["cse{", 'p{s="', "builtin.module(cse", "func.func(cse)", "cse,,dce", ",cse", "cse,", ",", "builtin.module(cse,)"],
)
def test_malformed_pipeline_is_diagnosed(pipeline: str):
    with pytest.raises(FuseError):
        split_pipeline(pipeline)


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (int, "integer"),
        (bool, "true or false"),
        (int | None, "integer"),
        (tuple[str, ...], "comma-separated list, each string"),
    ],
)
def test_types_in_words(hint: object, words: str):
    assert type_words(hint) == words


def test_no_pass_of_ours_hides_an_option():
    options = opt_argument_parser("", ["mlir"], ["mlir"]).long_options
    assert not {f"--{name}" for name in OWN_NAMES.all_passes} & options


def test_every_row_of_the_universe_names_what_it_loads():
    for name, load in OWN_NAMES.all_passes.items():
        assert load().name == name
    for name, load in OWN_NAMES.all_dialects.items():
        assert load().name == name
    for name, load in OWN_NAMES.all_targets.items():
        assert load().name == name


def test_other_tools_find_names_that_say_whose_they_are():
    names = [*FUSE_UNIVERSE.all_passes, *FUSE_UNIVERSE.all_targets]
    assert [name for name in names if "fuse" not in name] == []
    assert {"fuse-ops", "defuse-ops", "convert-fuse-to-linalg", "fuse-inline", "fuse-html"} <= set(names)
    universe = {**FUSE_UNIVERSE.all_passes, **FUSE_UNIVERSE.all_targets}
    assert [name for name, load in universe.items() if load().name != name] == []
    assert len(names) == len(OWN_NAMES.all_passes) + len(OWN_NAMES.all_targets)


def test_option_apart_from_its_pass_is_explained():
    with pytest.raises(FuseError, match="'max-depth=4' stands apart from the pass 'cse'") as error:
        split_pass_flags(["--cse", "max-depth=4", "x.mlir"], {"cse"})
    assert error.value.hint == 'write --cse="max-depth=4"'


def test_file_after_a_pass_is_no_option():
    assert split_pass_flags(["--cse", "a/b=c.mlir"], {"cse"}).rest == ("a/b=c.mlir",)


@pytest.mark.parametrize(
    ("spec", "quoted"),
    [
        ("p{template=npu.mlir}", 'p{template="npu.mlir"}'),
        ("p{template=../a/b-c.mlir strict=true}", 'p{template="../a/b-c.mlir" strict=true}'),
        ("p{template=~/x.mlir}", 'p{template="~/x.mlir"}'),
        ('p{template="a b.mlir"}', 'p{template="a b.mlir"}'),
        ("p{template=opu rate=0.5 other=-1.0e-5,2.5}", "p{template=opu rate=0.5 other=-1.0e-5,2.5}"),
    ],
)
def test_paths_need_no_quotes(spec: str, quoted: str) -> None:
    assert split_pass_flags(["-p", spec], ["p"]).passes == (quoted,)
