"""Reading MLIR text: exact values, places, and the same as xDSL's parser everywhere else."""

import math
import re
import struct
from io import StringIO

import pytest
from fuzzing.hostile_inputs import doubling_aliases, doubling_locations, doubling_types
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind

from fuse_dialect.diagnostics import FuseError, SourceLocation
from fuse_dialect.frontends.mlir.dense_literal import MAX_EXPANDED_SPLAT
from fuse_dialect.frontends.mlir.lexer import FuseLexer
from fuse_dialect.frontends.mlir.reader import context, parse_mlir, read_mlir
from fuse_dialect.targets.mlir import FuseMLIRTarget, FusePrinter


def dense(text: str) -> DenseIntOrFPElementsAttr:
    (op,) = parse_mlir(f"%0 = arith.constant {text}").body.block.ops
    assert isinstance(op, arith.ConstantOp)
    assert isinstance(op.value, DenseIntOrFPElementsAttr)
    return op.value


def printed(attribute: DenseIntOrFPElementsAttr) -> str:
    stream = StringIO()
    FusePrinter(stream=stream).print_attribute(attribute)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("dense<0xFF800000> : tensor<2xf32>", (-math.inf, -math.inf)),
        ("dense<[0x7F800000, 1.0]> : tensor<2xf32>", (math.inf, 1.0)),
        ("dense<[0xFC00, 0x3C00]> : tensor<2xf16>", (-math.inf, 1.0)),
        ("dense<[0xFF80, 0x3F80]> : tensor<2xbf16>", (-math.inf, 1.0)),
        ("dense<0xFFF0000000000000> : tensor<1xf64>", (-math.inf,)),
        ("dense<0x10> : tensor<2xi32>", (16, 16)),
        ("dense<[1, -2]> : tensor<2xf32>", (1.0, -2.0)),
        ('dense<"0x0000803F000000C0"> : tensor<2xf32>', (1.0, -2.0)),
    ],
)
def test_dense_values(text: str, values: tuple[float, ...]):
    assert dense(text).get_values() == values


def test_nan_of_a_dense_list():
    assert math.isnan(dense("dense<0x7FC00000> : tensor<f32>").get_values()[0])


@pytest.mark.slow
@settings(deadline=None)
@given(
    element=st.sampled_from([("f16", "e", 16), ("f32", "f", 32), ("f64", "d", 64)]),
    count=st.integers(1, 130),
    data=st.data(),
)
def test_dense_floats_round_trip_bit_by_bit(element: tuple[str, str, int], count: int, data: st.DataObject):
    name, code, width = element
    values = data.draw(st.lists(st.floats(width=width, allow_nan=False), min_size=count, max_size=count))
    bits = struct.pack(f"<{count}{code}", *values)
    attribute = dense(f'dense<"0x{bits.hex()}"> : tensor<{count}x{name}>')
    assert attribute.data.data == bits
    assert dense(printed(attribute)).data.data == bits


@pytest.mark.parametrize("literal", ["1.0", '"0x0000803F"'])
def test_large_splat_is_stored_as_one_element(literal: str):
    small = dense(f"dense<{literal}> : tensor<{MAX_EXPANDED_SPLAT}xf32>")
    large = dense(f"dense<{literal}> : tensor<{MAX_EXPANDED_SPLAT + 1}xf32>")
    assert (len(small), len(large)) == (MAX_EXPANDED_SPLAT, 1)
    assert printed(large) == f"dense<1.000000e+00> : tensor<{MAX_EXPANDED_SPLAT + 1}xf32>"


def tokens(lexer: MLIRLexer) -> list[tuple[MLIRTokenKind, int, int]]:
    found: list[MLIRToken] = []
    while not found or found[-1].kind is not MLIRTokenKind.EOF:
        found.append(lexer.lex())
    return [(token.kind, token.span.start, token.span.end) for token in found[:-1]]


PIECES = st.sampled_from(
    [
        r"%a",
        r"%0",
        r"%0#1",
        r"@f",
        r'@"g"',
        r"#a",
        r"!t",
        r"^bb0",
        r"->",
        r"-",
        r"-1",
        r"{-#",
        r"#-}",
        r"{",
        r"}",
        r"(",
        r")",
        r"[",
        r"]",
        r"<",
        r">",
        r":",
        r"::",
        r",",
        r"=",
        r"+",
        r"*",
        r"/",
        r"?",
        r"|",
        r"...",
        r"0",
        r"12",
        r"0x1F",
        r"0xg",
        r"1.5",
        r"2.",
        r"3.e",
        r"1e5",
        r"1.0e-3",
        r"4x8xf32",
        r'"s"',
        r'"\0A"',
        r'"\FF"',
        r'"\q"',
        r"a.b",
        r"_c",
        r"//x",
        r"tensor<4xf32>",
        r"é",
        r'"',
        r"@",
        r"%",
        r"#",
        r";",
    ]
)


