"""Objects joined to one block: code runs as LLVM's own loader runs it, and what is not known is refused."""

import ctypes
import os
import struct

import pytest

pytest.importorskip("llvmlite")

from fuse_dialect.backends.assembler.engine import compile_object, load
from fuse_dialect.backends.stored.linking import LinkError, link
from fuse_dialect.backends.stored.machine_code import MachineCode, is_supported

pytestmark = pytest.mark.skipif(not is_supported(), reason="code is linked on Linux, x86-64")

TABLE = """
@squares = private unnamed_addr constant [4 x i64] [i64 0, i64 1, i64 4, i64 9]

define i64 @square(i64 %i) {
  %at = getelementptr [4 x i64], ptr @squares, i64 0, i64 %i
  %value = load i64, ptr %at
  ret i64 %value
}

define i64 @next_square(i64 %i) {
  %next = add i64 %i, 1
  %value = call i64 @square(i64 %next)
  ret i64 %value
}
"""
OUTSIDE = """
declare i32 @sched_get_priority_max(i32)

define i64 @square(i64 %i) {
  %policy = trunc i64 %i to i32
  %value = call i32 @sched_get_priority_max(i32 %policy)
  %wide = sext i32 %value to i64
  %more = add i64 %wide, 100
  ret i64 %more
}
"""


def called(address: int, argument: int) -> int:
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(argument)


def test_functions_of_several_objects_run_where_they_are_put() -> None:
    objects = [compile_object(text) for text in (TABLE, OUTSIDE)]
    linked = link(objects)
    blocks = [MachineCode(linked.code, linked.imports, linked.inside) for _ in range(2)]
    assert set(linked.imports) == {"sched_get_priority_max"}
    for block in blocks:  # anywhere, and twice
        assert called(block.address + linked.symbols[0]["square"], 3) == 9
        assert called(block.address + linked.symbols[0]["next_square"], 1) == 4
        assert called(block.address + linked.symbols[1]["square"], 1) == 100 + os.sched_get_priority_max(1)


def test_a_block_is_not_writable() -> None:
    linked = link([compile_object(TABLE)])
    block = MachineCode(linked.code, linked.imports, linked.inside)
    with open("/proc/self/maps") as maps:
        (rights,) = [
            fields[1]
            for fields in map(str.split, maps)
            if int(fields[0].split("-")[0], 16) <= block.address < int(fields[0].split("-")[1], 16)
        ]
    assert rights.startswith("r-x")


def test_an_object_of_another_form_is_refused() -> None:
    code = compile_object(TABLE)
    for wrong in (b"", b"no object", code[:18] + struct.pack("<H", 183) + code[20:]):
        with pytest.raises(LinkError):
            link([wrong])


def test_an_unknown_relocation_is_refused() -> None:
    code = bytearray(compile_object(OUTSIDE))
    (table,) = struct.unpack_from("<Q", code, 0x28)
    size, count = struct.unpack_from("<HH", code, 0x3A)
    for index in range(count):
        _, kind, _, _, start, length, *_ = struct.unpack_from("<IIQQQQ", code, table + size * index)
        if kind == 4 and length:
            struct.pack_into("<I", code, start + 8, 77)
    with pytest.raises(LinkError, match="kind 77"):
        link([bytes(code)])


@pytest.mark.parametrize("number", [0, 7])  # in a section without bytes, and in one with
def test_data_that_code_writes_is_refused(number: int) -> None:
    text = f"@count = internal global i64 {number}\ndefine void @f() {{\n  store i64 1, ptr @count\n  ret void\n}}\n"
    with pytest.raises(LinkError, match=r"writes to its section"):
        link([compile_object(text)])


def test_any_cut_object_is_refused_or_linked_but_nothing_else() -> None:
    code = compile_object(OUTSIDE)
    for end in range(0, len(code), 7):
        try:
            link([code[:end]])
        except LinkError:
            continue


def test_loading_agrees_with_llvm() -> None:
    code = compile_object(TABLE)
    own, linked = load(code, ["next_square"]), link([code])
    block = MachineCode(linked.code, linked.imports, linked.inside)
    assert own.object == code
    for number in range(3):
        theirs = called(own.addresses["next_square"], number)
        assert called(block.address + linked.symbols[0]["next_square"], number) == theirs
