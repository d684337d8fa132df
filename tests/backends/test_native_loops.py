"""Loops and branches as native code: equal to the NumPy interpreter, whatever states, rows and stacks they have."""
# ruff: noqa: E501  (the assembly of loops has long lines)

import signal
import threading
from pathlib import Path
from random import Random
from typing import Literal

import numpy as np
import pytest
from xdsl.dialects import func

import fuse_dialect as fd
from fuse_dialect.backends.runtime import executable
from fuse_dialect.backends.runtime.entry_graph import How
from fuse_dialect.dialect.constants import constant
from fuse_dialect.loops.program import LoopProgram
from fuse_dialect.lowering.loop_program import lower
from fuse_dialect.tools import fuse_run

TENSOR = "tensor<3x4xf32>"


@pytest.fixture(autouse=True)
def _share_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executable, "WORTH_A_THREAD", 0)
    monkeypatch.setattr(executable, "WORTH_A_PART", 0)


def arrays(module, seed: int = 0) -> list[np.ndarray]:
    """Arguments of the right types for `main`."""
    rng = np.random.default_rng(seed)
    (main,) = [op for op in module.body.block.ops if op.sym_name.data == "main"]
    made = []
    for type in main.function_type.inputs:
        shape = [3 if size < 0 else size for size in type.get_shape()]
        if str(type.element_type) == "f32":
            made.append(rng.uniform(-1, 1, shape).astype(np.float32))
        elif str(type.element_type) == "i1":
            made.append(rng.integers(0, 2, shape).astype(bool))
        else:
            made.append(rng.integers(0, 6, shape))
    return made