class LinearLexer(MLIRLexer):
    """xDSL's lexer with one repetition fewer: its own takes exponential time on a string that does not end."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*"')


@settings(deadline=None)
@given(pieces=st.lists(PIECES, max_size=12), separator=st.sampled_from(["", " ", "\t", "\n", " // c\n"]))
def test_lexer_gives_the_tokens_of_xdsl(pieces: list[str], separator: str):
    def outcome(cls: type[MLIRLexer]) -> object:
        try:
            return tokens(cls(Input(separator.join(pieces), "x")))
        except Exception as error:
            return type(error), str(error)

    assert outcome(FuseLexer) == outcome(LinearLexer)


def test_unterminated_string_is_an_error_at_once():
    with pytest.raises(FuseError, match="string literal"):
        parse_mlir('"test.op"() {a = "' + "a" * 5000)


def test_places_of_operations():
    text = 'func.func @f(%x: f32) {\n  %y, %z = "test.op"(%x) : (f32) -> (f32, f32)\n  return\n}\n'
    module, source_map = read_mlir(text, "f.mlir", context())
    function, test_op, _ = [op for op in module.walk() if op is not module]
    assert source_map.locate(function) == SourceLocation("f.mlir", 1, 1)
    assert source_map.locate(test_op) == SourceLocation("f.mlir", 2, 12)
    assert source_map.locate(module) == SourceLocation("f.mlir")


def test_place_of_an_operation_that_a_pass_has_built():
    module, source_map = read_mlir("\nfunc.func @f() {\n  return\n}\n", "f.mlir", context())
    (function,) = module.body.block.ops
    built = arith.ConstantOp.from_int_and_width(1, 32)
    function.regions[0].block.insert_op_before(built, function.regions[0].block.first_op)  # pyright: ignore
    assert source_map.locate(built) == SourceLocation("f.mlir", 2, 1)


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ('loc("a.py":1:2)', SourceLocation("a.py", 1, 2)),
        ('loc("name"("a.py":1:2))', SourceLocation("a.py", 1, 2)),
        ('loc(callsite("a.py":1:2 at "b.py":3:4))', SourceLocation("a.py", 1, 2)),
        ('loc(fused["name", "b.py":3:4])', SourceLocation("b.py", 3, 4)),
        ("loc(unknown)", SourceLocation("f.mlir", 1, 1)),
    ],
)
def test_explicit_locations(location: str, place: SourceLocation):
    module, source_map = read_mlir(f'"test.op"() : () -> () {location}', "f.mlir", context())
    (op,) = module.body.block.ops
    assert source_map.locate(op) == place


def test_error_shows_the_source_line():
    with pytest.raises(FuseError) as raised:
        parse_mlir("func.func @f() {\n  return %x : i32\n}", "f.mlir")
    assert raised.value.diagnostic.format() == (
        "f.mlir:2:10: error: use of undefined value '%x'\nnote:   return %x : i32\nnote:          ^^"
    )


def test_error_in_a_long_line_shows_a_part_of_it():
    with pytest.raises(FuseError) as raised:
        parse_mlir(" " * 10 + "x" * 10_000 + " %% " + "y" * 10_000, "f.mlir")
    assert max(map(len, raised.value.notes)) <= 120


def test_deeply_nested_text_is_read():
    levels = 500
    text = '"builtin.module"() ({\n' * levels + '"test.op"() : () -> ()\n' + "}) : () -> ()\n" * levels
    assert parse_mlir(text).name == "builtin.module"


def test_text_that_is_nested_too_deeply_is_diagnosed():
    with pytest.raises(FuseError, match="nested too deeply"):
        parse_mlir('"test.op"() {a = ' + "[" * 100_000)


@pytest.mark.parametrize("make", [doubling_aliases, doubling_types])
def test_aliases_that_double_are_refused_where_they_get_too_large(make):
    parse_mlir(make(8))
    with pytest.raises(FuseError, match=r"the aliases up to '[#!][at]\d+' stand for \d+ characters of text") as caught:
        parse_mlir(make(40))
    assert caught.value.location.line < 25


def test_locations_that_double_are_printed_by_name():
    text = StringIO()
    FuseMLIRTarget(print_debuginfo=True).emit(context(), parse_mlir(doubling_locations(60)), text)
    assert "#loc58 = loc(callsite(#loc57 at #loc57))" in text.getvalue()
    again = StringIO()
    FuseMLIRTarget(print_debuginfo=True).emit(context(), parse_mlir(text.getvalue()), again)
    assert again.getvalue() == text.getvalue()


def test_type_aliases_and_spellings_do_not_mix():
    text = """
    !t = tensor<4xf32>
    func.func @f(%a: !t, %b: tensor<4xf32>, %c: tensor< 4xf32>, %d: tensor<4xf32, #e>, %e: tensor<4xf32 // >
    >) { return }
    """
    module = parse_mlir('#e = "dense"\n' + text)
    (function,) = module.body.block.ops
    types = [str(argument.type) for argument in function.regions[0].block.args]
    assert types == ["tensor<4xf32>"] * 3 + ['tensor<4xf32, "dense">', "tensor<4xf32>"]


def test_size_of_more_than_64_bits_is_refused():
    with pytest.raises(FuseError, match=r"expected a size of at most 2\*\*63 - 1, got 9223372036854775808"):
        parse_mlir(f"func.func private @f(tensor<{2**63}xf32>)")
    parse_mlir(f"func.func private @f(tensor<{2**63 - 1}xf32>)")
