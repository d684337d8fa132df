"""Verification with a table of symbols finds what xDSL's verifier finds."""

import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.frontends.mlir.reader import context, parse_mlir
from fuse_dialect.loading.verification import indexed_symbols, verify_module

DECLARATIONS = "func.func private @f(f32) -> f32\nfunc.func private @g() -> i1\n"

INVALID = {
    "no such symbol": "%0 = func.call @h(%x) : (f32) -> f32",
    "wrong operands": "%0 = func.call @g(%x) : (f32) -> i1",
    "wrong operand type": "%c = arith.constant 1 : i1\n%0 = func.call @f(%c) : (i1) -> f32",
    "wrong result type": "%0 = func.call @f(%x) : (f32) -> i1",
    "another operation": '%0 = "arith.addf"(%x) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32',
}


def module_of(body: str) -> ModuleOp:
    return parse_mlir(f"{DECLARATIONS}func.func @main(%x: f32) {{\n{body}\nfunc.return\n}}", "test.mlir", context())


@pytest.mark.parametrize("body", INVALID.values(), ids=INVALID.keys())
def test_same_message_as_xdsl(body: str) -> None:
    module = module_of(body)
    with pytest.raises(VerifyException) as expected:
        module.verify()
    with pytest.raises(VerifyException) as found:
        verify_module(module)
    assert str(found.value) == str(expected.value)


def test_nearest_table_counts() -> None:
    inner = "builtin.module @inner {\nfunc.func private @f(f32, f32) -> f32\n}"
    module = parse_mlir(
        f"{DECLARATIONS}func.func @main(%x: f32) {{\n%0 = func.call @f(%x) : (f32) -> f32\nfunc.return\n}}\n{inner}",
        "test.mlir",
        context(),
    )
    verify_module(module)
    nested = [op for op in module.walk() if isinstance(op, func.FuncOp)][-1]
    with indexed_symbols():
        assert SymbolTable.lookup_symbol(nested, "f") is nested
        assert SymbolTable.lookup_symbol(module, "inner") is module.body.block.last_op
        assert SymbolTable.lookup_symbol(nested, "main") is None


def test_lookup_is_as_before_afterwards() -> None:
    search = SymbolTable.lookup_symbol
    with pytest.raises(VerifyException):
        verify_module(module_of(INVALID["no such symbol"]))
    assert SymbolTable.lookup_symbol is search


def test_a_malformed_symbol_is_reported_as_by_xdsl() -> None:
    module = module_of("%0 = func.call @f(%x) : (f32) -> f32")
    function = module.body.block.first_op
    assert function is not None
    del function.properties["sym_name"]
    with pytest.raises(VerifyException) as expected:
        module.verify()
    with pytest.raises(VerifyException) as found:
        verify_module(module)
    assert str(found.value) == str(expected.value)