def check(text: str, how: How, *inputs: np.ndarray, threads: int = 1):
    """Compile and compare; the program, whose loops are run as `how` says."""
    module = fd.parse(text)
    given = list(inputs) or arrays(module)
    expected = fd.run(module, *given)
    program = fd.compile(module, cache=False, threads=threads)
    found = {each.how for each in program._primitives if each.control is not None or each.primitive.callees}
    assert found == {how} or not any(each.how is How.NATIVE for each in program._primitives)
    for _ in range(2):  # a frame is used again
        got = program(*given)
        for one, other in zip(expected, got, strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    return program


def main(arguments: str, results: str, body: str) -> str:
    """A module of one function."""
    return f"func.func @main({arguments}) -> ({results}) {{\n{body}\n}}"


def test_a_state_that_is_stacked_is_written_once() -> None:
    text = main(
        f"%h: {TENSOR}, %x: tensor<7x3x4xf32>",
        f"{TENSOR}, tensor<7x3x4xf32>",
        f"""
  %last, %all = fuse.loop states(%h : {TENSOR}) rows(%x : tensor<7x3x4xf32>) -> ({TENSOR}, tensor<7x3x4xf32>) {{
  ^bb0(%i: tensor<i64>, %state: {TENSOR}, %row: {TENSOR}):
    %sum = fuse.add %state, %row : {TENSOR}
    %next = fuse.tanh %sum : {TENSOR}
    fuse.yield %next, %next : {TENSOR}, {TENSOR}
  }}
  return %last, %all : {TENSOR}, tensor<7x3x4xf32>""",
    )
    program = check(text, How.CONTROL)
    (kernel,) = program.kernels
    assert kernel.calls == 7
    profile = program.profile(*arrays(fd.parse(text)))
    assert [row.kernel.calls for row in profile.kernels] == [7]
    assert check(text, How.CONTROL, threads=2).threads <= 2


def test_states_change_places() -> None:
    text = main(
        f"%a: {TENSOR}, %b: {TENSOR}, %c: {TENSOR}",
        f"{TENSOR}, {TENSOR}, {TENSOR}",
        f"""
  %n = arith.constant dense<5> : tensor<i64>
  %r:3 = fuse.loop limit(%n : tensor<i64>) states(%a, %b, %c : {TENSOR}, {TENSOR}, {TENSOR}) -> ({TENSOR}, {TENSOR}, {TENSOR}) {{
  ^bb0(%i: tensor<i64>, %x: {TENSOR}, %y: {TENSOR}, %z: {TENSOR}):
    %s = fuse.add %x, %y : {TENSOR}
    fuse.yield %y, %s, %z : {TENSOR}, {TENSOR}, {TENSOR}
  }}
  return %r#0, %r#1, %r#2 : {TENSOR}, {TENSOR}, {TENSOR}""",
    )
    check(text, How.CONTROL)


ITERATIONS = """
  %%r:%(count)d = fuse.loop states(%(initial)s) rows(%%x : tensor<5xf32>) -> (%(types)s) {
  ^bb0(%%i: tensor<i64>, %%a: tensor<i64>, %%b: tensor<i64>, %%v: tensor<f32>, %%w: tensor<f32>):
    %%t = fuse.tanh %%w : tensor<f32>
    %%k = fuse.add %%a, %%i : tensor<i64>
    fuse.yield %(yielded)s : %(types)s
  }
  return %%r#0, %%r#1, %%r#2 : %(types)s"""


@pytest.mark.parametrize(
    "yielded",
    [
        "%i, %a, %t",  # the counter becomes a state, and that state another one
        "%i, %i, %w",  # twice, beside a row
        "%k, %a, %t",  # a value passes through two states: a delay line
        "%b, %k, %v",
        "%b, %a, %t",
        "%k, %k, %v",
    ],
)
def test_a_state_becomes_the_counter_or_another_state(yielded: str) -> None:
    types = "tensor<i64>, tensor<i64>, tensor<f32>"
    names = {"count": 3, "initial": f"%m, %n, %f : {types}", "types": types, "yielded": yielded}
    text = main("%m: tensor<i64>, %n: tensor<i64>, %f: tensor<f32>, %x: tensor<5xf32>", types, ITERATIONS % names)
    check(text, How.CONTROL)


def test_the_counter_of_a_loop_around_becomes_a_state() -> None:
    """The result of the loop inside is the counter itself, because the state never changes there."""
    text = main(
        "%s: tensor<i64>, %x: tensor<3x4xf32>",
        "tensor<i64>, tensor<3x4xf32>",
        """
  %r:2 = fuse.loop states(%s : tensor<i64>) rows(%x : tensor<3x4xf32>) -> (tensor<i64>, tensor<3x4xf32>) {
  ^bb0(%i: tensor<i64>, %a: tensor<i64>, %row: tensor<4xf32>):
    %q:2 = fuse.loop states(%i : tensor<i64>) rows(%row : tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
    ^bb0(%j: tensor<i64>, %b: tensor<i64>, %e: tensor<f32>):
      %n = fuse.add %a, %j : tensor<i64>
      %c = fuse.cast %n : (tensor<i64>) -> tensor<f32>
      %t = fuse.add %c, %e : tensor<f32>
      fuse.yield %b, %t : tensor<i64>, tensor<f32>
    }
    fuse.yield %q#0, %q#1 : tensor<i64>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<i64>, tensor<3x4xf32>""",
    )
    check(text, How.CONTROL)


def test_the_stack_of_a_loop_inside_becomes_a_state() -> None:
    """It is written row by row, while the sum of all its rows of the last iteration is read."""
    text = main(
        f"%s: {TENSOR}, %x: tensor<5xf32>",
        f"{TENSOR}, {TENSOR}",
        f"""
  %r:2 = fuse.loop states(%s, %s : {TENSOR}, {TENSOR}) rows(%x : tensor<5xf32>) -> ({TENSOR}, {TENSOR}) {{
  ^bb0(%i: tensor<i64>, %a: {TENSOR}, %b: {TENSOR}, %e: tensor<f32>):
    %q = fuse.loop rows(%a : {TENSOR}) -> ({TENSOR}) {{
    ^bb0(%j: tensor<i64>, %row: tensor<4xf32>):
      %c = fuse.mean %a, axes = [0] : ({TENSOR}) -> tensor<4xf32>
      %d = fuse.subtract %row, %c : tensor<4xf32>
      %t = fuse.add %d, %e : (tensor<4xf32>, tensor<f32>)
      fuse.yield %t : tensor<4xf32>
    }}
    fuse.yield %q, %a : {TENSOR}, {TENSOR}
  }}
  return %r#0, %r#1 : {TENSOR}, {TENSOR}""",
    )
    check(text, How.CONTROL)


def test_rows_of_open_sizes_are_equally_many() -> None:
    text = main(
        "%s: tensor<f32>, %x: tensor<?xf32>, %y: tensor<?xf32>",
        "tensor<f32>",
        """
  %r = fuse.loop states(%s : tensor<f32>) rows(%x, %y : tensor<?xf32>, tensor<?xf32>) -> (tensor<f32>) {
  ^bb0(%i: tensor<i64>, %a: tensor<f32>, %v: tensor<f32>, %w: tensor<f32>):
    %p = fuse.multiply %v, %w : tensor<f32>
    %t = fuse.add %a, %p : tensor<f32>
    fuse.yield %t : tensor<f32>
  }
  return %r : tensor<f32>""",
    )

    def given(*counts: int) -> list[np.ndarray]:
        return [np.array(1, np.float32), *(np.arange(1, count + 1, dtype=np.float32) for count in counts)]

    program = check(text, How.CONTROL, *given(4, 4))
    for counts in ((3, 5), (5, 3), (0, 2)):
        with pytest.raises(fd.FuseError, match=f"expects equally many rows, got {min(counts)} and"):
            program(*given(*counts))


@pytest.mark.parametrize("count", [-1, 0, 1, 6])
def test_a_limit_and_a_condition_end_a_loop(count: int) -> None:
    text = main(
        "%n: tensor<i64>, %go: tensor<i1>, %x: tensor<f32>",
        "tensor<f32>, tensor<i64>",
        """
  %zero = arith.constant dense<0> : tensor<i64>
  %most = arith.constant dense<100.0> : tensor<f32>
  %r:2 = fuse.loop limit(%n : tensor<i64>) while(%go : tensor<i1>) states(%x, %zero : tensor<f32>, tensor<i64>) -> (tensor<f32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %v: tensor<f32>, %k: tensor<i64>):
    %twice = fuse.add %v, %v : tensor<f32>
    %sum = fuse.add %k, %i : tensor<i64>
    %small = fuse.less %twice, %most : tensor<f32>
    fuse.yield while(%small : tensor<i1>) %twice, %sum : tensor<f32>, tensor<i64>
  }
  return %r#0, %r#1 : tensor<f32>, tensor<i64>""",
    )
    for go in (True, False):
        for start in (1.0, 30.0, 200.0):
            check(text, How.CONTROL, np.array(count), np.array(go), np.array(start, np.float32))


def test_a_loop_in_a_loop_reads_what_moves_outside() -> None:
    text = main(
        "%x: tensor<5x6x4xf32>, %h: tensor<4xf32>",
        "tensor<4xf32>, tensor<5x4xf32>, tensor<5x6x4xf32>",
        """
  %r:3 = fuse.loop states(%h : tensor<4xf32>) rows(%x : tensor<5x6x4xf32>) -> (tensor<4xf32>, tensor<5x4xf32>, tensor<5x6x4xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>, %rows: tensor<6x4xf32>):
    %in:2 = fuse.loop states(%s : tensor<4xf32>) rows(%rows : tensor<6x4xf32>) -> (tensor<4xf32>, tensor<6x4xf32>) {
    ^bb0(%j: tensor<i64>, %t: tensor<4xf32>, %row: tensor<4xf32>):
      %a = fuse.multiply %t, %row : tensor<4xf32>
      %b = fuse.add %a, %s : tensor<4xf32>
      fuse.yield %b, %b : tensor<4xf32>, tensor<4xf32>
    }
    %next = fuse.tanh %in#0 : tensor<4xf32>
    fuse.yield %next, %in#0, %in#1 : tensor<4xf32>, tensor<4xf32>, tensor<6x4xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<4xf32>, tensor<5x4xf32>, tensor<5x6x4xf32>""",
    )
    for threads in (1, 2):
        check(text, How.CONTROL, threads=threads)


@pytest.mark.parametrize("holds", [True, False])
def test_a_branch_runs_one_side(holds: bool) -> None:
    text = main(
        f"%c: tensor<i1>, %x: {TENSOR}",
        f"{TENSOR}, {TENSOR}",
        f"""
  %r:2 = fuse.if (%c : tensor<i1>) -> ({TENSOR}, {TENSOR}) {{
    %e = fuse.exp %x : {TENSOR}
    fuse.yield %e, %x : {TENSOR}, {TENSOR}
  }} else {{
    %t = fuse.tanh %x : {TENSOR}
    fuse.yield %x, %t : {TENSOR}, {TENSOR}
  }}
  %y = fuse.add %r#0, %r#1 : {TENSOR}
  return %y, %r#1 : {TENSOR}, {TENSOR}""",
    )
    x = np.random.default_rng(0).uniform(-1, 1, (3, 4)).astype(np.float32)
    check(text, How.CONTROL, np.array(holds), x)


ENDLESS = main(
    "%x: tensor<f32>, %go: tensor<i1>",
    "tensor<f32>",
    """
  %r = fuse.loop while(%go : tensor<i1>) states(%x : tensor<f32>) -> (tensor<f32>) {
  ^bb0(%i: tensor<i64>, %v: tensor<f32>):
    %n = fuse.negative %v : tensor<f32>
    fuse.yield while(%go : tensor<i1>) %n : tensor<f32>
  }
  return %r : tensor<f32>""",
)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_loop_without_an_end_is_an_error(threads: int) -> None:
    program = fd.compile(fd.parse(ENDLESS), cache=False, threads=threads)
    with pytest.raises(fd.FuseError, match="runs too long: no more ops may be run") as caught:
        program(np.float32(1), np.array(True))
    assert "max_ops=" in (caught.value.hint or "")
    assert program(np.float32(1), np.array(False))[0] == 1
    with pytest.raises(fd.FuseError, match="runs too long"):
        program.profile(np.float32(1), np.array(True), repeat=1)


@pytest.mark.slow
def test_a_signal_interrupts_a_loop() -> None:
    program = fd.compile(fd.parse(ENDLESS), cache=False, max_ops=1 << 31)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # workers of pytest ignore it
    try:
        threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
        with pytest.raises(KeyboardInterrupt):
            program(np.float32(1), np.array(True))
    finally:
        signal.signal(signal.SIGINT, before)
    assert program(np.float32(1), np.array(False))[0] == 1


def test_python_runs_a_loop_around_kernels_where_numpy_is_needed() -> None:
    text = main(
        "%x: tensor<5x8xf32>",
        "tensor<8xf32>, tensor<5x8xf32>",
        """
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %r:2 = fuse.loop states(%zero : tensor<8xf32>) rows(%x : tensor<5x8xf32>) -> (tensor<8xf32>, tensor<5x8xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<8xf32>, %row: tensor<8xf32>):
    %m = fuse.reshape %row : (tensor<8xf32>) -> tensor<8x1x1xf32>
    %a = fuse.det %m : (tensor<8x1x1xf32>)
    %b = fuse.add %a, %s : tensor<8xf32>
    %c = fuse.tanh %b : tensor<8xf32>
    fuse.yield %c, %b : tensor<8xf32>, tensor<8xf32>
  }
  return %r#0, %r#1 : tensor<8xf32>, tensor<5x8xf32>""",
    )
    program = check(text, How.MIXED)
    families = {kernel.family for kernel in program.kernels}
    assert families >= {"python", "map"}
    (loop,) = [kernel for kernel in program.kernels if kernel.family == "python"]
    assert "has no native code" in loop.reason


def test_stacks_of_an_unknown_number_are_made_step_by_step() -> None:
    text = main(
        "%x: tensor<4xf32>, %n: tensor<i64>",
        "tensor<?x4xf32>",
        """
  %r:2 = fuse.loop limit(%n : tensor<i64>) states(%x : tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>):
    %b = fuse.tanh %s : tensor<4xf32>
    fuse.yield %b, %b : tensor<4xf32>, tensor<4xf32>
  }
  return %r#1 : tensor<?x4xf32>""",
    )
    check(text, How.CONTROL, np.ones(4, np.float32), np.array(6))


def random_region(rng: Random, values: list[str], indent: str, depth: int, names) -> list[str]:
    """Ops that make new values of one type; they are added to the values."""
    lines: list[str] = []
    for _ in range(rng.randint(1, 4)):
        name = next(names)
        kind = rng.random()
        if depth and kind < 0.25:
            lines += random_loop(rng, values, indent, depth - 1, names)
        elif depth and kind < 0.4:
            lines += random_branch(rng, values, indent, depth - 1, names)
        elif kind < 0.5:
            lines.append(f"{indent}{name} = fuse.reshape {rng.choice(values)} : ({TENSOR}) -> tensor<4x3xf32>")
            back = next(names)
            lines.append(f"{indent}{back} = fuse.reshape {name} : (tensor<4x3xf32>) -> {TENSOR}")
            values.append(back)
        elif kind < 0.7:
            lines.append(f"{indent}{name} = fuse.tanh {rng.choice(values)} : {TENSOR}")
            values.append(name)
        else:
            op = rng.choice(["add", "multiply", "subtract", "maximum"])
            lines.append(f"{indent}{name} = fuse.{op} {rng.choice(values)}, {rng.choice(values)} : {TENSOR}")
            values.append(name)
    return lines


def random_loop(rng: Random, values: list[str], indent: str, depth: int, names) -> list[str]:
    """A loop with states, rows and stacks of all kinds; states and sums of stacks become values."""
    states, stacks = rng.randint(1, 3), rng.randint(0, 2)
    count = rng.randint(1, 4)
    rows, limit = next(names), next(names)
    result, counter = next(names), next(names)
    arguments = [next(names) for _ in range(states)]
    row = next(names)
    stacked_type = f"tensor<{count}x3x4xf32>"
    parts = ", ".join(rng.choice(values) for _ in range(count))
    lines = [f"{indent}{rows} = fuse.stack {parts} : ({', '.join([TENSOR] * count)}) -> {stacked_type}"]
    use_limit = not stacks and rng.random() < 0.4
    head = ""
    if use_limit:
        lines.append(f"{indent}{limit} = arith.constant dense<{rng.randint(0, 5)}> : tensor<i64>")
        head = f"limit({limit} : tensor<i64>) "
    types = ", ".join([TENSOR] * states)
    results = ", ".join([TENSOR] * states + [stacked_type] * stacks)
    initial = ", ".join(rng.choice(values) for _ in range(states))
    lines.append(
        f"{indent}{result}:{states + stacks} = fuse.loop {head}states({initial} : {types}) rows({rows} : {stacked_type}) -> ({results}) {{"
    )
    blocks = ", ".join(f"{name}: {TENSOR}" for name in (*arguments, row))
    lines.append(f"{indent}^bb0({counter}: tensor<i64>, {blocks}):")
    inner = [*values, *arguments * 2, row, row]
    own_from = len(inner)
    number, converted = next(names), next(names)
    lines.append(f"{indent}  {number} = fuse.cast {counter} : (tensor<i64>) -> tensor<f32>")
    lines.append(f"{indent}  {converted} = fuse.add {row}, {number} : ({TENSOR}, tensor<f32>)")
    inner.append(converted)
    lines += random_region(rng, inner, indent + "  ", depth, names)
    own = inner[own_from:]

    def picked() -> str:
        return rng.choice(own if rng.random() < 0.7 else inner)

    yielded = [picked() for _ in range(states + stacks)]
    if rng.random() < 0.3:
        yielded[-1] = yielded[0]
    lines.append(f"{indent}  fuse.yield {', '.join(yielded)} : {', '.join([TENSOR] * len(yielded))}")
    lines.append(f"{indent}}}")
    values += [f"{result}#{place}" for place in range(states)]
    for place in range(stacks):
        total = next(names)
        lines.append(f"{indent}{total} = fuse.sum {result}#{states + place}, axes = [0] : ({stacked_type}) -> {TENSOR}")
        values.append(total)
    return lines


def random_branch(rng: Random, values: list[str], indent: str, depth: int, names) -> list[str]:
    """A branch by a comparison of one element; its results become values."""
    total, zero, condition, result = (next(names) for _ in range(4))
    count = rng.randint(1, 2)
    lines = [
        f"{indent}{total} = fuse.sum {rng.choice(values)}, axes = [0, 1] : ({TENSOR}) -> tensor<f32>",
        f"{indent}{zero} = arith.constant dense<0.0> : tensor<f32>",
        f"{indent}{condition} = fuse.less {total}, {zero} : tensor<f32>",
        f"{indent}{result}:{count} = fuse.if ({condition} : tensor<i1>) -> ({', '.join([TENSOR] * count)}) {{",
    ]
    for end in ("} else {", "}"):
        inner = list(values)
        lines += random_region(rng, inner, indent + "  ", depth, names)
        yielded = ", ".join(rng.choice(inner[-4:]) for _ in range(count))
        lines.append(f"{indent}  fuse.yield {yielded} : {', '.join([TENSOR] * count)}")
        lines.append(indent + end)
    values += [f"{result}#{place}" for place in range(count)]
    return lines


def random_program(seed: int) -> str:
    """A function with loops and branches in each other; all of its values have one type."""
    rng = Random(seed)
    names = (f"%v{number}" for number in range(10_000))
    values = ["%a", "%b", "%w"]
    lines = [f"  %w = arith.constant dense<{rng.uniform(-1, 1):.3f}> : {TENSOR}"]
    lines += random_loop(rng, values, "  ", 2, names)
    lines += random_region(rng, values, "  ", 2, names)
    outputs = values[-3:]
    lines.append(f"  return {', '.join(outputs)} : {', '.join([TENSOR] * len(outputs))}")
    return main(f"%a: {TENSOR}, %b: {TENSOR}", ", ".join([TENSOR] * len(outputs)), "\n".join(lines))


@pytest.mark.parametrize("seed", range(40))
def test_random_loops_and_branches_in_each_other(seed: int) -> None:
    check(random_program(seed), How.CONTROL, threads=1 + seed % 2)


def test_a_constant_of_equal_elements_is_written_out_for_the_kernels_of_a_loop_on_numpy() -> None:
    """Kernels read memory row by row; one element that stands for all of them is eight bytes there."""
    text = """func.func @main(%x: tensor<2x3x3x3xi64>, %w: tensor<1x1x1x27x3xi64>)
        -> (tensor<2x3x4x2x3xi64>, tensor<2x3xf32>) {
      %s = arith.constant dense<0> : tensor<2x3x4x2x3xi64>
      %t = arith.constant dense<0.0> : tensor<2x3xf32>
      %n = arith.constant dense<2> : tensor<i64>
      %y, %z = fuse.loop limit(%n : tensor<i64>) states(%s, %t : tensor<2x3x4x2x3xi64>, tensor<2x3xf32>)
          -> (tensor<2x3x4x2x3xi64>, tensor<2x3xf32>) {
      ^bb0(%i: tensor<i64>, %a: tensor<2x3x4x2x3xi64>, %b: tensor<2x3xf32>):
        %r = fuse.reshape %x : (tensor<2x3x3x3xi64>) -> tensor<2x27x1x1x1xi64>
        %m = fuse.conv3d %r, %w, padding = [1, 0, 0, 2, 1, 2], kernel_layout = "DHWIO"
            : (tensor<2x27x1x1x1xi64>, tensor<1x1x1x27x3xi64>) -> tensor<2x3x4x2x3xi64>
        %f = fuse.cast %x : (tensor<2x3x3x3xi64>) -> tensor<2x3x3x3xf32>
        %p = fuse.det %f : (tensor<2x3x3x3xf32>) -> tensor<2x3xf32>
        fuse.yield %m, %p : tensor<2x3x4x2x3xi64>, tensor<2x3xf32>
      }
      return %y, %z : tensor<2x3x4x2x3xi64>, tensor<2x3xf32>
    }"""
    module = fd.parse(text)
    (main,) = module.ops
    assert isinstance(main, func.FuncOp)
    block = main.body.block
    weight = constant(np.broadcast_to(np.int64(3), (1, 1, 1, 27, 3)))
    assert block.first_op is not None
    block.insert_op_before(weight, block.first_op)
    block.args[1].replace_all_uses_with(weight.result)
    x, w = np.arange(54, dtype=np.int64).reshape(2, 3, 3, 3), np.full((1, 1, 1, 27, 3), 3)
    program = fd.compile(module, cache=False)
    assert {"numpy", "contraction"} <= {kernel.family for kernel in program.kernels}
    np.testing.assert_array_equal(program(x, w)[0], fd.run(fd.parse(text), x, w)[0])


def test_the_first_of_one_element_that_is_known_is_that_element() -> None:
    """A constant in the kernel itself: nothing there depends on the place that is looked for."""
    module = fd.parse("""func.func @main() -> tensor<1xi64> {
      %x = arith.constant dense<7> : tensor<1xi64>
      %y, %z = fuse.topk %x, k = 1, axis = 0, is_ascend = true : tensor<1xi64>
      return %y : tensor<1xi64>
    }""")
    fd.fuse_ops(module, link_params=True)
    (primitive,) = [op for op in module.ops if "primitive" in op.attributes]
    assert isinstance(primitive, func.FuncOp)
    assert isinstance(lower(primitive), LoopProgram)


UNKNOWN = '%t = "my.op"(%s) : (tensor<4xf32>) -> tensor<4xf32>'
IN_A_LOOP = main(
    "%n: tensor<i64>, %b: tensor<i1>, %x: tensor<4xf32>",
    "tensor<4xf32>",
    """
  %r = fuse.loop limit(%n : tensor<i64>) states(%x : tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>):
    BODY
    fuse.yield %t : tensor<4xf32>
  }
  return %r : tensor<4xf32>""",
)
IN_A_BRANCH = main(
    "%n: tensor<i64>, %b: tensor<i1>, %s: tensor<4xf32>",
    "tensor<4xf32>",
    """
  %r = fuse.if (%b : tensor<i1>) -> (tensor<4xf32>) {
    BODY
    fuse.yield %t : tensor<4xf32>
  } else {
    fuse.yield %s : tensor<4xf32>
  }
  return %r : tensor<4xf32>""",
)
BRANCH_INSIDE = """%t = fuse.if (%b : tensor<i1>) -> (tensor<4xf32>) {
      %u = "my.op"(%s) : (tensor<4xf32>) -> tensor<4xf32>
      fuse.yield %u : tensor<4xf32>
    } else {
      fuse.yield %s : tensor<4xf32>
    }"""


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
@pytest.mark.parametrize("body", [UNKNOWN, BRANCH_INSIDE], ids=["in the body", "in a branch of it"])
def test_an_op_without_meaning_in_a_loop_is_found_when_it_is_compiled(
    body: str, backend: Literal["llvm", "numpy"], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = IN_A_LOOP.replace("BODY", body)
    with pytest.raises(fd.FuseError, match=r"'my\.op' op has no meaning that a backend could run"):
        fd.compile(fd.parse(text, allow_unregistered=True), backend, cache=False)
    path = tmp_path / "loop.mlir"
    path.write_text(text)
    line = next(number for number, each in enumerate(text.splitlines(), 1) if "my.op" in each)
    arguments = ["--allow-unregistered-dialect", "--backend", "llvm", "--random-inputs", "0", "--no-cache"]
    assert fuse_run.main([str(path), *arguments]) == 1
    assert f"loop.mlir:{line}:" in capsys.readouterr().err


@pytest.mark.parametrize("body", [UNKNOWN, BRANCH_INSIDE], ids=["in a branch", "further in"])
def test_an_op_without_meaning_in_a_branch_may_never_be_reached(body: str) -> None:
    module = fd.parse(IN_A_BRANCH.replace("BODY", body), allow_unregistered=True)
    program = fd.compile(module, cache=False)
    reasons = [kernel.reason for kernel in program.kernels if "if" in kernel.ops]
    assert any("'my.op' op has no meaning that a backend could run" in reason for reason in reasons)
    x = np.arange(4, dtype=np.float32)
    assert (program(np.array(1), np.array(False), x)[0] == x).all()
    with pytest.raises(fd.FuseError, match=r"'my\.op' op has no meaning"):
        program(np.array(1), np.array(True), x)


def test_the_reason_of_a_loop_names_the_op_that_numpy_runs() -> None:
    body = """%m = fuse.reshape %s : (tensor<4xf32>) -> tensor<4x1x1xf32>
    %t = fuse.det %m : (tensor<4x1x1xf32>)"""
    program = fd.compile(fd.parse(IN_A_LOOP.replace("BODY", body)), cache=False)
    (loop,) = [kernel for kernel in program.kernels if "loop" in kernel.ops]
    assert "'fuse.det' op" in loop.reason
