"""The builder writes what LLVM reads; mistakes are reported with their place, missing functions by name."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from native_run import HOSTS
from programs import PROGRAMS

from fuse_dialect.backends.assembler.builder import Function, Module, Parameter
from fuse_dialect.backends.assembler.engine import EngineError, callable_of, compile_object, host, load
from fuse_dialect.backends.assembler.values import BF16, F16, F32, F64, I1, I8, I16, I64, PTR, Type, Value, constant
from fuse_dialect.backends.backend import KernelRequest
from fuse_dialect.backends.llvm import LLVMBackend


def doubling(symbol: str = "expf") -> Module:
    """A kernel that stores `symbol(1)` in the first element of its first buffer."""
    module = Module()
    f = module.function("kernel", [Parameter("slots", PTR), Parameter("part", I64), Parameter("parts", I64)])
    out = f.cast("inttoptr", f.load(I64, f.parameters[0]), PTR)
    f.store(f.call(symbol, F32, [constant(F32, 1.0)]), out)
    f.ret()
    return module


def test_machine_code_survives_as_bytes() -> None:
    code = compile_object(doubling().text())
    out = np.zeros(1, np.float32)
    slots = np.array([out.ctypes.data])
    loaded = [load(bytes(code), ["kernel"]) for _ in range(2)]
    for each in loaded:
        callable_of(each.addresses["kernel"])(slots.ctypes.data, 0, 1)
        assert out[0] == pytest.approx(np.e)
    assert loaded[0].addresses != loaded[1].addresses


def test_a_missing_function_is_named_before_anything_runs() -> None:
    with pytest.raises(EngineError, match="'no_such_function'"):
        compile_object(doubling("no_such_function").text())


def test_rejected_text_is_quoted() -> None:
    text = doubling().text().replace("inttoptr", "inttopointer")
    with pytest.raises(EngineError, match=r"line \d+:   %v\.\d+ = inttopointer"):
        compile_object(text)


@pytest.mark.parametrize("code", [b"", b"no object", compile_object(doubling().text())[:200]])
def test_foreign_bytes_are_refused(code: bytes) -> None:
    with pytest.raises(EngineError):
        load(code, ["kernel"])


def test_a_symbol_that_the_object_lacks_is_refused() -> None:
    with pytest.raises(EngineError):
        load(compile_object(doubling().text()), ["another"])


def test_kernels_compile_in_several_threads_at_once() -> None:
    backend = LLVMBackend()
    requests = [[KernelRequest(write(4 + number, 20))] for number in range(2) for write, _ in PROGRAMS.values()]
    with ThreadPoolExecutor(4) as pool:
        kernels = [kernel for (kernel,) in pool.map(backend.compile, requests)]
    assert len({kernel.address for kernel in kernels}) == len(requests)


@pytest.mark.parametrize("target", HOSTS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_program_gives_the_same_text(name: str, target: str) -> None:
    request = KernelRequest(PROGRAMS[name][0](8, 30))
    texts = {LLVMBackend(target=HOSTS[target]).emit(request).ir_text for _ in range(2)}
    assert len(texts) == 1


@pytest.mark.parametrize(
    ("type", "number", "text"),
    [
        (F32, 0.1, "0x3FB99999A0000000"),
        (F64, 0.1, "0x3FB999999999999A"),
        (F16, 1.0, "15360"),
        (BF16, 1.0, "16256"),
        (F16, 1e9, "31744"),
        (F32, -1e60, "0xFFF0000000000000"),
        (I8, 255, "-1"),
        (I1, -1, "true"),
        (Type("i64", 4), 3, "splat (i64 3)"),
    ],
)
def test_constants_are_exact(type: Type, number: float, text: str) -> None:
    assert constant(type, number).text == text


def test_arithmetic_on_constants_leaves_no_code() -> None:
    f = Module().function("f", [])
    seven = f.add(f.multiply(f.i64(2), f.i64(3)), f.i64(1))
    assert (seven.number, f.quotient(seven, 2).number, f.remainder(seven, 4).number) == (7, 3, 3)
    assert f.text().splitlines()[1:] == ["entry:", "}"]


def test_chains_that_are_written_together_take_turns() -> None:
    f = Module().function("f", [Parameter("x", I64)])
    (x,) = f.parameters

    def chain(times: int) -> Value:
        value = x
        for _ in range(times):
            value = f.multiply(value, x)
        return value

    ends = f.interleaved([lambda: chain(2), lambda: chain(3)])
    order = [line.split(" = ")[0].strip() for line in f.text().splitlines() if " mul " in line]
    assert order == ["%i.1", "%i.3", "%i.2", "%i.4", "%i.5"]
    assert [end.text for end in ends] == ["%i.2", "%i.5"]


def lines(f: Function) -> list[str]:
    """Instructions that define something."""
    return [line.strip() for line in f.text().splitlines() if " = " in line]


def test_an_address_is_computed_once_in_a_block() -> None:
    f = Module().function("f", [Parameter("p", PTR), Parameter("x", I64)])
    p, x = f.parameters
    first, again = (f.offset(p, f.add(f.multiply(x, f.i64(3)), f.i64(1)), F32) for _ in range(2))
    assert first == again
    assert len(lines(f)) == 3
    with f.when(f.compare("slt", x, f.i64(4))):
        assert f.multiply(x, f.i64(3)) != f.multiply(x, f.i64(5))
        inside = f.multiply(x, f.i64(3))
    assert f.multiply(x, f.i64(3)) != inside  # that block need not have run
    assert len(lines(f)) == 3 + 1 + 2 + 1


def test_loads_and_calls_are_not_taken_for_addresses() -> None:
    f = Module().function("f", [Parameter("p", PTR)])
    (p,) = f.parameters
    assert f.load(I64, p) != f.load(I64, p)
    assert f.call("g", I64, [p]) != f.call("g", I64, [p])


def test_values_of_one_text_and_two_types_are_two() -> None:
    f = Module().function("f", [Parameter("x", I16)])
    (x,) = f.parameters
    number, half = f.binary("add", x, x), f.binary("add", Value(x.text, F16), Value(x.text, F16))
    assert (number.type, half.type) == (I16, F16)
    assert f.binary("add", x, x) == number


def test_chains_with_blocks_stay_one_behind_the_other() -> None:
    f = Module().function("f", [Parameter("x", I64)])
    (x,) = f.parameters
    is_zero = f.compare("eq", x, f.i64(0))

    def branch() -> Value:
        (value,) = f.either(is_zero, lambda: [f.multiply(x, f.i64(3))], lambda: [x])
        return f.add(value, x)

    place = len(f.text())
    f.interleaved([branch, branch])
    together = f.text()[place:]
    g = Module().function("f", [Parameter("x", I64)])
    (x,) = g.parameters
    f, is_zero = g, g.compare("eq", x, g.i64(0))
    branch()
    branch()
    assert together == g.text()[place:]


def test_results_of_branches_and_loops_reach_what_follows() -> None:
    module = Module()
    f = module.function("kernel", [Parameter("slots", PTR), Parameter("part", I64), Parameter("parts", I64)])
    slots, part, parts = f.parameters
    with f.loop(f.i64(0), parts, carried=[f.i64(0)], hints=["unroll.count, i32 2"]) as loop:
        loop.following = [f.add(loop.carried[0], loop.index)]
    (chosen,) = f.either(f.compare("eq", part, f.i64(0)), lambda: [loop.carried[0]], lambda: [f.i64(-1)])
    f.store(chosen, slots)
    f.ret()
    code = load(compile_object(module.text()), ["kernel"])
    out = np.zeros(1, np.int64)
    kernel = callable_of(code.addresses["kernel"])
    kernel(out.ctypes.data, 0, 5)
    assert out[0] == 10
    kernel(out.ctypes.data, 1, 5)
    assert out[0] == -1


@pytest.mark.parametrize(("wide", "narrow"), [("i32", "i8"), ("i32", "i16"), ("i64", "i16"), ("i64", "i32")])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_lanes_that_are_not_stored_keep_what_is_there(wide: str, narrow: str, count: int, lanes: int) -> None:
    module = LLVMBackend(target=host()).module()
    f = module.function("kernel", [Parameter("slots", PTR), Parameter("part", I64), Parameter("parts", I64)])
    to, source = f.parameters[0], f.cast("inttoptr", f.parameters[1], PTR)
    numbers = f.cast("trunc", f.load(Type(wide, lanes), source), Type(narrow, lanes))
    f.masked_store(numbers, to, f.first_lanes(f.i64(count), lanes))
    f.ret()
    code = load(compile_object(module.text()), ["kernel"])
    given = np.full(lanes, -1, wide.replace("i", "int"))
    out = np.full(2 * lanes, 7, narrow.replace("i", "int"))
    callable_of(code.addresses["kernel"])(out.ctypes.data, given.ctypes.data, 1)
    np.testing.assert_array_equal(out, [-1] * count + [7] * (2 * lanes - count))
