"""What mlir-opt, torch-mlir-opt and iree-opt print is read, fused, and printed so that it reads the same."""

import re
from io import StringIO
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.diagnostics import FuseError
from fuse_dialect.frontends.mlir.reader import context, parse_mlir
from fuse_dialect.frontends.mlir.upstream import UPSTREAM
from fuse_dialect.fusion.fuse_ops import FuseOpsPass
from fuse_dialect.fusion.kinds.foreign import FOREIGN_OPS
from fuse_dialect.fusion.kinds.kind_of import kind_of
from fuse_dialect.targets.mlir import FuseMLIRTarget, FusePrinter

PRINTED = Path(__file__).parents[1] / "data" / "mlir" / "printed"
FILES = [path for path in sorted(PRINTED.glob("*/*.mlir")) if path.stem != "util"]

_SHORT_FORM_UNREAD = (
    "conv_2d_nchw_fchw_q conv_2d_ngchw_gfchw_q conv_2d_nhwc_fhwc_q conv_2d_nhwc_hwcf_q conv_3d_ndhwc_dhwcf_q "
    "depthwise_conv_2d_nhwc_hwc_q depthwise_conv_2d_nhwc_hwcm_q elemwise_binary elemwise_unary "
    "quantized_batch_matmul winograd_filter_transform winograd_input_transform winograd_output_transform"
)
GENERIC_ALONE = {"tosa.int_div", *(f"linalg.{name}" for name in _SHORT_FORM_UNREAD.split())}
"""Names of old versions, and of ops whose short form is not read: in the generic form they are."""


def printed(module: ModuleOp, *, generic: bool = False) -> str:
    text = StringIO()
    FusePrinter(stream=text, print_generic_format=generic).print_op(module)
    return text.getvalue()


def printed_with_clauses(module: ModuleOp) -> str:
    text = StringIO()
    FuseMLIRTarget(clauses=True).emit(context(), module, text)
    return text.getvalue()


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_printed_program_is_read_and_printed_alike(path: Path) -> None:
    module = parse_mlir(path.read_text(), path.name)
    module.verify()
    text = printed(module)
    assert printed(parse_mlir(text)) == text
    assert printed(parse_mlir(printed(module, generic=True))) == text


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
@pytest.mark.parametrize("clauses", [False, True], ids=["braces", "clauses"])
def test_printed_program_is_read_with_its_places(path: Path, clauses: bool) -> None:
    target = FuseMLIRTarget(print_debuginfo=True, clauses=clauses)
    texts: list[str] = []
    for _ in range(2):
        text = StringIO()
        target.emit(context(), parse_mlir(texts[-1] if texts else path.read_text(), path.name), text)
        texts.append(text.getvalue())
    assert texts[1] == texts[0]


