"""What an object file calls."""

from fuse_dialect.backends.assembler.elf import undefined_symbols
from fuse_dialect.backends.assembler.engine import object_for
from fuse_dialect.backends.llvm.processors import named

X86 = "x86_64-unknown-linux-gnu"


def test_calls_of_an_object_are_found() -> None:
    text = "declare float @tanhf(float)\ndefine float @f(float %x) {\n  %y = call float @tanhf(float %x)\n"
    text += "  ret float %y\n}"
    assert undefined_symbols(object_for(text, named("x86-64"), X86)) == ["tanhf"]
    assert undefined_symbols(b"no object") == []
    half = "define half @f(half %x, half %y) {\n  %z = fadd half %x, %y\n  ret half %z\n}"
    assert "__extendhfsf2" in undefined_symbols(object_for(half, named("x86-64"), X86))
