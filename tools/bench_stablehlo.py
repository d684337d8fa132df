"""What fusing costs beside reading and printing, for programs of StableHLO as JAX prints them.

    python tools/bench_stablehlo.py [--ops 4000] [--repeat 5] [--only chain]

For each shape of program, the time on the processor of `fuse-opt --fuse-ops` and of `fuse-opt` without passes, which
reads, verifies and prints. The two take turns, so that other load meets both, and the best of the runs counts.
Exit code 1 when fusing takes more than 1.3 times as long as reading and printing alone.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

MOST = 1.3
"""Greatest ratio."""
_ROW, _WIDE, _MATRIX = "tensor<8x64xf32>", "tensor<8x256xf32>", "tensor<64x64xf32>"


def _module(body: Sequence[str], result: str, functions: Sequence[str] = ()) -> str:
    head = f'  func.func public @main(%arg0: {_ROW}, %arg1: {_MATRIX}) -> ({_ROW} {{jax.result_info = "result"}}) {{'
    main = [head, *(f"    {line}" for line in body), f"    return {result} : {_ROW}", "  }"]
    attributes = "mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32"
    return "\n".join([f"module @jit_f attributes {{{attributes}}} {{", *main, *functions, "}"]) + "\n"


def chain(ops: int) -> str:
    """Element by element, with a constant that is broadcast at every third op."""
    lines: list[str] = []
    x = "%arg0"
    for i in range(ops // 6):
        lines += [
            f"%cst_{i} = stablehlo.constant dense<{i % 7}.000000e+00> : tensor<f32>",
            f"%b{i} = stablehlo.broadcast_in_dim %cst_{i}, dims = [] : (tensor<f32>) -> {_ROW}",
            f"%m{i} = stablehlo.multiply {x}, %b{i} : {_ROW}",
            f"%t{i} = stablehlo.tanh %m{i} : {_ROW}",
            f"%c{i} = stablehlo.compare  GT, %t{i}, %m{i},  FLOAT : ({_ROW}, {_ROW}) -> tensor<8x64xi1>",
            f"%s{i} = stablehlo.select %c{i}, %t{i}, %m{i} : tensor<8x64xi1>, {_ROW}",
        ]
        x = f"%s{i}"
    return _module(lines, x)


def transformer(ops: int) -> str:
    """Layers of normalisation, a product, a softmax and a residual, in one function."""
    lines: list[str] = []
    x = "%arg0"
    for i in range(ops // 34):
        lines += _normalised(x, f"n{i}")
        lines += [
            f"%q{i} = stablehlo.dot_general %n{i}_out, %arg1, contracting_dims = [1] x [0], "
            f"precision = [DEFAULT, DEFAULT] : ({_ROW}, {_MATRIX}) -> {_ROW}",
            f"%h{i} = stablehlo.reshape %q{i} : ({_ROW}) -> tensor<8x4x16xf32>",
            f"%k{i} = stablehlo.transpose %h{i}, dims = [1, 0, 2] : (tensor<8x4x16xf32>) -> tensor<4x8x16xf32>",
            f"%a{i} = stablehlo.dot_general %k{i}, %k{i}, batching_dims = [0] x [0], contracting_dims = [2] x [2], "
            f"precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>",
            *_softmax(f"%a{i}", f"s{i}"),
            f"%v{i} = stablehlo.dot_general %s{i}_out, %k{i}, batching_dims = [0] x [0], contracting_dims = [2] x [1], "
            f"precision = [DEFAULT, DEFAULT] : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>",
            f"%w{i} = stablehlo.transpose %v{i}, dims = [1, 0, 2] : (tensor<4x8x16xf32>) -> tensor<8x4x16xf32>",
            f"%u{i} = stablehlo.reshape %w{i} : (tensor<8x4x16xf32>) -> {_ROW}",
            f"%x{i} = stablehlo.add {x}, %u{i} : {_ROW}",
        ]
        x = f"%x{i}"
    return _module(lines, x)


def _normalised(x: str, name: str) -> list[str]:
    mean, square = f"%{name}_mean", f"%{name}_square"
    return [
        f"%{name}_zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>",
        f"%{name}_sum = stablehlo.reduce({x} init: %{name}_zero) applies stablehlo.add across dimensions = [1] : "
        f"({_ROW}, tensor<f32>) -> tensor<8xf32>",
        f"%{name}_column = stablehlo.broadcast_in_dim %{name}_sum, dims = [0] : (tensor<8xf32>) -> tensor<8x1xf32>",
        f"%{name}_width = stablehlo.constant dense<6.400000e+01> : tensor<8x1xf32>",
        f"{mean} = stablehlo.divide %{name}_column, %{name}_width : tensor<8x1xf32>",
        f"%{name}_wide = stablehlo.broadcast_in_dim {mean}, dims = [0, 1] : (tensor<8x1xf32>) -> {_ROW}",
        f"%{name}_centered = stablehlo.subtract {x}, %{name}_wide : {_ROW}",
        f"{square} = stablehlo.multiply %{name}_centered, %{name}_centered : {_ROW}",
        f"%{name}_squares = stablehlo.reduce({square} init: %{name}_zero) applies stablehlo.add across "
        f"dimensions = [1] : ({_ROW}, tensor<f32>) -> tensor<8xf32>",
        f"%{name}_root = stablehlo.rsqrt %{name}_squares : tensor<8xf32>",
        f"%{name}_scale = stablehlo.broadcast_in_dim %{name}_root, dims = [0] : (tensor<8xf32>) -> {_ROW}",
        f"%{name}_out = stablehlo.multiply %{name}_centered, %{name}_scale : {_ROW}",
    ]


def _softmax(x: str, name: str) -> list[str]:
    scores, row = "tensor<4x8x8xf32>", "tensor<4x8xf32>"
    return [
        f"%{name}_low = stablehlo.constant dense<0xFF800000> : tensor<f32>",
        f"%{name}_max = stablehlo.reduce({x} init: %{name}_low) applies stablehlo.maximum across dimensions = [2] : "
        f"({scores}, tensor<f32>) -> {row}",
        f"%{name}_top = stablehlo.broadcast_in_dim %{name}_max, dims = [0, 1] : ({row}) -> {scores}",
        f"%{name}_less = stablehlo.subtract {x}, %{name}_top : {scores}",
        f"%{name}_exp = stablehlo.exponential %{name}_less : {scores}",
        f"%{name}_none = stablehlo.constant dense<0.000000e+00> : tensor<f32>",
        f"%{name}_sum = stablehlo.reduce(%{name}_exp init: %{name}_none) applies stablehlo.add across "
        f"dimensions = [2] : ({scores}, tensor<f32>) -> {row}",
        f"%{name}_all = stablehlo.broadcast_in_dim %{name}_sum, dims = [0, 1] : ({row}) -> {scores}",
        f"%{name}_out = stablehlo.divide %{name}_exp, %{name}_all : {scores}",
    ]


def private_functions(ops: int) -> str:
    """Every tenth op a call of a function of its own, as every `jax.jit` inside a program becomes one."""
    lines: list[str] = []
    functions: list[str] = []
    x = "%arg0"
    for i in range(ops // 10):
        lines += [
            f"%d{i} = stablehlo.dot_general {x}, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : "
            f"({_ROW}, {_MATRIX}) -> {_ROW}",
            f"%a{i} = stablehlo.add %d{i}, {x} : {_ROW}",
            f"%r{i} = call @silu_{i}(%a{i}) : ({_ROW}) -> {_ROW}",
        ]
        functions += [
            f"  func.func private @silu_{i}(%arg0: {_ROW}) -> {_ROW} {{",
            f"    %0 = stablehlo.negate %arg0 : {_ROW}",
            f"    %1 = stablehlo.exponential %0 : {_ROW}",
            "    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>",
            f"    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> {_ROW}",
            f"    %3 = stablehlo.add %2, %1 : {_ROW}",
            f"    %4 = stablehlo.multiply %arg0, %3 : {_ROW}",
            f"    return %4 : {_ROW}",
            "  }",
        ]
        x = f"%r{i}"
    return _module(lines, x, functions)


def reducers(ops: int) -> str:
    """Reductions and sorts with regions: `argmax` as JAX writes it."""
    lines = ["%axis = stablehlo.iota dim = 1 : tensor<8x64xi32>"]
    x = "%arg0"
    for i in range(ops // 17):
        lines += [
            f"%low{i} = stablehlo.constant dense<0xFF800000> : tensor<f32>",
            f"%first{i} = stablehlo.constant dense<0> : tensor<i32>",
            f"%m{i}:2 = stablehlo.reduce({x} init: %low{i}), (%axis init: %first{i}) across dimensions = [1] : "
            f"({_ROW}, tensor<8x64xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)",
            " reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>)  {",
            "  %0 = stablehlo.compare  GT, %a, %b,  FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>",
            "  %1 = stablehlo.compare  NE, %a, %a,  FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>",
            "  %2 = stablehlo.or %0, %1 : tensor<i1>",
            "  %3 = stablehlo.compare  EQ, %a, %b,  FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>",
            "  %4 = stablehlo.compare  LT, %i, %j,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            "  %5 = stablehlo.and %3, %4 : tensor<i1>",
            "  %6 = stablehlo.or %2, %5 : tensor<i1>",
            "  %7 = stablehlo.select %2, %a, %b : tensor<i1>, tensor<f32>",
            "  %8 = stablehlo.select %6, %i, %j : tensor<i1>, tensor<i32>",
            "  stablehlo.return %7, %8 : tensor<f32>, tensor<i32>",
            "}",
            f"%w{i} = stablehlo.broadcast_in_dim %m{i}#0, dims = [0] : (tensor<8xf32>) -> {_ROW}",
            f"%x{i} = stablehlo.subtract {x}, %w{i} : {_ROW}",
        ]
        x = f"%x{i}"
    return _module(lines, x)


SHAPES: Mapping[str, Callable[[int], str]] = {
    "chain": chain,
    "transformer": transformer,
    "private-functions": private_functions,
    "reducers": reducers,
}
"""Texts of programs of about so many ops."""


def cpu_seconds(command: Sequence[str]) -> float:
    """Time on the processor of a command, whose output is thrown away."""
    before = os.times()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def ratio(text: str, folder: Path, repeat: int) -> tuple[float, float]:
    """The best times of `repeat` runs: reading and printing, and the same with fusion between."""
    file = folder / "program.mlir"
    file.write_text(text)
    plain = [sys.executable, "-m", "fuse_dialect.tools.fuse_opt", str(file)]
    pairs = [(cpu_seconds(plain), cpu_seconds([*plain, "--fuse-ops"])) for _ in range(repeat)]
    without, fused = (min(times) for times in zip(*pairs, strict=True))
    return without, fused


def main() -> int:
    """Print a line for each shape; 1 when a ratio is too large."""
    parser = argparse.ArgumentParser(description="Cost of fusing StableHLO beside reading and printing it.")
    parser.add_argument("--ops", type=int, default=4000, help="ops of each program (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=5, help="the best of so many runs counts (default: %(default)s)")
    parser.add_argument("--only", default="", metavar="PREFIX", help="the shapes whose names begin so")
    options = parser.parse_args()
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name, make in SHAPES.items():
            if name.startswith(options.only):
                text = make(options.ops)
                count = sum(" = " in line or "return " in line for line in text.splitlines()) - 1
                without, fused = ratio(text, Path(folder), options.repeat)
                worst = max(worst, fused / without)
                print(
                    f"{name:<18} {count} ops: reading and printing {without:.2f} s, with fusion {fused:.2f} s, "
                    f"ratio {fused / without:.2f}",
                    flush=True,
                )
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main())