_LOOPS = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %z = arith.constant dense<0.5> : tensor<4xf32>
  %y = LOOP : (tensor<4xf32>) -> tensor<4xf32> {
    %c = arith.constant false
    END
  } do {
  ^bb0(%b: tensor<4xf32>):
    %n = arith.addf %b, %z : tensor<4xf32>
    DIALECT.yield %n : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}"""


@pytest.mark.parametrize(
    ("loop", "end"),
    [
        ("scf.while (%a = %x)", "scf.condition(%c) %a : tensor<4xf32>"),
        (
            "tosa.while_loop (%a = %x)",
            "%t = tensor.from_elements %c : tensor<1xi1> %r = tensor.collapse_shape %t [] : tensor<1xi1> into "
            "tensor<i1> tosa.yield %r : tensor<i1>",
        ),
    ],
    ids=["scf", "tosa"],
)
def test_a_loop_has_one_place(loop: str, end: str) -> None:
    text = _LOOPS.replace("LOOP", loop).replace("END", end).replace("DIALECT", loop.partition(".")[0])
    located = StringIO()
    FuseMLIRTarget(print_debuginfo=True).emit(context(), parse_mlir(text), located)
    parse_mlir(located.getvalue()).verify()


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_printed_program_is_fused(path: Path) -> None:
    module = parse_mlir(path.read_text(), path.name)
    FuseOpsPass().apply(Context(), module)
    module.verify()
    assert any("primitive" in op.attributes for op in module.ops)


@pytest.mark.parametrize("dialect", UPSTREAM)
def test_every_op_of_known_kind_is_in_its_dialect(dialect: str) -> None:
    known = {op.name for op in UPSTREAM[dialect]().operations}
    rows = {name for name, row in FOREIGN_OPS.items() if name.startswith(f"{dialect}.") and row.kind is not None}
    assert rows - known <= GENERIC_ALONE


def test_every_product_that_is_read_has_a_kind() -> None:
    found = {
        op.name: kind_of(op)
        for path in FILES
        for op in parse_mlir(path.read_text(), path.name).walk()
        if op.name.startswith(("linalg.conv", "linalg.depthwise", "linalg.pooling", "linalg.matmul", "linalg.batch"))
    }
    assert len(found) >= 45
    assert {name for name, kind in found.items() if kind is None} == set()


def test_unknown_assembly_names_the_op_and_the_command() -> None:
    text = (PRINTED / "iree-opt" / "util.mlir").read_text()
    with pytest.raises(FuseError, match=r"'util\.func' is of a dialect whose assembly is not known") as raised:
        parse_mlir(text, "util.mlir", context(allow_unregistered=True))
    assert "mlir-opt --mlir-print-op-generic" in str(raised.value.diagnostic.format())
    with pytest.raises(FuseError, match=r"operation 'util\.func' is not registered") as raised:
        parse_mlir(text, "util.mlir")
    assert "mlir-opt --mlir-print-op-generic" in str(raised.value.diagnostic.format())


def _forms(text: str) -> list[str]:
    """What stands before the types, of ops that newer versions of MLIR print with clauses."""
    ops = re.findall(r"((?:tosa\.\w+|linalg\.elementwise) .*?) ?(?:ins\(| : [(!t])", text)
    return [re.sub(r"  +", " ", re.sub(r"%\w+", "%", op)) for op in ops if not op.startswith("tosa.const ")]


@pytest.mark.parametrize("name", ["tosa", "structured_new"])
def test_clauses_are_printed_as_iree_opt_prints_them(name: str) -> None:
    theirs = (PRINTED / "iree-opt" / f"{name}.mlir").read_text()
    module = parse_mlir(theirs)
    ours = printed_with_clauses(module)
    assert len(_forms(theirs)) >= 1
    assert _forms(ours) == _forms(theirs)
    assert printed(parse_mlir(ours)) == printed(module)


def test_with_clauses_named_elementwise_ops_are_elementwise() -> None:
    module = parse_mlir((PRINTED / "mlir-opt-19" / "elementwise.mlir").read_text())
    before = printed(module)
    named = set(re.findall(r"linalg\.(\w+) ", before)) - {"copy", "fill", "generic", "yield"}
    kinds = set(re.findall(r"linalg\.elementwise <(\w+)>", printed_with_clauses(module)))
    assert "max_signed" in kinds
    assert kinds == {{"max": "max_signed", "min": "min_signed"}.get(name, name) for name in named}
    assert printed(module) == before, "the module itself stays as it is"


TRAIT = """
#map = affine_map<(d0) -> (d0)>
#trait = {{doc = "twice", indexing_maps = [#map, #map], iterator_types = ["parallel"], custom.word = 1 : i64}}
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = linalg.generic {trait} ins(%x : tensor<4xf32>) outs(%y : tensor<4xf32>) {{
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %a : f32
    linalg.yield %1 : f32
  }} -> tensor<4xf32>
  return %0 : tensor<4xf32>
}}
"""


def test_trait_of_a_generic_may_be_an_alias() -> None:
    dictionary = '{doc = "twice", indexing_maps = [#map, #map], iterator_types = ["parallel"], custom.word = 1 : i64}'
    module = parse_mlir(TRAIT.format(trait="#trait"))
    module.verify()
    assert printed(module) == printed(parse_mlir(TRAIT.format(trait=dictionary)))


@pytest.mark.parametrize("trait", ["#map", "#other", ""])
def test_trait_of_a_generic_is_a_dictionary(trait: str) -> None:
    with pytest.raises(FuseError, match=r"expected indexing_maps|undefined symbol alias|#other"):
        parse_mlir(TRAIT.format(trait=trait))


def test_clauses_of_tosa_say_what_braces_say() -> None:
    text = """
    func.func @f(%x: tensor<2x9xf32>) -> tensor<2xi32> {{
      %0 = tosa.custom %x {custom} : (tensor<2x9xf32>) -> tensor<2x9xf32>
      %1 = tosa.transpose %0 {perms} : (tensor<2x9xf32>) -> tensor<9x2xf32>
      %2 = tosa.argmax %1 {argmax} : (tensor<9x2xf32>) -> tensor<2xi32>
      return %2 : tensor<2xi32>
    }}
    """
    clauses = text.format(
        custom='operator_name("a") domain_name("b") implementation_attrs("c")',
        perms="perms([1, 0])",
        argmax="axis(0) nan_mode<IGNORE> {own.word = 1 : i64}",
    )
    braces = text.format(
        custom='{domain_name = "b", implementation_attrs = "c", operator_name = "a"}',
        perms="{perms = array<i32: 1, 0>}",
        argmax="{axis = 0 : i32, nan_mode = IGNORE, own.word = 1 : i64}",
    )
    assert parse_mlir(clauses).is_structurally_equivalent(parse_mlir(braces))
    assert printed(parse_mlir(clauses)) == printed(parse_mlir(braces))


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ("axes(0)", "unknown or repeated attribute 'axes'"),
        ("axis(0) axis(1)", "unknown or repeated attribute 'axis'"),
        ("axis(true)", "xpected an integer|xpected integer"),
        ("nan_mode(IGNORE)", "Expected '<'|'<' expected"),
    ],
)
def test_clause_of_tosa_that_is_wrong_has_a_place(clauses: str, message: str) -> None:
    op = f"%0 = tosa.argmax %x {clauses} : (tensor<9xf32>) -> tensor<i32>"
    text = f"func.func @f(%x: tensor<9xf32>) {{\n  {op}\n  return\n}}"
    with pytest.raises(FuseError, match=message) as raised:
        parse_mlir(text, "clauses.mlir")
    assert "clauses.mlir:2:" in str(raised.value.diagnostic.format())


EXPANDED = """
func.func @main(%x: tensor<f32>) -> tensor<1x{size}xf32> {{
  %y = tensor.expand_shape %x [] output_shape [1, {size}] : tensor<f32> into tensor<1x{size}xf32>
  return %y : tensor<1x{size}xf32>
}}"""


def test_a_tensor_without_axes_is_expanded() -> None:
    """MLIR prints it, and xDSL 0.74 refuses it: there are no groups."""
    module = parse_mlir(EXPANDED.format(size=1))
    module.verify()
    assert printed(parse_mlir(printed(module))) == printed(module)


def test_a_tensor_without_axes_is_expanded_to_one_element_alone() -> None:
    with pytest.raises(VerifyException, match="expects axes of size 1 and no groups"):
        parse_mlir(EXPANDED.format(size=2)).verify()


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ("linalg.matmul ins(%x : T) outs(%x : T) -> T", "2 operands in 'ins' and 1 in 'outs', got 1 and 1"),
        ("linalg.matmul outs(%x : T) -> T", "2 operands in 'ins' and 1 in 'outs', got 0 and 1"),
        ("linalg.tanh ins(%x : T) -> T", "1 operands in 'ins' and 1 in 'outs', got 1 and 0"),
        ("linalg.elementwise <add> ins(%x : T) outs(%x : T) -> T", "2 operands in 'ins' and 1 in 'outs', got 1 and 1"),
        ("linalg.map { math.exp } ins(%x : T)", "one operand in 'outs', got 0"),
        ("linalg.softmax dimension(7) ins(%x : T) outs(%x : T) -> T", "an axis of 2, got 7"),
        ("linalg.pack %x inner_dims_pos = [7] inner_tiles = [2] into %z : T -> U", r"an axis of 2 .* got \[7\]"),
        ("linalg.pack %x inner_dims_pos = [0] inner_tiles = [2] into %x : T -> T", "3 axes in tiles, got 2"),
        (
            "linalg.pack %x outer_dims_perm = [1, 1] inner_dims_pos = [0] inner_tiles = [2] into %z : T -> U",
            r"an order of 2 axes, got \[1, 1\]",
        ),
        ("arith.constant 9223372036854775808 : index", "out of range for an index"),
        ("arith.constant dense<[-9223372036854775809]> : tensor<1xindex>", "out of range for an index"),
    ],
)
def test_an_op_that_cannot_be_is_refused_at_its_place(op: str, message: str) -> None:
    text = f"func.func @f(%x: T, %z: U) {{\n%y = {op}\nreturn\n}}".replace("T", "tensor<4x4xf32>")
    with pytest.raises((FuseError, VerifyException), match=message) as raised:
        parse_mlir(text.replace("U", "tensor<2x4x2xf32>")).verify()
    assert not isinstance(raised.value, FuseError) or "<string>:2:" in str(raised.value)
